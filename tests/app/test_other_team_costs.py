"""A teammate in its own process counts what the other team of its lead spends, which may begin and end meanwhile."""

from pathlib import Path

import pytest

from deskmate.app.teammate_process import BEAT_SECONDS, count_other_team
from deskmate.core.prompt.prompts import Reply
from deskmate.core.team.caps import Caps
from deskmate.runtime.events import Feed
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_state import TeamState
from deskmate.testing import FakeClock
from deskmate.trust.folders import open_store
from deskmate.trust.team_signature import Signing
from tests.app.test_teams import home
from tests.runtime.team_process import until

pytestmark = pytest.mark.anyio


async def test_a_teammate_process_counts_another_team_of_its_lead_from_its_founding_until_after_it_is_closed(
    tmp_path: Path,
) -> None:
    clock, signing = FakeClock(), Signing(tmp_path / "state", tmp_path)
    cheap, dear = (Reply((), model="m", cost=cost) for cost in (1.0, 5.0))
    async with home(tmp_path) as teams, task_group() as tasks:
        await teams.current.budget.spend("lead", cheap)
        with open_store(tmp_path, "main") as store:
            writer = LogWriter(store, clock)
            roster = Roster(writer)
            mine = TeamState(writer, roster, Board(writer, roster), Budget(writer, Caps()), Feed())
            await tasks.start(count_other_team, signing, "main", mine)

            async def spent() -> float:
                return (await mine.budget.refresh()).team.cost

            async def beat() -> None:
                clock.advance(BEAT_SECONDS)
                await until(lambda: clock.sleeping)

            await until(lambda: clock.sleeping)
            assert await spent() == 1.0
            await teams.found("web", "")
            await teams.current.budget.spend("lead", dear)
            assert await spent() == 1.0
            await beat()
            assert await spent() == 6.0
            await teams.current.budget.spend("lead", dear)
            assert await spent() == 11.0
            await teams.close()
            await beat()
            assert await spent() == 11.0
            tasks.cancel_scope.cancel()
