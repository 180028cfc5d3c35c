"""What the user permits in a team that a lead founded stands first where the lead goes back to."""

from pathlib import Path

import pytest

from deskmate.core.log.names import LEAD, USER
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.roster_records import PolicySet
from deskmate.errors import StoreError
from tests.app.test_teams import home

pytestmark = pytest.mark.anyio


async def test_what_could_not_be_recorded_in_the_team_is_so_at_home(tmp_path: Path) -> None:
    async with home(tmp_path, launchers=None) as teams:
        await teams.permit(PolicySet(by=USER, mode=Mode.BYPASS, add_rules=("allow bash",), at=1.0))
        await teams.found("web", "")
        roster = tmp_path / ".teams" / "web" / "roster.jsonl"
        kept = roster.rename(roster.with_suffix(".kept"))
        roster.mkdir()
        with pytest.raises(StoreError):
            await teams.permit(PolicySet(by=USER, mode=Mode.DEFAULT, remove_rules=("allow bash",), at=2.0))
        roster.rmdir()
        kept.rename(roster)
        await teams.current.roster.refresh()
        assert teams.current.roster.state.mode_of(LEAD) == Mode.BYPASS
        await teams.close()
        state = teams.current.roster.state
        assert (state.team, state.mode_of(LEAD), state.rules) == ("main", Mode.DEFAULT, ())
