"""What each word certainly is."""

import re
from collections.abc import Iterable

from deskmate.core.policy.patterns import HOLE
from deskmate.core.values import frozen

_GLOB = frozenset("*?[")
_BRACES = frozenset("{}")
# These could be taken for the space between two words, or for an escape, so they get a backslash.
_SPECIAL = re.compile(r"[\s\\'\"]")
_UNQUOTED = re.compile(r"(?:[A-Za-z0-9_./:=@%+,^~!#\]*?\[{}-]|\\[^\n\x80-\U0010ffff])*")
_IN_QUOTES = re.compile(
    r"\\(?P<escaped>[$`\"\\])|(?P<plain>\\(?!\n)|[^\\$`\"]+)|(?P<dollar>\$(?=[ \t\n\"|)/.,:;%^~=+}\]>&]))"
)


class Untold(Exception):
    """It is unclear what a shell text would run."""


@frozen
class Word:
    """A word of a command. If it is `open`, `text` is only its certain beginning.

    `many`: it may expand to several words, or to none.
    """

    text: str
    open: bool = False
    many: bool = False

    def __str__(self) -> str:
        if not self.text and not self.open:
            return "''"
        return _SPECIAL.sub(lambda found: f"\\{found[0]}", self.text) + HOLE * self.open

    def with_hole_at(self, mark: str) -> "Word":
        """Return the word, cut and open from `mark` on, if it contains or may contain `mark`."""
        before, found, _ = self.text.partition(mark)
        if self.open:
            # The known text may end with a part of the mark.
            return Word("", open=True, many=self.many)
        return Word(before, open=True) if found else self


def unescaped(written: str) -> str:
    """Return the text of a word that is not open, from its `str` form."""
    return "" if written == "''" else re.sub(r"\\(.)", r"\1", written, flags=re.DOTALL)


@frozen
class WordPart:
    """A part of a word. `open`: it may expand to any text. `many`: and that to several words."""

    text: str = ""
    quoted: bool = False
    open: bool = False
    many: bool = False


def unquoted(text: str) -> Iterable[WordPart]:
    """Yield the characters of a part without quotes. Raises Untold if a shell may read them differently."""
    if not _UNQUOTED.fullmatch(text):
        raise Untold
    for character in re.findall(r"\\?.", text, re.DOTALL):
        yield WordPart(character[-1], quoted=len(character) > 1)


def in_quotes(text: str, after: str) -> WordPart:
    """Return a part within double quotes. `after`: the character after it."""
    whole, at, said = text + after, 0, ""
    while at < len(text):
        found = _IN_QUOTES.match(whole, at)
        if not found:
            raise Untold
        said += found["escaped"] or found[0]
        at = found.end()
    return WordPart(said, quoted=True)


def assembled(pieces: Iterable[WordPart]) -> Word:
    """Return the word that these parts form."""
    parts = list(pieces)
    if parts and parts[0].text == "#" and not parts[0].quoted:
        raise Untold
    opens = next((at for at in range(len(parts)) if _opens(parts, at)), None)
    text = "".join(part.text for part in parts[:opens])
    # Only a word that is entirely in quotes is certain to stay one word.
    many = opens is not None and any(part.many or (_expands(part) and not part.quoted) for part in parts[opens:])
    return Word(text, open=opens is not None, many=many)


def _expands(part: WordPart) -> bool:
    return part.open or part.text in _GLOB | _BRACES | {"~"}


def _opens(parts: list[WordPart], at: int) -> bool:
    """Tell whether the part at this position may expand to something else."""
    part = parts[at]
    if part.open:
        return True
    if part.quoted:
        return False
    if part.text == "~":
        return at == 0 or (parts[at - 1].text in (":", "=") and not parts[at - 1].quoted)
    return part.text in _GLOB or (part.text in _BRACES and not _is_empty_pair(parts))


def _is_empty_pair(parts: list[WordPart]) -> bool:
    """Tell whether the only braces of a word are `{}`, which no shell expands."""
    braces = [at for at, part in enumerate(parts) if part.text in _BRACES and not part.quoted]
    return len(braces) == 2 and braces[1] == braces[0] + 1 and parts[braces[0]].text == "{"
