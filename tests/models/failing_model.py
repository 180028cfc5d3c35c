"""For the tests of what wraps a model: one that fails as it is told to, a clock that does not keep one waiting."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio
import anyio.lowlevel

from deskmate.core.prompt.prompts import Delta, Prompt, Reply, TextBlock, TextDelta, Told
from deskmate.ports import Model, ModelLimits
from deskmate.testing import FakeClock

PROMPT = Prompt("", (Told((TextBlock("hello"),)),))
MAIN, OTHER = "scripted:main", "scripted:other"
LIMITS = ModelLimits(200_000, 32_000)
SILENCE = 10_000.0

Part: TypeAlias = Delta | Reply
Wait: TypeAlias = Callable[[], Awaitable[object]]
Attempt: TypeAlias = Sequence[str | Reply | Exception | Wait]


@dataclass
class Playing:
    """A model that plays one attempt after the other: words, waits, and a reply, an error or just an end."""

    attempts: Iterable[Attempt]
    name: str = MAIN
    limits: ModelLimits = LIMITS
    played: list[Attempt] = field(default_factory=list)
    closed: int = 0

    def __post_init__(self) -> None:
        self.left = iter(self.attempts)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Part, None]:
        self.played.append(next(self.left))
        try:
            await anyio.lowlevel.checkpoint()
            for moment in self.played[-1]:
                match moment:
                    case str():
                        yield TextDelta(moment)
                    case Reply():
                        yield moment
                    case Exception():
                        raise moment
                    case _:
                        await moment()
        finally:
            self.closed += 1


def good(text: str, model: str = MAIN) -> Reply:
    return Reply((TextBlock(text),), model=model)


@dataclass
class Listener:
    """Someone who listens to a stream in a task of their own and notes what came when."""

    clock: FakeClock
    heard: list[tuple[float, Part]] = field(default_factory=list)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    async def listen(self, model: Model) -> None:
        with anyio.fail_after(30), self.scope:
            async with aclosing(model.stream(PROMPT)) as parts:
                async for part in parts:
                    self.heard += [(self.clock.monotonic(), part)]
