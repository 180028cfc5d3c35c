"""Mail between members."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from deskmate.app.session import Session
from deskmate.faces.common.listings import colours_of, sender_of
from deskmate.faces.tui.drawing.member_labels import called
from deskmate.faces.tui.drawing.panel_titles import entitle
from deskmate.faces.tui.drawing.piece_painter import style_of
from deskmate.faces.tui.drawing.row_list import Rows
from deskmate.faces.tui.drawing.styled_lines import Line, cut, folded, paragraphs, words
from deskmate.queries.member_view import Letter

_KINDS = {
    "plan_approval_request": "plan?",
    "plan_approval_response": "plan",
    "shutdown_request": "shutdown?",
    "shutdown_response": "shutdown",
    "permission_request": "permission?",
    "permission_response": "permission",
}
_WORDS = frozenset({"message", "broadcast"})
# Messages between a member and the runtime that nobody needs to read.
_NOISE = frozenset({"permission_response"})


class PostPanel(Rows):
    """The latest messages. `f` shows only those of the chosen member, or all again."""

    FOLLOWS = True
    NOTHING = "no mail yet"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("f", "filter", "all / only this member")]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(self.head, self.below, id=id)
        self.border_title = "mail"
        self._letters: dict[str, tuple[Letter, ...]] = {}
        self._colours: Mapping[str, str] = {}
        self._now = 0.0
        self._member = ""
        self._only = False

    def show(self, session: Session, now: float) -> None:
        """Show the current mail."""
        self._letters = together(session.letters)
        self._colours = colours_of(session.members)
        self._now = now
        self._lay()

    def choose(self, member: str) -> None:
        """Note which member is chosen."""
        self._member = member
        self._lay()

    def action_filter(self) -> None:
        """Show only the messages of the chosen member, or all again."""
        self._only = not self._only
        self._lay()

    def _lay(self) -> None:
        only = self._only and self._member
        keys = [key for key, copies in self._letters.items() if not only or _is_of(self._member, copies)]
        count = f"{len(keys):,} of {words(self._member)}" if only else f"{len(keys):,}"
        entitle(self, f"mail {count}" if self._letters else "mail")
        self.lay(keys)

    def head(self, key: str, cells: int) -> Line:
        """Return a message on one line."""
        letter = self._letters[key][0]
        today = time.strftime("%F", time.localtime(self._now)) == time.strftime("%F", time.localtime(letter.at))
        at = time.strftime("%H:%M" if today else "%m-%d", time.localtime(letter.at))
        kind = kind_of(letter)
        said = words(letter.text)
        line: Line = (
            (f"{at} ", "dim"),
            *self._parties(key),
            (f" {kind}" if kind else "", "red" if letter.kind in ("interrupt", "undeliverable") else "yellow"),
            (f" {said}" if said else "", ""),
        )
        return cut(tuple((text, "dim") for text, _ in line) if letter.kind in _NOISE else line, cells)

    def _parties(self, key: str) -> Iterator[tuple[str, str]]:
        letter = self._letters[key][0]
        yield self._party(letter.sender)
        yield " → ", "dim"
        yield ("all", "bold") if letter.kind == "broadcast" else self._party(letter.recipient)

    def _party(self, member: str) -> tuple[str, str]:
        return called(member), style_of(sender_of(member), self._colours)

    def below(self, key: str, cells: int) -> list[Line]:
        """Return the whole message."""
        letter = self._letters[key][0]
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(letter.at))
        to = ", ".join(called(copy.recipient) for copy in self._letters[key])
        kind = words(letter.kind).replace("_", " ")
        about = f", {words(str(letter.fields['request_id']))}" if "request_id" in letter.fields else ""
        lines: list[Line] = [((f"{kind} to {to}, {at}{about}", "dim"),)]
        lines += [((line, ""),) for line in paragraphs(letter.text)]
        margin = "    "
        return [((margin, ""), *row) for line in lines for row in folded(line, max(cells - len(margin), 1))]


def together(letters: Sequence[Letter]) -> dict[str, tuple[Letter, ...]]:
    """Return messages by a unique key. Copies of one broadcast are grouped."""
    found: dict[str, tuple[Letter, ...]] = {}
    for letter in letters:
        id_ = str(letter.fields.get("id", ""))
        to_all = letter.kind == "broadcast"
        key = f"all/{letter.sender}/{id_.rpartition('/')[0]}" if to_all else f"{letter.recipient}/{letter.number}"
        found[key] = (*found.get(key, ()), letter)
    return found


def kind_of(letter: Letter) -> str:
    """Return a word for the kind of a message, or "" for plain text."""
    if letter.kind in _WORDS:
        return ""
    kind = _KINDS.get(letter.kind, words(letter.kind).replace("_", " "))
    answer = {True: " yes", False: " no"}.get(bool(letter.fields["approve"])) if "approve" in letter.fields else ""
    return f"{kind}{answer}"


def _is_of(member: str, copies: Sequence[Letter]) -> bool:
    return any(member in (sender_of(one.sender), sender_of(one.recipient)) for one in copies)
