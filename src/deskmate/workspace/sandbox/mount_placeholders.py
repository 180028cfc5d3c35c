"""Placeholders for protected files that do not exist.

A path can be guarded only if something is there. So a placeholder is made, and removed when the last command that
needs it is over, even if Deskmate was killed meanwhile. One list for all workspaces of a user says what was made, and
which processes need it. It also says which links were in a git folder before its first command. So links that a
command leaves there are recognised, even if Deskmate is killed.
"""

import contextlib
import errno
import json
import logging
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypedDict

from deskmate.errors import SystemProblem, ToolError, hint_of
from deskmate.fs.safe_files import (
    create_file,
    file_lock,
    open_folder,
    read_regular,
    read_up_to,
    regular_file,
    replace_file,
)
from deskmate.workspace.git.git_entries import Entries, Entry, scan
from deskmate.workspace.git.git_watch import refuse_outward, remove_left
from deskmate.workspace.paths import shown
from deskmate.workspace.processes import is_living, start_of
from deskmate.workspace.sandbox.protected_paths import Guard

log = logging.getLogger(__name__)

_LIST, _LOCK = "placeholders.json", "placeholders.lock"
_MOST_BYTES = 16_000_000
_PATIENCE_SECONDS, _LOOK_SECONDS = 30.0, 0.02
_NO_FILES = {errno.EMFILE, errno.ENFILE}
# It is gone already, or the user has put something there.
_NOT_OURS = {errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.ELOOP}


class _Listed(TypedDict):
    """What was made, by path: the content of a file, or None for a folder. And which command needs which paths.

    `needed` has, for each command, the process that runs it, its start time, and the paths. `git` has, for each git
    folder, what was in it before the first of the commands that run there now.
    """

    made: dict[str, str | None]
    needed: dict[str, tuple[int, str | None, list[str]]]
    git: dict[str, Entries]


class Placeholders:
    """The placeholders of one user, listed in one of Deskmate's own folders."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / _LIST

    @contextlib.contextmanager
    def standing(self, guards: Iterable[Guard], git: str | None = None) -> Iterator[Entries]:
        """Keep a placeholder at each missing path inside the context. Raises ToolError if that is impossible.

        Yield which links and special files were in the folder `git` before any of the commands that run there now.
        Raises ToolError if a link leads out of it.
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
        """Drop a token. If no file can be opened, wait until others close some, so that nothing is left behind."""
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
        """Tell whether at most one command runs in the repository of a git folder."""
        try:
            return sum(git in paths for _, _, paths in self._read()["needed"].values()) <= 1
        except OSError:
            return False

    def _drop(self, token: str | None) -> None:
        """Remove a command from the list, and from the disk what no command needs any more."""
        with self._held() as folder:
            listed = self._read()
            if token is not None:
                listed["needed"].pop(token, None)
            _clear(listed)
            _write(folder, listed)

    def _make(self, token: str, guards: list[Guard], git: str | None) -> Entries:
        try:
            # Outside the lock, so that a large folder does not keep commands of other workspaces waiting.
            stamp, found = self._stamp(), scan(git) if git else {}
            with self._held() as folder:
                if git and self._stamp() != stamp:
                    # The entries found may be from a command that has ended since.
                    found = scan(git)
                listed = self._read()
                _clear(listed)
                if git is not None and git not in listed["git"]:
                    listed["git"][git] = refuse_outward(git, found)
                missing = [guard for guard in guards if not os.path.lexists(guard.path)]
                paths = [*(guard.path for guard in guards), *([git] if git else [])]
                listed["needed"][token] = (os.getpid(), start_of(os.getpid()), paths)
                listed["made"] |= {guard.path: _text(guard.content) for guard in missing}
                # Written before anything is made, so that the next process finds it if this one is killed here.
                _write(folder, listed)
                for guard in missing:
                    _stand_in(guard)
                return listed["git"][git] if git else {}
        except OSError as error:
            fix = "".join(f" {hint}" for hint in [hint_of(error)] if hint)
            raise ToolError(
                f"the sandbox cannot guard {shown(str(error.filename or self._file))}: {error.strerror}. "
                f"Tell the user. No command can run here until that is fixed.{fix}"
            ) from error

    def _stamp(self) -> tuple[int, ...] | None:
        """Return what tells one list from the next. Each is a new file."""
        try:
            found = os.stat(self._file)
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    @contextlib.contextmanager
    def _held(self) -> Iterator[int]:
        """Lock the list, so that no other process of this user changes it or its paths. Yield its folder, open."""
        folder = self._file.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open_folder(folder) as opened, file_lock(opened, _LOCK):
            yield opened

    def _read(self) -> _Listed:
        """Return the list. Raises OSError, with a message for the user, if it cannot be read."""
        try:
            return _listed(read_regular(self._file, _MOST_BYTES).decode())
        except FileNotFoundError:
            return _listed("")
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            hint = "Delete it, and the empty .git, .mcp.json, .vscode and refs that are left in your workspaces."
            raise SystemProblem(errno.EINVAL, "it is damaged", hint, str(self._file)) from error


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode()


def _listed(text: str) -> _Listed:
    """Return a parsed list. Raises what Python raises if it is not valid."""
    # An earlier version could leave the end of a longer list after the new one, if it was killed before truncating.
    found = json.JSONDecoder().raw_decode(text)[0] if text else {"made": {}, "needed": {}}
    needed = {token: (int(pid), start, [*paths]) for token, (pid, start, paths) in found["needed"].items()}
    # A list of version 0.1 does not have this part.
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
    fd = create_file(guard.path, 0o644)
    try:
        os.write(fd, guard.content)
    finally:
        os.close(fd)


def _clear(listed: _Listed) -> None:
    """Remove from the list, and from the disk, what no living process needs."""
    living = {token: one for token, one in listed["needed"].items() if is_living(one[0], one[1])}
    needed = {path for _, _, paths in living.values() for path in paths}
    cut_off = {path for token, (_, _, paths) in listed["needed"].items() if token not in living for path in paths}
    for folder in listed["git"].keys() & cut_off:
        for told in remove_left(folder, listed["git"][folder]):
            log.warning("After a command that was interrupted when Deskmate was killed: %s", told)
    listed["git"] = {folder: entries for folder, entries in listed["git"].items() if folder in needed}
    # Deeper paths first, so that their folders are empty.
    for path in sorted(listed["made"].keys() - needed, reverse=True):
        try:
            _remove(path, listed["made"][path])
        except OSError as error:
            if error.errno not in _NOT_OURS:
                # The next process that locks the list tries again.
                continue
        del listed["made"][path]
    listed["needed"] = living


def _remove(path: str, content: str | None) -> None:
    if content is None:
        os.rmdir(path)
        return
    with regular_file(path) as fd:
        # Empty because a kill came before it was written, or unchanged. Anything else was written by somebody.
        ours = read_up_to(fd, len(content) + 1).decode(errors="replace") in ("", content)
    if ours:
        os.unlink(path)
