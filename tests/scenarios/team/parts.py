"""Parts: how scripted models read what they are told. A part is a function of the conversation alone.

So it can be played by any process, and goes on where it was after a kill. `stage` plays them; `story` is made of them.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from deskmate.core.prompt.prompts import CallBlock, ResultBlock, Spoke, TextBlock, Told
from deskmate.testing.scripts import Asked, Say, Use

Part: TypeAlias = Callable[[Asked], Say]
Parts: TypeAlias = Mapping[str, Part]
Called: TypeAlias = tuple[str, Mapping[str, object]]

WAITING = Say("I wait.")


# -- reading --------------------------------------------------------------------------------------


def who(asked: Asked) -> str:
    """Return the name of the member whose model is asked."""
    found = re.match(r"You are ([^ ,]+), ", asked.system)
    assert found, f"nobody the team knows: {asked.system[:80]}"
    return found[1]


def step(asked: Asked) -> int:
    """Return how often this model has spoken."""
    return sum(isinstance(passage, Spoke) for passage in asked.prompt.passages)


def told(asked: Asked) -> list[str]:
    """Return all the words this model was ever told, results of its calls left out."""
    passages = [passage for passage in asked.prompt.passages if isinstance(passage, Told)]
    return [block.text for passage in passages for block in passage.blocks if isinstance(block, TextBlock)]


def was_told(asked: Asked, words: str) -> bool:
    """Tell whether this model was ever told something with these words in it."""
    return any(words in text for text in told(asked))


def hears(asked: Asked, words: str) -> bool:
    """Tell whether these words are among what this model was told last."""
    return any(words in text for text in asked.texts)


def task_told(asked: Asked) -> int | None:
    """Return the number of the task that was given to this model just now, if one was."""
    found = re.search(r"Task #(\d+) is yours now", "\n".join(asked.texts))
    return int(found[1]) if found else None


def request_in(asked: Asked, kind: str) -> str | None:
    """Return the id of the request of a kind that this model was told of last, if it was told of one."""
    frames = [text for text in asked.texts if f'type="{kind}"' in text]
    found = re.search(r'request_id="([^"]+)"', frames[-1]) if frames else None
    return found[1] if found else None


def calls_in(spoke: Spoke) -> tuple[Called, ...]:
    """Return the calls that were spoken, with their arguments."""
    return tuple((block.tool, block.arguments) for block in spoke.blocks if isinstance(block, CallBlock))


def called(say: Say) -> tuple[Called, ...]:
    """Return the calls of something to say, as `calls_in` returns them once it was said."""
    return tuple((use.tool, dict(use.arguments)) for use in say.calls)


def came_to_something(passage: Told) -> bool:
    """Tell whether every call got what it wanted."""
    return all(block.ok for block in passage.blocks if isinstance(block, ResultBlock))


# -- saying ---------------------------------------------------------------------------------------


def in_turn(*says: Say, then: Say = WAITING) -> Part:
    """Return a part that says one thing after the other, whatever it is told, and at the end always the same."""
    return lambda asked: says[step(asked)] if step(asked) < len(says) else then


def mail(to: str, content: str, **more: object) -> Use:
    """Return a letter to someone."""
    return Use("SendMessage", {"recipient": to, "content": content, **more})


def ask_to_stop(*names: str) -> Say:
    """Return what asks teammates to leave."""
    return Say(calls=[Use("SendMessage", {"type": "shutdown_request", "recipient": name}) for name in names])


def answer_to_stop(request_id: str, *, approve: bool = True, content: str = "") -> Use:
    """Return the answer to who asks one to leave."""
    arguments = {"type": "shutdown_response", "request_id": request_id, "approve": approve, "content": content}
    return Use("SendMessage", arguments)


def spawn(name: str, **more: object) -> Use:
    """Return what makes a teammate."""
    return Use("Task", {"name": name, "prompt": f"You are {name}. Take what is yours.", **more})


def task(subject: str, **more: object) -> Use:
    """Return what puts a task on the board."""
    return Use("TaskCreate", {"subject": subject, **more})


def update(number: int, **more: object) -> Use:
    """Return what changes a task."""
    return Use("TaskUpdate", {"taskId": number, **more})


def complete(number: int) -> Use:
    """Return what ends a task."""
    return update(number, status="completed")


def until_there(path: str) -> Use:
    """Return a command that lasts until somebody puts a file there."""
    return Use("bash", {"command": f"until [ -e {path} ]; do sleep 0.01; done"})


def put(path: str, content: str = "") -> Use:
    """Return what puts a file there."""
    return Use("write_file", {"path": path, "content": content})
