"""How fast are claims, and is any task given twice? Several workers, one board, until nothing is free."""

import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio

from benchmarks.boards import RIVAL_BOARDS, BoardDesign
from benchmarks.measure import Gate, Size, alone, in_words, percentile, side_by_side, times
from benchmarks.ours import DESKMATE_BOARDS
from benchmarks.report import Answer, Column, Table, Target, at_least, none_of


@dataclass(frozen=True)
class Claimed:
    """What one worker did: when, which tasks it was given, how long each took."""

    began: int
    ended: int
    tasks: list[int]
    took: list[int]


Round: TypeAlias = list[Claimed]


@dataclass(frozen=True)
class Figures:
    """What one design came to: the median round's rate, all claims' times, tasks given twice or to nobody."""

    design: BoardDesign
    rate: float
    p50: float
    p99: float
    doubled: int
    missed: int


def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure every board."""
    rounds: dict[BoardDesign, list[Round]] = defaultdict(list)
    for number in range(size.rounds):
        for design in (*DESKMATE_BOARDS, *RIVAL_BOARDS):
            say(f"claims: {design.name}, {in_words(design.synced)}, round {number + 1}")
            home = folder / f"{design.name}-{design.synced}-{number}"
            rounds[design].append(_round(design, home, size))
    figures = [_figures(design, done, size.tasks) for design, done in rounds.items()]
    return Answer([_table(figures, size)], _targets(figures))


def _figures(design: BoardDesign, rounds: list[Round], tasks: int) -> Figures:
    given = [Counter(task for worker in workers for task in worker.tasks) for workers in rounds]
    took = [nanoseconds for workers in rounds for worker in workers for nanoseconds in worker.took]
    return Figures(
        design=design,
        rate=statistics.median(map(_rate, rounds)),
        p50=percentile(took, 0.5),
        p99=percentile(took, 0.99),
        doubled=sum(times > 1 for counted in given for times in counted.values()),
        missed=sum(tasks - len(counted) for counted in given),
    )


def _rate(workers: Round) -> float:
    """Return distinct tasks per second, from the common start to the last claim."""
    seconds = (max(worker.ended for worker in workers) - workers[0].began) / 1e9
    return len({task for worker in workers for task in worker.tasks}) / seconds


def _round(design: BoardDesign, home: Path, size: Size) -> Round:
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
    await board.look()
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


def _table(figures: list[Figures], size: Size) -> Table:
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
    rate = {(one.design.name, one.design.synced): one.rate for one in figures}
    rows = [
        (
            one.design.name,
            "yes" if one.design.synced else "no",
            *(one.rate, one.p50, one.p99, one.doubled, one.missed),
            times(one.rate, rate["raw", one.design.synced]),
            times(one.rate, rate["deskmate", one.design.synced]),
        )
        for one in figures
    ]
    notes = (f"Median of {size.rounds} round(s), counts of all rounds. Ratios compare rows of the same sync.",)
    return Table(f"Claims: {size.workers} processes take {size.tasks} tasks", columns, rows, notes)


def _targets(figures: list[Figures]) -> list[Target]:
    known = {(one.design.name, one.design.synced): one for one in figures}
    synced, unsynced = known["deskmate", True], known["deskmate", False]
    return [
        none_of("tasks given twice by deskmate", synced.doubled + unsynced.doubled),
        none_of("tasks never given by deskmate", synced.missed + unsynced.missed),
        at_least("claims synced: a third of the raw loop", synced.rate, known["raw", True].rate / 3, "/s"),
        at_least("claims not synced", unsynced.rate, 1_000, "/s"),
    ]
