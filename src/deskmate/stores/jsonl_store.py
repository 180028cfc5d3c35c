"""The default: JSON lines in readable files, for any number of processes on one machine.

    <workspace>/.teams/<team>/roster.jsonl  spend.jsonl  <name>_inbox.jsonl  <name>_transcript.jsonl  <name>.seat
    <workspace>/.teams/<team>/subagents/<call>_inbox.jsonl  <call>_transcript.jsonl
    <workspace>/.teams/<team>/code.jsonl  <name>_code.jsonl  chunks/<hash>-<number>.jsonl
    <workspace>/.tasks/<team>/board.jsonl

This is the asynchronous part. It maps streams to files and runs every call that may block for long in a thread.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, closing
from pathlib import Path
from typing import TypeVar

from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from deskmate.core.log.names import BOARD, CHUNKS, CODE, is_call, known_name, split_seat, split_stream
from deskmate.core.log.records import Damaged, Item, Json, Make, check_number, encode, encode_together
from deskmate.errors import StoreError, StoreUnavailable, UnsafeFolder
from deskmate.fs.disk_calls import Files
from deskmate.fs.private_folder import PrivateFolder
from deskmate.fs.worker_threads import WorkerThreads
from deskmate.ports import Seat
from deskmate.stores.file_watch import FileWatch, best_watch
from deskmate.stores.projections import Projections
from deskmate.stores.seats import hold_file
from deskmate.stores.stream_file import StreamFile
from deskmate.stores.wakeups import Place, Wakeups

TEAMS, TASKS = ".teams", ".tasks"
NET_SECONDS = 2.0
LAG_SECONDS = 1.0
SUFFIX = {"mail": "_inbox.jsonl", "log": "_transcript.jsonl", CODE: "_code.jsonl"}
T = TypeVar("T")
# At most this many lost records are reported one by one, each time some are found.
_MOST_TOLD = 20
_LOG = logging.getLogger(__name__)


class JsonlStore:
    """Streams as files. Create it with `open`, release it with `close`."""

    def __init__(self, team: PrivateFolder, tasks: PrivateFolder, watch: FileWatch) -> None:
        self._team, self._tasks, self._watch = team, tasks, watch
        self._folders: dict[str, PrivateFolder] = {}
        self._streams: dict[str, StreamFile] = {}
        self._guard, self._settling = threading.Lock(), threading.Lock()
        self._wakeups = Wakeups(watch, self._look_at)
        self._lagging: set[StreamFile] = set()
        self._timer: threading.Timer | None = None
        self._threads = WorkerThreads()
        self._watched: dict[Place, StreamFile] = {}
        self._warned: set[str] = set()

    @classmethod
    def open(
        cls,
        workspace: Path | str,
        team: str,
        *,
        create: bool = False,
        files: Files | None = None,
        watch: Callable[[], FileWatch] = best_watch,
    ) -> "JsonlStore":
        """Open a team's streams. With `create`, create its two folders. Raises UnsafeFolder or StoreUnavailable."""
        known_name(team, "team")
        workspace, files = Path(workspace), files or Files()
        try:
            with ExitStack() as undo:
                opened = []
                for top in (TEAMS, TASKS):
                    opened.append(
                        undo.enter_context(closing(PrivateFolder.of(workspace, (top, team), files, create=create)))
                    )
                    if create:
                        with closing(PrivateFolder.of(workspace, (top,), files, create=True)) as above:
                            keep_out_of_git(above)
                store = cls(opened[0], opened[1], undo.enter_context(closing(watch())))
                undo.pop_all()
                return store
        except (FileNotFoundError, NotADirectoryError) as error:
            raise _what_is_missing(workspace, team) from error
        except OSError as error:
            raise StoreUnavailable.of(workspace, error) from error

    # -- the four methods -------------------------------------------------------------------------

    async def append(self, stream: str, *records: Json, expect: int | None = None, sync: bool = True) -> list[int]:
        """Append records and return their numbers. `Store` has the details."""
        check_number(expect or 0)
        file, lines = self._file(stream), encode_together(records)

        def write(*, wait: bool = True) -> list[int]:
            numbers = file.append(lines, expect, sync=sync, wait=wait)
            self._note_written(file, sync=sync)
            return numbers

        # Without a sync, an append mostly takes less time than the way to a thread and back.
        numbers = await (self._threads.run(write) if sync else self._threads.try_here(write))
        self._wakeups.ring(_place(file))
        return numbers

    async def read(self, stream: str, after: int = 0, *, sync: bool = True) -> Sequence[Item]:
        """Return everything after the number `after`. `Store` has the details."""
        check_number(after)
        file = self._file(stream)
        # One stat of an entry that the kernel has in memory. A thread costs far more, and so does a turn of the loop.
        found = None if self._threads.inherited else file.glance(after, sync=sync)
        if found is None:
            found = await self._threads.run(lambda: file.read(after, sync=sync))
        else:
            await checkpoint_if_cancelled()
        self._warn_of_losses(stream, found)
        return found

    async def decide(self, stream: str, after: int, make: Make[T], *, sync: bool = True) -> tuple[int | None, T]:
        """Append what `make` decides on everything after `after`. `Store` has the details."""
        check_number(after)
        file = self._file(stream)
        # As in `read`. If nothing is to be appended, no lock is needed either.
        known = None if self._threads.inherited else file.glance(after, sync=sync)
        if known is not None and (decision := make(known)).record is None:
            await checkpoint_if_cancelled()
            self._warn_of_losses(stream, known)
            return None, decision.outcome

        def line(found: Sequence[Item]) -> tuple[bytes | None, T]:
            self._warn_of_losses(stream, found)
            decision = make(found)
            return None if decision.record is None else encode(decision.record), decision.outcome

        def write() -> tuple[int | None, T]:
            number, outcome = file.decide(after, line, sync=sync)
            if number is not None:
                self._note_written(file, sync=sync)
            return number, outcome

        number, outcome = await self._threads.run(write)
        if number is not None:
            self._wakeups.ring(_place(file))
        return number, outcome

    async def changed(self, since: Mapping[str, int]) -> None:
        """Return when any of these streams has something after its number."""
        self._threads.check()
        files = {_place(file): (file, since[file.stream]) for file in map(self._file, since)}
        for file, _ in files.values():
            await self._listen_for(file)
        with self._wakeups.waiting(files) as waiter:
            look: Iterable[Place] = files
            while not await self._any_moved([files[place] for place in look]):
                look = await self._wakeups.wait(waiter, NET_SECONDS)

    def hold(self, name: str, note: str, *, wait: bool = False) -> AbstractAsyncContextManager[Seat]:
        """Hold a member's seat, or a slot `calls/<number>`. `Store` has the details."""
        where, seat = split_seat(name)
        folder = self._below(where) if where else self._team
        return hold_file(folder, f"{seat}.seat", name, note, self._threads, wait=wait)

    def projections(self) -> Projections:
        """Return the writer of this team's readable copies, for the process that holds the lead's seat."""
        return Projections(self._team, self._tasks)

    def close(self) -> None:
        """Wait for running calls, sync what waits for it and release the folders."""
        if self._threads.closed:
            return
        self._threads.close()
        if not self._threads.inherited:
            self._catch_up()
        self._watch.close()
        for folder in (self._team, self._tasks, *self._folders.values()):
            folder.close()

    # -- streams and files ------------------------------------------------------------------------

    def _file(self, stream: str) -> StreamFile:
        found = self._streams.get(stream)
        if found is None:
            with self._guard:
                found = self._streams.setdefault(stream, self._new_file(stream))
        return found

    def _new_file(self, stream: str) -> StreamFile:
        kind, owner = split_stream(stream)
        if not owner:
            return StreamFile(stream, self._tasks if kind == BOARD else self._team, f"{kind}.jsonl")
        if kind == CHUNKS:
            return StreamFile(stream, self._below(CHUNKS), f"{owner}.jsonl")
        if is_call(owner):
            return StreamFile(stream, self._below("subagents"), owner.replace(":", "-") + SUFFIX[kind])
        return StreamFile(stream, self._team, owner + SUFFIX[kind])

    def _below(self, name: str) -> PrivateFolder:
        return self._folders.setdefault(name, self._team.below(name))

    async def _listen_for(self, file: StreamFile) -> None:
        """Watch a file once someone waits for it. A process that only writes needs no watch."""
        folder = file.folder
        if _place(file) in self._watched:
            return
        if folder.fd < 0:
            try:
                await self._threads.run(lambda: folder.reach(create=True))
            except OSError as error:
                raise StoreUnavailable.of(folder.path, error) from error
        self._watched[_place(file)] = file
        try:
            self._watch.add(folder, file.name)
        except OSError as error:
            _LOG.warning("Changes to %s are found late, because it cannot be watched: %s", file.stream, error)

    def _look_at(self, place: Place) -> object:
        return self._watched[place].glimpse()

    async def _any_moved(self, seen: Iterable[tuple[StreamFile, int]]) -> bool:
        # As in `read`: a look mostly shows it.
        doubtful = []
        for file, number in seen:
            last = file.known_last()
            if last is None:
                doubtful.append((file, number))
            elif last != number:
                await checkpoint()
                return True
        return bool(doubtful) and await self._threads.run(
            lambda: any(file.last() != number for file, number in doubtful)
        )

    def _warn_of_losses(self, stream: str, found: Sequence[Item]) -> None:
        """Warn of each lost record once, of many the first. A torn append was never confirmed, so it is no loss."""
        if not found:
            return
        lost = [item for item in found if isinstance(item, Damaged) and item.kind == "lost"]
        fresh = [item for item in lost if item.where not in self._warned]
        self._warned.update(item.where for item in fresh)
        first = fresh[:_MOST_TOLD]
        told = [f"Record {item.number} of {stream} is lost ({item.where}: {item.reason})" for item in first]
        if len(fresh) > len(first):
            told.append(f"{len(fresh) - _MOST_TOLD:,} more records of {stream} are lost")
        for words in told:
            _LOG.warning("%s. See: deskmate doctor %s", words, self._team.path.name)

    # -- late syncs -------------------------------------------------------------------------------

    def _note_written(self, file: StreamFile, *, sync: bool) -> None:
        """Schedule a sync if there was none. Called in the thread, because a caller may be cancelled meanwhile."""
        if sync:
            return
        with self._guard:
            self._lagging.add(file)
            if self._timer is None:
                self._timer = threading.Timer(LAG_SECONDS, self._catch_up)
                self._timer.daemon = True
                self._timer.start()

    def settle(self) -> None:
        """Sync what was written without a sync."""
        self._catch_up()

    def _catch_up(self) -> None:
        # One at a time, so that `close` waits for a timer that is syncing.
        with self._settling:
            with self._guard:
                lagging, self._lagging = self._lagging, set()
                if self._timer is not None:
                    self._timer.cancel()
                    self._timer = None
            for file in lagging:
                try:
                    file.settle()
                except (OSError, StoreError) as error:
                    # Nothing is lost: it is still in the file, and written again before the next sync of this stream.
                    _LOG.warning("Cannot write %s to disk yet: %s", file.stream, error)


