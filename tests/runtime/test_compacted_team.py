"""After a summary an agent still knows its team: who is on it, the open tasks, its mode, and what it may answer."""

from typing import Any

import pytest

from deskmate.core.agent.actions import Rest
from deskmate.core.agent.entries import AgentParked, Compacted, Overflowed, Said, SummaryDropped, SummaryRequested
from deskmate.core.log.names import LEAD, USER
from deskmate.core.team.handshakes import PlanVerdict
from deskmate.core.team.messages import PlanRequest
from deskmate.core.team.roster_records import Joined, MemberIdle, MemberWorking
from deskmate.core.team.status import Parked
from deskmate.core.team.task_fields import NewTask
from deskmate.errors import ModelRejected
from deskmate.runtime.agent import Agent
from deskmate.runtime.events import Recorded
from deskmate.runtime.streams.mailbox import Mailbox
from tests.runtime.agent_harness import AgentHarness, last_told, uses
from tests.runtime.team_process import until
from tests.runtime.teammate_harness import hangs, plays

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("compact-auto")]

PLAN = PlanRequest(request_id="bob:3.0", content="I rename it.")
YES: dict[str, Any] = {"type": "plan_approval_response", "recipient": "bob", "request_id": "bob:3.0", "approve": True}


async def summary(harness: AgentHarness, agent: Agent) -> str:
    """Let the lead make room, and return the summary it goes on with."""

    def found() -> list[str]:
        entries = [told.entry for told in harness.told if isinstance(told, Recorded) and told.member == LEAD]
        return [entry.summary for entry in entries if isinstance(entry, Compacted)]

    before = len(found())
    await agent.make_room()
    await until(lambda: len(found()) > before)
    return found()[-1]


async def test_a_lead_still_knows_who_is_on_its_team_with_role_and_status() -> None:
    harness = await AgentHarness.opened(["Hello.", "so far"])
    async with harness.playing("begin") as agent:
        await harness.until_status("idle")
        for name, role in (("bob", "tester"), ("zoe", ""), ("old", "")):
            await harness.team_state.roster.join(Joined(name=name, role=role, at=0.0))
        await harness.team_state.roster.status(MemberIdle(name="bob", at=1.0))
        await harness.team_state.roster.leave("old", "done", heard=0)
        text = await summary(harness, agent)
    assert "On your team now:\n- bob (tester): idle\n- zoe: working" in text
    assert "- old" not in text


async def test_a_lead_without_a_team_is_told_so() -> None:
    harness = await AgentHarness.opened(["Hello.", "so far"])
    async with harness.playing("begin") as agent:
        await harness.until_status("idle")
        assert "Nobody is on your team besides you." in await summary(harness, agent)


async def test_a_lead_still_knows_the_open_tasks_and_who_has_them() -> None:
    harness = await AgentHarness.opened(["Hello.", "so far"])
    async with harness.playing("begin") as agent:
        await harness.until_status("idle")
        await harness.team_state.roster.join(Joined(name="bob", at=0.0))
        await harness.team_state.board.create(LEAD, NewTask("parse", owner="bob"))
        await harness.team_state.board.create(USER, NewTask("lex"))
        text = await summary(harness, agent)
    assert 'Open tasks:\n- #1 by lead [pending] "parse" @bob\n- #2 by user [pending] "lex"' in text


async def test_a_plan_that_waits_for_the_lead_is_still_open_with_its_text() -> None:
    harness = await AgentHarness.opened(["Hello.", "Let me see.", "so far"])
    async with harness.playing("begin") as agent:
        await harness.until_status("idle")
        await harness.team_state.roster.join(Joined(name="bob", plan=True, at=0.0))
        await harness.send(PLAN, sender="bob")
        await until(lambda: agent.transcript.last_words == "Let me see.")
        text = await summary(harness, agent)
    assert "- plan request bob:3.0 from bob, waiting for your answer. To approve it: SendMessage(" in text
    assert "The plan:\n    I rename it." in text


