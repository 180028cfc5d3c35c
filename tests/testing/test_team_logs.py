"""The fake provider finds the team of who asks, and complains of what the prompt does not tell."""

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from deskmate.core.briefs import Environment, brief, made_of
from deskmate.core.entries import Noticed, Said, Started
from deskmate.core.members import Joined, PolicySet
from deskmate.core.names import LEAD, USER
from deskmate.core.roles import Kind, tools_of
from deskmate.runtime.roster import Roster
from deskmate.runtime.streams import Pen
from deskmate.runtime.transcript import Transcript
from deskmate.stores.jsonl import JsonlStore
from deskmate.testing import FakeClock
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.knowledge import Uninformed
from deskmate.testing.scripts import Say
from tests.providers.clients import ask_anthropic, ask_openai

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("K1")]

HIDDEN = "K1: bob (tester) is on the team, and nothing names it with its role"


class Team:
    """A team on disk, whose agents a test plays by hand."""

    def __init__(self, workspace: Path, store: JsonlStore) -> None:
        self.workspace = workspace
        self.pen = Pen(store, FakeClock())
        self.roster = Roster(self.pen)

    async def begin(self, name: str, kind: Kind) -> tuple[str, Transcript]:
        """Return the system prompt of a new agent, and its transcript."""
        makings = made_of(
            name=name,
            kind=kind,
            team="team",
            members={} if name == LEAD else {LEAD: ""},
            tools=tools_of(kind, "general-purpose"),
            environment=Environment(workspace=str(self.workspace)),
        )
        transcript = await Transcript.load(self.pen, name)
        started = Started(name=name, prompt="begin", roster=self.roster.state.number, made_of=makings)
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
    system, _ = await team.begin(LEAD, Kind.LEAD)
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
    system, _ = await team.begin(LEAD, Kind.LEAD)
    await team.roster.join(bob())
    async with FakeProvider([Say("Yes.")] * 3, check=False) as provider:
        await ask_anthropic(provider, stream=False, system=system)
    assert provider.complaints == []


async def test_nothing_is_said_of_an_agent_whose_logs_are_elsewhere(team: Team) -> None:
    await team.begin(LEAD, Kind.LEAD)
    await team.roster.join(bob())
    async with FakeProvider([Say("Yes.")] * 3) as provider:
        await ask_anthropic(provider, stream=False, system=f"You are a poet. Your workspace is {team.workspace}.")
    assert provider.complaints == []


async def test_who_joined_after_a_prompt_was_made_is_no_complaint_and_at_the_next_step_one(team: Team) -> None:
    await team.roster.join(Joined(name="alice", at=0.0))
    system, transcript = await team.begin("alice", Kind.TEAMMATE)
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
    system, transcript = await team.begin("alice", Kind.TEAMMATE)
    await team.roster.join(bob())
    notice = "bob (tester) joined the team."
    async with FakeProvider([Say("Yes.")] * 3) as provider:
        await ask_anthropic(provider, stream=False, system=system)
        await transcript.record(Noticed(text=notice, roster=team.roster.state.number))
        messages = [{"role": "user", "content": notice}]
        await ask_anthropic(provider, stream=False, system=system, messages=messages)
    assert provider.complaints == []
