"""Mail between members."""

import time
from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, assert_never

from textual.binding import Binding, BindingType

from deskmate.app.sessions.team_session import TeamSession
from deskmate.core.log.names import USER
from deskmate.core.team.messages import (
    Broadcast,
    InputRequest,
    InputResponse,
    Interrupt,
    Message,
    PermissionRequest,
    PermissionResponse,
    Plain,
    Undeliverable,
)
from deskmate.faces.common.items.mail_items import MailItem, mail_items
from deskmate.faces.common.items.member_items import colours_of, sender_of, shown_name
from deskmate.faces.common.terminal_text import cut_middle
from deskmate.faces.tui.drawing.item_painter import style_of
from deskmate.faces.tui.drawing.markdown_rows import markdown_lines
from deskmate.faces.tui.drawing.panel_titles import entitle
from deskmate.faces.tui.drawing.row_list import Rows
from deskmate.faces.tui.drawing.styled_lines import Line, cut, folded, paragraphs, words


class MailFilter(StrEnum):
    """Which mail is shown: what agents wrote, everything, or that of the chosen member."""

    AGENTS = "agents"
    ALL = "all"
    MEMBER = "member"


_FILTERS = tuple(MailFilter)
_LEAST_NAME_CELLS = 8


class PostPanel(Rows):
    """The latest messages, at first those that agents wrote. `f` shows others. `r` replies to the chosen one."""

    FOLLOWS = True
    NOTHING = "no mail yet"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "filter", "of agents / all / of this member"),
        # First, so that what is typed right after it is the reply.
        Binding("r", "screen.reply", "reply", priority=True),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(self.head, self.below, id=id)
        self.border_title = "mail"
        self._items: dict[str, MailItem] = {}
        self._colours: Mapping[str, str] = {}
        self._now = 0.0
        self._member = ""
        self._filter = MailFilter.AGENTS

    def show(self, session: TeamSession, now: float) -> None:
        """Show the current mail."""
        self._items = {item.key: item for item in mail_items(session.letters)}
        self._colours = colours_of(session.members)
        self._now = now
        self._lay()

    def choose(self, member: str) -> None:
        """Note which member is chosen."""
        self._member = member
        self._lay()

    @property
    def correspondent(self) -> str:
        """The agent to reply to: the sender of the chosen message, or its recipient if the user sent it."""
        item = self._items.get(self.chosen or "")
        if item is None:
            return ""
        return sender_of(item.sender if item.sender != USER else item.recipients[0])

    def action_filter(self) -> None:
        """Show all messages, then only those of the chosen member, then those that agents wrote again."""
        self._filter = _FILTERS[(_FILTERS.index(self._filter) + 1) % len(_FILTERS)]
        self._lay()

    def _lay(self) -> None:
        keys = [key for key, item in self._items.items() if self._shows(item)]
        hidden = len(self._items) - len(keys)
        whose = "agents" if self._filter is MailFilter.AGENTS else words(self._member)
        entitle(
            self, f"mail {len(keys):,}{f' of {whose}, {hidden:,} hidden' if hidden else ''}" if self._items else "mail"
        )
        self.lay(keys)

    def _shows(self, item: MailItem) -> bool:
        match self._filter:
            case MailFilter.ALL:
                return True
            case MailFilter.MEMBER:
                return not self._member or self._member in map(sender_of, (item.sender, *item.recipients))
            case MailFilter.AGENTS:
                return _is_of_agents(item)
            case unreachable:
                assert_never(unreachable)

    def head(self, key: str, cells: int) -> Line:
        """Return a message on one line."""
        item = self._items[key]
        now, sent = time.localtime(self._now), time.localtime(item.envelope.timestamp)
        said, to_all = words(item.text), isinstance(item.envelope.message, Broadcast)
        line: Line = (
            (time.strftime("%H:%M " if sent[:3] == now[:3] else "%m-%d ", sent), "dim"),
            self._party(item.sender, cells),
            (" → ", "dim"),
            ("all", "bold") if to_all else self._party(item.recipients[0], cells),
            (f" {item.title}" if item.title and not to_all else "", _style(item.envelope.message)),
            (f" {said}" if said else "", ""),
        )
        # Nobody needs to read these.
        noise = isinstance(item.envelope.message, PermissionResponse | InputResponse)
        return cut(tuple((text, "dim") for text, _ in line) if noise else line, cells)

    def _party(self, member: str, cells: int) -> tuple[str, str]:
        name = cut_middle(words(shown_name(member)), max(_LEAST_NAME_CELLS, cells // 4))
        return name, style_of(sender_of(member), self._colours)

    def below(self, key: str, cells: int) -> list[Line]:
        """Return the whole message."""
        item = self._items[key]
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(item.envelope.timestamp))
        to = ", ".join(words(shown_name(name)) for name in item.recipients)
        about = f", {words(item.request_id)}" if item.request_id else ""
        lines: list[Line] = [((f"to {to}, {at}{about}", "dim"),)]
        margin, room = "    ", max(cells - 4, 1)
        if item.is_markdown:
            lines += markdown_lines(item.text, room, self.app.console)
        else:
            lines += [((line, ""),) for line in paragraphs(item.text)]
        return [((margin, ""), *row) for line in lines for row in folded(line, room)]


def _style(message: Message) -> str:
    return "red" if isinstance(message, Interrupt | Undeliverable) else "yellow"


def _is_of_agents(item: MailItem) -> bool:
    """Return whether an agent wrote a message to another, or words to the user. Questions have their own panel."""
    message = item.envelope.message
    if item.sender == USER or isinstance(
        message, PermissionRequest | PermissionResponse | InputRequest | InputResponse
    ):
        return False
    return item.recipients != (USER,) or isinstance(message, Plain | Broadcast)
