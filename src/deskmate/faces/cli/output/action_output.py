"""Send, stop, and changes to the board.

`deskmate.app` carries them out in the name of the user.
"""

import sys
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio

from deskmate.app import user_actions
from deskmate.app.question_answers import answer as give_answer
from deskmate.app.question_answers import look_at_questions
from deskmate.app.user_actions import TaskChanged
from deskmate.app.user_answers import Answer
from deskmate.core.team.open_questions import Question
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import parse_id
from deskmate.faces.cli.output import json_output
from deskmate.faces.common.chat.question_text import answered_line, shell_lines
from deskmate.faces.common.error_log import logging_to
from deskmate.faces.common.items.question_items import question_item
from deskmate.faces.common.items.task_items import TaskItem, numbers
from deskmate.faces.common.terminal_text import one_line
from deskmate.faces.common.text_tables import note, put, sheet_for

EXIT_CODES = {"left": 0, "refused": 1, "waiting": 1}

T = TypeVar("T")


def send(folder: Path | None, team: str | None, name: str, text: str) -> int:
    """Send a message from the user to a member."""
    sent = _wait_for(partial(user_actions.send, folder, team, name, text))
    return put([f"sent to {sent.recipient}@{sent.team}{_later(sent.team, live=sent.live)}"])


def questions(folder: Path | None, team: str | None, *, as_json: bool) -> int:
    """Print the questions that wait for the user's answer."""
    seen = _wait_for(partial(look_at_questions, folder, team))
    if as_json:
        return put(
            [
                json_output.line(
                    {"team": seen.team, "live": seen.live, "questions": list(map(question_fields, seen.questions))}
                )
            ]
        )
    if not seen.questions:
        return put([f"team {seen.team}: no question is open"])
    sheet = sheet_for(sys.stdout)
    return put([sheet.painted(line) for one in seen.questions for line in shell_lines(one, seen.colours)])


def question_fields(question: Question) -> json_output.Fields:
    """Return a question for programs."""
    asked = question.input
    return {
        "id": question.id,
        "member": question.member,
        "at": question.at,
        "kind": question.shake.value,
        "tool": question.tool or None,
        "arguments": dict(question_item(question).arguments if question.input else question.arguments),
        "reason": question.reason,
        "plan": question.plan,
        "rule": question.rule,
        "content": asked and asked.content,
        "fields": [field.model_dump(exclude_none=True) for field in (asked and asked.fields) or ()],
    }


def answer(folder: Path | None, team: str | None, id_: str | None, word: Answer, words: str) -> int:
    """Answer a member's question."""
    seen = _wait_for(partial(give_answer, folder, team, id_, word, words))
    (question,) = seen.questions
    return put([f"{answered_line(question, word, seen.team)}{_later(seen.team, live=seen.live)}"])


def _later(team: str, *, live: bool) -> str:
    return "" if live else f"\nThe team is not running. To continue it, run: deskmate resume {team}"


def stop(folder: Path | None, team: str | None, name: str) -> int:
    """Ask a teammate to leave, and wait for the result."""
    stopped = _wait_for(partial(user_actions.stop, folder, team, name, note))
    said = f": {one_line(stopped.words)}" if stopped.words else ""
    word = {"left": "left", "refused": "refused to leave", "waiting": "has not left"}[stopped.end]
    return put([f"{stopped.member}@{stopped.team} {word}{said}"]) or EXIT_CODES[stopped.end]


def add(folder: Path | None, team: str | None, subject: str, blocked_by: Iterable[str], **fields: Any) -> int:
    """Put a task on the board. Raises BadInput for an invalid task id."""
    new = NewTask(subject, blocked_by=[parse_id(one) for one in blocked_by], **fields)
    return _put_task("added", _wait_for(partial(user_actions.add_task, folder, team, new)))


def assign(folder: Path | None, team: str | None, task: str, name: str) -> int:
    """Give a task to a member."""
    return _put_task(f"given to {name}", _wait_for(partial(user_actions.assign_task, folder, team, task, name)))


def done(folder: Path | None, team: str | None, task: str) -> int:
    """Mark a task as done, after its verify command succeeds."""
    return _put_task("done", _wait_for(partial(user_actions.complete_task, folder, team, task, note)))


def drop(folder: Path | None, team: str | None, task: str) -> int:
    """Delete a task from the board."""
    return _put_task("deleted", _wait_for(partial(user_actions.drop_task, folder, team, task)))


def _wait_for(deed: Callable[[], Coroutine[Any, Any, T]]) -> T:
    with logging_to(note):
        return anyio.run(deed)


def _put_task(word: str, changed: TaskChanged) -> int:
    task = changed.task
    freed = numbers(changed.freed)
    state = f", {TaskItem(task, changed.waits_for).state}" if word == "added" else ""
    unblocked = f". This unblocks {freed}" if freed else ""
    untaken = [one_line(changed.untaken)] if changed.untaken else []
    return put([f"#{task.id} {word}{state}: {one_line(task.subject)}{unblocked}", *untaken])
