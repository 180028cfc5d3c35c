"""What a member says next, from its conversation.

Nothing is counted or stored: a part decides from its conversation alone. `demo_script` has the lines.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from deskmate.core.prompt.prompts import CallBlock, Passage, Prompt, Spoke, TextBlock, Told, Usage
from deskmate.errors import ModelRejected
from deskmate.models.scripted import Say, Use
from deskmate.models.scripted.script_calls import answer_stop
from deskmate.models.scripted.script_prompts import all_succeeded, name_in, texts_in

# Placeholder for the id of the request that a line answers.
REQUEST = "(the request)"
TRIES = 4
# A rough measure for English text.
_TOKEN_CHARS = 4

_FRAME = re.compile(r'<teammate-message [^>]*\brequest_id="([^"]+)".*?</teammate-message>', re.DOTALL)
_LEAVING = 'type="shutdown_request"'


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """Something to say once, with its calls. No two lines of a part have the same words.

    `after`: what must have been told before. `then`: the words that end the turn if nothing else is left to say.
    `meanwhile`: what to say instead of ending the turn, until `after` was told. `optional`: its calls may fail.
    `again`: what to say with its calls after the first time. `unless`: if this was told, the line is left out. `each`:
    the line is said once for each time that this was told.
    """

    says: str
    calls: tuple[Use, ...] = ()
    after: tuple[str, ...] = ()
    then: str = ""
    meanwhile: Say | None = None
    optional: bool = False
    again: str = ""
    unless: str = ""
    each: str = ""

    @property
    def words(self) -> tuple[str, str]:
        """What is said with its calls, the first time and later."""
        return self.says, self.again or self.says


@dataclass(frozen=True, slots=True)
class ScriptPart:
    """Everything one member says: lines in order, and replies to what may arrive at any time."""

    lines: tuple[ScriptLine, ...]
    replies: tuple[ScriptLine, ...] = ()

    def __call__(self, prompt: Prompt) -> Say:
        """Return what to say next. Raises ModelRejected if the calls of a line fail again and again."""
        told = _told(prompt)
        for line in self.replies:
            if _cued(line, told) and not _done(line, prompt):
                return _spoken(line, prompt)
        done = [line for line in self.lines if _done(line, prompt)]
        left = (line for line in self.lines if line not in done and not (line.unless and line.unless in told))
        following = next(left, None)
        if following and _cued(following, told):
            return _spoken(following, prompt)
        if request := _asked_to_leave(prompt):
            return Say("I am done here.", [answer_stop(request)])
        if following and following.meanwhile:
            return following.meanwhile
        return Say((done[-1].then if done else "") or "That is all from me for now.")


def speaker(prompt: Prompt) -> str:
    """Return the member whose model is asked, or an empty string."""
    return name_in(prompt) or ""


def play(parts: Mapping[str, ScriptPart], prompt: Prompt) -> Say:
    """Return what the member whose model is asked says next. Raises ModelRejected if it has no part."""
    if (name := speaker(prompt)) not in parts:
        raise ModelRejected(f"The script has no part for the agent with the prompt {prompt.system[:80]!r}", "Add one.")
    say = parts[name](prompt)
    return replace(say, usage=_usage(prompt, say))


def _usage(prompt: Prompt, say: Say) -> Usage:
    """Return about how many tokens this step would take, with everything but the last passage in the cache."""
    *before, last = prompt.passages
    cached = len(prompt.system) + sum(map(_length, before))
    said = len(say.text) + sum(len(str(call.arguments)) for call in say.calls)
    return Usage(0, said // _TOKEN_CHARS, cached // _TOKEN_CHARS, _length(last) // _TOKEN_CHARS)


def _length(passage: Passage) -> int:
    return sum(len(str(block)) for block in passage.blocks)


def _told(prompt: Prompt) -> str:
    """Return all words that were told, without results of calls."""
    return "\n".join(texts_in(prompt))


def _cued(line: ScriptLine, told: str) -> bool:
    return all(words in told for words in line.after)


def _outcomes(line: ScriptLine, prompt: Prompt) -> Iterator[bool]:
    """Yield, for each time a line was said, whether all its calls succeeded."""
    for spoke, told in pairwise(prompt.passages):
        if isinstance(spoke, Spoke) and isinstance(told, Told) and _words(spoke) in line.words:
            yield all_succeeded(told)


def _words(spoke: Spoke) -> str:
    return "".join(block.text for block in spoke.blocks if isinstance(block, TextBlock))


def _done(line: ScriptLine, prompt: Prompt) -> bool:
    outcomes = list(_outcomes(line, prompt))
    times = len(outcomes) if line.optional else sum(outcomes)
    return times >= (max(_told(prompt).count(line.each), 1) if line.each else 1)


def _spoken(line: ScriptLine, prompt: Prompt) -> Say:
    outcomes = list(_outcomes(line, prompt))
    if outcomes.count(False) >= TRIES and not line.optional:
        raise ModelRejected(f"The line {line.says!r} failed {TRIES} times", "Look at the results of its calls.")
    request = _request(line, prompt)
    return Say(line.words[bool(outcomes)], [Use(call.tool, _filled(call.arguments, request)) for call in line.calls])


def _request(line: ScriptLine, prompt: Prompt) -> str:
    frames = [found for found in _FRAME.finditer(_told(prompt)) if all(words in found[0] for words in line.after)]
    return frames[-1][1] if frames else ""


def _filled(arguments: Mapping[str, Any], request: str) -> dict[str, Any]:
    return {name: request if value == REQUEST else value for name, value in arguments.items()}


def _asked_to_leave(prompt: Prompt) -> str | None:
    """Return the last request to leave that is not answered, or None."""
    requests = [found[1] for found in _FRAME.finditer(_told(prompt)) if _LEAVING in found[0]]
    spoken = (block for passage in prompt.passages if isinstance(passage, Spoke) for block in passage.blocks)
    answered = {block.arguments.get("request_id") for block in spoken if isinstance(block, CallBlock)}
    return next((request for request in reversed(requests) if request not in answered), None)