def keep_out_of_git(top: PrivateFolder) -> None:
    """Hide a folder of ours from git with its own .gitignore. Changes no file of the repository and needs no git."""
    fd = top.open(".gitignore", os.O_WRONLY | os.O_CREAT)
    try:
        if os.fstat(fd).st_size == 0:
            top.files.write(fd, b"*\n")
    finally:
        os.close(fd)


def _place(file: StreamFile) -> Place:
    return file.folder.path, file.name


def _what_is_missing(workspace: Path, team: str) -> UnsafeFolder:
    if not workspace.is_dir():
        what = "is not a folder" if workspace.exists() else "does not exist"
        return UnsafeFolder(f"{workspace} {what}", "Choose an existing folder as the workspace.")
    if (workspace / TEAMS / team).is_dir():
        return UnsafeFolder(
            f"{workspace / TASKS / team} is missing, and team '{team}' cannot continue without it",
            'Restore it from a copy, or start another team with: deskmate run "GOAL"',
        )
    whole = [
        path.name
        for path in sorted((workspace / TEAMS).glob("*"))
        if path.is_dir() and (workspace / TASKS / path.name).is_dir()
    ]
    there = f"Teams there: {', '.join(whole)}" if whole else "There are no teams yet"
    return UnsafeFolder(f"There is no team '{team}' in {workspace}. {there}", 'To start one, run: deskmate run "GOAL"')
