"""Boards of other designs, re-created in a few lines each, and the raw limit.

`claims.py` drives them beside ours (`ours.py`).
"""

import fcntl
import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.rivals import connect


class Board(Protocol):
    """Shared tasks numbered from 1, as one process sees them."""

    async def add(self, count: int) -> None:
        """Put that many free tasks on the board."""

    async def look(self) -> object:
        """Know what is there, as an idle worker does."""

    async def claim(self, worker: str) -> int | None:
        """Take the first free task and return its number; None when none is free."""

    def close(self) -> None:
        """Let go of files."""


@dataclass(frozen=True)
class BoardDesign:
    """A way to keep a board: its name, whether a claim survives a power loss, how to open it in a folder."""

    name: str
    synced: bool
    open: Callable[[Path], Board]


class RivalBoard(Protocol):
    """The same as Board, in blocking calls."""

    def add(self, count: int) -> None: ...
    def look(self) -> object: ...
    def claim(self, worker: str) -> int | None: ...
    def close(self) -> None: ...


class BlockingBoard:
    """A Board over a rival that blocks; its process has nothing else to do meanwhile."""

    def __init__(self, rival: RivalBoard) -> None:
        self._rival = rival
        self.close = rival.close

    async def add(self, count: int) -> None:
        self._rival.add(count)

    async def look(self) -> None:
        self._rival.look()

    async def claim(self, worker: str) -> int | None:
        return self._rival.claim(worker)


class RawBoard:
    """The limit: under `flock`, fold what is new, write one short claim line; nothing checked or encoded."""

    def __init__(self, folder: Path, synced: bool) -> None:
        self._file = os.open(folder / "board", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._synced = synced
        self._read = 0
        self._free: dict[int, None] = {}

    def add(self, count: int) -> None:
        os.write(self._file, b"".join(b"%d\n" % task for task in range(1, count + 1)))

    def claim(self, worker: str) -> int | None:
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self.look()
        task = next(iter(self._free), None)
        if task is not None:
            os.write(self._file, b"%d %s\n" % (task, worker.encode()))
            if self._synced:
                os.fdatasync(self._file)
        fcntl.flock(self._file, fcntl.LOCK_UN)
        return task

    def look(self) -> None:
        data = os.pread(self._file, os.fstat(self._file).st_size - self._read, self._read)
        self._read += len(data)
        for text in data.splitlines():
            number, _, owner = text.partition(b" ")
            if owner:
                self._free.pop(int(number), None)
            else:
                self._free[int(number)] = None

    def close(self) -> None:
        os.close(self._file)


class TaskFiles:
    """One JSON file a task, no lock: list all, take the first free one, write its owner in."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, count: int) -> None:
        for task in range(1, count + 1):
            body = {"id": task, "subject": f"task {task}", "status": "pending", "owner": ""}
            (self._folder / f"{task}.json").write_text(json.dumps(body))

    def look(self) -> list[int]:
        tasks = [task for path in self._folder.glob("*.json") if (task := self._load(path))]
        return [int(str(task["id"])) for task in tasks if task["status"] == "pending" and not task["owner"]]

    def claim(self, worker: str) -> int | None:
        free = self.look()
        if not free:
            return None
        path = self._folder / f"{min(free)}.json"
        task = self._load(path) or {"id": min(free)}
        path.write_text(json.dumps({**task, "status": "in_progress", "owner": worker}))
        return min(free)

    @staticmethod
    def _load(path: Path) -> dict[str, object]:
        # Another process may be between truncating and writing: the file is empty then, the task unseen.
        with suppress(json.JSONDecodeError):
            task: dict[str, object] = json.loads(path.read_text())
            return task
        return {}

    def close(self) -> None:
        """Nothing is held between calls."""


class SqliteBoard:
    """A table in WAL mode; one statement finds and takes the task."""

    def __init__(self, folder: Path, synced: bool) -> None:
        self._base = connect(folder / "board.db", synced)
        self._base.execute("CREATE TABLE IF NOT EXISTS task (id INTEGER PRIMARY KEY, owner TEXT)")

    def add(self, count: int) -> None:
        self._base.execute("BEGIN IMMEDIATE")
        self._base.executemany("INSERT INTO task (id) VALUES (?)", [(task,) for task in range(1, count + 1)])
        self._base.execute("COMMIT")

    def look(self) -> int | None:
        row = self._base.execute("SELECT min(id) FROM task WHERE owner IS NULL").fetchone()
        first: int | None = row[0]
        return first

    def claim(self, worker: str) -> int | None:
        self._base.execute("BEGIN IMMEDIATE")
        task = self.look()
        if task is not None:
            self._base.execute("UPDATE task SET owner = ? WHERE id = ?", (worker, task))
        self._base.execute("COMMIT")
        return task

    def close(self) -> None:
        self._base.close()


RIVAL_BOARDS = (
    BoardDesign("raw", True, lambda folder: BlockingBoard(RawBoard(folder, synced=True))),
    BoardDesign("raw", False, lambda folder: BlockingBoard(RawBoard(folder, synced=False))),
    BoardDesign("task files", False, lambda folder: BlockingBoard(TaskFiles(folder))),
    BoardDesign("sqlite", True, lambda folder: BlockingBoard(SqliteBoard(folder, synced=True))),
    BoardDesign("sqlite", False, lambda folder: BlockingBoard(SqliteBoard(folder, synced=False))),
)
