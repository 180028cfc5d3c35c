"""Stand-ins: the text `[redacted: NAME]` that a model sees instead of a secret, and the way back to the secret.

A model copies what it reads, stand-ins included. Written to a file as they are, they would destroy the secrets they
stand for. `Concealed` is a text with one character, a mark, in the place of each secret. `restore` says which secret
each mark of a changed text stands for. It never guesses: what is not clear is refused.

A stand-in is only ever resolved within the text that its secret was found in, and at most as often as it was there. So
no secret reaches another file or a second place through a model that cannot see it.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from deskmate.core.redaction import Redaction

_STAND_IN = re.compile(r"\[redacted: [^\]\n]{1,80}\]")
# As a model may remember it.
_NEARLY = re.compile(r"\[\s?redacted\s?:[^\]\n]{1,80}\]", re.IGNORECASE)
# Surrogates: no text that was decoded from UTF-8 contains any.
_FIRST_MARK = 0xD800
_MARK = re.compile("[\ud800-\udfff]")


class Unclear(Exception):
    """It is not clear which secret a stand-in stands for."""


def stand_ins(text: str) -> list[str]:
    """Return the stand-ins in a text, in order, also those that were not copied exactly."""
    return _NEARLY.findall(text)


def refusal_to_run(command: str) -> str | None:
    """Return why a command is not run; None if it contains no stand-in."""
    found = stand_ins(command)
    return f"it contains {found[0]}, a placeholder for a secret, and would use that text literally" if found else None


def has_marks(text: str) -> bool:
    """Tell whether a text contains characters that are used as marks; UTF-8 cannot encode those."""
    return _MARK.search(text) is not None


@dataclass(frozen=True)
class Concealed:
    """A text with a mark for each secret. `hidden`: what the marks stand for, in order. `marks`: by stand-in.

    A stand-in that was in the text itself, under a name that one of its secrets has as well, is a mark that stands for
    itself: a reader cannot tell the two apart.
    """

    body: str
    hidden: tuple[str, ...] = ()
    marks: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _places(self) -> list[int]:
        return [mark.start() for mark in _MARK.finditer(self.body)] if self.hidden else []

    def mark(self, text: str) -> str:
        """Return another text with the stand-ins that this one knows replaced by their marks."""
        return _STAND_IN.sub(lambda found: self.marks.get(found[0], found[0]), text) if self.marks else text

    def show(self, text: str) -> str:
        """Return a text with a stand-in for each mark."""
        names = {mark: stand_in for stand_in, mark in self.marks.items()}
        return _MARK.sub(lambda found: names[found[0]], text) if names else text

    def marks_in(self, part: str) -> int:
        """Return how many marks a part of its body has."""
        return len(_MARK.findall(part)) if self.hidden else 0

    def part(self, start: int, end: int) -> "Concealed":
        """Return a part of it."""
        first, last = bisect_left(self._places, start), bisect_left(self._places, end)
        return Concealed(self.body[start:end], self.hidden[first:last], self.marks)

    def line(self, plain: str, at: int) -> int:
        """Return the number of the line of a place in `plain`, its body with any line ends. Secrets may have lines."""
        before = plain[:at]
        inside = sum(text.count("\n") for text in self.hidden[: self.marks_in(before)])
        return before.count("\n") + inside + 1

    def changed(self, body: str, hidden: Iterable[str]) -> "Concealed":
        """Return another body with the same marks."""
        return Concealed(body, tuple(hidden), self.marks)

    def text(self) -> str:
        """Return the text with its secrets."""
        hidden = iter(self.hidden)
        return _MARK.sub(lambda _: next(hidden), self.body) if self.hidden else self.body

    def secrets(self) -> Counter[str]:
        """Return how often each stand-in stands for something else than itself."""
        names = {mark: stand_in for stand_in, mark in self.marks.items()}
        shown = (names[mark] for mark in _MARK.findall(self.body))
        return Counter(name for name, text in zip(shown, self.hidden, strict=True) if name != text)


def conceal(text: str, redaction: Redaction) -> Concealed:
    """Return a text with a mark for each secret that a redaction finds in it."""
    finds = redaction.find(text)
    if not finds:
        return Concealed(text)
    names = dict.fromkeys(f"[redacted: {find.name}]" for find in finds)
    marks = {name: chr(_FIRST_MARK + number) for number, name in enumerate(names)}
    parts, hidden, at = list[str](), list[str](), 0

    def add(between: str) -> None:
        hidden.extend(found for found in _STAND_IN.findall(between) if found in marks)
        parts.append(_STAND_IN.sub(lambda found: marks.get(found[0], found[0]), between))

    for find in finds:
        add(text[at : find.start])
        parts.append(marks[f"[redacted: {find.name}]"])
        hidden.append(text[find.start : find.end])
        at = find.end
    add(text[at:])
    return Concealed("".join(parts), tuple(hidden), marks)


def exposed(text: Concealed, redaction: Redaction) -> str | None:
    """Return the stand-in of a secret that would no longer be found in a text, None if all would be.

    Some secrets are known only by the words before them.
    """
    whole, at, shift = text.text(), 0, 0
    finds = redaction.find(whole) if text.hidden else []
    for mark, hidden in zip(_MARK.finditer(text.body), text.hidden, strict=True):
        start, stand_in = mark.start() + shift, text.show(mark[0])
        shift += len(hidden) - 1
        while at < len(finds) and finds[at].end <= start:
            at += 1
        found = at < len(finds) and finds[at].start <= start and start + len(hidden) <= finds[at].end
        if hidden != stand_in and not found:
            return stand_in
    return None


class _Spot(NamedTuple):
    """A mark in a text: the number of its line, what comes before it on that line, and the whole line."""

    mark: str
    number: int
    before: str
    line: str


def restore(old: Concealed, new: str) -> list[str]:
    """Return what each mark in a new text stands for, in order. `old` is the text that the new one replaces.

    Raises Unclear if a mark occurs more often in the new text than in the old one, or if the old text has different
    secrets under one name and the lines that they are on do not tell them apart.
    """
    lines, new_lines = _lines(old.body), _lines(new)
    known, wanted = defaultdict[str, list[_Spot]](list), defaultdict[str, list[_Spot]](list)
    hidden, restored = defaultdict[str, list[str]](list), dict[str, Iterator[str]]()
    for spot, text in zip(_spots(lines), old.hidden, strict=True):
        known[spot.mark].append(spot)
        hidden[spot.mark].append(text)
    for spot in _spots(new_lines):
        wanted[spot.mark].append(spot)
    for mark, spots in wanted.items():
        if len(spots) > len(known[mark]):
            raise Unclear(f"{old.show(mark)} would occur more often than before")
        texts: list[str] | None = hidden[mark][: len(spots)]
        if len(set(hidden[mark])) > 1 and not _same_spots(known[mark], spots, lines, new_lines):
            texts = _told_apart(known[mark], hidden[mark], spots)
        if texts is None or Counter(texts) - Counter(hidden[mark]):
            raise Unclear(f"{old.show(mark)} stands for several secrets, and it is unclear which one you mean")
        restored[mark] = iter(texts)
    return [next(restored[mark]) for mark in _MARK.findall(new)]


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n")]


def _spots(lines: Sequence[str]) -> Iterator[_Spot]:
    for number, line in enumerate(lines):
        yield from (_Spot(mark[0], number, line[: mark.start()], line) for mark in _MARK.finditer(line))


def _same_spots(olds: Sequence[_Spot], news: Sequence[_Spot], before: Sequence[str], after: Sequence[str]) -> bool:
    """Tell whether all that changed are lines, one after the other, that have none of these marks."""
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    return len(olds) == len(news) and all(
        spot.number < head or spot.number >= len(lines) - tail
        for spots, lines in ((olds, before), (news, after))
        for spot in spots
    )


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines two texts have in common from their beginning on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))


def _told_apart(olds: Sequence[_Spot], texts: Sequence[str], news: Sequence[_Spot]) -> list[str] | None:
    """Return what marks stand for by the lines that they are on: the same line, or one that begins in the same way.

    If only one is left on either side, that is the one. None if that does not tell them apart.
    """
    by_line, by_beginning = defaultdict[tuple[str, str], set[str]](set), defaultdict[str, set[str]](set)
    for spot, text in zip(olds, texts, strict=True):
        by_line[spot.before, spot.line].add(text)
        by_beginning[spot.before].add(text)
    candidates = [by_line.get((spot.before, spot.line)) or by_beginning.get(spot.before, set()) for spot in news]
    found = [next(iter(one)) for one in candidates if len(one) == 1]
    left = list((Counter(texts) - Counter(found)).elements())
    if len(found) == len(news):
        return found
    if len(found) == len(news) - 1 and len(left) == 1:
        return [next(iter(one)) if len(one) == 1 else left[0] for one in candidates]
    return None
