"""Ends what an earlier process left running.

While a member's process groups run, they are listed in a file beside its seat, with the time each was started. So are
the files it has not finished.
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
from deskmate.fs.safe_files import private_folder, read_regular, replace_file
from deskmate.workspace.blobs import TEAMS
from deskmate.workspace.paths import resolved
from deskmate.workspace.processes import Mark, end, start_of

log = logging.getLogger(__name__)

_MAX_BYTES = 16_000_000
_UNFINISHED = re.compile(r"\.deskmate-[0-9a-f]{16}")


class Listed:
    """A file beside a seat that lists, one per line, what must not outlive the seat's owner."""

    def __init__(self, root: Path, team: str, name: str) -> None:
        self._root, self._team, self._name = root, team, name
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def having(self, line: str) -> Iterator[None]:
        """Keep a line on the list inside the context. If the list cannot be written, continue without it."""
        self._change(add=line)
        try:
            yield
        finally:
            self._change(remove=line)

    @contextlib.contextmanager
    def sweeping(self) -> Iterator[list[str]]:
        """Yield the lines. Afterwards the list is empty."""
        with self._lock, self._folder() as folder:
            yield self._lines(folder)
            replace_file(folder, self._name, b"")

    def _change(self, *, add: str = "", remove: str = "") -> None:
        try:
            with self._lock, self._folder() as folder:
                lines = [line for line in self._lines(folder) if line != remove] + [add] * bool(add)
                replace_file(folder, self._name, "".join(f"{line}\n" for line in lines).encode())
        except OSError as error:
            # A full disk must not prevent the command that frees space.
            log.warning("%s could not be written: %s", self._name, error.strerror)

    def _lines(self, folder: int) -> list[str]:
        try:
            return read_regular(self._name, _MAX_BYTES, folder).decode(errors="replace").splitlines()
        except FileNotFoundError:
            return []

    def _folder(self) -> contextlib.AbstractContextManager[int]:
        return private_folder(self._root, TEAMS, self._team)


class Groups:
    """The running process groups of one member, each by its id and start time."""

    def __init__(self, root: Path, team: str, member: str) -> None:
        self._listed = Listed(root, team, f"{member}.groups")

    def listing(self, group: int) -> contextlib.AbstractContextManager[None]:
        """Keep a group on the list inside the context."""
        return self._listed.having(f"{group} {start_of(group)}")

    def sweep(self, entries: frozenset[bytes], grace_seconds: float) -> int:
        """End what a predecessor left: the listed groups, and processes with these entries. Return how many."""
        with self._listed.sweeping() as lines:
            ended = sum(end(Mark(group), grace_seconds).ended for group in _same(lines))
            return ended + end(Mark(None, entries), grace_seconds).ended


def _same(lines: list[str]) -> Iterator[int]:
    """Yield the listed groups whose leader is still the same process."""
    for line in lines:
        number, _, start = line.partition(" ")
        if not number.isdigit() or not start:
            log.warning("a line names no group: %r", line[:80])
        elif start_of(int(number)) == start:
            yield int(number)


class Unfinished:
    """The files that one member has not finished. Each has a temporary name beside its final one."""

    def __init__(self, root: Path, records: Path, team: str, member: str) -> None:
        self._root = root
        self._listed = Listed(records, team, f"{member}.unfinished")

    def listing(self, path: str) -> contextlib.AbstractContextManager[None]:
        """Keep a file on the list inside the context, by its path in the workspace."""
        # Quoted, because a name may contain a line end or bytes that are not UTF-8.
        return self._listed.having(quote(path, errors="surrogateescape"))

    def sweep(self) -> None:
        """Remove the files that a predecessor did not finish. Files without a temporary name are left alone."""
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
