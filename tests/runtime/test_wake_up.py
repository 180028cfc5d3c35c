"""Resting: an agent wakes by whatever it has not seen, also what came while it was saying that it rests."""

import pytest

from deskmate.core.log.names import LEAD, ROSTER
from deskmate.core.team.roster_records import Joined, MemberParked
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import TaskStatus
from deskmate.runtime.agent import Agent
from deskmate.runtime.task_groups import task_group
from deskmate.stores.memory_store import MemoryStore
from tests.runtime.agent_harness import AgentHarness, last_told, uses
from tests.runtime.team_process import FaultyStore, let_pass, until

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("lead-wake")
async def test_what_somebody_beside_it_says_while_the_lead_goes_to_rest_still_wakes_it() -> None:
    wire = FaultyStore(MemoryStore())
    harness = await AgentHarness.opened(["I wait.", "I see."], store=wire)
    await harness.team_state.roster.join(Joined(name="alice", at=0.0))

    async def park() -> None:
        await harness.team_state.roster.status(MemberParked(name="alice", reason="out of order", at=0.0))

    # The first record is that the lead works, the second that it rests.
    wire.at("before append", ROSTER, let_pass, park)
    async with harness.playing("go"):
        await until(lambda: len(harness.scripted.prompts) == 2)
    assert "alice is parked (out of order)" in str(last_told(harness.scripted.prompts[1]))


@pytest.mark.behaviour("autoclaim", "B6")
async def test_what_comes_onto_the_board_while_a_teammate_goes_to_rest_is_still_taken() -> None:
    wire = FaultyStore(MemoryStore())
    harness = await AgentHarness.opened(
        ["I am here.", uses("TaskUpdate", taskId=1, status="completed"), "Done."], store=wire
    )
    await harness.team_state.roster.join(Joined(name="alice", prompt="Take what comes.", at=0.0))

    async def add() -> None:
        await harness.team_state.board.create(LEAD, NewTask("the one"))

    # Who joined works: her first record is that she rests.
    wire.at("before append", ROSTER, add)
    parts, started = harness.team_parts.teammate(harness.team_state.roster.state.members["alice"])
    async with task_group() as tasks:
        tasks.start_soon((await Agent.seat(harness.team_state, started, parts)).play)
        await until(
            lambda: (
                harness.team_state.board.state.tasks
                and harness.team_state.board.state.tasks[1].status is TaskStatus.COMPLETED
            )
        )
        tasks.cancel_scope.cancel()
    assert harness.team_state.board.state.tasks[1].owner == "alice"
