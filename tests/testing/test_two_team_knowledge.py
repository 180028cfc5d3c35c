"""The net also finds what a lead that leads a named team was not told of its home, or was told wrongly."""

from dataclasses import replace

import anyio
import pytest

from deskmate.core.agent.entries import Noticed
from deskmate.core.log.names import USER
from deskmate.core.team.messages import Plain, PlanRequest
from deskmate.core.team.roster_records import MemberIdle
from deskmate.runtime.agent import Agent
from deskmate.runtime.task_groups import task_group
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing.knowledge.knowledge_checks import violations
from tests.runtime.agent_harness import AgentHarness, uses
from tests.runtime.team_process import SOON, until
from tests.runtime.test_founded_team import Trip, TwoTeams
from tests.testing.test_knowledge_checks import Asked, Watched, changed, found, noticed, summed_up, without

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("two-teams")]


async def asked_away() -> Asked:
    """Let a lead spawn bob, create a team, write to bob, hear bob's plan and news of home. Return the last prompt."""
    watched = Watched(
        [
            uses("Task", name="bob", role="tester", prompt="test it"),
            uses("TeamCreate", team_name="web"),
            uses("SendMessage", recipient="bob@team", content="begin"),
            "Away.",
            "I see.",
        ]
    )
    store = MemoryStore()
    trip = Trip(await AgentHarness.opened(watched.model(), store=store), store)
    parts = replace(trip.harness.team_parts, teams=TwoTeams(trip))
    with anyio.fail_after(SOON):
        agent = await Agent.seat(trip.harness.team_state, parts.started(), parts.lead)
        async with task_group() as tasks:
            await trip.say(trip.home, USER, Plain(content="go"))
            tasks.start_soon(agent.play)
            await until(lambda: agent.transcript.last_words == "Away.")
            await trip.harness.team_state.roster.status(MemberIdle(name="bob", heard=1, at=1.0))
            await trip.say(trip.home, "bob", PlanRequest(request_id="bob:3.0", content="I test it."))
            await until(lambda: len(watched.asked) >= 5 and "bob:3.0" in str(watched.asked[-1][0].passages))
            tasks.cancel_scope.cancel()
    return watched.asked[-1]


def with_entries(asked: Asked) -> Asked:
    """Return what was asked with the same transcript in the truth about the home."""
    prompt, truth = asked
    assert truth.home
    return prompt, replace(truth, home=replace(truth.home, entries=truth.entries))


async def test_what_a_lead_is_told_of_its_home_is_enough_and_true() -> None:
    prompt, truth = await asked_away()
    assert violations(prompt, truth) == []
    assert 'sender="bob@team"' in str(prompt.passages)
    assert truth.home
    assert (truth.scope, truth.home.team) == ("web", "team")


@pytest.mark.behaviour("K1")
async def test_a_member_of_the_home_that_nothing_names_is_found() -> None:
    prompt, truth = await asked_away()
    assert "K1" in found((changed(without(prompt, "bob@team"), lambda text: text.replace("bob", "eve")), truth))


@pytest.mark.behaviour("K2")
async def test_a_plan_of_the_home_without_its_id_is_found() -> None:
    prompt, truth = await asked_away()
    assert "K2" in found((without(prompt, "bob:3.0"), truth))


@pytest.mark.behaviour("K1", "K6")
async def test_false_news_of_the_home_is_found() -> None:
    asked = await asked_away()
    home = asked[1].home
    assert home
    news = "In team 'team', since you last looked:\nbob@team is parked (why)"
    planted = with_entries(noticed(asked, Noticed(text=news, roster=home.roster.number, team="team")))
    assert "K1: a notice says that bob is parked, and it was idle then" in violations(*planted)


@pytest.mark.behaviour("K1", "K7")
async def test_a_summary_that_is_wrong_about_the_home_is_found() -> None:
    prompt, truth = await asked_away()
    assert truth.home
    number, at_home = truth.roster.number, truth.home.roster.number

    def says(status: str) -> list[str]:
        here = "On your team now:\n- Nobody is on your team besides you."
        there = f"On your other team, team:\n- bob@team (tester): {status}"
        plans = "Open requests:\n- plan request bob:3.0 from bob@team, waiting for your answer."
        told, known = summed_up(prompt, truth, "\n\n".join(["Done.", here, there, plans]), number)
        place, summary = known.entries[-1]
        entries = (*known.entries[:-1], (place, summary.model_copy(update={"home": at_home})))
        return found(with_entries((told, replace(known, entries=entries))))

    assert (says("idle"), says("working")) == ([], ["K1"])
