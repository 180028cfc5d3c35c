"""The transcript of the chosen member.

Only visible lines are drawn. `line_layout` and `item_painter` make the lines.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from deskmate.faces.common.items.transcript_items import (
    Fold,
    NoticeItem,
    ShownItem,
    WordsItem,
    fold_of,
    source_of,
)
from deskmate.faces.tui.clipboard import copy
from deskmate.faces.tui.drawing.item_painter import PaintLook, lines_of
from deskmate.faces.tui.drawing.line_layout import Laid, Layout
from deskmate.faces.tui.drawing.markdown_rows import GrowingMarkdown
from deskmate.faces.tui.drawing.panel_titles import entitle
from deskmate.faces.tui.drawing.styled_lines import words
from deskmate.faces.tui.drawing.wrapped_lines import WrappedLine, joined
from deskmate.faces.tui.panels.search_hits import ConversationSearch, Hit, hits_in
from deskmate.faces.tui.theme import tints_of

# Lay out about this much, and as much again each time the top is reached.
PAGE_ITEMS = 150
PAGE_CHARS = 50_000
_MARGIN = 1
# Without colours, the chosen hit is seen by its background and the others by a line below them.
_HIT, _CHOSEN_HIT = "not dim bold underline yellow", "not dim bold reverse yellow"


class Conversation(ScrollView, can_focus=True):
    """Show items. It follows the end as long as the end is visible."""

    # Selecting text with the mouse must not take the keys from the draft.
    FOCUS_ON_CLICK = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "choose(-1)", "choose", show=False),
        Binding("down,j", "choose(1)", "choose", show=False),
        Binding("enter,o,space", "fold", "unfold", key_display="Enter"),
        Binding("O", "fold_all", "unfold all"),
        Binding("c", "copy", "copy"),
        Binding("slash", "screen.search", "search"),
        Binding("n", "find(-1)", "next"),
        Binding("N", "find(1)", "back", show=False),
        Binding("home,g", "go(0)", "beginning", show=False),
        Binding("end,G", "go(1)", "end", show=False),
    ]

    # Which search result is chosen, and of how many: "2 of 7".
    found = reactive("", repaint=False)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._member = ""
        self._items: Sequence[ShownItem] = ()
        self._colours: Mapping[str, str] = {}
        self._turned: set[str] = set()
        self._all_open = False
        self._layout = Layout(self._paint)
        self._first = 0
        self._follows = True
        self._cursor: str | None = None
        self._search = ConversationSearch(lambda item: self._paint(item, False))
        self._growing = GrowingMarkdown()
        self._end_key = "End"

    def on_mount(self) -> None:
        """Lay out again with the colours of another theme."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self._lay_anew())

    # -- what is shown ----------------------------------------------------------------------------

    def begin(self) -> None:
        """Forget folding and scrolling before another conversation is shown."""
        self._turned.clear()
        self._follows, self._cursor, self._all_open = True, None, False
        # Lay out the end of the next conversation.
        self._items, self._first = (), 0
        self._search.seek("")
        self.end_search()

    def name_end_key(self, key: str) -> None:
        """Name the key that scrolls to the end, which depends on what has the keys."""
        if key != self._end_key:
            self._end_key = key
            self._entitle()

    def show(self, name: str, items: Sequence[ShownItem], colours: Mapping[str, str]) -> None:
        """Show the items of a member, in the colours of their authors."""
        if (name, items, colours) == (self._member, self._items, self._colours):
            return
        if colours != self._colours:
            self._layout.forget()
        self._member, self._items, self._colours = name, items, colours
        self._lay()

    def _lay(self) -> None:
        if not self.size.width:
            # Its size comes later. Lines of a wrong width would be seen for a moment.
            return
        if self._follows:
            first = _page_start(self._items, len(self._items))
            # Far more than a page: it has grown, or another conversation is shown.
            if _page_start(self._items, first) > self._first:
                self._first = first
        items = list(self._items[self._first :])
        if self._first:
            items.insert(0, NoticeItem("earlier", f"{self._first:,} earlier; scroll up to see them"))
        self._layout.lay(items, self._is_folded)
        self.virtual_size = Size(self.room, self._layout.height)
        self._keep_end()
        # The end may be known only after the layout.
        self.call_after_refresh(self._keep_end)
        self._entitle()
        self.refresh()

    def _keep_end(self) -> None:
        if self._follows:
            self.scroll_to(y=self.max_scroll_y, animate=False)

    def _entitle(self) -> None:
        below = self._layout.height - self.scroll_offset.y - self.size.height
        lines = f"  {below:,} line{'' if below == 1 else 's'} below: {self._end_key}"
        more = "" if self._follows or below <= 0 else lines
        found = f"  {self.found}" if self.found else ""
        entitle(self, f"{words(self._member)}{found}{more}")

    def _paint(self, item: ShownItem, folded: bool) -> list[WrappedLine]:
        look = PaintLook(self.room, self._colours, self.app.console, tints_of(self.app.theme), self._growing)
        return lines_of(item, look, folded=folded)

    @property
    def room(self) -> int:
        """The width of a line in cells."""
        # Keep space for the scroll bar, so that lines do not wrap again when it appears.
        return max(10, self.size.width - 2 * _MARGIN - self.styles.scrollbar_size_vertical)

    def _is_folded(self, item: ShownItem) -> bool:
        folded = fold_of(item) is Fold.CLOSED and not self._all_open
        return fold_of(item) is not Fold.NEVER and (folded != (item.key in self._turned))

    def render_line(self, y: int) -> Strip:
        """Return a visible line."""
        number = self.scroll_offset.y + y
        line = self._layout.line(number)
        width, style = self.size.width, self.rich_style
        if line is None:
            return Strip.blank(width, style)
        laid = self._layout.at(number)
        chosen = self.has_focus and laid is not None and laid.item.key == self._cursor and line.text.plain != ""
        shown = Text(end="", no_wrap=True).append("▎" if chosen else " ", "bold cyan")
        shown.append_text(line.text)
        if line.back:
            shown.append(" " * max(0, self.room + _MARGIN - shown.cell_len))
            shown.stylize_before(line.back)
        if self.found and laid is not None:
            self._mark_hits(shown, laid, number)
        self._mark_selected(shown, number)
        strip = Strip(shown.render(self.app.console)).adjust_cell_length(width, style).apply_style(style)
        return strip.apply_offsets(0, number)

    def _mark_hits(self, shown: Text, laid: Laid, number: int) -> None:
        row = number - self._layout.start(number)
        for start, end, chosen in self._search.row(laid, row):
            shown.stylize(_CHOSEN_HIT if chosen else _HIT, start + _MARGIN, end + _MARGIN)

    def _mark_selected(self, shown: Text, number: int) -> None:
        selection = self.text_selection
        span = selection.get_span(number) if selection else None
        if span is not None:
            end = len(shown) if span[1] == -1 else span[1]
            shown.stylize(self.screen.get_component_rich_style("screen--selection"), span[0], end)

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        """Return what was selected with the mouse, as it was written: without wraps and margins."""
        parts = []
        for number in range(self._layout.height):
            span, line = selection.get_span(number), self._layout.line(number)
            if span is not None and line is not None:
                # The first column is for the mark of the chosen item.
                start, end = max(0, span[0] - _MARGIN), None if span[1] == -1 else max(0, span[1] - _MARGIN)
                parts.append((line, line.part(start, end)))
        return joined(parts), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Show what is selected."""
        self.refresh()

    # -- moving about -----------------------------------------------------------------------------

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the end while it is visible. Lay out more at the top."""
        super().watch_scroll_y(old_value, new_value)
        self._follows = round(new_value) >= self.max_scroll_y
        self._entitle()
        if new_value < 1 and old_value >= 1 and self._first:
            self.call_later(self._show_earlier)

    def _show_earlier(self) -> None:
        before = self._layout.height
        self._first = _page_start(self._items, self._first)
        self._lay()
        self.scroll_to(y=self.scroll_y + self._layout.height - before, animate=False)

    def on_resize(self, event: events.Resize) -> None:
        """Wrap all lines again."""
        self._lay_anew()

    def _lay_anew(self) -> None:
        self._layout.forget()
        self._search.forget()
        self._lay()

    def action_go(self, to: int) -> None:
        """Scroll to the beginning, or with 1 to the end."""
        self.scroll_to(y=self.max_scroll_y if to else 0, animate=False)

    def action_choose(self, by: int) -> None:
        """Move to the next item below or above. Within an item larger than the window, scroll."""
        top, bottom = self.scroll_offset.y, self.scroll_offset.y + self.size.height
        keys = [item.key for item in self._layout.items]
        span = self._layout.span(self._cursor) if self._cursor in keys else None
        if span is None or span[1] <= top or span[0] >= bottom:
            laid = self._layout.at(top if by > 0 else min(bottom, self._layout.height) - 1)
            self._choose(laid.item.key if laid else None)
        elif (by > 0 and span[1] > bottom) or (by < 0 and span[0] < top):
            self.scroll_relative(y=by, animate=False)
        else:
            place = keys.index(str(self._cursor)) + by
            self._choose(keys[max(0, min(place, len(keys) - 1))])

    def _choose(self, key: str | None) -> None:
        self._cursor = key
        if key is not None and (span := self._layout.span(key)):
            top, height = self.scroll_offset.y, self.size.height
            if span[0] < top:
                self.scroll_to(y=max(span[0], span[1] - height), animate=False)
            elif span[1] > top + height:
                self.scroll_to(y=min(span[0], span[1] - height), animate=False)
        self.refresh()

    # -- folding ----------------------------------------------------------------------------------

    def action_fold(self) -> None:
        """Fold or unfold the chosen item, or the last foldable one if none is chosen."""
        foldable = [item.key for item in self._layout.items if fold_of(item) is not Fold.NEVER]
        if self._cursor is None and foldable:
            self._cursor = foldable[-1]
        if self._cursor in foldable:
            self._turn(str(self._cursor))

    def action_fold_all(self) -> None:
        """Unfold everything, or fold everything again."""
        self._all_open = not self._all_open
        self._turned.clear()
        self._keeping_place(self._cursor)

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked item, and fold or unfold it."""
        offset = event.get_content_offset(self)
        # A click that ends a selection does not fold.
        laid = self._layout.at(self.scroll_offset.y + offset.y) if offset and not self.text_selection else None
        if laid is not None:
            self._cursor = laid.item.key
            if laid.item.key == "earlier":
                self._show_earlier()
            elif fold_of(laid.item) is not Fold.NEVER:
                self._turn(laid.item.key)

    def _turn(self, key: str) -> None:
        self._turned ^= {key}
        self._keeping_place(key)
        self._choose(key)

    def _keeping_place(self, key: str | None) -> None:
        """Lay out again and keep an item at its place on the screen."""
        before = self._layout.span(key) if key else None
        top, self._follows = self.scroll_offset.y, False
        self._lay()
        after = self._layout.span(key) if key else None
        if before and after:
            self.scroll_to(y=top + after[0] - before[0], animate=False)
        self._follows = self.scroll_offset.y >= self.max_scroll_y

    # -- copying ----------------------------------------------------------------------------------

    def action_copy(self) -> None:
        """Copy the source of the chosen item, or of the last words if none is chosen, and say so."""
        said = [item for item in self._items if isinstance(item, WordsItem)]
        chosen = next((item for item in self._items if item.key == self._cursor), said[-1] if said else None)
        text = source_of(chosen) if chosen else ""
        if text:
            copy(self.app, text)

    # -- searching --------------------------------------------------------------------------------

    def seek(self, sought: str, by: int = -1) -> None:
        """Go to the last place that has a text, or to the next one: above, or with 1 below."""
        self._search.seek(sought)
        self.action_find(by)

    def action_find(self, by: int) -> None:
        """Go to the next search result: above, or with 1 below."""
        if found := self._search.step(self._items, by):
            self._reveal(*found)
        self._show_found(self._search.count)

    def end_search(self) -> None:
        """Mark what was found no longer. The next step marks it again."""
        if self.found:
            self._show_found("")

    def _show_found(self, count: str) -> None:
        self.found = count
        self._entitle()
        self.refresh()

    def _reveal(self, item: ShownItem, hit: Hit) -> None:
        """Scroll to a search result in an item, and unfold the item if needed."""
        self._first = min(self._first, self._items.index(item))
        if self._is_folded(item) and hit not in hits_in(self._paint(item, True), self._search.sought):
            self._turned ^= {item.key}
        self._follows = False
        self._lay()
        self._cursor = item.key
        first, _ = self._layout.span(item.key) or (0, 0)
        self._bring_into_sight(first + hit[0][0])

    def _bring_into_sight(self, line: int) -> None:
        top, height = self.scroll_offset.y, self.size.height
        if not top <= line < top + height:
            self.scroll_to(y=max(0, line - height // 2), animate=False)


def _page_start(items: Sequence[ShownItem], end: int) -> int:
    """Return where the page of items before `end` starts. It has at least one item."""
    chars, start = 0, end
    while start > max(0, end - PAGE_ITEMS) and chars < PAGE_CHARS:
        start -= 1
        chars += len(items[start].text)
    return start