async def test_a_plan_that_the_lead_answered_is_no_longer_open() -> None:
    harness = await AgentHarness.opened(["Hello.", uses("SendMessage", **YES), "Approved.", "so far"])
    async with harness.playing("begin") as agent:
        await harness.until_status("idle")
        await harness.team_state.roster.join(Joined(name="bob", plan=True, at=0.0))
        await harness.send(PLAN, sender="bob")
        await until(lambda: agent.transcript.last_words == "Approved.")
        assert "bob:3.0" not in await summary(harness, agent)


@pytest.mark.behaviour("plan")
async def test_a_plan_of_somebody_who_left_is_no_longer_open() -> None:
    harness = await AgentHarness.opened(["Hello.", "Let me see.", "He left.", "so far"])
    async with harness.playing("begin") as agent:
        await harness.until_status("idle")
        await harness.team_state.roster.join(Joined(name="bob", plan=True, at=0.0))
        await harness.send(PLAN, sender="bob")
        await until(lambda: agent.transcript.last_words == "Let me see.")
        await harness.team_state.roster.leave("bob", "gone", heard=0)
        await until(lambda: agent.transcript.last_words == "He left.")
        assert "bob:3.0" not in await summary(harness, agent)


@pytest.mark.behaviour("plan")
async def test_a_plan_that_the_user_answered_is_no_longer_open() -> None:
    harness = await AgentHarness.opened(["Hello.", "Let me see.", "so far"])
    async with harness.playing("begin") as agent:
        await harness.until_status("idle")
        await harness.team_state.roster.join(Joined(name="bob", plan=True, at=0.0))
        await harness.send(PLAN, sender="bob")
        await until(lambda: agent.transcript.last_words == "Let me see.")
        verdict = PlanVerdict(request_id="bob:3.0", by=USER, approve=True)
        await harness.team_state.roster.status(MemberWorking(name="bob", plan=verdict, at=0.0))
        assert "bob:3.0" not in await summary(harness, agent)


@pytest.mark.behaviour("resume")
async def test_a_summary_that_the_user_wanted_is_made_after_a_restart() -> None:
    harness = await AgentHarness.opened(["Hello."])
    await harness.turn("begin")
    await (await harness.lead()).make_room("the schema")
    again = harness.restarted(["so far"])
    assert await again.turn() == Rest()
    (asked,) = again.scripted.prompts
    assert "the schema" in last_told(asked)[-1]
    assert [type(entry) for entry in await again.entries()][-2:] == [SummaryRequested, Compacted]
    assert len((await again.restarted([]).lead()).transcript.entries) == len(await again.entries())


@pytest.mark.behaviour("resume")
async def test_a_conversation_that_was_too_long_is_made_shorter_first_after_a_restart() -> None:
    harness = await AgentHarness.opened([])
    await harness.say("begin")
    lead = await harness.lead()
    await Mailbox(LEAD, harness.team_state.writer, harness.team_state.roster).hear(lead.transcript)
    await lead.transcript.record(Overflowed())
    again = harness.restarted(["so far", "Hello."])
    assert await again.turn() == Rest()
    assert [type(entry) for entry in await again.entries()][-2:] == [Compacted, Said]


async def test_a_summary_that_fails_is_not_tried_again() -> None:
    harness = await AgentHarness.opened(["Hello.", ModelRejected("no such model"), "Here I am."])
    await harness.turn("begin")
    await (await harness.lead()).make_room()
    assert await harness.turn() == Rest(Parked("no such model"))
    assert [type(entry) for entry in await harness.entries()][-2:] == [AgentParked, SummaryDropped]
    assert await harness.turn("and now?") == Rest()


async def test_an_interrupt_ends_the_making_of_a_summary_for_good() -> None:
    harness = await AgentHarness.opened(plays("Hello.", hangs))
    async with harness.playing("begin") as agent:
        await harness.until_status("idle")
        await agent.make_room()
        await until(lambda: len(harness.scripted.prompts) == 2)
        await harness.interrupt()
        await until(lambda: agent.transcript.memory.interrupted and agent.transcript.memory.focus is None)
        await harness.until_status("idle")
    assert any(isinstance(entry, SummaryDropped) for entry in await harness.entries())
