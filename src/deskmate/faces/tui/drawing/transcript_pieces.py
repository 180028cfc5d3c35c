"""A transcript as people see it.

Texts are kept as written. `piece_painter` cleans and colours them. A piece keeps its key while it grows: a call that
runs and then has a result is one piece.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from deskmate.app import Entry
from deskmate.faces.common.call_summaries import begun, ends
from deskmate.faces.common.chat.budget_command import with_way_on
from deskmate.faces.common.text_tables import CleanLine

# A diff or message with more lines is shown folded. In a member's text, a longer line is.
_SHORT_LINES = 40
LINE_CHARS = 2000
# A longer text is shown below its head.
_TOLD_CHARS = 400


class PieceKind(StrEnum):
    """What a piece is."""

    WORDS = "words"
    THOUGHT = "thought"
    CALL = "call"
    MAIL = "mail"
    TOLD = "told"
    NOTE = "note"


class State(StrEnum):
    """How far a call is."""

    SAID = "said"
    ASKED = "asked"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class TranscriptPiece:
    """Something to show. `folded`: at first, show only the head, or for words the beginning of each line.

    `more`: what is shown of a call besides its result. `ends`: its head after success and after failure, if it changes.
    `sender`: whose colour it has. `lines`: the program's own words. `count`: how many lines a command printed, if the
    body does not have all of them.
    """

    key: str
    kind: PieceKind
    head: str = ""
    body: str = ""
    more: str = ""
    sender: str = ""
    state: State = State.SAID
    is_diff: bool = False
    folded: bool = False
    ends: tuple[str, str] | None = None
    lines: tuple[CleanLine, ...] = ()
    count: int | None = None

    @property
    def foldable(self) -> bool:
        """Whether there is something to hide."""
        if self.kind is PieceKind.WORDS:
            return self.folded
        below = bool(self.body.strip() or self.more.strip())
        return bool(self.head) and below and (self.kind is not PieceKind.MAIL or self.folded)

    @property
    def text(self) -> str:
        """Everything that a search can find in it."""
        said = ["".join(cell.text for cell in line) for line in self.lines]
        return "\n".join(filter(None, [self.head, self.more, self.body, *said]))


class Pieces:
    """The pieces of one member's transcript, in order, built as entries arrive."""

    def __init__(self, member: str) -> None:
        self.member = member
        self.last = 0
        self.heard: set[object] = set()
        self._pieces: dict[str, TranscriptPiece] = {}

    @property
    def all(self) -> list[TranscriptPiece]:
        """Every piece, oldest first."""
        return list(self._pieces.values())

    def add(self, number: int, entry: Entry) -> None:
        """Add an entry. Add each one once, in the order of their numbers."""
        self.last = number
        if entry.type == "heard":
            self.heard.update(body.get("id") for body in entry.mail)
        if entry.type == "said":
            self._put(*_said(self.member, number, entry.text, entry.calls, entry.blocks))
        elif entry.type == "began":
            for call in entry.calls:
                self._change(call, state=State.RUNNING)
        elif entry.type == "asked":
            self._change(entry.call, state=State.ASKED)
        elif entry.type == "did":
            self._end(entry.call, entry.shown, entry.text, ok=entry.ok)
            self._change(entry.call, count=entry.lines)
        else:
            self._put(*_of_others(number, entry))

    def note(self, lines: tuple[CleanLine, ...]) -> None:
        """Add a message of the program at the end."""
        self._put(TranscriptPiece(f"note/{len(self._pieces)}", PieceKind.NOTE, lines=lines))

    def _put(self, *pieces: TranscriptPiece) -> None:
        self._pieces.update({piece.key: piece for piece in pieces})

    def _change(self, key: str, **fields: Any) -> None:
        # A call from before the readable part has no piece.
        if key in self._pieces:
            self._pieces[key] = replace(self._pieces[key], **fields)

    def _end(self, call: str, shown: str, text: str, *, ok: bool) -> None:
        state = State.DONE if ok else State.FAILED
        if call in self._pieces and (heads := self._pieces[call].ends):
            self._change(call, head=heads[0] if ok else heads[1])
        if ok and shown.startswith("--- "):
            # The head names the file.
            diff = shown.split("\n", 2)[-1]
            self._change(call, state=state, body=diff, more="", is_diff=True, folded=_is_long(diff))
        else:
            self._change(call, state=state, body=shown or text, is_diff=False, folded=True)


def waiting_piece(number: int, text: str) -> TranscriptPiece:
    """Return a message of the user that was not heard yet."""
    return TranscriptPiece(f"unheard/{number}", PieceKind.MAIL, "user not read yet", text, sender="user")


def words_piece(key: str, text: str) -> TranscriptPiece:
    """Return words of a member."""
    return TranscriptPiece(key, PieceKind.WORDS, body=text, folded=_has_long_line(text))


def _is_long(text: str) -> bool:
    return text.count("\n") > _SHORT_LINES or _has_long_line(text)


