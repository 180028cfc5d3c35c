"""The board."""

from collections.abc import Sequence

from deskmate.app.sessions.team_session import TeamSession
from deskmate.faces.common.items.member_items import colours_of
from deskmate.faces.common.items.task_items import TaskItem, TaskState, task_items
from deskmate.faces.tui.drawing.row_list import Rows
from deskmate.faces.tui.drawing.styled_lines import Line
from deskmate.faces.tui.panels.board_outline import Look, below, head, outline

_DONE = "done"


class BoardPanel(Rows):
    """The tasks of a team. Completed tasks are one line until it is unfolded."""

    NOTHING = "no tasks yet"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(self.head, self.below, id=id)
        self.border_title = "board"
        self._items: tuple[TaskItem, ...] = ()
        self._look = Look({}, {}, 0.0)
        self._depths: dict[int, int] = {}
        self._done: Sequence[int] = ()
        self._shows_done = False

    def show(self, session: TeamSession, now: float) -> None:
        """Show the current board."""
        items = task_items(session.board)
        if items != self._items:
            self._items = items
            self._depths = dict(outline(items))
            self._done = [item.task.id for item in items if item.state is TaskState.DONE]
            self.border_title = f"board {len(self._done)}/{len(items)}" if items else "board"
        self._look = Look({item.task.id: item for item in items}, colours_of(session.members), now)
        self._lay()

    def _lay(self) -> None:
        done = [_DONE] * bool(self._done) + [str(id_) for id_ in self._done] * self._shows_done
        self.lay([*map(str, self._depths), *done])

    def head(self, key: str, cells: int) -> Line:
        """Return a task on one line, or how many are done."""
        if key == _DONE:
            return (("✓ ", "green"), (f"{len(self._done):,} done {'▾' if self._shows_done else '▸'}", "dim"))
        id_ = int(key)
        return head(self._look.tasks[id_], self._depths.get(id_, 1), cells, self._look)

    def below(self, key: str, cells: int) -> list[Line]:
        """Return everything else that the board has of a task."""
        return below(self._look.tasks[int(key)], cells, self._look)

    def unfold(self, key: str) -> None:
        """Show or hide the details of a task, or the completed tasks."""
        if key != _DONE:
            super().unfold(key)
            return
        self._shows_done = not self._shows_done
        self._lay()
        if self._shows_done:
            self.roll_to(len(self._places) - len(self._done) - 1)
