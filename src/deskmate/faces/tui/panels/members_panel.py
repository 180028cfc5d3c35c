"""Who is on the team."""

from collections.abc import Sequence
from typing import ClassVar, assert_never

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from deskmate.app.sessions.team_session import TeamSession
from deskmate.core.log.names import LEAD
from deskmate.core.team.spending import Sum
from deskmate.core.team.status import Idle, Left, Parked, Status, Waiting, Working, status_word
from deskmate.faces.common.items.member_items import MemberItem, member_status, role_of, session_items
from deskmate.faces.common.terminal_text import cut, cut_middle, width
from deskmate.faces.common.text_tables import ago, clock
from deskmate.faces.tui.drawing.item_painter import style_of
from deskmate.faces.tui.drawing.panel_titles import entitle
from deskmate.faces.tui.drawing.styled_lines import words
from deskmate.faces.tui.member_activity import Activity

_STRIP_GAP = 2
# Alt with a digit chooses one of the first members.
_KEYS = 9
_BESIDE_CELLS = 16


def _mark(status: Status) -> tuple[str, str]:
    """Return the sign of a status, and its style."""
    match status:
        case Working():
            return "●", "green"
        case Waiting():
            return "◐", "yellow"
        case Idle():
            return "○", "dim"
        case Parked():
            return "■", "red"
        case Left():
            return "·", "dim"
        case unreachable:
            assert_never(unreachable)


class MemberChosen(Message):
    """The person chose a member."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


def in_order(session: TeamSession) -> list[MemberItem]:
    """Return the members of a lead's teams in listing order: those who left come last."""
    return sorted(session_items(session), key=lambda item: not item.member.here)


class Members(ScrollView, can_focus=True):
    """The list: two lines for each member if all fit, otherwise one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "choose", show=False),
        Binding("down,j", "move(1)", "choose", key_display="↑↓"),
        Binding("home", "lead", "lead", show=False),
    ]

    COMPONENT_CLASSES: ClassVar[set[str]] = {"members--chosen"}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._items: list[MemberItem] = []
        self._chosen, self._now = "", 0.0
        self._activity: Activity | None = None
        self._lines: list[Text] = []
        self._each = 1

    def show(self, items: Sequence[MemberItem], chosen: str, now: float, activity: Activity | None = None) -> None:
        """Show the members in this order, and what they are doing. Only lines that changed are drawn."""
        moved = chosen != self._chosen
        self._items, self._chosen, self._now, self._activity = list(items), chosen, now, activity
        here = sum(item.member.here for item in items)
        entitle(self, f"members {here}" + (f", {len(items) - here} left" if here < len(items) else ""))
        self._lay()
        if moved:
            self._scroll_to_chosen()
            self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        """Lay out again."""
        self._lay()
        self._scroll_to_chosen()

    def _lay(self) -> None:
        self._each = 2 if 2 * len(self._items) <= self.size.height else 1
        cells = max(8, self.size.width - self.styles.scrollbar_size_vertical)
        rows = (self._rows(item, number, cells) for number, item in enumerate(self._items, 1))
        lines = [line for row in rows for line in row[: self._each]]
        changed = [y for y, line in enumerate(lines) if y >= len(self._lines) or line != self._lines[y]]
        fewer, self._lines = len(lines) != len(self._lines), lines
        if fewer:
            self.virtual_size = Size(cells, len(lines))
            self.refresh()
        for y in changed:
            self.refresh_line(y)

    def _rows(self, item: MemberItem, number: int, cells: int) -> list[Text]:
        member, doing = item.member, self._doing(item)
        mark, mark_style = _mark(member.status)
        task = f"#{item.task} " if item.task is not None else ""
        right = f" {task}{_dollars(item.spent)}".rstrip()
        head = Text(no_wrap=True, end="").append(f"{number} " if number <= _KEYS else "  ", "dim")
        head.append(f"{mark} ", mark_style)
        name = cut_middle(words(member.name), max(4, cells - head.cell_len - len(right)))
        head.append(name, style_of(member.name, {member.name: member.colour}))
        room = cells - head.cell_len - len(right)
        # The line below has what a member is doing, if there is one.
        told = doing if doing and self._each == 1 else words(member_status(member))
        when = "" if doing and self._each == 1 else f" {_in_minutes(self._now - member.status_at)}"
        if isinstance(member.status, Working) and self._each == 2:
            # The mark says it.
            told, when = "", when.lstrip()
        status = _fitting(member.status, f" {told}", when, room)
        head.append(status, "dim")
        said = words(member.words) or words(role_of(member))
        left = room - cell_len(status)
        # Without a line below, what it said or its role is here, if there is room.
        beside = f"  {cut(said, left - 4)}" if self._each == 1 and said and left >= _BESIDE_CELLS else ""
        head.append(beside, "dim italic")
        head.append(" " * max(0, left - cell_len(beside)) + right, "dim")
        style = "dim" if doing else "dim italic"
        below = Text(no_wrap=True, end="").append(f"    {cut_clock(doing or said, max(1, cells - 4))}", style)
        return [head, below]

    def _doing(self, item: MemberItem) -> str:
        """Return what a member is doing now, and for how long; empty if that is not known."""
        deed = self._activity.of(item.name) if self._activity and isinstance(item.member.status, Working) else None
        return f"{words(deed.words)} {clock(self._now - deed.since)}" if deed else ""

    def render_line(self, y: int) -> Strip:
        """Return a visible line."""
        number, style = self.scroll_offset.y + y, self.rich_style
        if number >= len(self._lines):
            return Strip.blank(self.size.width, style)
        if self._items[number // self._each].name == self._chosen:
            style = self.get_component_rich_style("members--chosen")
        segments = self._lines[number].render(self.app.console)
        return Strip(segments).adjust_cell_length(self.size.width, style).apply_style(style)

    def _scroll_to_chosen(self) -> None:
        place = next((index for index, one in enumerate(self._items) if one.name == self._chosen), 0)
        top = place * self._each
        if top < self.scroll_offset.y:
            self.scroll_to(y=top, animate=False)
        elif top + self._each > self.scroll_offset.y + self.size.height:
            self.scroll_to(y=top + self._each - self.size.height, animate=False)

    def action_move(self, by: int) -> None:
        """Choose the member below or above."""
        names = [item.name for item in self._items]
        if self._chosen in names:
            place = names.index(self._chosen) + by
            # Set it now: the next key may arrive before the next refresh.
            self._chosen = names[max(0, min(place, len(names) - 1))]
            self._scroll_to_chosen()
            self.refresh()
            self.post_message(MemberChosen(self._chosen))

    def action_lead(self) -> None:
        """Choose the lead."""
        self.post_message(MemberChosen(LEAD))

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked member."""
        offset = event.get_content_offset(self)
        place = (self.scroll_offset.y + offset.y) // self._each if offset else len(self._items)
        if place < len(self._items):
            self.post_message(MemberChosen(self._items[place].name))


