"""How fast are claims, and is any task given twice? Several workers, one board, until nothing is free."""

import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio

from benchmarks.boards import RIVAL_BOARDS, BoardDesign
from benchmarks.measure import Gate, alone, percentile, side_by_side, times
from benchmarks.ours import DESKMATE_BOARDS
from benchmarks.report import Answer, Column, Size, Table, Target, at_least, none_of


@dataclass(frozen=True)
class Claimed:
    """What one worker did: when, which tasks it was given, how long each took."""

    began: int
    ended: int
    tasks: list[int]
    took: list[int]


@dataclass(frozen=True)
class Cell:
    """What one design came to: the median round's rate, all claims' times, tasks given twice or to nobody."""

    design: BoardDesign
    rate: float
    p50: float
    p99: float
    doubled: int
    missed: int


def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure every board."""
    cells = []
    for design in (*DESKMATE_BOARDS, *RIVAL_BOARDS):
        say(f"claims: {design.name}, {'synced' if design.synced else 'not synced'}")
        home = folder / f"{design.name}-{design.synced}"
        home.mkdir()
        cells.append(_measure(design, home, size))
    return Answer([_table(cells, size)], _targets(cells))


def _measure(design: BoardDesign, home: Path, size: Size) -> Cell:
    rounds = [_round(design, home / f"{number}", size) for number in range(size.rounds)]
    given = [Counter(task for worker in workers for task in worker.tasks) for workers in rounds]
    took = [nanoseconds for workers in rounds for worker in workers for nanoseconds in worker.took]
    return Cell(
        design=design,
        rate=statistics.median(map(_rate, rounds)),
        p50=percentile(took, 0.5),
        p99=percentile(took, 0.99),
        doubled=sum(times > 1 for tasks in given for times in tasks.values()),
        missed=sum(size.tasks - len(tasks) for tasks in given),
    )


def _rate(workers: list[Claimed]) -> float:
    """Return distinct tasks per second, from the common start to the last claim."""
    seconds = (max(worker.ended for worker in workers) - min(worker.began for worker in workers)) / 1e9
    return len({task for worker in workers for task in worker.tasks}) / seconds


def _round(design: BoardDesign, home: Path, size: Size) -> list[Claimed]:
    home.mkdir()
    alone(partial(anyio.run, _add, design, home, size.tasks))
    gate = Gate(parties=size.workers, writers=size.workers)
    names = [f"worker{number}" for number in range(size.workers)]
    return side_by_side([partial(anyio.run, _work, design, home, name, gate) for name in names])


async def _add(design: BoardDesign, home: Path, tasks: int) -> None:
    board = design.open(home)
    await board.add(tasks)
    board.close()


async def _work(design: BoardDesign, home: Path, worker: str, gate: Gate) -> Claimed:
    board = design.open(home)
    tasks, took = list[int](), list[int]()
    began = ended = gate.begin()
    start = began
    while (task := await board.claim(worker)) is not None:
        ended = time.perf_counter_ns()
        tasks.append(task)
        took.append(ended - start)
        start = time.perf_counter_ns()
    board.close()
    return Claimed(began, ended, tasks, took)


def _table(cells: list[Cell], size: Size) -> Table:
    columns = [
        Column("design"),
        Column("sync"),
        Column("claims/s", "{:,.0f}"),
        Column("p50 ms", "{:.3f}"),
        Column("p99 ms", "{:.3f}"),
        Column("given twice", "{:,}"),
        Column("never given", "{:,}"),
        Column("x raw", "{:.2f}"),
        Column("x deskmate", "{:.2f}"),
    ]
    rate = {(cell.design.name, cell.design.synced): cell.rate for cell in cells}
    rows = [
        (
            cell.design.name,
            "yes" if cell.design.synced else "no",
            *(cell.rate, cell.p50, cell.p99, cell.doubled, cell.missed),
            times(cell.rate, rate["raw", cell.design.synced]),
            times(cell.rate, rate["deskmate", cell.design.synced]),
        )
        for cell in cells
    ]
    notes = (f"Median of {size.rounds} round(s); counts are of all rounds. Each ratio compares rows of the same sync.",)
    return Table(f"Claims: {size.workers} processes take {size.tasks} tasks", columns, rows, notes)


def _targets(cells: list[Cell]) -> list[Target]:
    known = {(cell.design.name, cell.design.synced): cell for cell in cells}
    synced, unsynced = known["deskmate", True], known["deskmate", False]
    return [
        none_of("tasks given twice by deskmate", synced.doubled + unsynced.doubled),
        none_of("tasks never given by deskmate", synced.missed + unsynced.missed),
        at_least("claims synced: a third of the raw loop", synced.rate, known["raw", True].rate / 3, "/s"),
        at_least("claims not synced", unsynced.rate, 1_000, "/s"),
    ]
