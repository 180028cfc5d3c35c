"""Prompts, replies and their parts.

`rendering` above makes a prompt of a transcript; the adapters in `models/` put it on the wire and fold what comes back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from deskmate.core.agent.view import Origin

# -- blocks ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Words."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """What a model thought before it spoke, to be given back unchanged to the provider that signed it.

    Without a signature it is for people only. `sealed`: the provider keeps it to itself; the signature is all there is.
    """

    text: str
    signature: str = ""
    sealed: bool = False


@dataclass(frozen=True, slots=True)
class CallBlock:
    """A tool use the model asked for, under an id that pairs it with its result within one prompt.

    `flaw`: why the arguments could not be read, in words for the model; they are empty then.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any]
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture kept in a blob of the workspace, such as `image/png` in `.teams/main/blobs/lead-12-0.png`."""

    media_type: str
    blob: str


@dataclass(frozen=True, slots=True)
class ResultBlock:
    """The one result of a call."""

    id: str
    text: str
    ok: bool = True
    images: tuple[Image, ...] = ()


Spoken: TypeAlias = TextBlock | ThinkingBlock | CallBlock
Given: TypeAlias = TextBlock | ResultBlock


# -- what is asked --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Told:
    """A passage that the model is given: results first, then words. Never empty."""

    blocks: tuple[Given, ...]


@dataclass(frozen=True, slots=True)
class Spoke:
    """A passage that the model spoke itself. Never empty."""

    blocks: tuple[Spoken, ...]


Passage: TypeAlias = Told | Spoke


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is shown it: its name, the text it reads, the JSON schema of its arguments."""

    name: str
    text: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """All that a model is given for one step.

    Passages alternate and begin and end with one that is told. Every call is followed, in the very next passage, by
    its one result. `pictures`: the bytes of the blobs that images name; one that is not there is not shown. `output`:
    how many tokens the answer may have at most, where that is less than the model gives. `origin`: what it was made
    from; no part of what is asked.
    """

    system: str
    passages: tuple[Passage, ...]
    tools: tuple[ToolSpec, ...] = ()
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    output: int | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)

    def most(self, gives: int) -> int:
        """Return how many tokens the answer of a model that gives so many may have."""
        return gives if self.output is None else min(gives, self.output)


# -- what is answered -----------------------------------------------------------------------------


# No model takes or gives as many tokens in one step: a provider that says more than this has miscounted.
TOKENS_CAP = 10_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one step. `input` counts neither those read from the provider's cache nor those written to it."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def prompt(self) -> int:
        """All tokens of the prompt, wherever they were read from."""
        return self.input + self.cache_read + self.cache_write


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered. `blocks` may be empty: it had nothing to say.

    `end`: `done`; `length`, it ran out of room and should go on, a call cut in the middle left out; `refused`, the
    provider stopped it. `cost`: in US dollars, None where the price is not known.
    """

    blocks: tuple[Spoken, ...]
    usage: Usage = field(default_factory=Usage)
    end: Literal["done", "length", "refused"] = "done"
    model: str = ""
    cost: float | None = None

    @property
    def text(self) -> str:
        """The words of the reply."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def calls(self) -> tuple[CallBlock, ...]:
        """The calls the reply asks for, in order."""
        return tuple(block for block in self.blocks if isinstance(block, CallBlock))


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Some words, as they come."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """Some thoughts, as they come."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A call has begun to come."""

    tool: str


@dataclass(frozen=True, slots=True)
class RetryDelta:
    """The answer so far is void: it is asked for again in so many seconds, because of `reason`, of `model`."""

    seconds: float
    reason: str
    model: str


Delta: TypeAlias = TextDelta | ThinkingDelta | CallDelta | RetryDelta
