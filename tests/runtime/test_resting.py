"""Resting: an agent wakes by whatever it has not seen, also what came while it was saying that it rests."""

import pytest

from deskmate.core.log.names import LEAD, ROSTER
from deskmate.core.team.members import Joined, MemberParked
from deskmate.core.team.tasks import TaskStatus
from deskmate.runtime.agent import Agent
from deskmate.runtime.task_groups import task_group
from deskmate.stores.memory_store import MemoryStore
from tests.runtime import Meddled, nothing, until
from tests.runtime.desks import Floor, last_told, uses

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("lead-wake")
async def test_what_somebody_beside_it_says_while_the_lead_goes_to_rest_still_wakes_it() -> None:
    wire = Meddled(MemoryStore())
    floor = await Floor.opened(["I wait.", "I see."], store=wire)
    await floor.team_state.roster.join(Joined(name="alice", at=0.0))

    async def park() -> None:
        await floor.team_state.roster.status(MemberParked(name="alice", reason="out of order", at=0.0))

    # The first record is that the lead works, the second that it rests.
    wire.at("before append", ROSTER, nothing, park)
    async with floor.playing("go"):
        await until(lambda: len(floor.scripted.prompts) == 2)
    assert "alice is parked (out of order)" in str(last_told(floor.scripted.prompts[1]))


@pytest.mark.behaviour("autoclaim", "B6")
async def test_what_comes_onto_the_board_while_a_teammate_goes_to_rest_is_still_taken() -> None:
    wire = Meddled(MemoryStore())
    floor = await Floor.opened(["I am here.", uses("TaskUpdate", taskId=1, status="completed"), "Done."], store=wire)
    await floor.team_state.roster.join(Joined(name="alice", prompt="Take what comes.", at=0.0))

    async def add() -> None:
        await floor.team_state.board.create(LEAD, "the one")

    # Who joined works: her first record is that she rests.
    wire.at("before append", ROSTER, add)
    parts, started = floor.team_parts.teammate(floor.team_state.roster.state.members["alice"])
    async with task_group() as tasks:
        tasks.start_soon((await Agent.seat(floor.team_state, started, parts)).play)
        await until(
            lambda: (
                floor.team_state.board.state.tasks
                and floor.team_state.board.state.tasks[1].status is TaskStatus.COMPLETED
            )
        )
        tasks.cancel_scope.cancel()
    assert floor.team_state.board.state.tasks[1].owner == "alice"
