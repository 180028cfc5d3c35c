"""From transcript entries to a prompt.

The same entries always give the same passages, and a growing transcript only adds to them, so that a provider's cache
is used. Only `Compacted`, `Cleared` and `PicturesRefused` change what was rendered before. The result is well formed
for any entries.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never

from deskmate.core.agent.entries import (
    Cleared,
    Compacted,
    Did,
    Ended,
    Entry,
    Heard,
    Hooked,
    Noticed,
    Nudged,
    PicturesRefused,
    Said,
    SilentEntry,
    Started,
    Took,
)
from deskmate.core.agent.teams.addresses import from_team
from deskmate.core.agent.work_mode import planning_text
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import call_id
from deskmate.core.picture_formats import PICTURE_TYPES
from deskmate.core.prompt.call_texts import ways_to_end
from deskmate.core.prompt.frames import (
    SUMMARY,
    framed,
    hook_texts,
    message_text,
    notification_text,
    posing_as_nobody,
    storable,
    task_text,
    unframed,
)
from deskmate.core.prompt.prompts import (
    CallBlock,
    Given,
    Image,
    Passage,
    Passages,
    ResultBlock,
    Spoke,
    Spoken,
    TextBlock,
    ThinkingBlock,
    Told,
)
from deskmate.core.team.messages import Envelope, read_envelope, sent_images
from deskmate.core.team.tasks import Note

GO_ON = "Continue with your work."
GO_ON_WHERE_CUT = (
    "(Your answer was cut here because it was too long. Continue exactly where it stopped. Do not start again.)"
)
CUT_SHORT = "(Your answer was interrupted here.)"
CUT_TO_NOTHING = "(Your answer was cut because it was too long, and no part of it was complete. Write less.)"
NO_RESULT = "No result was recorded."
CLEARED = "(This old result was removed to save space. Make the call again if you need it.)"
EMPTY_RESULT = "(no output)"
_LEFT_OUT = "are left out of this conversation. If you need to know what they show, ask the user to describe it."
SUMMARISED = "This summary replaces the conversation so far. Continue from here."

# Characters that providers refuse in the name of a tool. A model may invent any name.
_NO_TOOL_NAME = re.compile(r"[^A-Za-z0-9_-]")
_TOOL_NAME_CAP = 64

Numbered = tuple[int, Entry]


def passages(entries: Sequence[Numbered], name: str) -> Passages:
    """Return what the model of `name` has been told and has said, according to its transcript."""
    rendered = Rendered(name)
    for number, entry in entries:
        rendered.add(number, entry)
    return rendered.passages


class Rendered:
    """The passages of one transcript, kept up to date: adding an entry costs its own size, not the transcript's."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._entries: list[Numbered] = []
        # Where each message was heard first: a repeat is not a second message, even after a compaction. Members of
        # two teams may use the same ids, so the mailbox and the number of moves before are part of it.
        self._heard: dict[tuple[str, int, str], tuple[int, int]] = {}
        self._moves: list[int] = []
        self._summary: Compacted | None = None
        self._cleared = self._unseen = 0
        self._withheld = frozenset[str]()
        self._begin()

    def _begin(self) -> None:
        # It only grows: prompts share it.
        self._closed: list[Passage] = []
        self._wire: dict[str, str] = {}
        self._results: dict[str, ResultBlock] = {}
        self._words = [TextBlock(framed_summary(self._summary))] if self._summary else []
        self._pictures: dict[str, str] = {}

    @property
    def pictures(self) -> Mapping[str, str]:
        """The names of all pictures in the passages, by their blobs."""
        return self._pictures

    @property
    def passages(self) -> Passages:
        """What the model is given next: well formed, with a `Told` passage at the start and the end."""
        return Passages(self._closed, self._told())

    def add(self, number: int, entry: Entry) -> None:
        """Add the next entry of the transcript."""
        match entry:
            case Compacted(upto=upto):
                self._summary = entry
                self._entries = [kept for kept in self._entries if kept[0] > upto]
                self._again()
            case Cleared(upto=upto):
                self._cleared = max(self._cleared, upto)
                self._again()
            case PicturesRefused():
                self._unseen = number
                self._entries.append((number, entry))
                self._again()
            case Hooked(withheld=tuple(ids)):
                self._withheld |= {*ids}
                self._entries.append((number, entry))
                self._again()
            case _:
                self._entries.append((number, entry))
                self._render(number, entry)

    def _again(self) -> None:
        self._begin()
        for number, entry in self._entries:
            self._render(number, entry)

    def _render(self, number: int, entry: Entry) -> None:
        match entry:
            case Said():
                self._say(number, entry)
            case Did(call=call):
                if call in self._wire and call not in self._results:
                    result = result_block(self._wire[call], entry, cleared=number <= self._cleared)
                    if number <= self._unseen:
                        result = replace(result, images=())
                    self._results[call] = result
                    self._pictures |= {image.blob: image.blob.rpartition("/")[2] for image in result.images}
            case Heard():
                self._hear(number, entry)
            case _:
                if isinstance(entry, Noticed) and entry.away is not None and number not in self._moves:
                    self._moves.append(number)
                self._words += [TextBlock(text) for text in told_texts(entry)]

    def _hear(self, number: int, entry: Heard) -> None:
        moves = sum(move < number for move in self._moves)
        for place, envelope in enumerate(told_mail(entry)):
            key = entry.box, moves, envelope.id
            is_first = self._heard.setdefault(key, (number, place)) == (number, place)
            if is_first and envelope.id not in self._withheld and (text := message_text(envelope)):
                images = pictures_in(envelope) if number > self._unseen else ()
                self._words.append(TextBlock(text, images))
                names = {image.blob: " ".join(image.name.split()) for image in sent_images(envelope)}
                self._pictures |= {image.blob: names[image.blob] for image in images}
        self._words += [TextBlock(text) for text in damage_texts(entry)]

    def _say(self, number: int, entry: Said) -> None:
        told, blocks = self._told(), spoken(number, entry)
        if blocks:
            self._closed += [told, Spoke(blocks)]
            self._wire = {call_id(self._name, number, i): wire_id(number, i) for i in range(len(entry.calls))}
            self._results, self._words = {}, []
        else:
            # The model was asked with exactly this. Later entries may add to it, not change it.
            self._results = {call: self._result(call) for call in self._wire}
            self._words = [block for block in told.blocks if isinstance(block, TextBlock)]
        if entry.unfinished and not entry.stopped:
            self._words.append(TextBlock(GO_ON_WHERE_CUT if blocks else CUT_TO_NOTHING))
        elif entry.stopped and not entry.unfinished:
            self._words.append(TextBlock(CUT_SHORT))

    def _told(self) -> Told:
        blocks: tuple[Given, ...] = (*map(self._result, self._wire), *self._words)
        return Told(blocks or (TextBlock(GO_ON),))

    def _result(self, call: str) -> ResultBlock:
        return self._results.get(call) or ResultBlock(self._wire[call], NO_RESULT, ok=False)


