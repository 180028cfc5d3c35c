"""A kill may interrupt leaving at any point. The next process finishes it and does nothing twice."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from deskmate.core.agent.entries import Heard, Started
from deskmate.core.log.names import BOARD, LEAD, ROSTER, mail
from deskmate.core.team.messages import Plain, Undeliverable
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import Released, read_event
from deskmate.runtime.departure import leave
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_players import TeamPlayers
from deskmate.stores.memory_store import MemoryStore
from tests.runtime.agent_harness import AgentHarness, turns
from tests.runtime.team_process import SOON, FaultyStore, Killed, Moment, die, until
from tests.runtime.teammate_harness import ScriptedLauncher

pytestmark = pytest.mark.anyio
BOB = mail("bob")


@pytest.fixture
async def harness() -> AgentHarness:
    """A team in which alice has a task, and three letters of bob, of which she has heard the first."""
    harness = await AgentHarness.opened([], store=FaultyStore(MemoryStore()))
    for name in ("alice", "bob"):
        await harness.team_state.roster.join(Joined(name=name, at=0.0))
    for words in ("heard", "one", "two"):
        await harness.send(Plain(content=words), sender="bob", to="alice")
    transcript = await Transcript.load(harness.team_state.writer, "alice")
    await transcript.record(Started(name="alice"))
    await transcript.record(Heard(box=mail("alice"), after=0, upto=1))
    await harness.team_state.board.create(LEAD, NewTask("parse"))
    await harness.team_state.board.claim(harness.team_state.roster.state.members["alice"], 1)
    return harness


async def lets_leave(harness: AgentHarness) -> None:
    team_state = harness.team_state
    await leave(
        await Transcript.load(team_state.writer, "alice"),
        team_state.writer,
        team_state.roster,
        team_state.board,
        reason="done",
    )


async def killed(harness: AgentHarness, moment: Moment, stream: str) -> AgentHarness:
    """Let alice leave in a process that is killed on the way; return the next one."""
    assert isinstance(harness.store, FaultyStore)
    harness.store.at(moment, stream, die)
    with pytest.raises(Killed):
        await lets_leave(harness)
    harness.store.forget()
    return harness.restarted([])


@asynccontextmanager
async def played(harness: AgentHarness) -> AsyncIterator[None]:
    """Have the team played beside the test, by a launcher that plays for ever."""
    with anyio.fail_after(SOON):
        async with task_group() as tasks:
            tasks.start_soon(TeamPlayers(harness.team_state, {"inline": ScriptedLauncher()}, tasks).keep)
            yield
            tasks.cancel_scope.cancel()


async def came_back(harness: AgentHarness) -> list[object]:
    """Return what lies in bob's mailbox, which is nothing but what came back to him."""
    letters = [letter.message for letter in await harness.letters("bob")]
    return [letter.original["content"] for letter in letters if isinstance(letter, Undeliverable)]


async def releases(harness: AgentHarness) -> list[str | None]:
    """Return the note of each release on the board."""
    events = [read_event(item.body) for item in await harness.store.read(BOARD)]
    return [event.note for event in events if isinstance(event, Released)]


@pytest.mark.behaviour("bounce", "release", "resume", "M6")
@pytest.mark.parametrize(
    ("moment", "stream"),
    [
        ("after append", ROSTER),
        ("before append", BOB),
        ("after append", BOB),
    ],
)
async def test_what_a_kill_cut_off_of_a_leaving_is_finished_once(
    harness: AgentHarness, moment: Moment, stream: str
) -> None:
    again = await killed(harness, moment, stream)
    async with played(again):
        await until(lambda: again.team_state.board.state.tasks and again.team_state.board.state.tasks[1].owner is None)
        await turns(200)
    assert await came_back(again) == ["one", "two"]
    assert await releases(again) == ["alice left: done"]


@pytest.mark.behaviour("release", "resume")
@pytest.mark.parametrize(
    ("moment", "stream"), [("before append", BOARD), ("after append", BOARD), ("before append", ROSTER)]
)
async def test_who_is_killed_before_the_record_of_its_leaving_is_still_here_and_leaves_later(
    harness: AgentHarness, moment: Moment, stream: str
) -> None:
    again = await killed(harness, moment, stream)
    assert (await again.team_state.roster.refresh()).here("alice")
    await lets_leave(again)
    assert await came_back(again) == ["one", "two"]
    assert await releases(again) == ["alice left: done"]


@pytest.mark.behaviour("resume")
async def test_a_leaving_that_came_to_its_end_is_not_done_again(harness: AgentHarness) -> None:
    await lets_leave(harness)
    for _ in range(2):
        async with played(harness.restarted([])):
            await turns(200)
    assert await came_back(harness) == ["one", "two"]
    assert await releases(harness) == ["alice left: done"]


async def test_who_still_sits_in_the_seat_of_a_leaver_is_waited_for(harness: AgentHarness) -> None:
    again = await killed(harness, "after append", ROSTER)
    async with played(again):
        async with harness.store.hold("alice", "whoever lets her leave"):
            await turns(200)
            assert await came_back(again) == []
        await turns(200)
    assert await came_back(again) == ["one", "two"]


@pytest.mark.behaviour("bounce")
async def test_what_came_back_and_was_heard_is_not_put_there_again(harness: AgentHarness) -> None:
    again = await killed(harness, "after append", BOB)
    bob = await Transcript.load(again.team_state.writer, "bob")
    await bob.record(Started(name="bob"))
    await bob.record(Heard(box=BOB, after=0, upto=1))
    async with played(again):
        await turns(200)
    assert await came_back(again) == ["one", "two"]
