"""Does history cost anything? One append, and one read of what is new, with little and with much there."""

import statistics
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from functools import partial
from pathlib import Path

import anyio

from benchmarks.measure import Size, alone, in_words, percentile
from benchmarks.ours import DESKMATE
from benchmarks.report import Answer, Column, Table, Target
from benchmarks.rivals import RIVALS, Design, Mail

FLAT = 1.2
CELL_SECONDS = 4.0


@dataclass
class Costs:
    """How long appends and reads took at one history."""

    append: list[int] = field(default_factory=list)
    read: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Pair:
    """One deed at the small and the large history: medians in milliseconds, and the median of their ratios.

    The ratio is taken turn by turn: a disk that is now fast, now slow would make that of the medians a toss-up.
    """

    small: float
    large: float
    ratio: float


@dataclass(frozen=True)
class Figures:
    """What one design came to; no reads where reading clears the mail."""

    design: Design
    append: Pair
    read: Pair | None


def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure every design at both histories."""
    figures = []
    for design in (*DESKMATE, *RIVALS):
        say(f"growth: {design.name}, {in_words(design.synced)}")
        homes = [_filled(design, folder / f"{design.name}-{history}", history) for history in size.histories]
        small, large = alone(partial(anyio.run, _measure, design, homes, size.samples))
        figures.append(_figures(design, small, large))
    return Answer([_table(figures, size.histories)], _targets(figures))


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


async def _measure(design: Design, homes: list[Path], samples: int) -> list[Costs]:
    """Take turns between the two histories, now one first, now the other: a slow moment falls on both."""
    pairs = [(design.open(home), design.open(home), Costs()) for home in homes]
    if design.keeps:
        for _, reader, _ in pairs:
            await reader.receive()
    until = time.perf_counter() + CELL_SECONDS
    for number in range(samples):
        for writer, reader, costs in pairs if number % 2 else reversed(pairs):
            await _sample(writer, reader if design.keeps else None, f"{id(costs)}-{number}", costs)
        if time.perf_counter() > until:
            break
    for writer, reader, _ in pairs:
        writer.close()
        reader.close()
    return [costs for _, _, costs in pairs]


def _figures(design: Design, small: Costs, large: Costs) -> Figures:
    read = _pair(small.read, large.read) if design.keeps else None
    return Figures(design, _pair(small.append, large.append), read)


def _pair(small: list[int], large: list[int]) -> Pair:
    ratios = [much / little for little, much in zip(small, large, strict=True)]
    return Pair(percentile(small, 0.5), percentile(large, 0.5), statistics.median(ratios))


async def _sample(writer: Mail, reader: Mail | None, key: str, costs: Costs) -> None:
    start = time.perf_counter_ns()
    await writer.send(key)
    sent = time.perf_counter_ns()
    costs.append.append(sent - start)
    if reader:
        found = await reader.receive()
        costs.read.append(time.perf_counter_ns() - sent)
        assert found == [key], found


def _table(figures: list[Figures], histories: tuple[int, int]) -> Table:
    small, large = histories
    columns = [
        Column("design"),
        Column("sync"),
        *(Column(f"append at {history:,}", "{:.3f}") for history in histories),
        Column("ratio", "{:.2f}x"),
        *(Column(f"read one at {history:,}", "{:.3f}") for history in histories),
        Column("ratio ", "{:.2f}x"),
    ]
    rows = [
        (
            one.design.name,
            "yes" if one.design.synced else "no",
            *astuple(one.append),
            *(astuple(one.read) if one.read else (None, None, None)),
        )
        for one in figures
    ]
    notes = (
        "Medians in ms; the ratio is the median of ratios taken in turns. No read where reading clears the mailbox:",
        "it takes all there is, and nothing stays.",
    )
    title = f"Growth: one append and one read of what is new, {small:,} and {large:,} messages there"
    return Table(title, columns, rows, notes)


def _targets(figures: list[Figures]) -> list[Target]:
    ours = [one for one in figures if one.design.name == "deskmate"]
    appends = [_flat("append", one, one.append) for one in ours]
    return appends + [_flat("read one", one, one.read) for one in ours if one.read]


def _flat(deed: str, one: Figures, pair: Pair) -> Target:
    name = f"growth: {deed}, {in_words(one.design.synced)}"
    return Target(name, f"<= {FLAT:g}x", f"{pair.ratio:.2f}x", pair.ratio <= FLAT)
