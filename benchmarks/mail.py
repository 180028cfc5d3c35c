"""How fast is mail, and is any lost? One mailbox, several writers, one reader who drains meanwhile."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio

from benchmarks.measure import Gate, alone, percentile, side_by_side, times
from benchmarks.ours import DESKMATE
from benchmarks.report import Answer, Column, Size, Table, Target, at_least, below, none_of
from benchmarks.rivals import RIVALS, Design, Mail, NotSent

PAUSE_SECONDS = 0.01


@dataclass(frozen=True)
class Sent:
    """What one writer did: when, how long each accepted send took, which keys were accepted, how many refused."""

    began: int
    ended: int
    took: list[int]
    accepted: list[str]
    refused: int


@dataclass(frozen=True)
class Cell:
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
    tables, cells = [], []
    for writers in size.writers:
        row = []
        for design in (*DESKMATE, *RIVALS):
            say(f"mail: {design.name}, {'synced' if design.synced else 'not synced'}, {writers} writer(s)")
            home = folder / f"{design.name}-{design.synced}-{writers}"
            home.mkdir()
            row.append(_measure(design, home, writers, size.seconds))
        tables.append(_table(row, writers))
        cells.append(row)
    return Answer(tables, _targets(cells))


def _measure(design: Design, folder: Path, writers: int, seconds: float) -> Cell:
    alone(partial(anyio.run, _create, design, folder))
    gate = Gate(parties=writers + 1, writers=writers)
    jobs = [partial(anyio.run, _write, design, folder, f"{writer}", seconds, gate) for writer in range(writers)]
    *sent, received = side_by_side([*jobs, partial(anyio.run, _drain, design, folder, gate)])
    return _cell(design, sent, received)


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


def _cell(design: Design, sent: list[Sent], received: list[str]) -> Cell:
    accepted = {key for one in sent for key in one.accepted}
    took = [nanoseconds for one in sent for nanoseconds in one.took]
    seconds = (max(one.ended for one in sent) - min(one.began for one in sent)) / 1e9
    known = set(received)
    return Cell(
        design=design,
        rate=len(accepted) / seconds,
        p50=percentile(took, 0.5),
        p99=percentile(took, 0.99),
        worst=percentile(took, 1.0),
        lost=len(accepted - known),
        doubled=len(received) - len(known),
        refused=sum(one.refused for one in sent),
    )


def _table(cells: list[Cell], writers: int) -> Table:
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
    rate = {(cell.design.name, cell.design.synced): cell.rate for cell in cells}
    rows = [
        (
            cell.design.name,
            "yes" if cell.design.synced else "no",
            *(cell.rate, cell.p50, cell.p99, cell.worst, cell.lost, cell.doubled, cell.refused),
            times(cell.rate, rate["raw", cell.design.synced]),
            times(cell.rate, rate["deskmate", cell.design.synced]),
        )
        for cell in cells
    ]
    title = f"Mail: {writers} writer{'s' * (writers > 1)} into one mailbox, one reader draining meanwhile"
    return Table(title, columns, rows, _NOTES)


_NOTES = (
    f"Every reader looks, then rests {PAUSE_SECONDS * 1000:.0f} ms. Each ratio compares rows of the same sync.",
    "lost: accepted from the sender, never received. refused: the sender was told that it failed.",
)


def _targets(rows: list[list[Cell]]) -> list[Target]:
    ours = [cell for row in rows for cell in row if cell.design.name == "deskmate"]
    most = {(cell.design.name, cell.design.synced): cell for cell in rows[-1]}
    synced, unsynced = most["deskmate", True], most["deskmate", False]
    return [
        none_of("mail lost by deskmate, all runs", sum(cell.lost for cell in ours)),
        none_of("mail doubled by deskmate, all runs", sum(cell.doubled for cell in ours)),
        at_least("mail synced, most writers: the raw loop", synced.rate, most["raw", True].rate, "/s"),
        at_least("mail not synced, most writers", unsynced.rate, 10_000, "/s"),
        below("mail not synced, most writers: p99", unsynced.p99, 25, "ms"),
    ]
