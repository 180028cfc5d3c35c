"""Who changed a file that several agents share, from their transcripts."""

import pytest

from deskmate.runtime.radar.file_writers import writer_of
from tests.runtime.radar.test_conflict_radar import edit, team

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("radar")]


async def test_the_member_whose_change_left_the_file_as_it_is_now_is_named() -> None:
    team_state = await team(ann="shared", bob="shared")
    await edit(team_state, "bob", "a.py")
    assert await writer_of(team_state, "ann", "a.py", "f") == "bob"
    assert await writer_of(team_state, "lead", "a.py", "f") == "bob"
    assert await writer_of(team_state, "bob", "a.py", "f") is None
    assert await writer_of(team_state, "ann", "a.py", "another") is None
    assert await writer_of(team_state, "ann", "b.py", "f") is None


async def test_members_with_trees_of_their_own_change_no_file_of_others() -> None:
    team_state = await team(ann="own", bob="own", cleo="shared")
    await edit(team_state, "bob", "a.py")
    assert await writer_of(team_state, "ann", "a.py", "f") is None
    assert await writer_of(team_state, "cleo", "a.py", "f") is None
