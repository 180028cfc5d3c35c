"""Answers as tables, targets and JSON.

The questions build these values; `__main__` prints them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TypeAlias

Cell: TypeAlias = str | int | float | None


@dataclass(frozen=True)
class Column:
    """A head and how its numbers are written; None is written as a dash."""

    head: str
    spec: str = "{}"

    def write(self, cell: Cell) -> str:
        return "-" if cell is None else self.spec.format(cell)


@dataclass(frozen=True)
class Table:
    """One question's figures, a design a row."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()

    def lines(self) -> Iterable[str]:
        """Yield the table as aligned text: words to the left, numbers to the right."""
        body = [[column.write(cell) for column, cell in zip(self.columns, row, strict=True)] for row in self.rows]
        grid = [[column.head for column in self.columns], *body]
        widths = [max(map(len, cells)) for cells in zip(*grid, strict=True)]
        yield self.title
        for row, rule in zip(grid, [True, *[False] * len(body)], strict=True):
            yield "  " + "  ".join(map(self._align, row, widths, self.columns)).rstrip()
            if rule:
                yield "  " + "  ".join("-" * width for width in widths)
        yield from (f"  {note}" for note in self.notes)

    @staticmethod
    def _align(text: str, width: int, column: Column) -> str:
        return text.ljust(width) if column.spec == "{}" else text.rjust(width)


@dataclass(frozen=True)
class Target:
    """A figure to reach, what was measured, and whether missing it breaks a promise or is just slow."""

    name: str
    wanted: str
    measured: str
    met: bool
    promise: bool = False


@dataclass(frozen=True)
class Answer:
    """What one question came to."""

    tables: Sequence[Table]
    targets: Sequence[Target] = field(default_factory=tuple)


def at_least(name: str, figure: float, limit: float, unit: str) -> Target:
    """Return the target that a figure reaches its limit."""
    return Target(name, f">= {limit:,.0f} {unit}", f"{figure:,.0f} {unit}", figure >= limit)


def below(name: str, figure: float, limit: float, unit: str) -> Target:
    """Return the target that a figure stays below its limit."""
    return Target(name, f"< {limit:g} {unit}", f"{figure:.2f} {unit}", figure < limit)


def at_most(name: str, figure: float, limit: float, unit: str) -> Target:
    """Return the target that a figure does not pass its limit."""
    return Target(name, f"<= {limit:g} {unit}", f"{figure:.3f} {unit}", figure <= limit)


def none_of(name: str, found: int) -> Target:
    """Return the target, a promise, that something never happened."""
    return Target(name, "0", f"{found:,}", found == 0, promise=True)


def targets_table(targets: Sequence[Target]) -> Table:
    """Return the targets as a table."""
    columns = [Column("target"), Column("wanted", "{:>}"), Column("measured", "{:>}"), Column("")]
    rows = [(one.name, one.wanted, one.measured, "PASS" if one.met else "MISS") for one in targets]
    return Table("Targets", columns, rows)


def as_json(machine: Mapping[str, object], answers: Mapping[str, Answer]) -> dict[str, object]:
    """Return the whole report as plain values, numbers unrounded."""
    tables = [
        {"question": name, "title": table.title, "rows": [_named(table, row) for row in table.rows]}
        for name, answer in answers.items()
        for table in answer.tables
    ]
    targets = [asdict(target) for answer in answers.values() for target in answer.targets]
    return {"machine": machine, "tables": tables, "targets": targets}


def _named(table: Table, row: Sequence[Cell]) -> dict[str, Cell]:
    return {column.head: cell for column, cell in zip(table.columns, row, strict=True)}
