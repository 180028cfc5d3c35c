"""Tasks as one line of text, which no subject of a task can imitate."""

import re
from collections.abc import Iterable, Sequence

from deskmate.core.team.tasks import BoardState, Task, blockers

# Parts of a subject that could be read as the owner or the blockers, which follow it in a line.
_OWNER_SIGN = re.compile(r"(?<!\S)@(?=\S)")
_BLOCKED_SIGN = re.compile(r"\(\W*(?=blocked\W+by)", re.IGNORECASE)
_LINE_SHOWN = 120
_WORDS_SHOWN = 10


def line(board: BoardState, task: Task) -> str:
    """Return a task as one line: `#3 [pending, role "tester"] subject (blocked by #1) @owner`.

    No subject can imitate one of these parts.
    """
    subject = _OWNER_SIGN.sub("@ ", _BLOCKED_SIGN.sub("(it says: ", one_line(task.subject)))
    return f"#{task.id} {_state(board, task, subject)}"


def authored_line(board: BoardState, task: Task) -> str:
    """Return a task and its authors as one line: `#3 by ann, edited by bob [pending] "subject" @owner`.

    The authors come first and the subject is quoted, so that no subject can name another author.
    """
    return f"#{task.id} {authors(task)} {_state(board, task, quoted(one_line(task.subject)))}"


def _state(board: BoardState, task: Task, subject: str) -> str:
    waits = blockers(board, task)
    blocked = f" (blocked by {ids(waits)})" if waits else ""
    owner = f" @{task.owner}" if task.owner else ""
    role = f", role {quoted(one_line(task.role))}" if task.role else ""
    waits_in_queue = ", waits to be merged" if task.offer else ""
    return f"[{task.status.replace('_', ' ')}{waits_in_queue}{role}] {subject}{blocked}{owner}"


def authors(task: Task) -> str:
    """Return who wrote a task: `by ann, edited by bob`."""
    edited = f", edited by {listed(task.editors)}" if task.editors else ""
    return f"by {task.created_by or 'unknown'}{edited}"


def ids(numbers: Iterable[int]) -> str:
    """Return task numbers for people: `#1, #2`, the first few and how many more."""
    return listed([f"#{number}" for number in numbers])


def listed(words: Sequence[str]) -> str:
    """Return the first few words of a list and how many more there are."""
    shown = ", ".join(words[:_WORDS_SHOWN])
    return f"{shown} and {len(words) - _WORDS_SHOWN} more" if len(words) > _WORDS_SHOWN else shown


def quoted(text: str) -> str:
    """Return a member's words in quotes that no quote in them can end."""
    return '"' + text.replace('"', "'") + '"'


def one_line(text: str) -> str:
    """Return `text` as one short line, so that no line break in it can imitate another task's line."""
    text = " ".join(text.split())
    return text if len(text) <= _LINE_SHOWN else f"{text[: _LINE_SHOWN - 1]}…"
