"""A model that says what a script tells it.

It behaves like a real model: text comes in pieces, other tasks run in between, and the stream may be closed at any
time.
"""

import inspect
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal, TypeAlias

import anyio.lowlevel

from deskmate.core.prompt.prompts import (
    CallBlock,
    CallDelta,
    Delta,
    Prompt,
    Reply,
    Spoken,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    Usage,
)
from deskmate.core.values import frozen
from deskmate.errors import BadInput, ModelRejected
from deskmate.models.wires.reply_parts import read_arguments
from deskmate.ports import Clock, ModelLimits

_LIMITS = ModelLimits(200_000, 32_000)
_PIECES = 4
_SHOWN = 200


@frozen
class Use:
    """A tool call of the model. `raw`: its arguments as text, which may be invalid JSON. `id`: a given call id."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    raw: str | None = None
    id: str | None = None


@frozen
class Say:
    """What the model says: thoughts, then text, then calls. All may be empty. Each call without an id gets one.

    `end`: as in `Reply`. To cut a call in the middle, use `length` and give the last `Use` a broken `raw`.
    `sealed`: the thoughts are sent encrypted, as a provider does. `usage`: what it costs. A fake provider counts that
    itself.
    """

    text: str = ""
    calls: Sequence[Use] = ()
    thinking: str = ""
    end: Literal["done", "length", "refused"] = "done"
    sealed: bool = False
    usage: Usage = field(default_factory=Usage)


Step: TypeAlias = str | Say | Reply | Exception
Part: TypeAlias = Sequence[Step] | Callable[[Prompt], Step | Awaitable[Step]]
Script: TypeAlias = Part | Mapping[str, Part]


class RehearsedModel:
    """A model that plays a script: steps in order, or a function of the prompt, sync or async, or one per member.

    A step is the text to answer, a `Say`, a whole `Reply`, or an error to raise. `prompts`: all prompts so far.
    Raises ModelRejected if it is asked after its last step. With `pause_seconds`, that much time of `clock` passes
    before each delta and before the reply.
    """

    def __init__(
        self,
        script: Script,
        *,
        name: str = "scripted:model",
        limits: ModelLimits = _LIMITS,
        pause_seconds: float = 0.0,
        clock: Clock | None = None,
    ) -> None:
        if pause_seconds > 0 and clock is None:
            raise BadInput(f"{name} pauses {pause_seconds} s between deltas, but has no clock", "Pass a clock.")
        self.prompts: list[Prompt] = []
        self._next_step = _by_member(script, name) if isinstance(script, Mapping) else _played(script, name)
        self._name, self._limits = name, limits
        self._pause_seconds, self._clock = pause_seconds, clock
        self._ids = (f"call_{number}" for number in itertools.count(1))
        self._used_ids: set[str] = set()

    @property
    def name(self) -> str:
        """The name it was given."""
        return self._name

    @property
    def limits(self) -> ModelLimits:
        """The limits it was given."""
        return self._limits

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Play the next step: its deltas, then its reply. Raises the error if the step is one."""
        self.prompts.append(prompt)
        step = self._next_step(prompt)
        reply = self._reply(await step if inspect.isawaitable(step) else step)
        for block in reply.blocks:
            for delta in _deltas(block):
                await self._pause()
                yield delta
        await self._pause()
        yield reply

    async def _pause(self) -> None:
        if self._clock is not None and self._pause_seconds > 0:
            await self._clock.sleep(self._pause_seconds)
        else:
            await anyio.lowlevel.checkpoint()

    def _reply(self, step: Step) -> Reply:
        match step:
            case Exception():
                raise step
            case str():
                reply = _spoken(Say(step))
            case Say():
                reply = _spoken(step)
            case Reply():
                reply = step
            case _:
                raise BadInput(f"{step!r:.200} is not a step of a script", "Write a text, or Say(text, calls).")
        return replace(reply, blocks=tuple(map(self._with_id, reply.blocks)), model=reply.model or self._name)

    def _with_id(self, block: Spoken) -> Spoken:
        if not isinstance(block, CallBlock):
            return block
        if not block.id or block.id in self._used_ids:
            block = replace(block, id=next(id_ for id_ in self._ids if id_ not in self._used_ids))
        self._used_ids.add(block.id)
        return block


def _played(part: Part, name: str) -> Callable[[Prompt], Step | Awaitable[Step]]:
    return part if callable(part) else _in_order(part, name)


def _by_member(parts: Mapping[str, Part], name: str) -> Callable[[Prompt], Step | Awaitable[Step]]:
    played = {member: _played(part, f"{name} for {member}") for member, part in parts.items()}

    def next_step(prompt: Prompt) -> Step | Awaitable[Step]:
        member = prompt.origin.view.me.name if prompt.origin else ""
        if member not in played:
            raise ModelRejected(f"The script of {name} has no part for '{member}'", f"It has {', '.join(played)}.")
        return played[member](prompt)

    return next_step


def _in_order(script: Sequence[Step], name: str) -> Callable[[Prompt], Step]:
    steps = list(script)
    left = iter(steps)

    def next_step(prompt: Prompt) -> Step:
        step = next(left, None)
        if step is None:
            raise ModelRejected(
                f"The script of {name} has ended: it had {len(steps)} steps and was asked once more"
                f" after {_last_words(prompt)!r}",
                "Add a step, or find out why it was asked.",
            )
        return step

    return next_step


def _last_words(prompt: Prompt) -> str:
    texts = [block.text for passage in prompt.passages for block in passage.blocks if not isinstance(block, CallBlock)]
    return texts[-1][-_SHOWN:] if texts else ""


def _spoken(say: Say) -> Reply:
    hidden = ThinkingBlock("", "(sealed)", sealed=True)
    thinking = (hidden if say.sealed else ThinkingBlock(say.thinking),) if say.thinking else ()
    text = (TextBlock(say.text),) if say.text else ()
    return Reply((*thinking, *text, *map(_called, say.calls)), usage=say.usage, end=say.end)


def _called(use: Use) -> CallBlock:
    found = use.arguments if use.raw is None else read_arguments(use.raw)
    flaw = found if isinstance(found, str) else ""
    return CallBlock(use.id or "", use.tool, {} if isinstance(found, str) else found, flaw)


def _deltas(block: Spoken) -> Iterator[Delta]:
    match block:
        case TextBlock(text=text):
            yield from map(TextDelta, _pieces(text))
        case ThinkingBlock(text=text):
            yield from map(ThinkingDelta, _pieces(text))
        case CallBlock(tool=tool):
            yield CallDelta(tool)


def _pieces(text: str) -> Iterator[str]:
    size = max(1, -(-len(text) // _PIECES))
    return (text[start : start + size] for start in range(0, len(text), size))
