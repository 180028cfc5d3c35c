"""A person who refuses plans of the demo: the team hands them in again, and comes to its end."""

import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from deskmate.app import Feed
from deskmate.app.demo_team import Rehearsal, prepare, rehearsal
from deskmate.app.session import Answer
from deskmate.core.log.names import LEAD
from deskmate.core.prompt.prompts import Delta, Prompt, Reply
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.open_questions import Question
from deskmate.core.team.tasks import TaskStatus
from deskmate.demo.demo_parts import speaker
from deskmate.demo.demo_script import BETTER_PLAN
from deskmate.models.scripted import RehearsedModel
from deskmate.models.scripted.script_prompts import texts_in

SECONDS = 30


class Refuser:
    """Refuses the second plan, each time before the lead can answer it. Says yes to everything else."""

    patience_seconds = 60.0

    def __init__(self, times: int) -> None:
        self._left = times
        self.refused: list[tuple[str, str]] = []
        self.is_free = anyio.Event()

    async def ask(self, question: Question, stays: Callable[[], None]) -> Answer:
        return "yes"

    def told(self, question: Question, answer: Answer, by_person: bool) -> None:
        assert by_person

    async def refuse(self, show: Rehearsal) -> None:
        """Refuse as often as it wants to, then let the lead answer."""
        while len(self.refused) < self._left:
            for question in show.session.questions:
                if question.shake is Shake.PLAN and question.key not in self.refused and question.plan == BETTER_PLAN:
                    self.refused.append(question.key)
                    await show.session.answer(question, "no", "Not like this.")
            await show.session.looked()
        self.is_free.set()


@pytest.mark.anyio
@pytest.mark.behaviour("demo")
@pytest.mark.parametrize("times", [1, 5])
async def test_a_second_plan_that_is_refused_is_handed_in_again_and_the_demo_ends(
    times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    refuser = Refuser(times)

    class Slow(RehearsedModel):
        """Lets the person answer the second plan before the lead does."""

        async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
            if speaker(prompt) == LEAD and BETTER_PLAN in "\n".join(texts_in(prompt)):
                await refuser.is_free.wait()
            async with aclosing(super().stream(prompt)) as deltas:
                async for delta in deltas:
                    yield delta

    with anyio.fail_after(SECONDS):
        async with rehearsal(prepare(), Feed(), fast=True, player=Slow) as show, anyio.create_task_group() as tasks:
            tasks.start_soon(refuser.refuse, show)
            rehearsed = await show.play(refuser)
            tasks.cancel_scope.cancel()
            done = [task.status for task in show.session.board.current]
    assert (len(refuser.refused), done, rehearsed.passed) == (times, 4 * [TaskStatus.COMPLETED], True)
