"""The first line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text
from textual.widget import Widget

from deskmate.app.sessions.team_session import TeamSession
from deskmate.core.log.names import LEAD
from deskmate.core.team.members import Member
from deskmate.core.team.spending import Sum
from deskmate.core.team.status import Parked
from deskmate.faces.common.listings import sandbox_of
from deskmate.faces.common.terminal_text import cut
from deskmate.faces.tui.drawing.styled_lines import words

_REASON_CELLS = 40
_TITLE_CELLS = 40
_GAUGE_CELLS = 5


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the line. `rank`: parts with a higher rank are dropped first if there is no room."""

    text: str
    style: str = ""
    rank: int = 0


class Head(Widget):
    """The line, drawn only if it changes."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._line, self._titles = Text(), dict[str, str]()
        self._shown: tuple[TeamSession, float | None, int] | None = None

    def show(self, session: TeamSession, context_share: float | None = None, unread: int = 0) -> None:
        """Show the state of the team, how full the context of the watched member is, and the user's unread mail."""
        self._shown = session, context_share, unread
        title = self._title(session)
        line = head_of(session, self.size.width, title=title, context_share=context_share, unread=unread)
        if line != self._line:
            self._line = line
            self.refresh()

    def _title(self, session: TeamSession) -> str:
        # Reading it takes a file, and it never changes.
        if not self._titles.get(session.home):
            self._titles[session.home] = session.title
        return self._titles[session.home]

    def on_resize(self) -> None:
        """Show as many parts as fit now."""
        if self._shown:
            self.show(*self._shown)

    def render(self) -> Text:
        """Return the line."""
        return self._line


def head_of(
    session: TeamSession, cells: int, *, title: str = "", context_share: float | None = None, unread: int = 0
) -> Text:
    """Return the line with as many parts as fit."""
    parts = list(_parts(session, title, min(_TITLE_CELLS, max(12, cells // 4)), context_share, unread))
    while len(parts) > 1 and sum(cell_len(part.text) + 2 for part in parts) - 2 > cells - 2:
        parts.remove(max(reversed(parts), key=lambda part: part.rank))
    head = Text(no_wrap=True, end="", overflow="ellipsis")
    for index, part in enumerate(parts):
        head.append("  " if index else "").append(part.text, part.style)
    return head


def _parts(session: TeamSession, title: str, room: int, context_share: float | None, unread: int) -> Iterator[_Part]:
    yield _Part("deskmate", "bold", 7)
    yield _Part(cut(words(title or session.team), room), "bold cyan", 3)
    if title and session.team != session.home:
        yield _Part(words(session.team), "cyan", 2)
    busy, asked, parked = len(session.busy), len(session.questions), _parked(session.members)
    if busy or not (asked or parked):
        yield _Part(f"{busy} busy" if busy else "idle", "" if busy else "dim")
    if asked:
        yield _Part(f"{asked} question{'' if asked == 1 else 's'}", "bold yellow")
    if unread:
        yield _Part(f"{unread} mail: F4", "bold yellow")
    if parked:
        yield _Part(parked, "bold red")
    yield _Part(spent_in_words(session.spent), "", 1)
    if context_share is not None:
        yield _Part(gauge(context_share), _gauge_style(context_share), 2)
    permitted = session.permitted
    yield _Part(permitted.mode.value, "dim", 2)
    yield _Part(sandbox_of(permitted.sandbox), "dim", 4)
    yield _Part(words(session.model.partition(":")[2]), "dim", 5)
    yield _Part(words(session.workspace.name), "dim", 6)


def gauge(share: float) -> str:
    """Return how full something is as a bar and a number: `▰▰▱▱▱ 40 %`."""
    full = round(share * _GAUGE_CELLS)
    return f"{'▰' * full}{'▱' * (_GAUGE_CELLS - full)} {share:.0%}"


def _gauge_style(share: float) -> str:
    return "green" if share < 0.6 else "yellow" if share < 0.85 else "bold red"


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