# -- what is told ---------------------------------------------------------------------------------


def told_texts(entry: Entry) -> list[str]:
    """Return the texts an entry tells the model, including repeated mail but not results."""
    if isinstance(entry, SilentEntry):
        return []
    match entry:
        case Heard():
            return [*filter(None, map(message_text, told_mail(entry))), *damage_texts(entry)]
        case Took(created_by=str()):
            return [_taken(entry)]
        case Started(prompt=prompt, planning=planning, name=name):
            # For an agent that is answered by the lead it does not matter whether the user is there.
            mode = planning_text(name, attended=True) if planning else ""
            return [told for text in (prompt, mode) if (told := unframed(text))]
        case Took(text=text) | Noticed(text=text):
            return [told] if (told := unframed(text)) else []
        case Nudged(text=text, task=task):
            return [unframed(text) or f"Task #{task} is still in progress. Continue with it now. {ways_to_end(task)}"]
        case Ended():
            return [notification_text(entry)]
        case PicturesRefused():
            names = f": {', '.join(entry.names)}" if entry.names else ""
            return [unframed(f"(You cannot see images{names}. They {_LEFT_OUT})")]
        case Hooked():
            return hook_texts(entry)
        case Said() | Did():
            return []
        case unreachable:
            assert_never(unreachable)


def _taken(entry: Took) -> str:
    notes = [Note(note.get("by", ""), note.get("text", "")) for note in entry.notes or ()]
    told = task_text(entry.task, entry.text, entry.created_by or "", entry.edited_by or (), notes)
    if entry.changes:
        return f"{entry.changes}\n{told}"
    return f"Task #{entry.task} is yours now.\n{told}\n{ways_to_end(entry.task)}"


