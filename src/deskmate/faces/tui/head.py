"""The head of the screen: the team, who is at work, what is permitted and what all came to, on one line."""

from rich.text import Text
from textual.widget import Widget

from deskmate.app import Sum
from deskmate.app.session import Session
from deskmate.faces.cli.listings import sandbox_of
from deskmate.faces.tui.lines import words


class Head(Widget):
    """The line, drawn only where it changes."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._line = Text()

    def show(self, session: Session) -> None:
        """Show how the team is."""
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
    busy, asked = len(session.busy), len(session.questions)
    head.append(f"  {busy} busy" if busy else "  at rest", "" if busy else "dim")
    if asked:
        head.append(f"  {asked} question{'' if asked == 1 else 's'}", "bold yellow")
    head.append(f"  {spent_in_words(session.spent)}")
    permitted = session.permitted
    head.append(f"  {permitted.mode.value}, {sandbox_of(permitted.sandbox)}  {words(session.model)}", "dim")
    head.append(f"  {words(session.workspace.name)}", "dim")
    return head


def spent_in_words(spent: Sum) -> str:
    """Return what was spent, as short as it can be said."""
    if spent.calls and spent.unpriced == spent.calls:
        return "cost unknown"
    return f"${spent.cost:.2f}{'+' if spent.unpriced else ''}"
