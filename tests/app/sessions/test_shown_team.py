"""Mail and questions of a lead's teams: a team with the name of an earlier one is another."""

from pathlib import Path

import pytest

from deskmate.app.sessions.shown_team import ShownTeam
from deskmate.app.teams import Teams
from deskmate.core.log.names import USER
from deskmate.core.team.messages import PermissionRequest, Plain
from deskmate.core.team.roster_records import Joined
from deskmate.faces.common.items.mail_items import text_of
from deskmate.runtime.streams.mailbox import Mailbox
from tests.app.test_teams import home

pytestmark = pytest.mark.anyio


async def found_web(teams: Teams, *words: str) -> None:
    """Found a team whose alice asks to run a command, and say something to her."""
    await teams.found("web", "")
    team_state = teams.current
    await team_state.roster.join(Joined(name="alice", at=team_state.writer.clock.timestamp()))
    for text in words:
        await Mailbox(USER, team_state.writer, team_state.roster).send("alice", Plain(content=text))
    ask = PermissionRequest(request_id="alice:2.0", tool="bash", arguments={"command": words[0]})
    await Mailbox("alice", team_state.writer, team_state.roster).send(USER, ask)


@pytest.mark.behaviour("team-create", "team-delete")
async def test_a_team_with_the_name_of_an_earlier_one_shows_nothing_of_it(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        await found_web(teams, "one", "two", "three")
        shown = ShownTeam(teams.current)
        await shown.look()
        (before,) = shown.questions.open
        with shown.questions.closing(before):
            assert shown.questions.open == ()
        await teams.current.roster.leave("alice", "", heard=3)
        await teams.close()
        await found_web(teams, "four")
        shown = ShownTeam(teams.current)
        await shown.look()
        letters = [one.envelope for one in shown.mail.letters if one.envelope.recipient == "alice"]
        assert [text_of(one.message) for one in letters] == ["four"]
        (after,) = shown.questions.open
        assert (after.id, after.arguments, after.key == before.key) == (before.id, {"command": "four"}, False)
