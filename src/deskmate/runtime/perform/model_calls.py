"""Builds the prompt, calls the model, makes room when the context is full."""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any

import anyio

from deskmate.core.agent.entries import Call, Cleared, Compacted, Noticed, Said, Started
from deskmate.core.agent.view import Origin
from deskmate.core.log.names import call_id
from deskmate.core.log.records import RECORD_CAP, encode
from deskmate.core.policy.redaction import Redaction
from deskmate.core.prompt.compaction import (
    SUMMARY_OUTPUT,
    clearable,
    context_tokens,
    estimate,
    halved,
    summary_request,
    summary_text,
)
from deskmate.core.prompt.prompts import (
    ConversationCache,
    Delta,
    Passage,
    Prompt,
    Reply,
    RetryDelta,
    TextBlock,
    TextDelta,
    Told,
)
from deskmate.core.prompt.recorded_replies import redacted, said, usage_of
from deskmate.core.prompt.rendering import Rendered
from deskmate.core.prompt.system_prompt import brief
from deskmate.core.team.status import WORKING, Waiting
from deskmate.errors import BadRecord, ModelRejected, ModelTrouble, PromptTooLong, StoreCorrupt, TooLarge, ToolError
from deskmate.runtime.agent_parts import AgentParts
from deskmate.runtime.events import Feed
from deskmate.runtime.perform.live_words import LiveWords
from deskmate.runtime.perform.status_reporter import StatusReporter
from deskmate.runtime.streams.transcript import Transcript

# This still fits into a record with as many calls as an answer may have, each with a flaw.
_SAID_CAP, _TOOL_CAP = 40_000, 64
# The most bytes that the flaw of one call takes in a record, with everything around it.
_FLAW_BYTES = 512
# In tokens. If a conversation of this length is too long, its length is not the reason.
_SHORT = 200
_NAMED_PICTURES = 20


class ModelCalls:
    """Asks the model of one agent and records its answers."""

    def __init__(self, transcript: Transcript, parts: AgentParts, feed: Feed, redaction: Redaction) -> None:
        self._transcript, self._model, self._parts = transcript, parts.model, parts
        self._redaction = redaction
        self._live_words = LiveWords(transcript.name, feed, redaction)
        self._rendered = Rendered(transcript.name)
        self._taken_in = 0
        self._cache = ConversationCache()
        self._system = _system(transcript)
        self._overhead = estimate((), self._system, parts.specs)
        self._whole, self._words = "", ""

    @property
    def tokens(self) -> int:
        """About how many tokens the next prompt will take."""
        return context_tokens(self._transcript.entries, self._overhead)

    @property
    def picture_names(self) -> tuple[str, ...]:
        """The names of the pictures that the last prompt had, at most as many as one message can have."""
        return tuple(dict.fromkeys(self._rendered.pictures.values()))[:_NAMED_PICTURES]

    async def think(self, status: StatusReporter, origin: Origin) -> None:
        """Ask the model and record what it says. Raises ModelError, or PromptTooLong if room must be made first."""
        reply = await self._ask(await self._prompt(origin), status)
        # The answer is complete and paid for, so nothing may cut it any more.
        with anyio.CancelScope(shield=True):
            await self._record(said(reply))

    async def _record(self, answer: Said) -> None:
        written = redacted(answer, self._redaction)
        try:
            number = await self._transcript.record(written)
        except BadRecord:
            written = _less(written)
            number = await self._transcript.record(written)
        both = enumerate(zip(answer.calls, written.calls, strict=True))
        self._transcript.unwritten = {
            call_id(self._transcript.name, number, index): call.arguments
            for index, (call, other) in both
            if other.redacted
        }

    async def keep_what_was_said(self, *, time_is_up: bool) -> None:
        """Record the text of an answer that was cut. One cut by the time limit counts as unfinished.

        After the time limit, only finished texts are kept: the next text does not continue them. Otherwise an
        unfinished text is kept as far as it was shown.
        """
        if time_is_up:
            if self._whole:
                await self._record(Said(text=f"{self._whole}\n\n", unfinished=True, stopped=True))
            return
        # The last word may be the beginning of a secret.
        shown = self._redaction.passing().add(self._words)
        if text := _joined(self._whole, shown).rstrip():
            await self._record(Said(text=text, stopped=True))

    async def compact(self, status: StatusReporter, origin: Origin) -> None:
        """Make room: clear old results if that frees enough, otherwise let the model summarise.

        If the user wants a summary, nothing is cleared. It describes team and tasks as in the view of `origin`.
        """
        focus = origin.view.memory.focus
        upto = clearable(self._transcript.entries) if focus is None else 0
        if upto:
            await self._transcript.record(Cleared(upto=upto))
            return
        upto = self._transcript.memory.number
        reply = await self._summary(focus or "", status, origin)
        board, roster = origin.view.board, origin.view.roster
        home = origin.view.home.roster if origin.view.home else None
        text = summary_text(reply.text, self._transcript.memory, self._transcript.entries, board, roster, home)
        at_home = home.number if home else None
        used = usage_of(reply)
        await self._transcript.record(
            Compacted(upto=upto, summary=text, roster=roster.number, home=at_home, usage=used)
        )

    async def asked_aside(self, question: str, status: StatusReporter, origin: Origin) -> str:
        """Return what the model answers to a question about the conversation. Neither is recorded."""
        prompt = await self._prompt(origin)
        reply = await self._ask(replace(prompt, passages=_asked(prompt.passages, question)), status)
        return reply.text

    async def _summary(self, focus: str, status: StatusReporter, origin: Origin) -> Reply:
        # Reserve little for the answer, so a conversation that the last results made too long still fits.
        prompt = replace(await self._prompt(origin), output=SUMMARY_OUTPUT)
        passages = prompt.passages
        while True:
            try:
                reply = await self._ask(replace(prompt, passages=_asked(passages, summary_request(focus))), status)
            except PromptTooLong as error:
                if estimate(passages) < _SHORT:
                    raise _refuses_all(error) from error
                passages = halved(passages)
            else:
                return reply

    async def _prompt(self, origin: Origin) -> Prompt:
        entries = self._transcript.entries
        for number, entry in entries[self._taken_in :]:
            self._rendered.add(number, entry)
        self._taken_in = len(entries)
        # As of when the agent decided to ask, like the texts in the prompt.
        tools = self._parts.offered(origin.view)
        pictures = await self._pictures()
        return Prompt(self._system, self._rendered.passages, tools, pictures, origin=origin, cache=self._cache)

    async def _pictures(self) -> dict[str, bytes]:
        pictures = {}
        for blob in self._rendered.pictures:
            # Someone deleted the picture. The text about it remains.
            with suppress(ToolError):
                pictures[blob] = await self._parts.workspace.blob(blob)
        return pictures

    async def _ask(self, prompt: Prompt, status: StatusReporter) -> Reply:
        self._whole, self._words = "", ""
        # There may be text left of an answer that was cut.
        self._live_words.drop()
        reply: Reply | None = None
        async with aclosing(self._model.stream(prompt)) as stream:
            async for piece in stream:
                if isinstance(piece, Reply):
                    reply = piece
                else:
                    await self._pass_on(piece, status)
        self._live_words.end()
        if reply is None:
            raise ModelTrouble(f"{self._model.name} ended without an answer")
        return reply

    async def _pass_on(self, delta: Delta, status: StatusReporter) -> None:
        self._live_words.say(delta)
        match delta:
            case RetryDelta():
                self._whole, self._words = "", ""
                await status.show(Waiting("retry"))
                return
            case TextDelta(text=text):
                self._words += text
            case _:
                # Anything that follows a text ends it.
                self._whole, self._words = _joined(self._whole, self._words), ""
        await status.show(WORKING)


