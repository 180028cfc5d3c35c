"""Which line belongs to which item.

Unchanged items are not laid out again, so appending to a long conversation costs only what is appended.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from deskmate.faces.common.items.mail_items import MailItem
from deskmate.faces.common.items.transcript_items import NoteItem, ShownItem, WordsItem
from deskmate.faces.tui.drawing.wrapped_lines import BLANK, WrappedLine


def _is_small(item: ShownItem) -> bool:
    """Return whether an item needs no blank line between itself and another small one."""
    return not item.text if isinstance(item, MailItem) else not isinstance(item, WordsItem | NoteItem)


@dataclass(frozen=True, slots=True)
class Laid:
    """An item as it was laid out."""

    item: ShownItem
    folded: bool
    spaced: bool
    lines: list[WrappedLine]


class Layout:
    """Items below each other. `paint`: makes the lines of an item, folded or not."""

    def __init__(self, paint: Callable[[ShownItem, bool], list[WrappedLine]]) -> None:
        self._paint = paint
        self._laid: list[Laid] = []
        self._starts: list[int] = []
        self.height = 0

    def lay(self, items: Sequence[ShownItem], is_folded: Callable[[ShownItem], bool]) -> None:
        """Lay out items. Unchanged items keep their lines."""
        before = {one.item.key: one for one in self._laid}
        laid: list[Laid] = []
        for item in items:
            spaced = bool(laid) and not (_is_small(item) and _is_small(laid[-1].item))
            laid.append(self._kept(before.get(item.key), item, is_folded(item), spaced))
        self._laid = laid
        ends = list(accumulate(len(one.lines) for one in laid))
        self._starts = [0, *ends[:-1]] if ends else []
        self.height = ends[-1] if ends else 0

    def forget(self) -> None:
        """Lay out everything again next time, because the width or a colour changed."""
        self._laid = []

    def _kept(self, before: Laid | None, item: ShownItem, folded: bool, spaced: bool) -> Laid:
        if before and before.item == item and (before.folded, before.spaced) == (folded, spaced):
            return before
        lines = self._paint(item, folded)
        return Laid(item, folded, spaced, [BLANK, *lines] if spaced else lines)

    def at(self, line: int) -> Laid | None:
        """Return the item at a line."""
        return self._laid[bisect_right(self._starts, line) - 1] if 0 <= line < self.height else None

    def start(self, line: int) -> int:
        """Return the first line of the item at a line, with the space above it."""
        return self._starts[bisect_right(self._starts, line) - 1]

    def line(self, line: int) -> WrappedLine | None:
        """Return a line, or None below the last."""
        if not 0 <= line < self.height:
            return None
        index = bisect_right(self._starts, line) - 1
        return self._laid[index].lines[line - self._starts[index]]

    def span(self, key: str) -> tuple[int, int] | None:
        """Return the first line of an item, without the space above it, and the line after its last."""
        for one, start in zip(self._laid, self._starts, strict=True):
            if one.item.key == key:
                return start + one.spaced, start + len(one.lines)
        return None

    @property
    def items(self) -> list[ShownItem]:
        """The items that are laid out."""
        return [one.item for one in self._laid]
