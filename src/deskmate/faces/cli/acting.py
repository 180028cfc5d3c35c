"""What commands that act print: send, stop, and the user's hand on the board.

`team_commands` stands above; `deskmate.app` does it, under the name of the user.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio

from deskmate.app import acting
from deskmate.app.acting import TaskChanged
from deskmate.faces.cli.error_log import logging_to
from deskmate.faces.cli.listings import numbers, state_of
from deskmate.faces.cli.tables import note, put
from deskmate.faces.cli.texts import one_line

EXIT_CODES = {"left": 0, "refused": 1, "waiting": 1}

T = TypeVar("T")


def send(folder: Path | None, team: str | None, name: str, text: str) -> int:
    """Send a member the user's words."""
    sent = _wait_for(partial(acting.send, folder, team, name, text))
    when = "" if sent.live else f"; nobody plays the team now; it hears that after: deskmate resume {sent.team}"
    return put([f"sent to {sent.recipient}@{sent.team}{when}"])


def stop(folder: Path | None, team: str | None, name: str) -> int:
    """Ask a teammate to leave, and wait for what comes of it."""
    stopped = _wait_for(partial(acting.stop, folder, team, name, note))
    said = f": {one_line(stopped.words)}" if stopped.words else ""
    word = {"left": "left", "refused": "refused to stop", "waiting": "has not stopped"}[stopped.end]
    return put([f"{stopped.member}@{stopped.team} {word}{said}"]) or EXIT_CODES[stopped.end]


def add(folder: Path | None, team: str | None, subject: str, **fields: Any) -> int:
    """Put a task on the board."""
    return _put_task("added", _wait_for(partial(acting.add_task, folder, team, subject, **fields)))


def assign(folder: Path | None, team: str | None, task: str, name: str) -> int:
    """Give a task to a member."""
    return _put_task(f"given to {name}", _wait_for(partial(acting.assign_task, folder, team, task, name)))


def done(folder: Path | None, team: str | None, task: str) -> int:
    """Mark a task as done, once what verifies it succeeds."""
    return _put_task("done", _wait_for(partial(acting.complete_task, folder, team, task, note)))


def drop(folder: Path | None, team: str | None, task: str) -> int:
    """Take a task off the board."""
    return _put_task("dropped", _wait_for(partial(acting.drop_task, folder, team, task)))


def _wait_for(deed: Callable[[], Coroutine[Any, Any, T]]) -> T:
    with logging_to(note):
        return anyio.run(deed)


def _put_task(word: str, changed: TaskChanged) -> int:
    task = changed.task
    freed = numbers(changed.freed)
    state = f", {state_of(task)}" if word == "added" else ""
    unblocked = f"; that frees {freed}" if freed else ""
    return put([f"#{task.id} {word}{state}: {one_line(task.subject)}{unblocked}"])
