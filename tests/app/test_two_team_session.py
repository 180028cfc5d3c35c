"""A session whose lead leads a named team while teammates of its home go on: what its user sees, answers and says."""

import pytest

from deskmate.app.question_answers import answer, look_at_questions
from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.status import Left
from deskmate.errors import Refused
from deskmate.faces.common.chat.chat_lines import Talk
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import all_texts, hears, member_of
from tests.app.test_session import Sat, sitting
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("two-teams")]


def hire(where: str) -> Use:
    return Use("Task", {"name": "alice", "prompt": f"You are in {where}.", "role": "dev", "description": "helps"})


def play(asked: Asked) -> Say:
    """The lead does as the user says. Each alice touches a file named as her team, once she is told to go."""
    if member_of(asked) == "alice":
        team = all_texts(asked)[0].split("You are in ")[1].split(".")[0]
        if asked.results:
            return Say("Done.")
        return Say("I touch it.", [Use("bash", {"command": f"touch {team}"})]) if hears(asked, "go") else Say("Ready.")
    if asked.results:
        return Say("Fine.")
    calls = {
        "hire home": [hire("home")],
        "found": [Use("TeamCreate", {"team_name": "web"})],
        "hire web": [hire("web")],
        "delete": [Use("TeamDelete", {"force": True})],
    }
    return next((Say("I do.", list(made)) for heard, made in calls.items() if hears(asked, heard)), Say("Fine."))


async def two_teams(sat: Sat) -> None:
    """Return once an alice of each team is ready."""
    session = sat.session
    await session.say("hire home")
    await sat.idle("alice")
    await session.say("found")
    await sat.until(lambda session: session.team == "web")
    await sat.idle()
    await session.say("hire web")
    await sat.idle("alice")


def names(sat: Sat) -> list[str]:
    return [member.name for member in sat.session.members]


@pytest.mark.behaviour("P5")
async def test_questions_of_both_teams_are_seen_with_their_team_and_each_answer_reaches_its_asker(
    harness: AppHarness,
) -> None:
    async with sitting(harness, play, None) as sat:
        await two_teams(sat)
        session = sat.session
        assert names(sat) == [LEAD, "alice", "alice@main"]
        for name in ("alice", "alice@main"):
            await session.say("go", name)
        await sat.until(lambda session: len(session.questions) == 2)
        asked = {one.member: one for one in session.questions}
        commands = {name: one.arguments["command"] for name, one in asked.items()}
        assert commands == {"alice": "touch web", "alice@main": "touch home"}
        # From a shell, the id says which team it is.
        shown = [(one.member, one.id) for one in (await look_at_questions(harness.place, None)).questions]
        at_home = f"{asked['alice@main'].id}@main"
        assert sorted(shown) == [("alice@main", at_home), ("alice@web", f"{asked['alice'].id}@web")]
        await answer(harness.place, None, at_home, "yes", "")
        await sat.until(lambda session: [one.member for one in session.questions] == ["alice"])
        await sat.idle("alice@main")
        assert ((harness.place / "home").exists(), (harness.place / "web").exists()) == (True, False)
        await session.answer(asked["alice"], "yes")
        await sat.idle("alice")
        assert (harness.place / "web").exists()


async def test_the_user_speaks_to_members_of_both_teams_sees_their_mail_and_stops_them(harness: AppHarness) -> None:
    async with sitting(harness, play, None, mode="dontAsk") as sat:
        await two_teams(sat)
        session = sat.session
        await session.say("one", "ALICE@main")
        await sat.until(lambda session: any(one.envelope.recipient == "alice@main" for one in session.letters))
        assert session.spelled("Alice@MAIN") == "alice@main"
        assert session.place_of("alice@main") == ("main", "alice")
        assert await session.entries("alice@main") != await session.entries("alice")
        with pytest.raises(Refused):
            await session.say("one", "alice@other")
        await session.set_mode(Mode.ACCEPT_EDITS, "alice@main")
        await session.stop("alice@main")
        await sat.until(lambda session: "alice@main" not in names(sat))
        assert names(sat) == [LEAD, "alice"]


@pytest.mark.behaviour("team-delete", "resume")
async def test_the_home_is_the_current_team_again_after_the_other_one_is_closed_also_after_a_resume(
    harness: AppHarness,
) -> None:
    async with sitting(harness, play, None) as sat:
        await two_teams(sat)
        await sat.session.say("go", "alice@main")
        await sat.until(lambda session: session.questions)
        home = sat.session.home
    async with sitting(harness, play, None, team="web", continues=True) as sat:
        session = sat.session
        await sat.until(lambda session: [one.member for one in session.questions] == ["alice@main"])
        assert (session.team, session.home, names(sat)) == ("web", home, [LEAD, "alice", "alice@main"])
        await session.say("delete")
        await sat.until(lambda session: session.team == "main")
        await sat.until(lambda session: [one.member for one in session.questions] == ["alice"])
        assert names(sat) == [LEAD, "alice"]
        await session.answer(session.questions[0], "yes")
        await sat.idle("alice")
        assert not any(isinstance(member.status, Left) for member in session.members)
        assert (harness.place / "home").exists()


async def lines_of(talk: Talk, typed: str) -> list[str]:
    feedback = await talk.carry_out(typed)
    assert not feedback.refused
    return ["".join(cell.text for cell in line) for line in feedback.lines]


async def test_the_user_sees_in_a_conversation_that_the_home_goes_on(harness: AppHarness) -> None:
    async with sitting(harness, play, None, mode="dontAsk") as sat:
        await two_teams(sat)
        talk = Talk(sat.session)
        team = await lines_of(talk, "/team")
        assert [line.split()[0] for line in team if "alice" in line] == ["alice@web", "alice@main"]
        assert "also: main goes on, the first team of the lead" in await lines_of(talk, "/status")
        assert [line.split(":")[0] for line in await lines_of(talk, "/tasks")] == ["team web", "team main"]
        assert (await lines_of(talk, "/inbox alice@main"))[0].startswith("alice@main:")
        await lines_of(talk, "@alice@main hello")
        await sat.until(lambda session: any(one.envelope.recipient == "alice@main" for one in session.letters))
