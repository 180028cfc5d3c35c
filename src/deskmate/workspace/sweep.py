"""Ends what an earlier process left running.

A member's process groups are listed, with the time each was started, in a file beside its seat for as long as they
run, and so are the files it has not finished. `command` and `files` list them; `local` sweeps.
"""

import contextlib
import logging
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from deskmate.errors import ToolError
from deskmate.workspace.blob_folders import TEAMS, private_folder, read_regular, replace_file
from deskmate.workspace.paths import resolved
from deskmate.workspace.processes import Mark, end, start_of

log = logging.getLogger(__name__)

_MAX_BYTES = 16_000_000
_UNFINISHED = re.compile(r"\.deskmate-[0-9a-f]{16}")


class Listed:
    """A file beside a seat that lists, a line each, what must not outlive whoever sits there."""

    def __init__(self, root: Path, team: str, name: str) -> None:
        self._root, self._team, self._name = root, team, name
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def having(self, line: str) -> Iterator[None]:
        """Have a line on the list meanwhile; where that cannot be written, go on without it."""
        self._change(add=line)
        try:
            yield
        finally:
            self._change(remove=line)

    @contextlib.contextmanager
    def sweeping(self) -> Iterator[list[str]]:
        """Yield the lines; once they are dealt with, there are none."""
        with self._lock, self._folder() as folder:
            yield self._lines(folder)
            replace_file(folder, self._name, b"")

    def _change(self, *, add: str = "", remove: str = "") -> None:
        try:
            with self._lock, self._folder() as folder:
                lines = [line for line in self._lines(folder) if line != remove] + [add] * bool(add)
                replace_file(folder, self._name, "".join(f"{line}\n" for line in lines).encode())
        except OSError as error:
            # A full disk must not keep anyone from the command that makes room.
            log.warning("%s could not be written: %s", self._name, error.strerror)

    def _lines(self, folder: int) -> list[str]:
        try:
            return read_regular(self._name, _MAX_BYTES, folder).decode(errors="replace").splitlines()
        except FileNotFoundError:
            return []

    def _folder(self) -> contextlib.AbstractContextManager[int]:
        return private_folder(self._root, TEAMS, self._team)


class Groups:
    """The process groups that one member has running, each by its id and when it was started."""

    def __init__(self, root: Path, team: str, member: str) -> None:
        self._listed = Listed(root, team, f"{member}.groups")

    def listing(self, group: int) -> contextlib.AbstractContextManager[None]:
        """Have a group on the list meanwhile."""
        return self._listed.having(f"{group} {start_of(group)}")

    def sweep(self, entries: frozenset[bytes], grace_seconds: float) -> int:
        """End what a predecessor left: the groups on the list, and whatever carries these entries; return how many."""
        with self._listed.sweeping() as lines:
            ended = sum(end(Mark(group), grace_seconds).ended for group in _same(lines))
            return ended + end(Mark(None, entries), grace_seconds).ended


def _same(lines: list[str]) -> Iterator[int]:
    """Yield the groups on a list whose leader is still the process it was."""
    for line in lines:
        number, _, start = line.partition(" ")
        if not number.isdigit() or not start:
            log.warning("a line names no group: %r", line[:80])
        elif start_of(int(number)) == start:
            yield int(number)


class Unfinished:
    """The files that one member has not finished, each under a name of its own beside the one it will have."""

    def __init__(self, root: Path, team: str, member: str) -> None:
        self._root = root
        self._listed = Listed(root, team, f"{member}.unfinished")

    def listing(self, path: str) -> contextlib.AbstractContextManager[None]:
        """Have a file on the list meanwhile, by its path in the workspace."""
        # Quoted: a name may hold a line end, or what is no UTF-8.
        return self._listed.having(quote(path, errors="surrogateescape"))

    def sweep(self) -> None:
        """Remove what a predecessor did not finish, and nothing that bears another name than such a file."""
        with self._listed.sweeping() as lines:
            for line in lines:
                try:
                    self._remove(unquote(line, errors="surrogateescape"))
                except ToolError as error:
                    log.warning("an unfinished file could not be removed: %s", error)

    def _remove(self, path: str) -> None:
        with resolved(self._root, path) as place:
            if not place.ours and len(place.rest) == 1 and _UNFINISHED.fullmatch(place.rest[0]):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(place.rest[0], dir_fd=place.folder)
