"""Placeholders for protected files that do not exist.

A place can be guarded only if something is there. What is made for that is gone when the last command that needs it is
over, also when Deskmate was killed meanwhile: one list for all workspaces of a user says what was made, and which
processes need it. It also says which links were in a git folder before its first command. So links that a
command leaves there are known, even if Deskmate is killed. `confined` above has placeholders made, and `local` removes
what is left; `guards` says which.
"""

import contextlib
import errno
import fcntl
import json
import logging
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypedDict

from deskmate.errors import ToolError
from deskmate.workspace.blob_folders import replace_file
from deskmate.workspace.git.git_entries import Entries, Entry, scan
from deskmate.workspace.git.git_watch import refuse_outward, remove_left
from deskmate.workspace.paths import FOLDER, shown
from deskmate.workspace.processes import is_living, start_of
from deskmate.workspace.sandbox.protected_paths import Guard

log = logging.getLogger(__name__)

_LIST, _LOCK = "placeholders.json", "placeholders.lock"
_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PATIENCE_SECONDS, _LOOK_SECONDS = 30.0, 0.02
_NO_FILES = {errno.EMFILE, errno.ENFILE}
# Gone already, or something of the user's stands there now.
_NOT_OURS = {errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.ELOOP}


class _Listed(TypedDict):
    """What was made, by path: the content of a file, None for a folder. And who needs which paths.

    For each command: the process that runs it, when that was started, the paths. And by git folder what was in it
    before the first of the commands that run there now.
    """

    made: dict[str, str | None]
    needed: dict[str, tuple[int, str | None, list[str]]]
    git: dict[str, Entries]


class Placeholders:
    """The placeholders of one user, listed in a folder of Deskmate's own."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / _LIST

    @contextlib.contextmanager
    def standing(self, guards: Iterable[Guard], git: str | None = None) -> Iterator[Entries]:
        """Put something at each missing place meanwhile. Raises ToolError if that is impossible.

        Yield which links and the like were in the folder `git` before any of the commands that run there now. Raises
        ToolError if one of them leads out of it.
        """
        token = secrets.token_hex(8)
        try:
            yield self._make(token, list(guards), git)
        finally:
            try:
                self._drop_patiently(token)
            except OSError as error:
                # The command is over and its result counts. The next command tries again.
                log.warning("%s cannot be used, so empty files or folders may be left: %s", self._file, error.strerror)

    def _drop_patiently(self, token: str) -> None:
        """Drop a token; if no file can be opened, wait until others have closed some: nothing may be left behind."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return self._drop(token)
            except OSError as error:
                if error.errno not in _NO_FILES or time.monotonic() > deadline:
                    raise
                time.sleep(_LOOK_SECONDS)

    def sweep(self) -> None:
        """Remove what is no longer needed, and links left by a command whose Deskmate was killed."""
        self._drop(None)

    def is_last(self, git: str) -> bool:
        """Tell whether no more than one command runs in the repository of a git folder."""
        try:
            return sum(git in paths for _, _, paths in self._read()["needed"].values()) <= 1
        except OSError:
            return False

    def _drop(self, token: str | None) -> None:
        """Take a command from the list, and whatever nobody needs any more from the disk."""
        with self._held() as folder:
            listed = self._read()
            if token is not None:
                listed["needed"].pop(token, None)
            _clear(listed)
            _write(folder, listed)

    def _make(self, token: str, guards: list[Guard], git: str | None) -> Entries:
        try:
            # Outside the lock: a large folder must not keep the commands of other workspaces waiting.
            stamp, found = self._stamp(), scan(git) if git else {}
            with self._held() as folder:
                if git and self._stamp() != stamp:
                    # What was found may be of a command that has ended since.
                    found = scan(git)
                listed = self._read()
                _clear(listed)
                if git is not None and git not in listed["git"]:
                    listed["git"][git] = refuse_outward(git, found)
                missing = [guard for guard in guards if not os.path.lexists(guard.path)]
                paths = [*(guard.path for guard in guards), *([git] if git else [])]
                listed["needed"][token] = (os.getpid(), start_of(os.getpid()), paths)
                listed["made"] |= {guard.path: _text(guard.content) for guard in missing}
                # Before anything is made: what a kill cuts off here is found by whoever comes next.
                _write(folder, listed)
                for guard in missing:
                    _stand_in(guard)
                return listed["git"][git] if git else {}
        except OSError as error:
            raise ToolError(
                f"the sandbox cannot guard {shown(str(error.filename or self._file))}: {error.strerror}. "
                "Tell the user. No command can run here until that is fixed."
            ) from error

    def _stamp(self) -> tuple[int, ...] | None:
        """Return what tells one list from the next: each is a new file."""
        try:
            found = os.stat(self._file)
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    @contextlib.contextmanager
    def _held(self) -> Iterator[int]:
        """Hold the list, so that nobody else of this user changes it, or anything on it; yield its folder, open."""
        folder = self._file.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            fd = os.open(folder / _LOCK, _OPEN, 0o600)
            stack.callback(os.close, fd)
            opened = os.open(folder, FOLDER)
            stack.callback(os.close, opened)
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield opened

    def _read(self) -> _Listed:
        """Return what is listed; raise OSError, with words for the user, where that cannot be told."""
        try:
            return _listed(self._file.read_text())
        except FileNotFoundError:
            return _listed("")
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise OSError(
                errno.EINVAL,
                "it is damaged; remove it, and the empty folders that are left in your workspaces, such as .git, "
                ".mcp.json, .vscode and refs",
                str(self._file),
            ) from error


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode()


