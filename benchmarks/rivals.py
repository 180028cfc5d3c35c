"""Mailboxes of other designs, re-created in a few lines each, and the raw limit.

`mail.py` and `growth.py` drive them beside ours (`ours.py`). They block, as their originals do; `Blocking`
lets the one measuring loop await them like ours, which adds about 0.1 µs a call.
"""

import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

CONTENT = "The parser accepts nested lists now; two tests still fail. ".ljust(200, ".")


class NotSent(Exception):
    """A design gave up on a message and told its sender so."""


class Mail(Protocol):
    """One mailbox, as one process sees it. A message is known by its key, `<writer>-<n>`."""

    async def send(self, key: str) -> None:
        """Put one message in; raise NotSent where the design may refuse it."""

    async def receive(self) -> list[str]:
        """Return the keys that this reader has not seen yet, by the design's own way of reading."""

    async def fill(self, keys: Sequence[str]) -> None:
        """Put many messages in, untimed."""

    def close(self) -> None:
        """Let go of files."""


@dataclass(frozen=True)
class Design:
    """A way to keep mail: its name, whether a send survives a power loss, how to open it in a folder."""

    name: str
    synced: bool
    open: Callable[[Path], Mail]
    keeps: bool = True  # whether mail stays after it was read


class Rival(Protocol):
    """The same as Mail, in blocking calls."""

    def send(self, key: str) -> None: ...
    def receive(self) -> list[str]: ...
    def fill(self, keys: Sequence[str]) -> None: ...
    def close(self) -> None: ...


class Blocking:
    """Mail over a rival that blocks; its process has nothing else to do meanwhile."""

    def __init__(self, rival: Rival) -> None:
        self._rival = rival
        self.close = rival.close

    async def send(self, key: str) -> None:
        self._rival.send(key)

    async def receive(self) -> list[str]:
        return self._rival.receive()

    async def fill(self, keys: Sequence[str]) -> None:
        self._rival.fill(keys)


def message(key: str) -> dict[str, object]:
    """Return the message every design carries."""
    sender, _, _ = key.partition("-")
    return {
        "type": "message",
        "id": key,
        "sender": f"writer{sender}",
        "recipient": "reader",
        "content": CONTENT,
        "summary": "parser nearly done",
        "timestamp": time.time(),
    }


def line(key: str) -> str:
    """Return the message as one line of JSON."""
    return json.dumps(message(key)) + "\n"


