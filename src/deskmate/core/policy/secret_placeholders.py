"""The text a model sees instead of a secret, and the way back.

A model copies what it reads, including placeholders. If these were written to a file as they are, they would destroy
the secrets. `Concealed` is a text with one character, a mark, in place of each secret. `restore` says which secret each
mark of a changed text stands for. It never guesses: what is not clear is refused.

A placeholder is only resolved within the text that its secret was found in, and at most as often as it was there. So no
secret reaches another file or a second place through a model that cannot see it.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeVar

from deskmate.core.policy.redaction import SHAPES, Redaction, is_secret_name

_STAND_IN = re.compile(r"\[redacted: [^\]\n]{1,80}\]")
# A placeholder as a model may remember it.
_NEARLY = re.compile(r"\[\s?redacted\s?:([^\]\n]{1,80})\]", re.IGNORECASE)
# Marks are surrogates: no text decoded from UTF-8 contains any.
_FIRST_MARK = 0xD800
_MARK = re.compile("[\ud800-\udfff]")


class Unclear(Exception):
    """It is not clear which secret a placeholder stands for."""


def placeholders_in(text: str, redaction: Redaction = SHAPES) -> list[str]:
    """Return the placeholders in a text, in order, including inexact copies.

    Other programs write `[REDACTED: EMAIL]`. So a placeholder must have a name that the redaction shows, or be written
    exactly like ours with the name of a secret, which may have been known before.
    """
    return [found[0] for found in _NEARLY.finditer(text) if _is_stand_in(found, redaction)]


def _is_stand_in(found: re.Match[str], redaction: Redaction) -> bool:
    exact = _STAND_IN.fullmatch(found[0]) is not None
    return redaction.may_show(found[1]) or (exact and is_secret_name(found[1].strip()))


def refusal_to_run(command: str, redaction: Redaction = SHAPES) -> str | None:
    """Return why a command is not run; None if it has no placeholder."""
    found = placeholders_in(command, redaction)
    return f"it contains {found[0]}, a placeholder for a secret, and would use that text literally" if found else None


def has_marks(text: str) -> bool:
    """Tell whether a text contains characters that are used as marks. UTF-8 cannot encode those."""
    return _MARK.search(text) is not None


@dataclass(frozen=True)
class Concealed:
    """A text with a mark for each secret. `hidden`: what the marks stand for, in order. `marks`: by placeholder.

    If the text itself contained a placeholder with the same name as one of its secrets, that is a mark that stands for
    itself, since a reader cannot tell the two apart.
    """

    body: str
    hidden: tuple[str, ...] = ()
    marks: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _places(self) -> list[int]:
        return [mark.start() for mark in _MARK.finditer(self.body)] if self.hidden else []

    def mark(self, text: str) -> str:
        """Return another text with the placeholders that this one knows replaced by their marks."""
        return _STAND_IN.sub(lambda found: self.marks.get(found[0], found[0]), text) if self.marks else text

    def show(self, text: str) -> str:
        """Return a text with a placeholder for each mark."""
        names = {mark: stand_in for stand_in, mark in self.marks.items()}
        return _MARK.sub(lambda found: names[found[0]], text) if names else text

    def marks_in(self, part: str) -> int:
        """Return how many marks a part of its body has."""
        return len(_MARK.findall(part)) if self.hidden else 0

    def part(self, start: int, end: int) -> "Concealed":
        """Return the part from `start` to `end`."""
        first, last = bisect_left(self._places, start), bisect_left(self._places, end)
        return Concealed(self.body[start:end], self.hidden[first:last], self.marks)

    def line(self, plain: str, at: int) -> int:
        """Return the line number of a place in `plain`, its body with any line ends. Lines inside secrets count too."""
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
        """Return how often each placeholder stands for something other than itself."""
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
    """Return the placeholder of a secret that would no longer be found in a text; None if all would be.

    Some secrets are recognised only by the words before them.
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


# What models write for a secret that they do not know.
_BLANKS = re.compile(r"redacted|\*{3,}|<(?:secret|hidden|masked)>|已隐藏|已脱敏", re.IGNORECASE)
# These are also written for other reasons, so they count only in the place of a secret.
_FILLERS = re.compile(r"\.{3,}|…|<[^<>?%\n][^<>\n]*>|x{4,}", re.IGNORECASE)
_QUOTES = " \t\"'`"


def blanked(old: Concealed, new: Concealed) -> str | None:
    """Return the placeholder of a secret that is missing in a new text and was replaced by a blank; else None."""
    lost = old.secrets() - new.secrets()
    if not lost:
        return None
    more = len(_BLANKS.findall(new.body)) > len(_BLANKS.findall(old.body))
    return min(lost) if more or _has_filler(old.body, new.body) else None


def _has_filler(old: str, new: str) -> bool:
    """Tell whether a line that begins like one with a mark continues with a filler."""
    befores = {spot.before.rstrip(_QUOTES) for spot in _spots(_lines(old))}
    return any(
        line[: found.start()].rstrip(_QUOTES) in befores and (found.start() or found[0] == line)
        for line in _lines(new)
        for found in _FILLERS.finditer(line)
    )


class _Spot(NamedTuple):
    """A mark in a text: the number of its line, what comes before it on that line, and the whole line."""

    mark: str
    number: int
    before: str
    line: str

    @property
    def after(self) -> str:
        return self.line[len(self.before) + 1 :]


