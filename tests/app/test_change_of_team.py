"""A lead that goes to another team: members that have just left its first team still give back in that team."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from anyio import to_thread

from deskmate.core.log.names import LEAD, mail
from deskmate.core.log.records import Record
from deskmate.core.team.messages import Plain
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.ports import Launcher
from deskmate.runtime.departure import give_back
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.team_state import TeamState
from deskmate.stores.jsonl_store import JsonlStore
from tests.app.test_teams import home
from tests.fact_loop import wait_for

pytestmark = pytest.mark.anyio


async def rounds(count: int = 400) -> None:
    """Give code that works on disk the time for that many steps."""
    for _ in range(count):
        await to_thread.run_sync(int)


@dataclass
class Slow:
    """A launcher whose teammates leave at once, and give back only after the lead has had time to go elsewhere."""

    team_state: TeamState
    given_back_in: list[str] = field(default_factory=list)

    async def play(self, name: str) -> None:
        roster = self.team_state.roster
        await roster.leave(name, "done", heard=0)
        await rounds()
        await give_back(name, self.team_state.writer, roster, self.team_state.board)
        self.given_back_in.append(roster.state.team)


async def given_back(team_state: TeamState) -> bool:
    """Return whether task 1 is free again and the lead has one letter that came back."""
    letters = await team_state.writer.store.read(mail(LEAD))
    kinds = [item.body["type"] for item in letters if isinstance(item, Record)]
    return (await team_state.board.refresh()).tasks[1].owner is None and kinds == ["undeliverable"]


async def burden(team_state: TeamState) -> None:
    """Let bob join, own a task and have mail."""
    await team_state.roster.join(Joined(name="bob", at=1.0))
    await team_state.board.create(LEAD, NewTask("parse", owner="bob"))
    await Mailbox(LEAD, team_state.writer, team_state.roster).send("bob", Plain(content="are you there?"))


@pytest.mark.behaviour("team-create", "bounce", "release")
async def test_a_member_that_has_just_left_gives_back_in_its_own_team(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        await burden(teams.first)
    slow: list[Slow] = []

    def launchers(team_state: TeamState) -> dict[str, Launcher]:
        slow.append(Slow(team_state))
        return {"inline": slow[-1]}

    async with home(tmp_path, launchers=launchers) as teams:
        await wait_for(lambda: not teams.first.roster.state.here("bob"))
        await teams.found("web", "")
        assert slow[0].given_back_in == []
        await wait_for(lambda: slow[0].given_back_in)
        assert await given_back(teams.first)
    assert [one.given_back_in for one in slow] == [["main"], []]


@pytest.mark.behaviour("team-create", "release")
async def test_a_departure_that_a_kill_cut_off_is_finished_also_while_the_lead_is_elsewhere(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        await burden(teams.first)
        await teams.first.roster.leave("bob", "done", heard=0)
    store = JsonlStore.open(tmp_path, "main")
    earlier = store.hold("bob", "an earlier process, which has not ended yet")
    await earlier.__aenter__()
    async with home(tmp_path) as teams:
        await teams.found("web", "")
        assert not await given_back(teams.first)
        await earlier.__aexit__(None, None, None)
        while not await given_back(teams.first):
            await rounds(1)
    store.close()
