"""How fast is mail, and is any lost? One mailbox, several writers, one reader who drains meanwhile."""

import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import anyio

from benchmarks.measure import Gate, Size, alone, in_words, percentile, side_by_side, times
from benchmarks.ours import DESKMATE
from benchmarks.report import Answer, Column, Table, Target, at_least, below, none_of
from benchmarks.rivals import RIVALS, Design, Mail, NotSent

PAUSE_SECONDS = 0.01


@dataclass(frozen=True)
class Sent:
    """What one writer did: when, how long each accepted send took, their keys, how many were refused."""

    began: int
    ended: int
    took: list[int]
    accepted: list[str]
    refused: int


@dataclass(frozen=True)
class Run:
    """What the writers and the reader of one run saw."""

    sent: list[Sent]
    received: list[str]

    @property
    def accepted(self) -> set[str]:
        return {key for one in self.sent for key in one.accepted}

    @property
    def seconds(self) -> float:
        """From the common start until the last writer ended."""
        return (max(one.ended for one in self.sent) - self.sent[0].began) / 1e9


@dataclass(frozen=True)
class Figures:
    """What one design came to with some number of writers."""

    design: Design
    rate: float
    p50: float
    p99: float
    worst: float
    lost: int
    doubled: int
    refused: int


def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure every design with each number of writers."""
    runs: dict[tuple[int, Design], list[Run]] = defaultdict(list)
    for number, writers in product(range(size.passes), size.writers):
        for design in (*DESKMATE, *RIVALS):
            say(f"mail: {design.name}, {in_words(design.synced)}, {writers} writer(s), pass {number + 1}")
            home = folder / f"{design.name}-{design.synced}-{writers}-{number}"
            home.mkdir()
            runs[writers, design].append(_run(design, home, writers, size.seconds))
            shutil.rmtree(home)
    figures = {of: _figures(of[1], done) for of, done in runs.items()}
    tables = [_table([one for (of, _), one in figures.items() if of == writers], writers) for writers in size.writers]
    return Answer(tables, _targets(figures, max(size.writers)))


def _run(design: Design, folder: Path, writers: int, seconds: float) -> Run:
    alone(partial(anyio.run, _create, design, folder))
    gate = Gate(parties=writers + 1, writers=writers)
    jobs = [partial(anyio.run, _write, design, folder, f"{writer}", seconds, gate) for writer in range(writers)]
    *sent, received = side_by_side([*jobs, partial(anyio.run, _drain, design, folder, gate)])
    return Run(sent, received)


async def _create(design: Design, folder: Path) -> None:
    design.open(folder).close()


async def _write(design: Design, folder: Path, writer: str, seconds: float, gate: Gate) -> Sent:
    mail = design.open(folder)
    began = gate.begin()
    try:
        sent = await _send_until(mail, writer, began, began + int(seconds * 1e9))
    finally:
        gate.leave()
    mail.close()
    return sent


async def _send_until(mail: Mail, writer: str, began: int, until: int) -> Sent:
    took, accepted, number, now = list[int](), list[str](), 0, began
    while now < until:
        number += 1
        key = f"{writer}-{number}"
        start = time.perf_counter_ns()
        try:
            await mail.send(key)
        except NotSent:
            now = time.perf_counter_ns()
            continue
        now = time.perf_counter_ns()
        took.append(now - start)
        accepted.append(key)
    return Sent(began, now, took, accepted, refused=number - len(accepted))


async def _drain(design: Design, folder: Path, gate: Gate) -> list[str]:
    mail = design.open(folder)
    received = []
    gate.begin()
    while gate.writing:
        received += await mail.receive()
        await anyio.sleep(PAUSE_SECONDS)
    while rest := await mail.receive():
        received += rest
    mail.close()
    return received


def _figures(design: Design, runs: list[Run]) -> Figures:
    took = [nanoseconds for run in runs for one in run.sent for nanoseconds in one.took]
    return Figures(
        design=design,
        rate=sum(len(run.accepted) for run in runs) / sum(run.seconds for run in runs),
        p50=percentile(took, 0.5),
        p99=percentile(took, 0.99),
        worst=percentile(took, 1.0),
        lost=sum(len(run.accepted.difference(run.received)) for run in runs),
        doubled=sum(len(run.received) - len(set(run.received)) for run in runs),
        refused=sum(one.refused for run in runs for one in run.sent),
    )


def _table(figures: list[Figures], writers: int) -> Table:
    columns = [
        Column("design"),
        Column("sync"),
        Column("messages/s", "{:,.0f}"),
        Column("p50 ms", "{:.3f}"),
        Column("p99 ms", "{:.3f}"),
        Column("worst ms", "{:.1f}"),
        Column("lost", "{:,}"),
        Column("doubled", "{:,}"),
        Column("refused", "{:,}"),
        Column("x raw", "{:.2f}"),
        Column("x deskmate", "{:.2f}"),
    ]
    rate = {(one.design.name, one.design.synced): one.rate for one in figures}
    rows = [
        (
            one.design.name,
            "yes" if one.design.synced else "no",
            *(one.rate, one.p50, one.p99, one.worst, one.lost, one.doubled, one.refused),
            times(one.rate, rate["raw", one.design.synced]),
            times(one.rate, rate["deskmate", one.design.synced]),
        )
        for one in figures
    ]
    title = f"Mail: {writers} writer{'s' * (writers > 1)} into one mailbox, one reader draining meanwhile"
    return Table(title, columns, rows, _NOTES)


_NOTES = (
    f"Every reader looks, then rests {PAUSE_SECONDS * 1000:.0f} ms. Ratios compare rows of the same sync.",
    "lost: accepted from the sender, never received. refused: the sender was told that it failed.",
)


def _targets(figures: Mapping[tuple[int, Design], Figures], writers: int) -> list[Target]:
    ours = [one for one in figures.values() if one.design.name == "deskmate"]
    most = {(one.design.name, one.design.synced): one for (of, _), one in figures.items() if of == writers}
    synced, unsynced = most["deskmate", True], most["deskmate", False]
    return [
        none_of("mail lost by deskmate, all runs", sum(one.lost for one in ours)),
        none_of("mail doubled by deskmate, all runs", sum(one.doubled for one in ours)),
        at_least(f"mail synced, {writers} writers: the raw loop", synced.rate, most["raw", True].rate, "/s"),
        at_least(f"mail not synced, {writers} writers", unsynced.rate, 10_000, "/s"),
        below(f"mail not synced, {writers} writers: p99", unsynced.p99, 25, "ms"),
    ]