def restore(old: Concealed, new: str) -> list[str]:
    """Return what each mark in a new text stands for, in order. `old` is the text that the new one replaces.

    Raises Unclear if a mark occurs more often in the new text than in the old one, or if the old text has different
    secrets under one name and their lines do not tell them apart.
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
            added = _only_added(old.body, new, mark)
            texts = _told_apart(known[mark], hidden[mark], spots, only_added=added)
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
    """Tell whether the changes are only in one block of lines that has none of these marks."""
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    return len(olds) == len(news) and all(
        spot.number < head or spot.number >= len(lines) - tail
        for spots, lines in ((olds, before), (news, after))
        for spot in spots
    )


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines at the beginning two texts have in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))


def _told_apart(
    olds: Sequence[_Spot], texts: Sequence[str], news: Sequence[_Spot], *, only_added: bool
) -> list[str] | None:
    """Return what marks stand for; None if that is not clear.

    Secrets change their order only if every line with a mark is one of the old lines. Otherwise they stay in order, and
    no line may contradict that.
    """
    named = list(_named(olds, texts, news))
    found = [text for text, _ in named if text is not None]
    if len(found) == len(news) and (all(whole for _, whole in named) or _in_order(found, texts)):
        return found
    pairs = list(zip(olds, texts, news, named, strict=False))
    if len(olds) != len(news) or any(text not in (None, own) for _, own, _, (text, _) in pairs):
        return None
    alike = _texts_by(lambda spot: (spot.before, spot.line), olds, texts)
    unsure = [
        new
        for old, _, new, (text, _) in pairs
        if text is None and (len(alike[old.before, old.line]) > 1 or not _kept(old, new))
    ]
    return list(texts) if only_added or len(unsure) <= 1 else None


def _named(olds: Sequence[_Spot], texts: Sequence[str], news: Sequence[_Spot]) -> Iterator[tuple[str | None, bool]]:
    """Yield what each mark stands for by its line, or None if unclear, and whether that line is an old one.

    An old line with something added at its end still counts as old. A line that only begins like an old one is unclear
    if it ends like the line of another secret, or has lost one of several secrets.
    """
    by_line = _texts_by(lambda spot: (spot.before, spot.line), olds, texts)
    by_beginning = _texts_by(lambda spot: spot.before, olds, texts)
    by_ending = _texts_by(lambda spot: spot.after, olds, texts)
    on_line = _texts_by(lambda spot: spot.number, olds, texts)
    first = {spot.before: spot for spot in reversed(olds)}
    old_marks, new_marks = (Counter(spot.number for spot in spots) for spots in (olds, news))
    for spot in news:
        texts_here = by_line.get((spot.before, spot.line)) or by_beginning.get(spot.before, set())
        if len(texts_here) != 1:
            yield None, False
            continue
        text, old = next(iter(texts_here)), first[spot.before]
        if (spot.before, spot.line) in by_line:
            yield text, True
        else:
            other = text not in by_ending.get(spot.after, {text}) and _WORD.search(spot.after)
            fewer = new_marks[spot.number] < old_marks[old.number] and len(on_line[old.number]) > 1
            yield None if other or fewer else text, _goes_on(spot.line, old.line.rstrip(",;"))


_Key = TypeVar("_Key")


def _texts_by(key: Callable[[_Spot], _Key], spots: Sequence[_Spot], texts: Sequence[str]) -> dict[_Key, set[str]]:
    found = defaultdict[_Key, set[str]](set)
    for spot, text in zip(spots, texts, strict=True):
        found[key(spot)].add(text)
    return dict(found)


def _in_order(some: Iterable[str], texts: Iterable[str]) -> bool:
    """Tell whether some of the texts are in the same order as in all of them."""
    rest = iter(texts)
    return all(text in rest for text in some)


# -- what was kept --------------------------------------------------------------------------------

_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\w+|[^\w\s]")
# `postgres` may become `postgresql`. A shorter word is the beginning of too many others.
_LONG_WORD = 4


def _goes_on(new: str, old: str) -> bool:
    """Tell whether a line is an old one with something added at its end. `# 10` does not count for `# 1`."""
    return new.startswith(old) and not (_WORD.match(old[-1:]) and _WORD.match(new[len(old) :]))


def _only_added(old: str, new: str, mark: str) -> bool:
    """Tell whether words were only added, up to the line of the last mark.

    All words are then still there, in order and between the same marks.
    """
    olds, news = (_until_last(text, mark).split(mark) for text in (old, new))
    return len(olds) == len(news) and all(map(_contains, news, olds))


def _until_last(text: str, mark: str) -> str:
    end = text.find("\n", text.rfind(mark))
    return text if end < 0 else text[:end]


def _kept(old: _Spot, new: _Spot) -> bool:
    """Tell whether a line still has all words of the old one, in order, on the same side of its mark."""
    return _contains(new.before, old.before) and _contains(new.after, old.after)


def _contains(new: str, old: str) -> bool:
    words = (word[0] for word in _TOKEN.finditer(new))
    return all(any(_same(word, one) for one in words) for word in _TOKEN.findall(old))


def _same(old: str, new: str) -> bool:
    return old == new or (len(old) >= _LONG_WORD and new.startswith(old))
