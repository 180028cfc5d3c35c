"""Prompts, replies and their parts.

`rendering` makes a prompt from a transcript. The adapters in `models/` send it and fold what comes back.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from typing import Any, Literal, TypeAlias, TypeVar, overload

from deskmate.core.agent.view import Origin
from deskmate.core.values import frozen

T = TypeVar("T")

# -- blocks ---------------------------------------------------------------------------------------


@frozen
class Image:
    """A picture kept in a blob of the workspace, such as `image/png` in `.teams/main/blobs/lead-12-0.png`."""

    media_type: str
    blob: str


@frozen
class TextBlock:
    """Text. `images`: pictures that the user sent with it. What a model says has none."""

    text: str
    images: tuple[Image, ...] = ()


@frozen
class ThinkingBlock:
    """What a model thought before it spoke, to be returned unchanged to the provider that signed it.

    Without a signature it is for people only. `sealed`: the provider keeps the text to itself and sends only a
    signature. `signer`: the provider that signed it, empty if it is not known.
    """

    text: str
    signature: str = ""
    sealed: bool = False
    signer: str = ""


@frozen
class CallBlock:
    """A tool use the model asked for, with an id that pairs it with its result within one prompt.

    `flaw`: why the arguments could not be read, in words for the model; they are empty then.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any]
    flaw: str = ""


@frozen
class ResultBlock:
    """The one result of a call."""

    id: str
    text: str
    ok: bool = True
    images: tuple[Image, ...] = ()


Spoken: TypeAlias = TextBlock | ThinkingBlock | CallBlock
Given: TypeAlias = TextBlock | ResultBlock


# -- what is asked --------------------------------------------------------------------------------


@frozen
class Told:
    """A passage that the model is given: results first, then text. Never empty."""

    blocks: tuple[Given, ...]


@frozen
class Spoke:
    """A passage that the model spoke itself. Never empty."""

    blocks: tuple[Spoken, ...]


Passage: TypeAlias = Told | Spoke


@frozen
class ToolSpec:
    """A tool as the model sees it: its name, its description, the JSON schema of its arguments."""

    name: str
    text: str
    schema: Mapping[str, Any]


class Passages(Sequence[Passage]):
    """The passages of a prompt, made without a copy of those before the last.

    `before`: a list that may grow, but never changes otherwise. What is added to it later is not part of this.
    """

    __slots__ = ("_before", "_count", "_last")

    def __init__(self, before: list[Passage], last: Passage) -> None:
        self._before, self._count, self._last = before, len(before), last

    def __len__(self) -> int:
        return self._count + 1

    @overload
    def __getitem__(self, at: int) -> Passage: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Passage, ...]: ...

    def __getitem__(self, at: int | slice) -> Passage | tuple[Passage, ...]:
        places = range(self._count + 1)[at]
        if isinstance(places, int):
            return self._last if places == self._count else self._before[places]
        return tuple(self._last if place == self._count else self._before[place] for place in places)

    def __iter__(self) -> Iterator[Passage]:
        yield from islice(self._before, self._count)
        yield self._last

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Passages | tuple) else NotImplemented

    def __repr__(self) -> str:
        return repr(tuple(self))


class ConversationCache:
    """What a model keeps from one prompt of a conversation to the next, such as old passages in its wire format.

    The agent owns it, and it ends with the agent. It is for one model at a time: what another kind of model, or a
    model of another provider, kept is dropped.
    """

    def __init__(self) -> None:
        self._key: object = None
        self._kept: Any = None

    def of(self, kind: Callable[[str], T], provider: str) -> T:
        """Return what this kind of model of a provider kept. It is made for the provider if there is none."""
        if self._key != (kind, provider):
            self._key, self._kept = (kind, provider), kind(provider)
        kept: T = self._kept
        return kept


@frozen
class Prompt:
    """Everything a model is given for one step.

    Passages alternate; the first and the last are `Told`. The passage after a call has its one result. `pictures`: the
    bytes of the blobs that images name; an image without bytes is not shown. `output`: the most tokens the answer may
    have, if that is less than the model's own limit. `origin`: what the prompt was made from; it is never sent.
    `cache`: shared by all prompts of a conversation. It never changes what is sent.
    """

    system: str
    passages: Sequence[Passage]
    tools: tuple[ToolSpec, ...] = ()
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    output: int | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)
    cache: ConversationCache = field(default_factory=ConversationCache, compare=False, repr=False)

    def most(self, gives: int) -> int:
        """Return how many tokens the answer may have, from a model that gives at most `gives`."""
        return gives if self.output is None else min(gives, self.output)


# -- what is answered -----------------------------------------------------------------------------


# No model takes or gives this many tokens in one step: a higher count is a provider's mistake.
TOKENS_CAP = 10_000_000


@frozen
class Usage:
    """Tokens of one step. `input` counts neither those read from the provider's cache nor those written to it."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def prompt(self) -> int:
        """All tokens of the prompt, cached or not."""
        return self.input + self.cache_read + self.cache_write

    def plus(self, other: "Usage") -> "Usage":
        """Return the sum of both."""
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )


@frozen
class Reply:
    """What a model answered. `blocks` may be empty: it had nothing to say.

    `end`: `done`; `length`, it ran out of room and should continue, without a call that was cut; `refused`, the
    provider stopped it. `cost`: in US dollars, None if the price is not known. `seconds`: how long the call took,
    with retries, None if nobody measured it.
    """

    blocks: tuple[Spoken, ...]
    usage: Usage = field(default_factory=Usage)
    end: Literal["done", "length", "refused"] = "done"
    model: str = ""
    cost: float | None = None
    seconds: float | None = None

    @property
    def text(self) -> str:
        """The words of the reply."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def calls(self) -> tuple[CallBlock, ...]:
        """The calls the reply asks for, in order."""
        return tuple(block for block in self.blocks if isinstance(block, CallBlock))


@frozen
class TextDelta:
    """Some text, as it arrives."""

    text: str


@frozen
class ThinkingDelta:
    """Some thinking, as it arrives."""

    text: str


@frozen
class CallDelta:
    """A call has begun to arrive."""

    tool: str


@frozen
class RetryDelta:
    """The answer so far is void: `model` is asked again in this many seconds, because of `reason`."""

    seconds: float
    reason: str
    model: str


Delta: TypeAlias = TextDelta | ThinkingDelta | CallDelta | RetryDelta


@frozen
class ModelLimits:
    """The limits of a model's prompt and answer, in tokens."""

    window: int
    output: int