def _has_long_line(text: str) -> bool:
    return any(len(line) > LINE_CHARS for line in text.splitlines())


def _said(
    member: str, number: int, text: str, calls: tuple[Any, ...], blocks: tuple[dict[str, Any], ...]
) -> Iterator[TranscriptPiece]:
    """Yield words, thoughts and calls in the order in which they were said."""
    told = [_call(f"{member}:{number}.{index}", call.tool, call.arguments) for index, call in enumerate(calls)]
    spoken = blocks or ({"type": "text", "text": text}, *({"type": "call", "index": i} for i in range(len(told))))
    for index, block in enumerate(spoken):
        key = f"{number}/{index}"
        match block:
            case {"type": "text", "text": str(words)} if words.strip():
                yield words_piece(key, words.strip("\n"))
            case {"type": "thinking", "text": str(words)} if words.strip():
                yield TranscriptPiece(key, PieceKind.THOUGHT, "thought", words.strip("\n"), folded=True)
            case {"type": "call", "index": int(place)} if 0 <= place < len(told):
                yield told[place]


def _call(key: str, tool: str, arguments: Mapping[str, Any]) -> TranscriptPiece:
    diff = _diff_in(tool, arguments)
    more = "" if diff else "\n".join(f"{name}: {_value(value)}" for name, value in arguments.items())
    return TranscriptPiece(
        key,
        PieceKind.CALL,
        begun(tool, arguments),
        diff,
        more,
        is_diff=bool(diff),
        folded=not diff or _is_long(diff),
        ends=ends(tool, arguments),
    )


def _value(value: object) -> str:
    text = value if isinstance(value, str) else str(value)
    return "\n  " + text.strip("\n").replace("\n", "\n  ") if "\n" in text.strip("\n") else text


def _diff_in(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return what an edit that has no result yet would remove and add."""
    match tool, arguments:
        case "edit_file", {"old_text": str(old), "new_text": str(new)}:
            return "\n".join([*(f"-{line}" for line in old.splitlines()), *(f"+{line}" for line in new.splitlines())])
        case "write_file", {"content": str(content)}:
            return "\n".join(f"+{line}" for line in content.splitlines())
    return ""


def _of_others(number: int, entry: Entry) -> Iterator[TranscriptPiece]:
    """Yield the pieces of an entry that is not about the member's own words and calls."""
    key = str(number)
    if entry.type == "started":
        yield from [_told(key, "began", entry.prompt)] if entry.prompt.strip() else []
    elif entry.type == "heard":
        yield from (_mail(f"{key}/{index}", body) for index, body in enumerate(entry.mail))
        yield from (
            _told(f"{key}/damage{index}", f"could not read mail: {words}") for index, words in enumerate(entry.damage)
        )
    elif entry.type == "took":
        yield _told(key, f"took a task {entry.authors}".rstrip(), entry.shown)
    elif entry.type == "nudged" or entry.type == "noticed":
        yield _told(key, "was reminded" if entry.type == "nudged" else "was told", entry.text)
    elif entry.type == "reported":
        yield _told(key, entry.shown)
    elif entry.type == "parked":
        yield replace(_told(key, f"parked: {with_way_on(entry.reason)}"), state=State.FAILED)
    elif entry.type == "ended":
        yield _told(key, f"{entry.background} ended: {entry.status}", entry.text)
    elif entry.type == "agreed":
        yield _told(key, "agreed to leave")
    elif entry.type == "compacted":
        yield _told(key, "made room: a summary replaces everything before", entry.summary)
    elif entry.type == "cleared":
        yield _told(key, "made room: old results are cleared")
    elif entry.type == "summary_requested":
        yield _told(key, "the user wants a summary of the conversation", entry.focus)
    elif entry.type == "summary_dropped":
        yield _told(key, "no summary was made")
    elif entry.type == "overflowed":
        yield _told(key, "the conversation is too long for the model")


def _told(key: str, head: str, text: str = "") -> TranscriptPiece:
    text = text.strip()
    if text and "\n" not in text and len(text) <= _TOLD_CHARS:
        return TranscriptPiece(key, PieceKind.TOLD, f"{head}: {text}")
    return TranscriptPiece(key, PieceKind.TOLD, head, text, folded=True)


def _mail(key: str, body: Mapping[str, Any]) -> TranscriptPiece:
    kind = str(body.get("type", "")).removesuffix("_approval_request").replace("_", " ")
    words = str(body.get("content") or body.get("reason") or "")
    answer = "" if "approve" not in body else ": yes" if body["approve"] else ": no"
    head = "" if kind == "message" else "to all" if kind == "broadcast" else f"{kind}{answer}"
    sender = str(body.get("sender", ""))
    return TranscriptPiece(
        key, PieceKind.MAIL, f"{sender} {head}".rstrip(), words, sender=sender, folded=_is_long(words)
    )
