"""What scripts of team members are made of: reading what the model was told, and the calls it can make.

A script is a function of the conversation alone. So any process can play it, and it continues after a kill.
`scenario` plays scripts.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from deskmate.core.prompt.prompts import CallBlock, Spoke
from deskmate.models.scripted import Say
from deskmate.models.scripted.script_calls import (
    add_task,
    answer_plan,
    answer_stop,
    ask_to_stop,
    claim_task,
    complete_task,
    edit_file,
    present_plan,
    read_file,
    run_command,
    send_mail,
    spawn,
    update_task,
    wait_for_file,
    write_file,
)
from deskmate.models.scripted.script_prompts import all_succeeded, name_in, texts_in
from deskmate.testing.scripts import Asked

__all__ = [
    "WAITING",
    "Called",
    "MemberScript",
    "TeamScripts",
    "add_task",
    "all_succeeded",
    "all_texts",
    "answer_plan",
    "answer_stop",
    "ask_to_stop",
    "called",
    "calls_in",
    "claim_task",
    "complete_task",
    "edit_file",
    "given_task",
    "hears",
    "in_turn",
    "member_of",
    "present_plan",
    "read_file",
    "request_in",
    "run_command",
    "send_mail",
    "spawn",
    "step",
    "update_task",
    "wait_for_file",
    "was_told",
    "write_file",
]

MemberScript: TypeAlias = Callable[[Asked], Say]
TeamScripts: TypeAlias = Mapping[str, MemberScript]
Called: TypeAlias = tuple[str, Mapping[str, object]]

WAITING = Say("I wait.")


# -- reading --------------------------------------------------------------------------------------


def member_of(asked: Asked) -> str:
    """Return the name of the member whose model is asked."""
    name = name_in(asked.prompt)
    assert name, f"this system prompt names no member: {asked.system[:80]}"
    return name


def step(asked: Asked) -> int:
    """Return how many replies this model has given."""
    return sum(isinstance(passage, Spoke) for passage in asked.prompt.passages)


def all_texts(asked: Asked) -> list[str]:
    """Return every text this model was told, without the results of its calls."""
    return texts_in(asked.prompt)


def was_told(asked: Asked, words: str) -> bool:
    """Return whether a text that this model was told contains these words."""
    return any(words in text for text in all_texts(asked))


def hears(asked: Asked, words: str) -> bool:
    """Return whether the last texts that this model was told contain these words."""
    return any(words in text for text in asked.texts)


def given_task(asked: Asked) -> int | None:
    """Return the number of the task that this model was given just now, or None."""
    found = re.search(r"Task #(\d+) is yours now", "\n".join(asked.texts))
    return int(found[1]) if found else None


def request_in(asked: Asked, kind: str) -> str | None:
    """Return the id of the latest request of a kind in the last texts, or None. A kind is a type of message."""
    frames = [text for text in asked.texts if f'type="{kind}"' in text]
    found = re.search(r'request_id="([^"]+)"', frames[-1]) if frames else None
    return found[1] if found else None


def calls_in(spoke: Spoke) -> tuple[Called, ...]:
    """Return the calls of a reply, with their arguments."""
    return tuple((block.tool, block.arguments) for block in spoke.blocks if isinstance(block, CallBlock))


def called(say: Say) -> tuple[Called, ...]:
    """Return the calls of a `Say` as `calls_in` returns them after it was said."""
    return tuple((use.tool, dict(use.arguments)) for use in say.calls)


# -- saying ---------------------------------------------------------------------------------------


def in_turn(*says: Say, then: Say = WAITING) -> MemberScript:
    """Return a script that says one thing after another, whatever it is told, and then always `then`."""
    return lambda asked: says[step(asked)] if step(asked) < len(says) else then
