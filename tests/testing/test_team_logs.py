"""The fake provider finds the team of who asks, and complains of what the prompt does not tell."""

import re
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deskmate.core.agent.entries import Noticed, Said, Started
from deskmate.core.log.names import LEAD, USER
from deskmate.core.policy.tool_table import AgentKind, AgentType, tools_of
from deskmate.core.prompt.prompts import Prompt, TextBlock, Told
from deskmate.core.prompt.system_prompt import Environment, brief, made_of
from deskmate.core.team.roster_records import Joined, PolicySet
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.streams.transcript import Transcript
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing import FakeClock, Say
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.knowledge.knowledge_checks import Uninformed, violations
from deskmate.testing.knowledge.team_logs import TeamLogs
from tests.providers.sdk_clients import ask_anthropic, ask_openai

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("K1")]

HIDDEN = "K1: bob (tester) is on the team, and nothing names it with its role"


class Team:
    """A team on disk, whose agents a test plays by hand."""

    def __init__(self, workspace: Path, store: JsonlStore) -> None:
        self.workspace = workspace
        self.writer = LogWriter(store, FakeClock())
        self.roster = Roster(self.writer)

    async def begin(
        self, name: str, kind: AgentKind, agent_type: AgentType = AgentType.GENERAL, job: str = "begin"
    ) -> tuple[str, Transcript]:
        """Return the system prompt of a new agent, and its transcript."""
        makings = made_of(
            name=name,
            kind=kind,
            team="team",
            members={} if name == LEAD else {LEAD: ""},
            tools=tools_of(kind, agent_type),
            environment=Environment(workspace=str(self.workspace)),
        )
        transcript = await Transcript.load(self.writer, name)
        started = Started(name=name, prompt=job, roster=self.roster.state.number, made_of=makings)
        await transcript.record(started)
        return brief(makings), transcript


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[Team]:
    with closing(JsonlStore.open(tmp_path, "team", create=True)) as store:
        team = Team(tmp_path, store)
        await team.roster.found("team")
        await team.roster.permit(PolicySet(by=USER, attended=True, at=0.0))
        yield team


def bob() -> Joined:
    return Joined(name="bob", role="tester", at=0.0, cause="lead:3.0")


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
async def test_a_lead_that_is_not_told_of_its_team_is_a_complaint_raised_at_the_end(team: Team, wire: str) -> None:
    system, _ = await team.begin(LEAD, AgentKind.LEAD)
    await team.roster.join(bob())
    provider = await FakeProvider([Say("Yes.")]).__aenter__()
    if wire == "anthropic":
        await ask_anthropic(provider, stream=False, system=system)
    else:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": "hi"}]
        await ask_openai(provider, stream=False, messages=messages)
    with pytest.raises(Uninformed, match="bob \\(tester\\)"):
        await provider.__aexit__(None, None, None)
    assert provider.complaints == [f"request 0: {HIDDEN}"]


async def test_nothing_is_said_where_nobody_looks(team: Team) -> None:
    system, _ = await team.begin(LEAD, AgentKind.LEAD)
    await team.roster.join(bob())
    async with FakeProvider([Say("Yes.")] * 3, check=False) as provider:
        await ask_anthropic(provider, stream=False, system=system)
    assert provider.complaints == []


async def test_nothing_is_said_of_an_agent_whose_logs_are_elsewhere(team: Team) -> None:
    await team.begin(LEAD, AgentKind.LEAD)
    await team.roster.join(bob())
    async with FakeProvider([Say("Yes.")] * 3) as provider:
        await ask_anthropic(provider, stream=False, system=f"You are a poet. Your workspace is {team.workspace}.")
    assert provider.complaints == []


async def test_who_joined_after_a_prompt_was_made_is_no_complaint_and_at_the_next_step_one(team: Team) -> None:
    await team.roster.join(Joined(name="alice", at=0.0))
    system, transcript = await team.begin("alice", AgentKind.TEAMMATE)
    await team.roster.join(bob())
    provider = await FakeProvider([Say("Yes.")] * 3).__aenter__()
    # Sent again, as after an error of the wire: it is still the prompt that was made before bob came.
    for _ in range(2):
        await ask_anthropic(provider, stream=False, system=system)
    assert provider.complaints == []
    await transcript.record(Said(text="Hello."))
    await ask_anthropic(provider, stream=False, system=system)
    with pytest.raises(Uninformed):
        await provider.__aexit__(None, None, None)
    assert provider.complaints == [f"request 2: {HIDDEN}"]


