"""What was checked, as lines."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from deskmate.app import environment
from deskmate.core.checks import Check
from deskmate.core.values import frozen
from deskmate.faces.common.terminal_text import one_line, width
from deskmate.faces.common.text_tables import Cell, Sheet
from deskmate.queries.damage import CheckedTeam, check_teams
from deskmate.queries.health import (
    check_machine,
    check_settings,
    check_store,
    check_trust,
    check_workspace,
)
from deskmate.queries.tree_view import check_trees

_COLOURS = {"ok": "green", "warn": "yellow", "bad": "red"}
# If the column is narrower than this, text is hard to read beside its label.
_LEAST_CELLS = 24


@frozen
class Health:
    """All checks. `usable`: whether the workspace can be used at all."""

    checks: tuple[Check, ...]
    teams: tuple[CheckedTeam, ...]
    usable: bool

    @property
    def all(self) -> tuple[Check, ...]:
        """The checks, then those of the teams."""
        return (*self.checks, *(check for one in self.teams for check in one.checks))


def health_of(folder: Path | None, team: str | None) -> Health:
    """Check machine, settings, workspace and teams, or only one team."""
    workspace, environ = check_workspace(folder), environment()
    place = workspace.place
    store = check_store(place) if place else ()
    has_teams = place is not None and not any(check.what == "store" and check.state == "bad" for check in store)
    # First, because the name may be wrong, and the other checks try a sandbox and ask servers.
    teams = tuple(check_teams(place, team)) if place and has_teams else ()
    settings = check_settings(environ, place)
    checks = (*check_machine(environ), *settings, *workspace.checks, *store)
    if place is None or not has_teams:
        return Health(checks, (), usable=False)
    return Health((*checks, *check_trust(place, environ), *check_trees(place)), teams, workspace.usable)


def health_lines(checks: Sequence[Check], sheet: Sheet) -> Iterator[str]:
    """Yield the checks as lines: the state, what was checked, and what to do about it."""
    column = max(len(check.what) for check in checks)
    for check in checks:
        head = f"{check.state:<4}  {check.what:<{column}} "
        first, *rest = _filled(head, one_line(check.words), sheet.cells)
        yield sheet.paint(Cell(check.state, _COLOURS[check.state])) + first.removeprefix(check.state)
        yield from rest
        if check.next:
            yield from _filled(" " * len(head), one_line(check.next), sheet.cells)


def _filled(head: str, words: str, cells: int | None) -> Iterator[str]:
    """Yield lines of at most `cells` cells, aligned below the words of the first. A longer word is not broken."""
    hang = " " * (len(head) if cells is None or cells - len(head) > _LEAST_CELLS else 1)
    line = head
    for word in words.split():
        if cells is not None and width(line) + 1 + width(word) > cells and line.strip():
            yield line.rstrip()
            line = hang
        line += f" {word}"
    yield line
