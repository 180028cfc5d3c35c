"""The boards of a lead as groups of rows: one for each team that it has.

`board_panel` shows them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from deskmate.app.sessions.team_session import TeamSession
from deskmate.core.team.tasks import BoardState
from deskmate.faces.common.items.member_items import colours_of_team
from deskmate.faces.common.items.task_items import TaskItem, TaskState, task_items
from deskmate.faces.tui.panels.board_outline import Look, outline

TITLE, DONE = "team", "done"


@dataclass(frozen=True, slots=True)
class TeamRows:
    """The tasks of one team. `depths`: of its open tasks, in their order. `done`: its completed tasks."""

    team: str
    items: tuple[TaskItem, ...]
    depths: Mapping[int, int]
    done: Sequence[int]
    look: Look

    @classmethod
    def of(cls, team: str, items: tuple[TaskItem, ...], look: Look) -> "TeamRows":
        """Return the tasks of a team, in the order of their rows."""
        done = [item.task.id for item in items if item.state is TaskState.DONE]
        return cls(team, items, dict(outline(items)), done, look)

    def keys(self, *, has_title: bool, shows_done: bool) -> list[str]:
        """Return the keys of its rows: `team@main`, `3@main`, `done@main`."""
        names = [*[TITLE] * has_title, *map(str, self.depths), *[DONE] * bool(self.done)]
        return [f"{name}@{self.team}" for name in (*names, *(map(str, self.done) if shows_done else ()))]


def groups_of(session: TeamSession, now: float, known: Sequence[TeamRows]) -> list[TeamRows]:
    """Return the boards of the lead, that of its current team first. `known`: the boards as they were shown last."""
    before = {group.team: group for group in known}
    return [_group(session, team, board, now, before.get(team)) for team, board in session.boards.items()]


def _group(session: TeamSession, team: str, board: BoardState, now: float, before: TeamRows | None) -> TeamRows:
    items = task_items(board)
    look = Look({item.task.id: item for item in items}, colours_of_team(session, team), now)
    return replace(before, look=look) if before and before.items == items else TeamRows.of(team, items, look)
