"""Where a searched text is in the lines of a conversation. Case is ignored.

`conversation_panel` shows the hits. A hit may begin on one row and end on the next: rows that were one line before they
were wrapped are searched as one.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from deskmate.faces.common.items.mail_items import MailItem
from deskmate.faces.common.items.transcript_items import CallItem, ShownItem
from deskmate.faces.tui.drawing.line_layout import Laid
from deskmate.faces.tui.drawing.wrapped_lines import WrappedLine

# The row, counted from the first of its item, and which characters of it.
HitPart: TypeAlias = tuple[int, int, int]
Hit: TypeAlias = tuple[HitPart, ...]
_HEAD: Hit = ((0, 0, 0),)


def hits_in(lines: Sequence[WrappedLine], sought: str) -> list[Hit]:
    """Return where a text is in the lines of an item, from top to bottom."""
    texts, places = list[str](), list[tuple[int, int] | None]()
    is_whole = False
    for row, line in enumerate(lines):
        kept = line.text.plain[line.margin :]
        # After a title, on the same row or the next, is how much can be unfolded.
        is_whole = kept.startswith(line.source) if line.source else is_whole and line.source == ""
        kept = (line.source or "") if is_whole else kept
        # A title is wrapped at spaces, which its rows do not know.
        gap = " " if line.source == "" else line.gap
        texts += [gap, kept]
        places += [*[None] * len(gap), *((row, line.margin + at) for at in range(len(kept)))]
    found = re.finditer(re.escape(sought), "".join(texts), re.IGNORECASE) if sought else ()
    return [_parts(places[one.start() : one.end()]) for one in found]


def _parts(places: Sequence[tuple[int, int] | None]) -> Hit:
    columns: dict[int, list[int]] = {}
    for place in places:
        if place is not None:
            columns.setdefault(place[0], []).append(place[1])
    return tuple((row, found[0], found[-1] + 1) for row, found in columns.items())


@dataclass(frozen=True, slots=True)
class _Rows:
    """The hits in an item as it is laid out, by row."""

    laid: Laid
    rows: dict[int, list[tuple[HitPart, Hit]]]


class ConversationSearch:
    """What is searched for, and the chosen hit. `paint`: returns the lines of an item, unfolded.

    Painting takes time, so most items are only counted. They are painted once a hit in them is chosen.
    """

    def __init__(self, paint: Callable[[ShownItem], list[WrappedLine]]) -> None:
        self._paint = paint
        self._counts: dict[str, tuple[ShownItem, int]] = {}
        self._painted: dict[str, tuple[ShownItem, list[Hit]]] = {}
        self._shown: dict[str, _Rows] = {}
        # The key of its item, and which hit there it is.
        self._chosen = ("", 0)
        self.sought, self.count = "", ""

    def seek(self, sought: str) -> None:
        """Search for a text from now on."""
        if sought != self.sought:
            self.sought, self.count, self._chosen = sought, "", ("", 0)
            self._counts = {}
            self.forget()

    def forget(self) -> None:
        """Find everything again next time, because lines are wrapped at another width."""
        self._painted, self._shown = {}, {}

    def step(self, items: Sequence[ShownItem], by: int) -> tuple[ShownItem, Hit] | None:
        """Choose the next hit: above, or with 1 below. Return its item and where it is there, or None if there is none.

        The first one is the last of the conversation. Above the first hit is the last.
        """
        every = self._every(items)
        if not every:
            self.count = "nothing found" if self.sought else ""
            return None
        chosen = (place for place, (item, number) in enumerate(every) if (item.key, number) == self._chosen)
        item, number = every[(next(chosen, len(every) if by < 0 else -1) + by) % len(every)]
        hits = self._hits(item)
        # More or fewer may be found now that it is painted.
        number = min(number, len(hits) - 1)
        if item.key != self._chosen[0]:
            number = len(hits) - 1 if by < 0 else 0
        self._chosen = item.key, number
        places = [(item.key, number) for item, number in self._every(items)]
        self.count = f"{len(places) - places.index(self._chosen):,} of {len(places):,}"
        return item, hits[number]

    def _every(self, items: Sequence[ShownItem]) -> list[tuple[ShownItem, int]]:
        return [(item, number) for item in items for number in range(self._counted(item))]

    def _counted(self, item: ShownItem) -> int:
        """Return how many hits an item has, as far as it is known without painting it."""
        painted = self._painted.get(item.key)
        if painted is not None and painted[0] == item:
            return len(painted[1])
        before = self._counts.get(item.key)
        if before is None or before[0] != item:
            self._counts[item.key] = before = (item, self._count(item))
        return before[1]

    def _count(self, item: ShownItem) -> int:
        source, wanted = _source(item).casefold(), self.sought.casefold()
        if wanted and (count := source.count(wanted)):
            return count
        # Between words there may be marks of Markdown.
        words = wanted.split()
        return len(self._hits(item)) if len(words) > 1 and all(word in source for word in words) else 0

    def _hits(self, item: ShownItem) -> list[Hit]:
        painted = self._painted.get(item.key)
        if painted is None or painted[0] != item:
            hits = hits_in(self._paint(item), self.sought)
            # What is not shown, such as the address of a link, is found at the head of its item.
            is_hidden = not hits and self.sought.casefold() in _source(item).casefold()
            self._painted[item.key] = painted = (item, [_HEAD] if is_hidden else hits)
        return painted[1]

    def row(self, laid: Laid, row: int) -> Iterator[tuple[int, int, bool]]:
        """Yield the hits in a row of an item as it is shown: from and to which character, and whether it is chosen."""
        found = self._shown.get(laid.item.key)
        if found is None or found.laid is not laid:
            self._shown[laid.item.key] = found = _Rows(laid, {})
            for hit in hits_in(laid.lines[laid.spaced :], self.sought):
                for part in hit:
                    found.rows.setdefault(part[0], []).append((part, hit))
        key, number = self._chosen
        chosen = self._hits(laid.item)[number : number + 1] if laid.item.key == key else []
        yield from ((start, end, hit in chosen) for (_, start, end), hit in found.rows.get(row - laid.spaced, ()))


def _source(item: ShownItem) -> str:
    """Return what is shown of an item that is unfolded, before it is laid out."""
    match item:
        case CallItem():
            parts = [item.title, item.plan or item.details, item.diff or item.text]
        case MailItem():
            parts = [item.sender, item.title, item.text]
        case _:
            parts = [item.title, item.text]
    return "\n".join(parts)