def _joined(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def _less(entry: Said) -> Said:
    """Return an answer that is too large for a record, made to fit. The largest calls get a flaw that says why."""
    unfinished = entry.unfinished or not (entry.calls or entry.stopped)
    kept = Said(text=entry.text[:_SAID_CAP], usage=entry.usage, unfinished=unfinished, stopped=entry.stopped)
    room = RECORD_CAP - _size(kept.body()) - _FLAW_BYTES * len(entry.calls)
    calls, sizes = list(entry.calls), [_size(call.model_dump()) for call in entry.calls]
    for index in sorted(range(len(calls)), key=lambda index: -sizes[index]):
        if sum(sizes) <= room:
            break
        calls[index], sizes[index] = _flawed(calls[index], sizes[index]), 0
    return kept.model_copy(update={"calls": tuple(calls)})


def _size(part: Mapping[str, Any]) -> float:
    """Return how many bytes something takes in a record, or infinity if no record can contain it."""
    try:
        return len(encode({"part": part, "run": "-", "ord": 0}))
    except TooLarge:
        return len(json.dumps(part, ensure_ascii=False).encode(errors="replace"))
    except BadRecord:
        return math.inf


def _flawed(call: Call, size: float) -> Call:
    if size == math.inf:
        why = "its arguments are nested too deeply. Flatten them."
    else:
        why = (
            f"this call has {size:,} bytes, and all calls of one answer together at most {RECORD_CAP:,}. "
            "Do it in smaller parts."
        )
    return Call(tool=call.tool[:_TOOL_CAP], arguments={}, flaw=f"Not run: {why}")


def _refuses_all(error: PromptTooLong) -> ModelRejected:
    return ModelRejected(
        f"{error}. Even a request with almost nothing of the conversation is too long, so a summary would not help",
        "Use another model: --model at the start, /model in a conversation",
    )


def _asked(passages: Sequence[Passage], words: str) -> tuple[Passage, ...]:
    """Return a conversation with these words to the model at its end."""
    last = passages[-1]
    if isinstance(last, Told):
        return (*passages[:-1], Told((*last.blocks, TextBlock(words))))
    return (*passages, Told((TextBlock(words),)))


def _system(transcript: Transcript) -> str:
    # A transcript that was lost as a whole begins with a notice that says so.
    first = next((entry for _, entry in transcript.entries if not isinstance(entry, Noticed)), None)
    if not isinstance(first, Started):
        raise StoreCorrupt(
            f"The transcript of '{transcript.name}' has lost its first record",
            "Restore the whole file from a copy, or start a new team.",
        )
    return brief(first.made_of)
