"""Long lists of which only the visible part is drawn.

`board_panel` and `mail_panel` say what their rows look like.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from deskmate.faces.tui.drawing.styled_lines import Line, strip_of


class Rows(ScrollView, can_focus=True):
    """A list of rows, identified by keys. `FOLLOWS`: whether the end stays visible as rows are added there.

    `head`: makes the line of a row for a width in cells. `below`: makes the lines below it when it is unfolded.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--chosen"}
    FOLLOWS: ClassVar[bool] = False
    NOTHING: ClassVar[str] = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", "up", show=False),
        Binding("down", "step(1)", "down", show=False),
        Binding("pageup", "leap(-1)", "page up", show=False),
        Binding("pagedown", "leap(1)", "page down", show=False),
        Binding("home", "go(0)", "first", show=False),
        Binding("end", "go(-1)", "last", show=False),
        Binding("enter", "unfold", "open / close"),
    ]
    DEFAULT_CSS = """
    Rows { height: 1fr; border-top: solid $foreground 30%; overflow-x: hidden; scrollbar-size-vertical: 1;
        scrollbar-gutter: stable; }
    Rows:focus { border-top: solid $accent; }
    Rows > .rows--chosen { background: $foreground 25%; text-style: bold; }
    Rows:ansi > .rows--chosen { text-style: reverse; }
    """

    def __init__(
        self, head: Callable[[str, int], Line], below: Callable[[str, int], list[Line]], *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._head_of, self._below_of = head, below
        self._keys: Sequence[str] = ()
        self._chosen: str | None = None
        self._unfolded: set[str] = set()
        self._below: dict[str, list[Line]] = {}
        self._places: list[tuple[str, int]] = []
        self._drawn: dict[int, tuple[Line, bool]] = {}
        self._at_end = True

    # -- what there is ----------------------------------------------------------------------------

    def lay(self, keys: Sequence[str]) -> None:
        """Set the rows. Only lines that changed are drawn again."""
        top = self._key_at(self.scroll_offset.y)
        if self._chosen not in keys:
            self._chosen = self._neighbour(keys)
        elif self._follows and self._chosen == self._keys[-1]:
            self._chosen = keys[-1]
        self._keys = keys
        self._set_out()
        if self._follows:
            self.roll_to(self.max_scroll_y)
        elif top is not None and self._key_at(self.scroll_offset.y) != top and top in keys:
            self.roll_to(self._places.index((top, 0)))
        self._draw_changed()

    @property
    def _follows(self) -> bool:
        """Whether the end stays visible: not while the person looks at an earlier row or reads one."""
        return self.FOLLOWS and self._at_end and self._chosen not in self._unfolded

    def _neighbour(self, keys: Sequence[str]) -> str | None:
        """Return the row to choose if the chosen one is gone: the one now in its place."""
        if not keys:
            return None
        before = self._keys.index(self._chosen) if self._chosen in self._keys else -1 if self.FOLLOWS else 0
        return keys[min(before, len(keys) - 1)]

    def _set_out(self) -> None:
        cells = self._cells
        # A hidden widget has no width. It is laid out again when it has one.
        unfolded = self._unfolded if cells else set()
        self._below = {key: self._below_of(key, cells) for key in self._keys if key in unfolded}
        self._places = [(key, n) for key in self._keys for n in range(1 + len(self._below.get(key, ())))]
        self.virtual_size = Size(cells, len(self._places))

    def roll_to(self, y: int) -> None:
        """Scroll a line to the top, or as near as possible."""
        # Forced, because a list that was short until now has no scroll bar yet and would not scroll.
        self.scroll_to(y=y, animate=False, force=True)

    def _draw_changed(self) -> None:
        top = self.scroll_offset.y
        for y in range(top, top + self.size.height):
            if self._drawn.get(y) != self._seen(y):
                self.refresh(Region(0, y - top, self.size.width, 1))

    @property
    def _cells(self) -> int:
        return self.scrollable_content_region.width

    # -- drawing ----------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """Draw a visible line."""
        y += self.scroll_offset.y
        # Lines that were visible long ago need not be remembered.
        if len(self._drawn) > 4 * self.size.height:
            self._drawn.clear()
        self._drawn[y] = line, chosen = self._seen(y)
        style = self.get_component_rich_style("rows--chosen") if chosen else self.rich_style
        return strip_of(line, self.scrollable_content_region.width, style)

    def _seen(self, y: int) -> tuple[Line, bool]:
        """Return a line, and whether it is shown as chosen."""
        if not self._places:
            return (((self.NOTHING, "dim"),) if y == 0 else ()), False
        if not 0 <= y < len(self._places):
            return (), False
        key, n = self._places[y]
        line = self._below[key][n - 1] if n else self._head_of(key, self._cells)
        return line, self.has_focus and not n and key == self._chosen

    def on_resize(self, event: events.Resize) -> None:
        """Lay out the rows again."""
        follows = self._follows
        self._set_out()
        if follows:
            self.roll_to(self.max_scroll_y)
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Remember whether the end is visible."""
        super().watch_scroll_y(old_value, new_value)
        self._at_end = round(new_value) >= self.max_scroll_y

    def watch_has_focus(self, has_focus: bool) -> None:
        """Show the chosen row only while the list has the focus."""
        super().watch_has_focus(has_focus)
        self.refresh()

    # -- choosing ---------------------------------------------------------------------------------

    @property
    def chosen(self) -> str | None:
        """The key of the chosen row, if there is one."""
        return self._chosen

    def action_step(self, by: int) -> None:
        """Choose the next row, or first scroll to the hidden part of this one."""
        if self._chosen is None:
            return
        first = self._places.index((self._chosen, 0))
        last = first + len(self._below.get(self._chosen, ()))
        top, height = self.scroll_offset.y, self.size.height
        hidden = last >= top + height if by > 0 else first < top
        # If the row was scrolled far away, go back to it.
        if hidden and first < top + height and last >= top:
            self.roll_to(top + by)
        else:
            self._choose(self._keys.index(self._chosen) + by)

    def action_leap(self, by: int) -> None:
        """Move by one page."""
        if self._chosen is not None:
            first = self._places.index((self._chosen, 0))
            y = min(max(first + by * max(self.size.height - 1, 1), 0), len(self._places) - 1)
            self._choose(self._keys.index(self._places[y][0]))

    def action_go(self, to: int) -> None:
        """Choose the first row or the last."""
        self._choose(to % len(self._keys) if self._keys else 0)

    def action_unfold(self) -> None:
        """Show or hide the details below the chosen row."""
        if self._chosen is not None:
            self.unfold(self._chosen)

    def unfold(self, key: str) -> None:
        """Show or hide the details below a row."""
        self._unfolded ^= {key}
        self._set_out()
        self._reveal()
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked row, and unfold or fold it."""
        offset = event.get_content_offset(self)
        key = self._key_at(offset.y + self.scroll_offset.y) if offset else None
        if key is not None:
            self._chosen = key
            self.action_unfold()

    def _choose(self, index: int) -> None:
        if self._keys:
            self._chosen = self._keys[min(max(index, 0), len(self._keys) - 1)]
            self._reveal()
            self._draw_changed()

    def _reveal(self) -> None:
        """Scroll to the chosen row, showing as much of it as fits."""
        if self._chosen is None:
            return
        first = self._places.index((self._chosen, 0))
        last = first + len(self._below.get(self._chosen, ()))
        top, height = self.scroll_offset.y, self.size.height
        if first < top:
            self.roll_to(first)
        elif last >= top + height:
            self.roll_to(min(first, last - height + 1))

    def _key_at(self, y: int) -> str | None:
        return self._places[y][0] if 0 <= y < len(self._places) else None
