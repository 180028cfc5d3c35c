"""Twenty tasks in mode default, with a sandbox: the person at the desk is asked little."""

import re
from functools import partial

import anyio
import pytest

from deskmate.app import Feed, RunRequest
from deskmate.app.session import Session, attended
from deskmate.core.prompt.prompts import Spoke
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.team_scripts import all_texts, calls_in, member_of
from tests.scenarios.app_harness import SOON, AppHarness
from tests.scenarios.conftest import harness
from tests.workspace.conftest import bubblewrap

__all__ = ["bubblewrap", "harness"]

pytestmark = pytest.mark.anyio

TASKS, HANDS = 20, ("ann", "ben", "cid")
MOST_QUESTIONS = 5


def play(asked: Asked) -> Say:
    """Play the lead, who puts twenty tasks on the board, and three who each take what is free."""
    if member_of(asked) != "lead":
        return _work(asked)
    if asked.results:
        return Say("Twenty tasks are on the board.")
    tasks = [Use("TaskCreate", {"subject": f"part {n}", "description": "with a test"}) for n in range(1, TASKS + 1)]
    hands = [Use("Task", {"name": name, "prompt": "Take what is free."}) for name in HANDS]
    return Say("I spread it.", [*tasks, *hands])


def _work(asked: Asked) -> Say:
    """For each task taken: write a part and its test, fix it, run it, and complete the task."""
    taken = [int(found) for text in all_texts(asked) for found in re.findall(r"Task #(\d+) is yours now", text)]
    deeds = sum(bool(calls_in(passage)) for passage in asked.prompt.passages if isinstance(passage, Spoke))
    if len(taken) * len(_deeds(0)) <= deeds:
        return Say("I wait for what is free.")
    task, deed = divmod(deeds, len(_deeds(0)))
    return Say(calls=_deeds(taken[task])[deed])


def _deeds(n: int) -> tuple[list[Use], ...]:
    part, test = f"src/part{n}.sh", f"tests/part{n}.sh"
    return (
        [
            Use("write_file", {"path": part, "content": f"echo {n}x\n"}),
            Use("write_file", {"path": test, "content": f'[ "$(sh {part})" = {n} ]\n'}),
        ],
        [Use("edit_file", {"path": part, "old_text": "x", "new_text": ""})],
        [Use("bash", {"command": f"sh {test} && echo fine > out{n}.log; ls src | wc -l"})],
        [Use("TaskUpdate", {"taskId": str(n), "status": "completed"})],
    )


async def _answer_all(session: Session, answered: list[str]) -> None:
    """Be the person: say always where that is offered. What a rule of before settles goes by itself, in a moment."""
    while True:
        # One at a time, of those that are open now: an answer may settle others, and meanwhile more may be asked.
        asked = (question for question in session.questions if question.rule not in session.permitted.rules)
        if question := next(asked, None):
            answered.append(question.rule or question.tool)
            await session.answer(question, "always" if question.rule else "yes")
        else:
            await session.looked()


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.behaviour("permission", "questions", "sandbox")
async def test_twenty_tasks_ask_at_most_five_times(harness: AppHarness) -> None:
    answered: list[str] = []
    async with FakeProvider(play) as provider:
        settings = harness.settings(provider, "anthropic", sandbox=True, permission_mode="default")
        wanted = RunRequest(harness.place, "Write twenty parts.", None, settings)
        with anyio.fail_after(2 * SOON):
            async with attended(wanted, Feed()) as session, anyio.create_task_group() as tasks:
                tasks.start_soon(partial(_answer_all, session, answered))
                while sum(task.status == "completed" for task in session.board.current) < TASKS:
                    await session.looked()
                tasks.cancel_scope.cancel()
    assert provider.complaints == []
    assert {path: text for path, text in harness.files.items() if path.startswith("src/")} == {
        f"src/part{n}.sh": f"echo {n}\n" for n in range(1, TASKS + 1)
    }
    assert len(list(harness.place.glob("out*.log"))) == TASKS
    # Some, or nothing was asked at all.
    assert 1 <= len(answered) <= MOST_QUESTIONS, answered
