"""The first line."""

from collections.abc import Sequence

from rich.text import Text
from textual.widget import Widget

from deskmate.app.session import Session
from deskmate.core.log.names import LEAD
from deskmate.core.team.members import Member
from deskmate.core.team.spending import Sum
from deskmate.core.team.status import Parked
from deskmate.faces.common.listings import sandbox_of
from deskmate.faces.common.terminal_text import cut
from deskmate.faces.tui.drawing.styled_lines import words

_REASON_CELLS = 40


class Head(Widget):
    """The line, drawn only if it changes."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._line = Text()

    def show(self, session: Session) -> None:
        """Show the state of the team."""
        line = head_of(session)
        if line != self._line:
            self._line = line
            self.refresh()

    def render(self) -> Text:
        """Return the line."""
        return self._line


def head_of(session: Session) -> Text:
    """Return the line."""
    head = Text(no_wrap=True, end="", overflow="ellipsis")
    head.append("deskmate ", "bold")
    head.append(words(session.team), "bold cyan")
    busy, asked, parked = len(session.busy), len(session.questions), _parked(session.members)
    if busy or not (asked or parked):
        head.append(f"  {busy} busy" if busy else "  idle", "" if busy else "dim")
    if asked:
        head.append(f"  {asked} question{'' if asked == 1 else 's'}", "bold yellow")
    if parked:
        head.append(f"  {parked}", "bold red")
    head.append(f"  {spent_in_words(session.spent)}")
    permitted = session.permitted
    head.append(f"  {permitted.mode.value}, {sandbox_of(permitted.sandbox)}  {words(session.model)}", "dim")
    head.append(f"  {words(session.workspace.name)}", "dim")
    return head


def _parked(members: Sequence[Member]) -> str:
    """Return the first parked member and why, in short, or "" if nobody is parked."""
    parked = [(member.name, member.status.reason) for member in members if isinstance(member.status, Parked)]
    if not parked:
        return ""
    (name, reason), more = parked[0], f" and {len(parked) - 1} more" if len(parked) > 1 else ""
    who = "" if name == LEAD else f"{words(name)} "
    return f"{who}parked: {cut(words(reason), _REASON_CELLS)}{more}"


def spent_in_words(spent: Sum) -> str:
    """Return the cost in short."""
    if spent.calls and spent.unpriced == spent.calls:
        return "cost unknown"
    return f"${spent.cost:.2f}{'+' if spent.unpriced else ''}"
