"""The lead asks the user to choose: how it waits, who else waits, and what comes of it."""

import anyio
import anyio.lowlevel
import pytest

from deskmate.core.agent.actions import Rest
from deskmate.core.agent.entries import Did, PermissionAsked
from deskmate.core.log.names import LEAD, USER
from deskmate.core.policy.permissions import Mode
from deskmate.core.prompt.prompts import Prompt
from deskmate.core.team.messages import InputRequest, InputResponse
from deskmate.errors import Refused
from deskmate.models.scripted import Step
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.question_list import QuestionList
from deskmate.runtime.task_groups import task_group
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import Say, Use
from tests.runtime.agent_harness import AgentHarness, last_told, turns, uses
from tests.runtime.test_killed_runs import killed_everywhere

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("ask-user")]

CALL = "lead:3.0"
QUESTION = {"question": "Which database?", "options": [{"label": "SQLite"}, {"label": "Postgres"}]}
ASK = uses("AskUser", questions=[QUESTION])
ANSWER = InputResponse(request_id=CALL, approve=True, values={"q1": "SQLite"})
ANSWERED = "The user answered:\nq1: SQLite"


def follows(prompt: Prompt) -> Step:
    """Ask, and repeat the answer. It depends only on what was told, so a restart changes nothing."""
    told = last_told(prompt)
    return f"I heard: {told[-1]}" if "The user" in told[-1] else ASK


async def attended(*script: str | Say, mode: Mode = Mode.BYPASS) -> AgentHarness:
    return await AgentHarness.opened(script, mode=mode, attended=True)


async def until_it_asks(harness: AgentHarness) -> None:
    """Let the lead work until it waits. Then the process dies."""
    async with harness.playing("go"):
        await harness.until_status("waiting")


async def questions(harness: AgentHarness) -> list[str]:
    return [one.id for one in await QuestionList(harness.team_state).refresh()]


async def respond(harness: AgentHarness) -> None:
    """Answer as each face does: only the first answer is taken."""
    await Mailbox(USER, harness.team_state.writer, harness.team_state.roster).answer(LEAD, ANSWER)


async def test_the_question_waits_without_a_turn_and_the_answer_is_the_result() -> None:
    harness = await attended(ASK, "SQLite it is.")
    async with harness.playing("go"):
        await harness.until_status("waiting")
        (letter,) = await harness.letters()
        assert isinstance(letter.message, InputRequest)
        assert (letter.message.server, letter.message.call, letter.message.content) == ("", CALL, "Which database?")
        assert (await questions(harness), len(harness.scripted.prompts)) == ([CALL], 1)
        await respond(harness)
        await harness.until_status("idle")
    assert await harness.results() == [(CALL, True, ANSWERED)]
    assert (await questions(harness), len(harness.scripted.prompts)) == ([], 2)
    with pytest.raises(Refused):
        await respond(harness)


async def test_the_wait_is_over_only_with_the_answer_whatever_process_runs_the_team() -> None:
    harness = await attended(ASK)
    await until_it_asks(harness)
    again = harness.restarted([])
    async with again.playing():
        await turns()
    assert await questions(again) == [CALL]
    # Answered while no process runs the team.
    await respond(again)
    last = again.restarted(["SQLite it is."])
    assert await last.turn() == Rest()
    assert await last.results() == [(CALL, True, ANSWERED)]


async def test_killed_after_any_record_it_asks_once_and_the_answer_counts_once() -> None:
    async def opened() -> AgentHarness:
        harness = await AgentHarness.opened(follows, store=MemoryStore(), mode=Mode.BYPASS, attended=True)
        await harness.say("go")
        return harness

    async def person(harness: AgentHarness) -> None:
        while not await questions(harness):
            await anyio.lowlevel.checkpoint()
        await respond(harness)

    async def story(harness: AgentHarness) -> None:
        async with task_group() as tasks:
            tasks.start_soon(person, harness)
            assert await harness.turn() == Rest()
            tasks.cancel_scope.cancel()

    async def check(harness: AgentHarness) -> None:
        entries = await harness.entries()
        asked = {one.id for one in await harness.letters() if isinstance(one.message, InputRequest)}
        assert (len(asked), [one.call for one in entries if isinstance(one, PermissionAsked)]) == (1, [CALL])
        assert [(one.call, one.text) for one in entries if isinstance(one, Did)] == [(CALL, ANSWERED)]
        assert (await harness.lead()).transcript.last_words == f"I heard: {ANSWERED}"

    await killed_everywhere(opened, story, check, at_least=6)


@pytest.mark.parametrize(("mode", "is_there"), [(Mode.BYPASS, False), (Mode.DONT_ASK, True)])
async def test_if_nobody_is_there_it_returns_at_once(mode: Mode, is_there: bool) -> None:
    harness = await AgentHarness.opened([ASK, "I decide."], mode=mode, attended=is_there)
    assert await harness.turn("go") == Rest()
    ((_, ok, text),) = await harness.results()
    assert (ok, text.split(".")[0]) == (True, "Nobody is there to answer in this run")
    assert await harness.letters() == []


async def test_it_does_not_wait_any_more_once_nobody_attends() -> None:
    harness = await attended(ASK)
    await until_it_asks(harness)
    await harness.permit(attended=False)
    again = harness.restarted(["I decide."])
    assert await again.turn() == Rest()
    assert await questions(again) == []


async def test_it_works_in_plan_mode() -> None:
    harness = await attended(ASK, mode=Mode.PLAN)
    await until_it_asks(harness)
    assert len(await questions(harness)) == 1


async def test_an_interrupt_ends_the_wait() -> None:
    harness = await attended(ASK)
    async with harness.playing("go"):
        await harness.until_status("waiting")
        await harness.interrupt()
        await harness.until_status("idle")
    assert [text for _, _, text in await harness.results()] == ["Not run: the user interrupted you before answering."]
    assert await questions(harness) == []


async def test_other_words_do_not_answer_it_and_are_read_after_it() -> None:
    harness = await attended(ASK, "Both read.")
    async with harness.playing("go"):
        await harness.until_status("waiting")
        await harness.say("By the way: be quick.")
        await turns()
        assert len(harness.scripted.prompts) == 1
        await respond(harness)
        await harness.until_status("idle")
    assert last_told(harness.scripted.prompts[-1]) == [ANSWERED, "By the way: be quick."]


async def test_a_mistake_is_a_result_and_nobody_is_asked() -> None:
    wrong = uses("AskUser", questions=[{"question": "Which?", "options": [{"label": "one"}]}])
    harness = await attended(wrong, "Oh.")
    assert await harness.turn("go") == Rest()
    ((_, ok, text),) = await harness.results()
    assert (ok, await harness.letters()) == (False, [])
    assert "questions.0.options" in text


async def test_calls_that_only_read_do_not_wait_for_the_answer() -> None:
    calls = [Use("AskUser", {"questions": [QUESTION]}), Use("TaskList", {}), Use("bash", {"command": "make"})]
    harness = await attended(Say("", calls))
    async with harness.playing("go"):
        await harness.until_status("waiting")
    assert [call for call, _, _ in await harness.results()] == ["lead:3.1"]