def _fitting(status: Status, told: str, when: str, room: int) -> str:
    """Return as much of a status as fits. First the time is dropped, then what a member waits for."""
    if room <= 4:
        return ""
    shorter = [f"{told}{when}"]
    if isinstance(status, Idle | Waiting):
        shorter += [told, f" {status_word(status)}"]
    return next((text for text in shorter if width(text) <= room), cut(shorter[-1], room))


def cut_clock(text: str, cells: int) -> str:
    """Return as much of a line as fits. A clock at its end stays."""
    if width(text) <= cells or ":" not in text[-8:]:
        return cut(text, cells)
    head, _, end = text.rpartition(" ")
    return f"{cut(head, max(1, cells - len(end) - 1))} {end}"


def _in_minutes(seconds: float) -> str:
    """Return a duration. It changes once a minute at most, so members that rest are not drawn again."""
    return ago(seconds) if seconds >= 60 else "<1 min"


def _dollars(spent: Sum) -> str:
    if not spent.calls:
        return ""
    return "$?" if spent.unpriced == spent.calls else f"${spent.cost:.2f}"


class MemberStrip(Widget):
    """The strip: names side by side, as many around the chosen one as fit."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._items: list[MemberItem] = []
        self._chosen = ""
        self._places: list[tuple[int, str]] = []

    def show(self, items: Sequence[MemberItem], chosen: str) -> None:
        """Show the members in this order. Those who left are shown only while chosen."""
        here = [item for item in items if item.member.here or item.name == chosen]
        if (here, chosen) != (self._items, self._chosen):
            self._items, self._chosen = here, chosen
            self.refresh()

    def render(self) -> Text:
        """Return the strip."""
        cells = [self._cell(item) for item in self._items]
        place = next((index for index, one in enumerate(self._items) if one.name == self._chosen), 0)
        first, last = window([cell.cell_len for cell in cells], place, self.size.width - 2 * _STRIP_GAP)
        strip = Text(no_wrap=True, end="", overflow="crop").append("‹ " if first else "", "dim")
        self._places = []
        for cell, item in zip(cells[first:last], self._items[first:last], strict=True):
            self._places.append((strip.cell_len, item.name))
            strip.append_text(cell).append(" " * _STRIP_GAP)
        return strip.append("›" if last < len(cells) else "", "dim")

    def _cell(self, item: MemberItem) -> Text:
        member = item.member
        mark, mark_style = _mark(member.status)
        cell = Text().append(f"{mark} ", mark_style)
        cell.append(cut_middle(words(member.name), 20), style_of(member.name, {member.name: member.colour}))
        cell.append(f" #{item.task}" if item.task is not None else "", "dim")
        if member.name == self._chosen:
            cell.stylize("reverse")
        return cell

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked member."""
        offset = event.get_content_offset(self)
        under = [name for start, name in self._places if offset and start <= offset.x]
        if under:
            self.post_message(MemberChosen(under[-1]))


def window(widths: Sequence[int], place: int, room: int) -> tuple[int, int]:
    """Return which neighbours of `place` fit with it in `room` cells, as a half-open range of indices."""
    first, last = place, place + 1
    while True:
        wider = [(first - 1, last)] if first > 0 else []
        wider += [(first, last + 1)] if last < len(widths) else []
        fitting = [(a, b) for a, b in wider if sum(widths[a:b]) + _STRIP_GAP * (b - a) <= room]
        if not fitting:
            return first, last
        # Widen both sides evenly as long as both have neighbours.
        first, last = min(fitting, key=lambda one: abs((place - one[0]) - (one[1] - 1 - place)))
