"""What all need to read a reply. The block types are in `core.prompt.prompts`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from deskmate.core.log.records import STRICT_JSON
from deskmate.core.prompt.prompts import CallBlock, Spoken, TextBlock, ThinkingBlock
from deskmate.errors import ModelRejected

FLAW_CAP = 200
# Far more than the largest answer of any model, about a megabyte. A record has less room.
REPLY_CAP = 4 * 2**20
# Far more calls than are run for one answer.
CALLS_MOST = 1024
_LESS = "Ask for less at once, or choose another model."


class Room:
    """How many characters and calls an answer may still have. Text, thoughts and arguments all count."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._characters, self._calls = REPLY_CAP, CALLS_MOST

    def take(self, *texts: str) -> None:
        """Count a part of the answer. Raises ModelRejected if the answer is too large."""
        self._characters -= sum(map(len, texts))
        if self._characters < 0:
            raise ModelRejected(
                f"{self._model} gave an answer of more than {REPLY_CAP:,} characters, so Deskmate stopped reading",
                _LESS,
            )

    def take_call(self, *texts: str) -> None:
        """Count a call and its first text. Raises ModelRejected if there are too many calls."""
        self.take(*texts)
        self._calls -= 1
        if self._calls < 0:
            raise ModelRejected(
                f"{self._model} asked for more than {CALLS_MOST:,} calls in one answer, so none was run",
                _LESS,
            )


@dataclass(slots=True)
class ReplyBlock:
    """A block as received so far. `parts`: its text, or the text of a call's arguments.

    `sealed`: thoughts of which only the signature is known. `arguments`: those that a call started with, if any.
    """

    kind: Literal["text", "thinking", "sealed", "call"]
    parts: list[str] = field(default_factory=list)
    signature: str = ""
    id: str = ""
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """All of its text received so far."""
        return "".join(self.parts)

    @property
    def is_whole_call(self) -> bool:
        """Whether the arguments of a call seem to be complete."""
        return bool(self.arguments) or isinstance(read_arguments(self.text), dict)


def blocks(pieces: Iterable[ReplyBlock], *, cut: bool) -> tuple[Spoken, ...]:
    """Return the non-empty blocks of a reply, with unique ids for calls.

    If the reply was `cut`, calls with incomplete or no arguments are left out, because more were to come. Text before
    such a call is complete. It gets a blank line at its end, because the next text does not continue it.
    """
    found = list(pieces)
    kept = [piece for piece in found if piece.kind != "call" or not cut or piece.is_whole_call]
    said = tuple(_blocks(kept))
    if said and isinstance(last := said[-1], TextBlock) and found[-1] is not kept[-1]:
        return (*said[:-1], TextBlock(f"{last.text.rstrip()}\n\n"))
    return said


def _blocks(pieces: Iterable[ReplyBlock]) -> Iterator[Spoken]:
    taken: set[str] = set()
    for piece in pieces:
        text = piece.text
        match piece.kind:
            case "text" if text.strip():
                yield TextBlock(text)
            case "thinking" if text.strip() or piece.signature:
                yield ThinkingBlock(text, piece.signature)
            case "sealed" if piece.signature:
                yield ThinkingBlock("", piece.signature, sealed=True)
            case "call":
                id_ = piece.id
                while not id_ or id_ in taken:
                    id_ = f"{id_ or 'call'}_{len(taken) + 1}"
                taken.add(id_)
                yield _call(id_, piece)


def _call(id_: str, piece: ReplyBlock) -> CallBlock:
    text = piece.text
    found = read_arguments(text) if text.strip() else piece.arguments
    return CallBlock(id_, piece.tool, {}, found) if isinstance(found, str) else CallBlock(id_, piece.tool, found)


def read_arguments(text: str) -> dict[str, Any] | str:
    """Return the arguments in a text, or a message for the model that says why there are none."""
    try:
        found = STRICT_JSON.decode(text)
    except (ValueError, RecursionError) as error:
        return f"the arguments are not a JSON object: {str(error)[:FLAW_CAP]}"
    if not isinstance(found, dict):
        return f"the arguments are not a JSON object: they are of type {type(found).__name__}"
    return found