async def test_a_teammate_that_was_told_who_joined_is_no_complaint(team: Team) -> None:
    await team.roster.join(Joined(name="alice", at=0.0))
    system, transcript = await team.begin("alice", AgentKind.TEAMMATE)
    await team.roster.join(bob())
    notice = "bob (tester) joined the team."
    async with FakeProvider([Say("Yes.")] * 3) as provider:
        await ask_anthropic(provider, stream=False, system=system)
        await transcript.record(Noticed(text=notice, roster=team.roster.state.number))
        messages = [{"role": "user", "content": notice}]
        await ask_anthropic(provider, stream=False, system=system, messages=messages)
    assert provider.complaints == []


# -- subagents --------------------------------------------------------------------------------------


def bash() -> Any:
    return {"name": "bash", "description": "runs", "input_schema": {"type": "object"}}


@pytest.mark.behaviour("K4")
async def test_a_subagent_that_is_offered_what_it_can_never_use_is_a_complaint(team: Team) -> None:
    await team.begin(LEAD, AgentKind.LEAD)
    system, _ = await team.begin("lead:3.0", AgentKind.SUBAGENT)
    begin = [{"role": "user", "content": "begin"}]
    provider = await FakeProvider([Say("Yes.")] * 3).__aenter__()
    await ask_anthropic(provider, stream=False, system=system, messages=begin, tools=[bash()])
    assert provider.complaints == []
    create = {**bash(), "name": "TaskCreate"}
    await ask_anthropic(provider, stream=False, system=system, messages=begin, tools=[create])
    with pytest.raises(Uninformed):
        await provider.__aexit__(None, None, None)
    assert provider.complaints == ["request 1: K4: TaskCreate is offered, and every call of it is refused now"]


@pytest.mark.behaviour("K4")
async def test_a_subagent_is_told_that_it_only_reads(team: Team) -> None:
    system, _ = await team.begin("lead:3.0", AgentKind.SUBAGENT, AgentType.EXPLORE)
    begin = [{"role": "user", "content": "begin"}]
    async with FakeProvider([Say("Yes.")]) as provider:
        await ask_anthropic(provider, stream=False, system=system, messages=begin)
    assert provider.complaints == []
    truth = TeamLogs().truth_of(provider.requests[0].prompt)
    assert truth
    assert (truth.me.kind, truth.me.agent_type) == (AgentKind.SUBAGENT, AgentType.EXPLORE)
    forgets = replace(provider.requests[0].prompt, system=re.sub("read-only|only reads?", "careful", system))
    assert "K4: that it is read-only: true now, and the prompt does not say so" in violations(forgets, truth)


async def test_subagents_with_the_same_system_prompt_are_told_apart_by_their_job(team: Team) -> None:
    system, one = await team.begin("lead:3.0", AgentKind.SUBAGENT, job="look at a")
    same, other = await team.begin("lead:3.1", AgentKind.SUBAGENT, job="look at b")
    assert system == same
    logs = TeamLogs()
    for transcript, job in ((one, "look at a"), (other, "look at b")):
        truth = logs.truth_of(Prompt(system, (Told((TextBlock(job),)),), ()))
        assert truth
        assert truth.me.name == transcript.name


# -- modes ------------------------------------------------------------------------------------------


@pytest.mark.behaviour("K4")
async def test_a_mode_that_is_set_after_a_prompt_was_made_is_no_complaint_and_at_the_next_step_one(team: Team) -> None:
    system, transcript = await team.begin(LEAD, AgentKind.LEAD)
    provider = await FakeProvider([Say("Yes.")] * 3).__aenter__()
    await ask_anthropic(provider, stream=False, system=system)
    await transcript.record(Said(text="Hello."))
    await team.roster.permit(PolicySet(by=USER, attended=False, at=1.0))
    await ask_anthropic(provider, stream=False, system=system)
    assert provider.complaints == []
    await transcript.record(Said(text="Hello."))
    await ask_anthropic(provider, stream=False, system=system)
    with pytest.raises(Uninformed):
        await provider.__aexit__(None, None, None)
    assert provider.complaints == [
        "request 2: K4: that the user is there: not true now, and the prompt does not say so"
    ]