def _listed(text: str) -> _Listed:
    """Return a list as it was written; raise what Python raises where it is none."""
    # The rest of a longer list may stand behind one of an earlier version, where a kill came before it was cut off.
    found = json.JSONDecoder().raw_decode(text)[0] if text else {"made": {}, "needed": {}}
    needed = {token: (int(pid), start, [*paths]) for token, (pid, start, paths) in found["needed"].items()}
    # A list of version 0.1 has no such part.
    git = {
        folder: {path: Entry(kind, target) for path, (kind, target) in entries.items()}
        for folder, entries in found.get("git", {}).items()
    }
    return {"made": dict(found["made"].items()), "needed": needed, "git": git}


def _write(folder: int, listed: _Listed) -> None:
    replace_file(folder, _LIST, json.dumps(listed).encode())


def _stand_in(guard: Guard) -> None:
    if guard.content is None:
        os.mkdir(guard.path)
        return
    fd = os.open(guard.path, _NEW, 0o644)
    try:
        os.write(fd, guard.content)
    finally:
        os.close(fd)


def _clear(listed: _Listed) -> None:
    """Take from the list, and from the disk, what no living process needs."""
    living = {token: one for token, one in listed["needed"].items() if is_living(one[0], one[1])}
    needed = {path for _, _, paths in living.values() for path in paths}
    cut_off = {path for token, (_, _, paths) in listed["needed"].items() if token not in living for path in paths}
    for folder in listed["git"].keys() & cut_off:
        for told in remove_left(folder, listed["git"][folder]):
            log.warning("After a command that was interrupted when Deskmate was killed: %s", told)
    listed["git"] = {folder: entries for folder, entries in listed["git"].items() if folder in needed}
    # What lies deeper first, or a folder would not be empty.
    for path in sorted(listed["made"].keys() - needed, reverse=True):
        try:
            _remove(path, listed["made"][path])
        except OSError as error:
            if error.errno not in _NOT_OURS:
                # Whoever holds the list next tries again.
                continue
        del listed["made"][path]
    listed["needed"] = living


def _remove(path: str, content: str | None) -> None:
    if content is None:
        os.rmdir(path)
        return
    fd = os.open(path, _READ)
    try:
        # Cut off before it was written, or as it was; anything else somebody wants to keep.
        ours = os.read(fd, len(content) + 1).decode(errors="replace") in ("", content)
    finally:
        os.close(fd)
    if ours:
        os.unlink(path)
