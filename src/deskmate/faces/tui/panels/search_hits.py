"""Where a searched text is in the lines of a conversation. Case is ignored.

`conversation_panel` shows the hits. A hit may begin on one row and end on the next: rows that were one line before they
were wrapped are searched as one.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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
    for row, line in enumerate(lines):
        kept = line.text.plain[line.margin :]
        # After a title is how much can be unfolded.
        kept = line.source if line.source and kept.startswith(line.source) else kept
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
class _Found:
    """The hits in an item or in its lines, and the same by row."""

    source: object
    hits: list[Hit]
    rows: dict[int, list[tuple[HitPart, Hit]]] = field(default_factory=dict)


class ConversationSearch:
    """What is searched for, and the chosen hit. `paint`: returns the lines of an item, unfolded."""

    def __init__(self, paint: Callable[[ShownItem], list[WrappedLine]]) -> None:
        self._paint = paint
        self._whole: dict[str, _Found] = {}
        self._shown: dict[str, _Found] = {}
        # The key of its item, and which hit there it is.
        self._chosen = ("", 0)
        self.sought, self.count = "", ""

    def seek(self, sought: str) -> None:
        """Search for a text from now on."""
        if sought != self.sought:
            self.sought, self.count, self._chosen = sought, "", ("", 0)
            self.forget()

    def forget(self) -> None:
        """Find everything again next time, because lines are wrapped at another width."""
        self._whole, self._shown = {}, {}

    def step(self, items: Sequence[ShownItem], by: int) -> tuple[ShownItem, Hit] | None:
        """Choose the next hit: above, or with 1 below. Return its item and where it is there, or None if there is none.

        The first one is the last of the conversation. Above the first hit is the last.
        """
        every = [(item, number, hit) for item in items for number, hit in enumerate(self._hits(item))]
        if not every:
            self.count = "nothing found" if self.sought else ""
            return None
        chosen = (place for place, (item, number, _) in enumerate(every) if (item.key, number) == self._chosen)
        place = (next(chosen, len(every) if by < 0 else -1) + by) % len(every)
        item, number, hit = every[place]
        self._chosen, self.count = (item.key, number), f"{len(every) - place:,} of {len(every):,}"
        return item, hit

    def _hits(self, item: ShownItem) -> list[Hit]:
        found = self._whole.get(item.key)
        if found is None or found.source != item:
            self._whole[item.key] = found = _Found(item, self._find(item))
        return found.hits

    def _find(self, item: ShownItem) -> list[Hit]:
        source, wanted = _source(item).casefold(), self.sought.casefold()
        # Laying out takes time. Between words there may be marks of Markdown.
        if not wanted or not all(word in source for word in wanted.split()):
            return []
        # What is not shown, such as the address of a link, is found at the head of its item.
        return hits_in(self._paint(item), self.sought) or ([_HEAD] if wanted in source else [])

    def row(self, laid: Laid, row: int) -> Iterator[tuple[int, int, bool]]:
        """Yield the hits in a row of an item as it is shown: from and to which character, and whether it is chosen."""
        found = self._shown.get(laid.item.key)
        if found is None or found.source is not laid:
            found = _Found(laid, hits_in(laid.lines[laid.spaced :], self.sought))
            self._shown[laid.item.key] = found
            for hit in found.hits:
                for part in hit:
                    found.rows.setdefault(part[0], []).append((part, hit))
        key, number = self._chosen
        chosen = self._hits(laid.item)[number : number + 1] if laid.item.key == key else []
        yield from ((start, end, hit in chosen) for (_, start, end), hit in found.rows.get(row - laid.spaced, ()))


def _source(item: ShownItem) -> str:
    parts = [item.title, item.text]
    if isinstance(item, MailItem):
        parts.append(item.sender)
    if isinstance(item, CallItem):
        parts += [item.details, item.diff]
    return "\n".join(parts)
