"""A lead that goes to another team: who has just left the one it was in gives back first what was theirs."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from anyio import to_thread
from anyio.abc import TaskStatus

from deskmate.core.log.names import LEAD, mail
from deskmate.core.log.records import Record
from deskmate.core.team.messages import Plain
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.runtime.departure import give_back
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_players import TeamPlayers
from deskmate.runtime.team_state import TeamState
from tests.app.test_teams import home
from tests.fact_loop import wait_for

pytestmark = pytest.mark.anyio


async def rounds(count: int = 400) -> None:
    """Let whoever works on disk get that many things done."""
    for _ in range(count):
        await to_thread.run_sync(int)


@dataclass
class Slow:
    """A launcher whose teammates leave at once, and give back only when the lead has had time to go elsewhere."""

    team_state: TeamState
    given_back_in: list[str] = field(default_factory=list)

    async def play(self, name: str) -> None:
        roster = self.team_state.roster
        await roster.leave(name, "done", heard=0)
        await rounds()
        self.given_back_in.append(roster.state.team)
        await give_back(name, self.team_state.writer, roster, self.team_state.board)


@pytest.mark.behaviour("team-create", "bounce", "release")
async def test_who_has_just_left_gives_back_before_the_lead_goes_elsewhere(tmp_path: Path) -> None:
    async with home(tmp_path) as teams, task_group() as tasks:
        team_state, slow = teams.team_state, Slow(teams.team_state)
        await team_state.roster.join(Joined(name="bob", at=1.0))
        await team_state.board.create(LEAD, NewTask("parse", owner="bob"))
        await Mailbox(LEAD, team_state.writer, team_state.roster).send("bob", Plain(content="are you there?"))
        teams.players = TeamPlayers(team_state, {"inline": slow}, tasks)
        tasks.start_soon(teams.players.keep)
        await wait_for(lambda: not team_state.roster.state.here("bob"))
        await teams.found("web", "")
        tasks.cancel_scope.cancel()
    assert slow.given_back_in == ["main"]
    async with home(tmp_path) as teams:
        assert (await teams.team_state.board.refresh()).tasks[1].owner is None
        letters = await teams.team_state.writer.store.read(mail(LEAD))
        assert [item.body["type"] for item in letters if isinstance(item, Record)] == ["undeliverable"]


@pytest.mark.behaviour("team-create", "release")
async def test_what_a_kill_cut_off_of_a_leaving_is_finished_before_the_lead_goes_elsewhere(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        await teams.team_state.roster.join(Joined(name="bob", at=1.0))
        await teams.team_state.board.create(LEAD, NewTask("parse", owner="bob"))
        await teams.team_state.roster.leave("bob", "done", heard=0)
    async with home(tmp_path) as teams, task_group() as tasks:
        team_state = teams.team_state
        teams.players = TeamPlayers(team_state, {"inline": Slow(team_state)}, tasks)

        async def sits(*, task_status: TaskStatus[None]) -> None:
            async with team_state.writer.store.hold("bob", "the process of before, which has not ended yet"):
                task_status.started()
                await rounds()

        await tasks.start(sits)
        tasks.start_soon(teams.players.keep)
        await rounds(20)
        await teams.found("web", "")
        await rounds()
        tasks.cancel_scope.cancel()
    async with home(tmp_path) as teams:
        assert (await teams.team_state.board.refresh()).tasks[1].owner is None
