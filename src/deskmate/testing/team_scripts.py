"""What scripts of team members are made of: reading what the model was told, and the calls it can make.

A script is a function of the conversation alone. So any process can play it, and it continues after a kill.
`scenario` plays scripts.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from deskmate.core.prompt.prompts import CallBlock, ResultBlock, Spoke, TextBlock, Told
from deskmate.models.scripted import Say, Use
from deskmate.testing.scripts import Asked

MemberScript: TypeAlias = Callable[[Asked], Say]
TeamScripts: TypeAlias = Mapping[str, MemberScript]
Called: TypeAlias = tuple[str, Mapping[str, object]]

WAITING = Say("I wait.")


# -- reading --------------------------------------------------------------------------------------


def member_of(asked: Asked) -> str:
    """Return the name of the member whose model is asked."""
    found = re.match(r"You are ([^ ,]+), ", asked.system)
    assert found, f"this system prompt names no member: {asked.system[:80]}"
    return found[1]


def step(asked: Asked) -> int:
    """Return how many replies this model has given."""
    return sum(isinstance(passage, Spoke) for passage in asked.prompt.passages)


def all_texts(asked: Asked) -> list[str]:
    """Return every text this model was told, without the results of its calls."""
    passages = [passage for passage in asked.prompt.passages if isinstance(passage, Told)]
    return [block.text for passage in passages for block in passage.blocks if isinstance(block, TextBlock)]


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


def all_succeeded(passage: Told) -> bool:
    """Return whether every call of the last step succeeded."""
    return all(block.ok for block in passage.blocks if isinstance(block, ResultBlock))


# -- saying ---------------------------------------------------------------------------------------


def in_turn(*says: Say, then: Say = WAITING) -> MemberScript:
    """Return a script that says one thing after another, whatever it is told, and then always `then`."""
    return lambda asked: says[step(asked)] if step(asked) < len(says) else then


def send_mail(to: str, content: str, **more: object) -> Use:
    """Send a message to a member."""
    return Use("SendMessage", {"recipient": to, "content": content, **more})


def ask_to_stop(*names: str) -> Say:
    """Ask teammates to stop."""
    return Say(calls=[Use("SendMessage", {"type": "shutdown_request", "recipient": name}) for name in names])


def answer_stop(request_id: str, *, approve: bool = True, content: str = "") -> Use:
    """Answer a request to stop."""
    arguments = {"type": "shutdown_response", "request_id": request_id, "approve": approve, "content": content}
    return Use("SendMessage", arguments)


def spawn(name: str, **more: object) -> Use:
    """Start a teammate."""
    return Use("Task", {"name": name, "prompt": f"You are {name}. Take what is yours.", **more})


def add_task(subject: str, **more: object) -> Use:
    """Put a task on the board."""
    return Use("TaskCreate", {"subject": subject, **more})


def update_task(number: int, **more: object) -> Use:
    """Change a task."""
    return Use("TaskUpdate", {"taskId": number, **more})


def complete_task(number: int) -> Use:
    """Mark a task as completed."""
    return update_task(number, status="completed")


def wait_for_file(path: str) -> Use:
    """Run a command that ends when a file is there."""
    return Use("bash", {"command": f"until [ -e {path} ]; do sleep 0.01; done"})


def write_file(path: str, content: str = "") -> Use:
    """Write a file."""
    return Use("write_file", {"path": path, "content": content})
