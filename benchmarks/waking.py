"""What does waiting cost, and how soon is another process awake? `changed` beside looking every 50 ms."""

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio

from benchmarks.measure import Gate, Size, alone, percentile, side_by_side
from benchmarks.ours import DeskmateWatch
from benchmarks.report import Answer, Column, Table, Target, below
from benchmarks.rivals import line

POLL_SECONDS = 0.05
SETTLE_SECONDS = 0.5


class Watch(Protocol):
    """Many mailboxes, as one process sees them."""

    async def prepare(self) -> None:
        """Put one message into every mailbox."""

    async def catch_up(self) -> None:
        """Read all there is, so that only news is new."""

    async def post(self, box: int) -> None:
        """Put a message into one mailbox, synced."""

    async def news(self) -> None:
        """Return once any mailbox has something unread; sooner is allowed."""

    async def take(self, box: int) -> int:
        """Read what is new in one mailbox; return how many messages that were."""

    def close(self) -> None:
        """Let go of files."""


class PollingWatch:
    """The alternative: look at the size of every mailbox file again and again."""

    def __init__(self, folder: Path, boxes: int) -> None:
        self._paths = [os.fspath(folder / f"{box}") for box in range(boxes)]
        self._sizes = [0] * boxes

    async def prepare(self) -> None:
        for box in range(len(self._paths)):
            self._append(box, synced=False)

    async def catch_up(self) -> None:
        for box in range(len(self._paths)):
            await self.take(box)

    async def post(self, box: int) -> None:
        self._append(box, synced=True)

    def _append(self, box: int, *, synced: bool) -> None:
        file = os.open(self._paths[box], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, line("1-1").encode())
        if synced:
            os.fdatasync(file)
        os.close(file)

    async def news(self) -> None:
        while all(map(self._unchanged, self._paths, self._sizes)):  # noqa: ASYNC110 - polling is what is measured
            await anyio.sleep(POLL_SECONDS)

    @staticmethod
    def _unchanged(path: str, size: int) -> bool:
        return os.stat(path).st_size == size

    async def take(self, box: int) -> int:
        file = os.open(self._paths[box], os.O_RDONLY)
        data = os.pread(file, os.fstat(file).st_size - self._sizes[box], self._sizes[box])
        os.close(file)
        self._sizes[box] += len(data)
        return data.count(b"\n")

    def close(self) -> None:
        """Nothing is held between calls."""


WATCHES: dict[str, Callable[[Path, int], Watch]] = {
    "deskmate: changed": DeskmateWatch,
    f"polling every {POLL_SECONDS * 1000:.0f} ms": PollingWatch,
}


@dataclass(frozen=True)
class Figures:
    """What one way of waiting came to: percent of a core while idle, and milliseconds to wake."""

    name: str
    boxes: int
    idle: float
    p50: float
    p99: float


def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure both ways of waiting with each number of mailboxes."""
    figures = []
    for boxes in size.mailboxes:
        for name, open_watch in WATCHES.items():
            say(f"wake: {name}, {_mailboxes(boxes)}")
            home = folder / f"{name.partition(' ')[0].strip(':')}-{boxes}"
            home.mkdir()
            figures.append(_measure(name, partial(open_watch, home, boxes), boxes, size))
    return Answer([_table(figures)], _targets(figures))


def _measure(name: str, open_watch: Callable[[], Watch], boxes: int, size: Size) -> Figures:
    alone(partial(anyio.run, _prepare, open_watch))
    order = random.Random(boxes).choices(range(boxes), k=size.wakes)
    gate = Gate(parties=2, writers=1)
    waiting, posted = side_by_side(
        [
            partial(anyio.run, _wait, open_watch, order, size.idle_seconds, gate),
            partial(anyio.run, _post, open_watch, order, gate),
        ]
    )
    idle, *awake = waiting
    delays = [int(woke - sent) for woke, sent in zip(awake, posted, strict=True)]
    return Figures(name, boxes, idle, percentile(delays, 0.5), percentile(delays, 0.99))


async def _prepare(open_watch: Callable[[], Watch]) -> None:
    watch = open_watch()
    await watch.prepare()
    watch.close()


async def _wait(open_watch: Callable[[], Watch], order: list[int], idle_seconds: float, gate: Gate) -> list[float]:
    """Return percent of a core while idle, then when each message of the order was in hand."""
    watch = open_watch()
    await watch.catch_up()
    await _idle(watch, SETTLE_SECONDS)
    results = [await _idle(watch, idle_seconds)]
    gate.begin()
    in_hand = Counter[int]()
    for box in order:
        while not in_hand[box]:
            await watch.news()
            in_hand[box] += await watch.take(box)
        in_hand[box] -= 1
        results.append(time.perf_counter_ns())
    watch.close()
    return results


async def _idle(watch: Watch, seconds: float) -> float:
    began = time.process_time()
    with anyio.move_on_after(seconds):
        while True:
            await watch.news()
    return 100 * (time.process_time() - began) / seconds


async def _post(open_watch: Callable[[], Watch], order: list[int], gate: Gate) -> list[float]:
    """Return when each post began; pauses of 10 to 40 ms let the other process fall asleep."""
    watch = open_watch()
    began, rng = list[float](), random.Random(len(order))
    gate.begin()
    for box in order:
        await anyio.sleep(rng.uniform(0.01, 0.04))
        began.append(time.perf_counter_ns())
        await watch.post(box)
    watch.close()
    return began


def _mailboxes(count: int) -> str:
    return f"{count:,} mailbox{'es' * (count > 1)}"


def _table(figures: list[Figures]) -> Table:
    columns = [
        Column("way of waiting"),
        Column("mailboxes", "{:,}"),
        Column("idle, % of a core", "{:.2f}"),
        Column("wake p50 ms", "{:.2f}"),
        Column("wake p99 ms", "{:.2f}"),
    ]
    rows = [(one.name, one.boxes, one.idle, one.p50, one.p99) for one in figures]
    notes = (
        "One process waits for all the mailboxes at once. A wake runs from the start of a synced send in one",
        "process to the message in hand in the other. Published designs poll every 0.5 to 2 s: less idle",
        "cost, and a wake of half that interval on average.",
    )
    return Table("Wake: a process waits for mail from another one", columns, rows, notes)


def _targets(figures: list[Figures]) -> list[Target]:
    ours = [one for one in figures if one.name.startswith("deskmate")]
    return [below(f"wake p99, {_mailboxes(one.boxes)}", one.p99, 50, "ms") for one in ours]