class Raw:
    """The limit: ready bytes, as many as a message has, written under `flock`; nothing checked or encoded."""

    FILLER = b"." * (len(line("0-0")) - 5)

    def __init__(self, folder: Path, synced: bool) -> None:
        self._file = os.open(folder / "inbox", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._synced = synced
        self._read = 0

    def send(self, key: str) -> None:
        data = b"%s %s\n" % (key.encode(), self.FILLER)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        os.write(self._file, data)
        if self._synced:
            os.fdatasync(self._file)
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def receive(self) -> list[str]:
        data = os.pread(self._file, os.fstat(self._file).st_size - self._read, self._read)
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        return [text.partition(b" ")[0].decode() for text in whole.splitlines()]

    def fill(self, keys: Sequence[str]) -> None:
        os.write(self._file, b"".join(b"%s %s\n" % (key.encode(), self.FILLER) for key in keys))

    def close(self) -> None:
        os.close(self._file)


class LockFile:
    """A lock file made with O_EXCL, tried 50 times at 50 ms, then the deed is done without; reading clears.

    Whoever gave up removes the lock on leaving, whosever it is.
    """

    def __init__(self, folder: Path) -> None:
        self._inbox, self._lock = folder / "inbox.jsonl", folder / "inbox.lock"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        for _ in range(50):
            try:
                os.close(os.open(self._lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                break
            except FileExistsError:
                time.sleep(0.05)
        try:
            yield
        finally:
            self._lock.unlink(missing_ok=True)

    def send(self, key: str) -> None:
        with self._locked(), self._inbox.open("a") as inbox:
            inbox.write(line(key))

    def receive(self) -> list[str]:
        with self._locked():
            try:
                text = self._inbox.read_text()
            except FileNotFoundError:
                return []
            self._inbox.write_text("")
        return _keys(text)

    def fill(self, keys: Sequence[str]) -> None:
        self._inbox.write_text("".join(map(line, keys)))

    def close(self) -> None:
        """Nothing is held between calls."""


class ReadUnlink:
    """Append without a lock; reading takes all there is, then deletes the file."""

    def __init__(self, folder: Path) -> None:
        self._inbox = folder / "inbox.jsonl"

    def send(self, key: str) -> None:
        with self._inbox.open("a") as inbox:
            inbox.write(line(key))

    def receive(self) -> list[str]:
        if not self._inbox.exists():
            return []
        try:
            keys = _keys(self._inbox.read_text())
        except ValueError:
            # A half-written line: the original raises here, nothing deleted yet; the next look may do better.
            return []
        self._inbox.unlink()
        return keys

    def fill(self, keys: Sequence[str]) -> None:
        self._inbox.write_text("".join(map(line, keys)))

    def close(self) -> None:
        """Nothing is held between calls."""


class JsonArray:
    """A JSON array, rewritten whole under a lock with 10 retries, 5 to 100 ms apart; a read flag per message.

    Kinder than its original in one thing: its reader looks and marks under one lock.
    """

    def __init__(self, folder: Path) -> None:
        self._inbox, self._lock = folder / "inbox.json", folder / "inbox.json.lock"
        if not self._inbox.exists():
            self._inbox.write_text("[]")

    @contextmanager
    def _array(self) -> Iterator[list[dict[str, object]]]:
        for retry in range(11):
            with suppress(FileExistsError):
                self._lock.mkdir()
                break
            if retry < 10:
                time.sleep(min(0.1, 0.005 * 2**retry))
        else:
            raise NotSent("the lock was taken 11 times")
        try:
            messages = json.loads(self._inbox.read_text())
            yield messages
            self._inbox.write_text(json.dumps(messages))
        finally:
            self._lock.rmdir()

    def send(self, key: str) -> None:
        with self._array() as messages:
            messages.append({**message(key), "read": False})

    def receive(self) -> list[str]:
        with suppress(NotSent), self._array() as messages:
            unread = [one for one in messages if not one["read"]]
            for one in unread:
                one["read"] = True
            return [str(one["id"]) for one in unread]
        return []

    def fill(self, keys: Sequence[str]) -> None:
        self._inbox.write_text(json.dumps([{**message(key), "read": False} for key in keys]))

    def close(self) -> None:
        """Nothing is held between calls."""


class Sqlite:
    """A table in WAL mode; the reader keeps the number it has read up to."""

    def __init__(self, folder: Path, synced: bool) -> None:
        self._base = connect(folder / "mail.db", synced)
        self._base.execute("CREATE TABLE IF NOT EXISTS mail (n INTEGER PRIMARY KEY, id TEXT, body TEXT)")
        self._read = 0

    def send(self, key: str) -> None:
        self._base.execute("INSERT INTO mail (id, body) VALUES (?, ?)", (key, line(key)))

    def receive(self) -> list[str]:
        rows = self._base.execute("SELECT n, body FROM mail WHERE n > ? ORDER BY n", (self._read,)).fetchall()
        self._read = rows[-1][0] if rows else self._read
        return [str(json.loads(body)["id"]) for _, body in rows]

    def fill(self, keys: Sequence[str]) -> None:
        self._base.execute("BEGIN IMMEDIATE")
        self._base.executemany("INSERT INTO mail (id, body) VALUES (?, ?)", ((key, line(key)) for key in keys))
        self._base.execute("COMMIT")

    def close(self) -> None:
        self._base.close()


def connect(path: Path, synced: bool) -> sqlite3.Connection:
    """Open a database in WAL mode: synchronous=FULL if synced, else NORMAL; 30 s of patience."""
    base = sqlite3.connect(path, timeout=30, isolation_level=None)
    base.execute("PRAGMA journal_mode=WAL")
    base.execute(f"PRAGMA synchronous={'FULL' if synced else 'NORMAL'}")
    return base


def _keys(text: str) -> list[str]:
    return [str(json.loads(one)["id"]) for one in text.splitlines()]


RIVALS = (
    Design("raw", True, lambda folder: Blocking(Raw(folder, synced=True))),
    Design("raw", False, lambda folder: Blocking(Raw(folder, synced=False))),
    Design("lock file", False, lambda folder: Blocking(LockFile(folder)), keeps=False),
    Design("read+unlink", False, lambda folder: Blocking(ReadUnlink(folder)), keeps=False),
    Design("json array", False, lambda folder: Blocking(JsonArray(folder))),
    Design("sqlite", True, lambda folder: Blocking(Sqlite(folder, synced=True))),
    Design("sqlite", False, lambda folder: Blocking(Sqlite(folder, synced=False))),
)
