"""Mail and questions of a lead's teams: one that bears the name of the one before it is another."""

from pathlib import Path

import pytest

from deskmate.app.mail_feed import MailFeed
from deskmate.app.teams import Teams
from deskmate.core.log.names import USER
from deskmate.core.team.messages import PermissionRequest, Plain
from deskmate.core.team.roster_records import Joined
from deskmate.faces.common.items.mail_items import text_of
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.question_list import QuestionList
from tests.app.test_teams import home

pytestmark = pytest.mark.anyio


async def found_web(teams: Teams, *words: str) -> None:
    """Found a team whose alice asks to run a command, and say something to her."""
    await teams.found("web", "")
    team_state = teams.team_state
    await team_state.roster.join(Joined(name="alice", at=team_state.writer.clock.timestamp()))
    for text in words:
        await Mailbox(USER, team_state.writer, team_state.roster).send("alice", Plain(content=text))
    ask = PermissionRequest(request_id="alice:2.0", tool="bash", arguments={"command": words[0]})
    await Mailbox("alice", team_state.writer, team_state.roster).send(USER, ask)


@pytest.mark.behaviour("team-create", "team-delete")
async def test_a_team_founded_anew_between_two_looks_is_read_from_its_beginning(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        post, questions = MailFeed(teams.team_state), QuestionList(teams.team_state)
        await found_web(teams, "one", "two", "three")
        await post.refresh()
        (before,) = await questions.refresh()
        with questions.closing(before):
            assert questions.open == ()
        await teams.team_state.roster.leave("alice", "", heard=3)
        await teams.close()
        await found_web(teams, "four")
        # Nothing is taken from the one team for the other before somebody looks.
        assert questions.open == ()
        await post.refresh()
        assert [text_of(one.envelope.message) for one in post.letters if one.envelope.recipient == "alice"] == ["four"]
        (after,) = await questions.refresh()
        assert (after.id, after.arguments, after.key == before.key) == (before.id, {"command": "four"}, False)