def envelopes(entry: Heard) -> Iterator[Envelope]:
    """Yield the mail of an entry that this version can read."""
    for body in entry.mail:
        envelope = read_envelope(body)
        if not isinstance(envelope, Foreign):
            yield envelope


def told_mail(entry: Heard) -> Iterator[Envelope]:
    """Return the mail of an entry as its reader is told of it: senders of the lead's other team by `name@team`."""
    return (from_team(envelope, entry.team) for envelope in envelopes(entry))


def pictures_in(envelope: Envelope) -> tuple[Image, ...]:
    """Return the pictures of a message that a model can see."""
    return tuple(
        Image(image.media_type, image.blob) for image in sent_images(envelope) if image.media_type in PICTURE_TYPES
    )


def damage_texts(entry: Heard) -> list[str]:
    """Return what the model is told of mail that could not be read."""
    lines = [f"- {line}" for line in map(unframed, entry.damage) if line]
    return ["\n".join(["(Some mail could not be read. Ask its sender to send it again:", *lines, ")"])] if lines else []


def framed_summary(entry: Compacted) -> str:
    """Return the text that replaces everything that was compacted."""
    return f"{SUMMARISED}\n{framed(SUMMARY, entry.summary)}"


def result_block(id_: str, entry: Did, *, cleared: bool = False) -> ResultBlock:
    """Return a call's result as the model reads it; never empty."""
    if cleared:
        return ResultBlock(id_, CLEARED, entry.ok)
    images = tuple(Image(image["media_type"], image["blob"]) for image in entry.images if _is_image(image))
    text = entry.text if entry.framed else posing_as_nobody(entry.text)
    return ResultBlock(id_, text if text.strip() else EMPTY_RESULT, entry.ok, images)


def _is_image(image: Mapping[str, str]) -> bool:
    return bool(image.get("media_type") and image.get("blob"))


# -- what was spoken ------------------------------------------------------------------------------


def wire_id(said: int, index: int) -> str:
    """Return the id that pairs a call with its result in a prompt: unique there, and the same after a restart."""
    return f"call_{said}_{index}"


def spoken(number: int, entry: Said) -> tuple[Spoken, ...]:
    """Return what the model said in an entry, as it is sent back; empty if nothing is left of it."""
    calls = tuple(
        CallBlock(wire_id(number, index), _tool_name(call.tool), call.arguments, call.flaw)
        for index, call in enumerate(entry.calls)
    )
    signer = str(entry.usage.get("model", "")).partition(":")[0]
    return _given_back(_stored(entry.blocks, calls, signer) or (TextBlock(entry.text), *calls))


def _tool_name(tool: str) -> str:
    return _NO_TOOL_NAME.sub("_", tool)[:_TOOL_NAME_CAP] or "_"


def _stored(
    blocks: Iterable[Mapping[str, Any]], calls: tuple[CallBlock, ...], signer: str
) -> tuple[Spoken, ...] | None:
    """Return stored blocks as they were spoken; None if they are malformed or do not have each call exactly once."""
    found: list[Spoken] = []
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)}:
                found.append(TextBlock(text))
            case {"type": "thinking", "text": str(text), "signature": str(signature), "sealed": bool(sealed)}:
                found.append(ThinkingBlock(text, signature, sealed, signer))
            case {"type": "call", "index": int(index)} if 0 <= index < len(calls):
                found.append(calls[index])
            case _:
                return None
    return tuple(found) if [block for block in found if isinstance(block, CallBlock)] == list(calls) else None


def _given_back(blocks: Iterable[Spoken]) -> tuple[Spoken, ...]:
    """Return blocks without what providers refuse: blank text, trailing space, and thoughts at the end."""
    kept = tidy(blocks)
    while kept and isinstance(kept[-1], ThinkingBlock):
        kept.pop()
    return tuple(kept)


def tidy(blocks: Iterable[Spoken]) -> list[Spoken]:
    """Return blocks without blank text and without space at the end of text."""
    tidy = (TextBlock(storable(block.text).rstrip()) if isinstance(block, TextBlock) else block for block in blocks)
    return [block for block in tidy if not isinstance(block, TextBlock) or block.text]
