"""The board."""

from collections.abc import Sequence

from deskmate.app.sessions.team_session import TeamSession
from deskmate.faces.tui.drawing.panel_titles import entitle
from deskmate.faces.tui.drawing.row_list import Rows
from deskmate.faces.tui.drawing.styled_lines import Line, words
from deskmate.faces.tui.panels.board_outline import below, head
from deskmate.faces.tui.panels.team_rows import DONE, TITLE, TeamRows, groups_of


class BoardPanel(Rows):
    """The tasks of a lead's teams, with a title for each if it has two. Completed tasks are one line until it is
    unfolded."""

    NOTHING = "no tasks yet"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(self.head, self.below, id=id)
        self.border_title = "board"
        self._groups: Sequence[TeamRows] = ()
        self._shows_done = set[str]()

    def show(self, session: TeamSession, now: float) -> None:
        """Show the current boards."""
        self._groups = groups_of(session, now, self._groups)
        done = sum(len(group.done) for group in self._groups)
        count = sum(len(group.items) for group in self._groups)
        entitle(self, f"board {done}/{count}" if count else "board")
        self._lay()

    def _lay(self) -> None:
        shown = [group for group in self._groups if group.items]
        # Without a title it is the board of the team that the lead leads now.
        has_titles = any(group is not self._groups[0] for group in shown)
        keys = (group.keys(has_title=has_titles, shows_done=group.team in self._shows_done) for group in shown)
        self.lay([key for some in keys for key in some])

    def _find(self, key: str) -> tuple[str, TeamRows]:
        name, _, team = key.partition("@")
        return name, next(group for group in self._groups if group.team == team)

    def head(self, key: str, cells: int) -> Line:
        """Return a task on one line, how many are done, or the title of a team."""
        name, group = self._find(key)
        if name == TITLE:
            return ((words(group.team), "bold"), (f" {len(group.done):,}/{len(group.items):,}", "dim"))
        if name == DONE:
            mark = "▾" if group.team in self._shows_done else "▸"
            return (("✓ ", "green"), (f"{len(group.done):,} done {mark}", "dim"))
        id_ = int(name)
        return head(group.look.tasks[id_], group.depths.get(id_, 1), cells, group.look)

    def below(self, key: str, cells: int) -> list[Line]:
        """Return everything else that the board has of a task."""
        name, group = self._find(key)
        return below(group.look.tasks[int(name)], cells, group.look)

    def unfold(self, key: str) -> None:
        """Show or hide the details of a task, or the completed tasks of a team."""
        name, group = self._find(key)
        if name == TITLE:
            return
        if name != DONE:
            super().unfold(key)
            return
        self._shows_done ^= {group.team}
        self._lay()
        if group.team in self._shows_done:
            self.roll_to(self._places.index((key, 0)))
