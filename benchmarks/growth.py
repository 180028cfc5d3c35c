"""Does history cost anything? One append, and one read of what is new, with little and with much already there."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio

from benchmarks.measure import alone, percentile, times
from benchmarks.ours import DESKMATE
from benchmarks.report import Answer, Column, Size, Table, Target
from benchmarks.rivals import RIVALS, Design, Mail

FLAT = 1.2
CELL_SECONDS = 4.0


@dataclass
class Costs:
    """How long appends and reads took at one history."""

    append: list[int] = field(default_factory=list)
    read: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Cell:
    """Medians in milliseconds at the small and at the large history; no reads where mail is cleared by reading."""

    design: Design
    append: tuple[float, float]
    read: tuple[float, float] | None


def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure every design at both histories."""
    cells = []
    for design in (*DESKMATE, *RIVALS):
        say(f"growth: {design.name}, {'synced' if design.synced else 'not synced'}")
        homes = [_filled(design, folder / f"{design.name}-{history}", history) for history in size.histories]
        cells.append(alone(partial(anyio.run, _measure, design, homes, size.samples)))
    return Answer([_table(cells, size.histories)], _targets(cells))


def _filled(design: Design, home: Path, history: int) -> Path:
    """Return a folder with that much mail; both variants of a design share it."""
    if not home.exists():
        home.mkdir()
        alone(partial(anyio.run, _fill, design, home, history))
    return home


async def _fill(design: Design, home: Path, history: int) -> None:
    mail = design.open(home)
    await mail.fill([f"0-{number}" for number in range(history)])
    mail.close()


async def _measure(design: Design, homes: list[Path], samples: int) -> Cell:
    """Take turns between the two histories, so that a slow moment of the disk falls on both."""
    pairs = [(design.open(home), design.open(home), Costs()) for home in homes]
    if design.keeps:
        for _, reader, _ in pairs:
            await reader.receive()
    until = time.perf_counter() + CELL_SECONDS
    for number in range(samples):
        for writer, reader, costs in pairs:
            await _sample(writer, reader if design.keeps else None, f"{id(costs)}-{number}", costs)
        if time.perf_counter() > until:
            break
    (_, _, small), (_, _, large) = pairs
    for writer, reader, _ in pairs:
        writer.close()
        reader.close()
    append = (percentile(small.append, 0.5), percentile(large.append, 0.5))
    read = (percentile(small.read, 0.5), percentile(large.read, 0.5)) if design.keeps else None
    return Cell(design, append, read)


async def _sample(writer: Mail, reader: Mail | None, key: str, costs: Costs) -> None:
    start = time.perf_counter_ns()
    await writer.send(key)
    sent = time.perf_counter_ns()
    costs.append.append(sent - start)
    if reader:
        found = await reader.receive()
        costs.read.append(time.perf_counter_ns() - sent)
        assert found == [key], found


def _table(cells: list[Cell], histories: tuple[int, int]) -> Table:
    small, large = histories
    columns = [
        Column("design"),
        Column("sync"),
        *(Column(f"append at {history:,} ms", "{:.3f}") for history in histories),
        Column("ratio", "{:.2f}x"),
        *(Column(f"read one at {history:,} ms", "{:.3f}") for history in histories),
        Column("ratio ", "{:.2f}x"),
    ]
    rows = [
        (
            cell.design.name,
            "yes" if cell.design.synced else "no",
            *(*cell.append, times(cell.append[1], cell.append[0])),
            *((*cell.read, times(cell.read[1], cell.read[0])) if cell.read else (None, None, None)),
        )
        for cell in cells
    ]
    notes = ("Medians. No read where reading clears the mailbox: it takes all there is, and nothing stays.",)
    return Table(f"Growth: one append and one read of what is new, {small:,} and {large:,} messages there", columns, rows, notes)


def _targets(cells: list[Cell]) -> list[Target]:
    ours = [cell for cell in cells if cell.design.name == "deskmate"]
    appends = [_flat("append", cell, cell.append) for cell in ours]
    return appends + [_flat("read one", cell, cell.read) for cell in ours if cell.read]


def _flat(deed: str, cell: Cell, medians: tuple[float, float]) -> Target:
    ratio = medians[1] / medians[0]
    name = f"growth: {deed}, {'synced' if cell.design.synced else 'not synced'}"
    return Target(name, f"<= {FLAT:g}x", f"{ratio:.2f}x", ratio <= FLAT)
