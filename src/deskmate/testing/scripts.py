"""What it was Asked, and the scripts that answer.

A script says `Say` and `Use` of `models.scripted`, as those of a `ScriptedModel` do. `fake_provider` plays scripts. The
modules in `formats` write the replies in the wire format of a provider.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from deskmate.core.prompt.prompts import Prompt, ResultBlock, TextBlock, Told, Usage
from deskmate.errors import BadInput
from deskmate.models.scripted import Say

Format: TypeAlias = Literal["anthropic", "openai", "responses", "gemini"]

# -- replies -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """A `Say` on its way to the wire. Ids are made of `digest`, so that they are the same in every run."""

    say: Say
    model: str
    usage: Usage
    digest: str
    fragment: int

    def fragments(self, text: str) -> list[str]:
        """Return a text in the pieces in which it is streamed."""
        return [text[start : start + self.fragment] for start in range(0, len(text), self.fragment)]


# -- requests ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """One request. `body` and `headers` are as they came. The rest is read from them on demand.

    `number` is its index among the provider's requests. Only a valid request can be read. Pictures are only in the
    body.
    """

    number: int
    format: Format
    headers: Mapping[str, str]
    body: Any
    read: Callable[[Any], Prompt] = field(repr=False, compare=False)

    @property
    def model(self) -> str:
        """The model asked for."""
        return str(self.body["model"])

    @cached_property
    def prompt(self) -> Prompt:
        """The request as a provider-neutral prompt."""
        return self.read(self.body)

    @property
    def system(self) -> str:
        """The system prompt."""
        return self.prompt.system

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the available tools."""
        return tuple(tool.name for tool in self.prompt.tools)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the last passage that the model was told."""
        return tuple(block.text for block in self._last if isinstance(block, TextBlock))

    @property
    def results(self) -> tuple[ResultBlock, ...]:
        """The results of the last step."""
        return tuple(block for block in self._last if isinstance(block, ResultBlock))

    @property
    def _last(self) -> tuple[TextBlock | ResultBlock, ...]:
        return next((passage.blocks for passage in reversed(self.prompt.passages) if isinstance(passage, Told)), ())


# -- scripts --------------------------------------------------------------------------------------

# A text is a `Say` without calls.
Step: TypeAlias = str | Say
Script: TypeAlias = "Sequence[Step] | Callable[[Asked], Step] | Mapping[str, Script]"
Who: TypeAlias = Callable[[Asked], str]


class ScriptEnded(Exception):
    """A script has nothing to say to a request."""


class Player:
    """Plays a script. A reply stays the next one until it is taken, so that a retry gets what a fault cut off."""

    def __init__(self, script: Script, who: Who | None = None) -> None:
        self._script = script
        self._who = who
        self._parts = {key: Player(part, who) for key, part in script.items()} if isinstance(script, Mapping) else {}
        self._taken = 0
        self._made: dict[str, Say] = {}

    def who(self, asked: Asked) -> str:
        """Return who asks: by the `who` function, or the first key in the system prompt, or ""."""
        if self._who:
            return self._who(asked)
        return next((key for key in self._parts if key in asked.system), "")

    def next(self, asked: Asked, digest: str) -> Say:
        """Return the reply to a request. It stays the reply until it is taken. Raises ScriptEnded if there is none.

        A callable is called once for a request and its retries. They have the same `digest`.
        """
        if isinstance(self._script, Mapping):
            return self._part(asked).next(asked, digest)
        if callable(self._script):
            if digest not in self._made:
                self._made[digest] = _say(self._script(asked))
            return self._made[digest]
        if self._taken == len(self._script):
            raise ScriptEnded(f"the script has no reply left after {self._taken}; add what this request should get")
        return _say(self._script[self._taken])

    def take(self, asked: Asked, digest: str) -> None:
        """Count the reply to a request as given."""
        if isinstance(self._script, Mapping):
            self._part(asked).take(asked, digest)
        elif callable(self._script):
            del self._made[digest]
        else:
            self._taken += 1

    def _part(self, asked: Asked) -> "Player":
        key = self.who(asked)
        if key not in self._parts:
            raise ScriptEnded(f"the script has no part for '{key}', only for {', '.join(self._parts) or 'nobody'}")
        return self._parts[key]


def _say(step: Step) -> Say:
    match step:
        case str():
            return Say(step)
        case Say():
            return step
        case _:
            raise BadInput(f"{step!r:.200} is not a step of a script", "Write a text, or Say(text, calls).")
