"""One stream on disk, as this process knows it.

An append locks, reads what is new, fences a torn tail, writes once, unlocks, and then syncs, so that writers share
syncs. Readers sync what they found before they return it. Every sync tells the highest number to other processes, so a
number that was seen once is never given to another record. Methods block unless they say otherwise.
"""

import bisect
import errno
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from deskmate.core.log.records import Item, Stamp
from deskmate.errors import Conflict, StoreCorrupt, StoreUnavailable
from deskmate.fs.private_folder import PrivateFolder, WouldWait
from deskmate.fs.safe_files import read_between
from deskmate.stores.line_format import TORN, Items, Position, Walked, items, next_number, seal, stamp_of, unseal, walk

T = TypeVar("T")
_MARK_EVERY = 64
# The most bytes of a walk that are kept: enough for one message, and little for a process with a thousand streams.
_WALK_CAP = 4096
_NO_FILE = Position()


class StreamFile:
    """Appends to and reads one file of records."""

    def __init__(self, stream: str, folder: PrivateFolder, name: str) -> None:
        self.stream, self.folder, self.name = stream, folder, name
        self._mutex = threading.Lock()
        self._inode = 0
        self._end = Position()
        self._seen = 0
        self._marks: list[Position] = [self._end]
        self._recent = self._end
        self._last_walk: Walked | None = None
        self._doubts: dict[Stamp, Position] = {}
        self._syncing = threading.Lock()
        self._synced = 0
        self._told = 0
        self._entered = False
        self._sync_failed = False

    @property
    def _file(self) -> str:
        return str(self.folder.path / self.name)

    @property
    def highest(self) -> int:
        """The highest number of all lines read so far, 0 for none."""
        return self._end.highest

    # -- appending --------------------------------------------------------------------------------

    def append(self, lines: Mapping[Stamp, bytes], expect: int | None, *, sync: bool, wait: bool = True) -> list[int]:
        """Append encoded records with one write, except those that an earlier try has. Return their numbers.

        Without `wait`, raise WouldWait if others would make it wait.
        """
        numbers = self._under_lock(lambda fd: self._write(fd, lines, expect), sync=sync, wait=wait)
        self._end_doubts(lines)
        return numbers

    def decide(
        self, after: int, make: Callable[[list[Item]], tuple[bytes | None, T]], *, sync: bool
    ) -> tuple[int | None, T]:
        """Append the encoded record that `make` returns for everything after `after`.

        Return its number, or None, and the outcome that `make` returns with it.
        """
        return self._under_lock(lambda fd: self._decide(fd, after, make), sync=sync)

    def _under_lock(self, work: Callable[[int], T], *, sync: bool, wait: bool = True) -> T:
        fd = None
        try:
            with self.folder.locked(wait=wait):
                if not wait and self._mutex.locked():
                    raise WouldWait(self._file)
                # Not before the lock: another file may replace this one while we wait.
                fd = self.folder.open(self.name, os.O_RDWR | os.O_APPEND | os.O_CREAT)
                result = work(fd)
            if sync:
                self._sync(fd)
            return result
        except OSError as error:
            raise self._unavailable(error) from error
        finally:
            if fd is not None:
                os.close(fd)

    def _write(self, fd: int, lines: Mapping[Stamp, bytes], expect: int | None) -> list[int]:
        with self._mutex:
            torn = self._fence_whole(fd, self._advance(fd))
            numbers = self._written_before(fd, lines)
            rest = [mark for mark in lines if mark not in numbers]
            if rest:
                # A write that was cut short may have written the first few. The rest must follow them directly.
                last = max(numbers.values(), default=expect)
                if expect is not None and last is not None and last != self._end.last:
                    self._end_doubts(lines)
                    raise self._moved(last)
                numbers |= zip(rest, self._put_records(fd, torn, [lines[mark] for mark in rest]), strict=True)
            return [numbers[mark] for mark in lines]

    def _written_before(self, fd: int, lines: Mapping[Stamp, bytes]) -> dict[Stamp, int]:
        """Return the numbers of those records that an earlier try wrote after all."""
        starts = [self._doubts.setdefault(mark, self._end) for mark in lines]
        first = min(starts, key=lambda start: start.offset)
        numbers: dict[Stamp, int] = {}
        if first.offset == self._end.offset:
            return numbers
        for line in walk(first, read_between(fd, first.offset, self._end.offset)):
            if line.number and (mark := stamp_of(line.raw)) and mark in lines:
                numbers.setdefault(mark, line.number)
        return numbers

    def _end_doubts(self, lines: Iterable[Stamp]) -> None:
        for mark in lines:
            self._doubts.pop(mark, None)

    def _decide(
        self, fd: int, after: int, make: Callable[[list[Item]], tuple[bytes | None, T]]
    ) -> tuple[int | None, T]:
        with self._mutex:
            news = self._news(after)
            torn = self._fence_whole(fd, self._advance(fd, news), news)
            body, outcome = make(self._above(fd, after, news))
            if body is None:
                return None, outcome
            [number] = self._put_records(fd, torn, [body])
            self._recent = self._end
            return number, outcome

    def _put_records(self, fd: int, torn: bytes, bodies: Sequence[bytes]) -> list[int]:
        first = self._next(fd, torn)
        numbers = list(range(first, first + len(bodies)))
        data = (TORN + b"\n" if torn else b"") + b"".join(map(seal, bodies, numbers))
        self._put(fd, data)
        # At once, so that these numbers count as seen even if the file is cut before anyone reads them.
        if torn or first != self._end.last + 1:
            self._walk(torn + data)
        else:
            self._reach(self._end.after(len(data), numbers[-1]), data)
        return numbers

    def _next(self, fd: int, torn: bytes) -> int:
        """Return the number for the next record. Correct the sync mark if the file was cut since."""
        found = os.fstat(fd)
        size, number = self.folder.synced(self.name, found.st_ino)
        if size > found.st_size:
            self.folder.tell_synced(self.name, found.st_ino, 0, number)
        if self._synced > found.st_size:
            self._synced, self._entered = 0, False
        end = replace(self._end, bad=self._end.bad + 1) if torn else self._end
        return next_number(end, max(self._seen, number))

    def _fence_whole(self, fd: int, tail: bytes, news: Items | None = None) -> bytes:
        """Complete a tail that lacks only its newline. It is a record of a writer that died at that moment."""
        if tail and unseal(tail) is not None:
            self._put(fd, b"\n")
            return self._advance(fd, news)
        return tail

    def _moved(self, expect: int) -> Exception:
        last = self._end.last
        return self._shrunk(expect, last) if expect > last else Conflict(self.stream, expect, last)

    def _put(self, fd: int, data: bytes) -> None:
        if self.folder.files.write(fd, data) != len(data):
            raise OSError(errno.ENOSPC, "the disk took only a part of what was written")

    # -- reading ----------------------------------------------------------------------------------

    def read(self, after: int, *, sync: bool) -> list[Item]:
        """Return everything after the number `after`."""
        with self._opened() as fd:
            if fd is None:
                if after:
                    raise self._shrunk(after, 0)
                return []
            with self._mutex:
                news = self._news(after)
                self._advance(fd, news)
                found = self._above(fd, after, news)
            if sync:
                self._sync(fd)
            return found

    def glance(self, after: int, *, sync: bool) -> list[Item] | None:
        """Return, without blocking, what `read` would return if it changed nothing. None if in doubt."""
        known = self._known()
        if known is _NO_FILE:
            return [] if after == 0 else None
        if known is None or (sync and not self._is_told(known)):
            return None
        if known.last == after:
            return []
        walk = self._last_walk
        if walk is None or walk.end is not known or not walk.start.last <= after < known.last:
            return None
        return items(walk.start, walk.data, after, self._file)

    def known_last(self) -> int | None:
        """Return, without blocking, what `last` would return. None if in doubt."""
        known = self._known()
        return None if known is None else known.last

    def _known(self) -> Position | None:
        """Return the end of the file, without blocking. None if it is not as this process left it."""
        try:
            found = os.stat(self.name, dir_fd=self.folder.fd, follow_symlinks=False)
        except FileNotFoundError:
            return _NO_FILE
        except OSError:
            return None
        known = self._end
        return known if (found.st_ino, found.st_size) == (self._inode, known.offset) else None

    def _is_told(self, known: Position) -> bool:
        """Return whether everything up to there would survive a power loss, and other processes know that."""
        lasts = self._entered and not self._sync_failed and known.offset <= self._synced
        return lasts and known.highest <= self._told

    def glimpse(self) -> tuple[int, int, int] | None:
        """Return, without blocking, a value that differs once the file has changed. None if there is no file."""
        try:
            found = os.stat(self.name, dir_fd=self.folder.fd, follow_symlinks=False)
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def last(self) -> int:
        """Return the number of the last line, 0 for none."""
        with self._opened() as fd:
            if fd is None:
                return 0
            with self._mutex:
                self._advance(fd)
                return self._end.last

    @contextmanager
    def _opened(self) -> Iterator[int | None]:
        """Yield the file, open for reading, or None if there is none."""
        try:
            fd = self.folder.open(self.name, os.O_RDONLY)
        except FileNotFoundError:
            yield None
            return
        except OSError as error:
            raise self._unavailable(error) from error
        try:
            yield fd
        except OSError as error:
            raise self._unavailable(error) from error
        finally:
            os.close(fd)

    def _news(self, after: int) -> Items | None:
        """Return a collector for what the next walk finds, if the caller has all before it. Saves a second read."""
        return Items(after, self._file) if self._end.last == after else None

    def _above(self, fd: int, after: int, news: Items | None) -> list[Item]:
        """Return everything after `after`: the news, or read again from the nearest known position."""
        if self._end.last < after:
            raise self._shrunk(after, self._end.last)
        start, self._recent = self._recent, self._end
        if news is not None:
            return news.above()
        if start.last > after:
            index = bisect.bisect_right(self._marks, after, key=lambda mark: mark.last)
            start = self._marks[max(0, index - 1)]
        return items(start, read_between(fd, start.offset, self._end.offset), after, self._file)

    def _advance(self, fd: int, news: Items | None = None) -> bytes:
        """Walk over what was added since, and pass it to `news`. Return the tail that has no newline yet."""
        found = os.fstat(fd)
        if found.st_ino != self._inode or found.st_size < self._end.offset:
            self._forget(found.st_ino)
        if found.st_size == self._end.offset:
            return b""
        return self._walk(read_between(fd, self._end.offset, found.st_size), news)

    def _walk(self, data: bytes, news: Items | None = None) -> bytes:
        start, line = self._end, None
        for line in walk(start, data):
            if news is not None:
                news.add(line)
            if line.line % _MARK_EVERY == 0 and not line.bad:
                self._marks.append(line.end)
        if line is None:
            return data
        self._reach(line.end, data)
        return data[self._end.offset - start.offset :]

    def _reach(self, end: Position, data: bytes) -> None:
        """Note how far this process knows the file now, and what is between that and where it was before."""
        start, self._end = self._end, end
        if not end.bad and end.line >= self._marks[-1].line + _MARK_EVERY:
            self._marks.append(end)
        size = end.offset - start.offset
        self._last_walk = Walked(start, end, data[:size]) if size <= _WALK_CAP else None

    def _forget(self, inode: int) -> None:
        """Start over, because the file was replaced or cut."""
        self._seen = max(self._seen, self._end.highest)
        self._inode, self._end = inode, Position()
        self._marks, self._recent = [self._end], self._end
        self._doubts = dict.fromkeys(self._doubts, self._end)
        self._synced, self._told, self._entered = 0, 0, False

    # -- making it last ---------------------------------------------------------------------------

    def settle(self) -> None:
        """Sync what was appended without a sync."""
        fd = self.folder.open(self.name, os.O_RDONLY)
        try:
            self._sync(fd)
        finally:
            os.close(fd)

    def _sync(self, fd: int) -> None:
        """Return once everything that was in the file at the call would survive a power loss.

        Callers in one process wait in line. If an earlier sync already covers what a caller wrote, it is done.
        """
        written = os.fstat(fd)
        with self._syncing:
            # Before the sync: what is added meanwhile may not survive a power loss, and nobody has seen it then.
            end = self._end
            if written.st_ino == self._inode and self._is_synced(fd, written):
                if end.offset <= self._synced and end.highest > self._told:
                    self._tell(written.st_ino, end)
                return
            covered = os.fstat(fd).st_size
            self._sync_now(fd, covered)
            self._entered, self._synced, self._sync_failed = True, covered, False
            self._tell(written.st_ino, end)

    def _tell(self, inode: int, end: Position) -> None:
        self._told = max(self._seen, end.highest)
        self.folder.tell_synced(self.name, inode, self._synced, self._told)

    def _sync_now(self, fd: int, covered: int) -> None:
        if self._sync_failed:
            self._dirty_again(covered)
        self._sync_failed = True
        try:
            self.folder.files.sync(fd)
        except OSError:
            # At once: before that, a sync in another process would succeed without these bytes, and readers trust it.
            self._dirty_again(os.fstat(fd).st_size)
            raise
        if not self._entered:
            self.folder.sync()

    def _is_synced(self, fd: int, written: os.stat_result) -> bool:
        """Return whether this process, or another one by its mark, has synced everything that was written."""
        if self._sync_failed:
            return False
        if self._entered and written.st_size <= self._synced:
            return True
        told, number = self.folder.synced(self.name, written.st_ino)
        # If the mark says more than there is, the file was cut since, and what is there now may be new.
        if not written.st_size <= told <= os.fstat(fd).st_size:
            return False
        self._entered, self._synced, self._told = True, told, number
        return True

    def _dirty_again(self, upto: int) -> None:
        """Write the bytes again that a failed sync may have dropped.

        After an error the kernel counts such pages as written, and the next sync would succeed without them.
        """
        fd = self.folder.open(self.name, os.O_RDWR)
        try:
            data = read_between(fd, self._synced, upto)
            if self.folder.files.rewrite(fd, data, self._synced) != len(data):
                raise OSError(errno.EIO, "the disk took only a part of what it had failed to sync")
        finally:
            os.close(fd)

    # -- words ------------------------------------------------------------------------------------

    def _unavailable(self, error: OSError) -> StoreUnavailable:
        return StoreUnavailable.of(self._file, error)

    def _shrunk(self, known: int, last: int) -> StoreCorrupt:
        return StoreCorrupt(
            f"{self._file} ends at record {last}, but record {known} was read from it before",
            "Restore the whole file from a copy. To see what else you can do, run: deskmate doctor",
        )
