"""A session whose lead goes from team to team: names and ids come again, and what the user said of permission stays."""

import base64

import anyio
import anyio.lowlevel
import pytest

from deskmate.app.session import Session
from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.errors import Refused
from deskmate.faces.common.items.mail_items import text_of
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import all_texts, hears, member_of
from tests.app.test_session import Sat, sitting
from tests.sample_images import png
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = pytest.mark.anyio

DELETE = Use("TeamDelete", {"force": True})


def create(team: str) -> Use:
    return Use("TeamCreate", {"team_name": team})


def hire(team: str) -> Use:
    return Use("Task", {"name": "alice", "prompt": f"You are in {team}.", "role": "dev", "description": "helps"})


def play(asked: Asked) -> Say:
    """Do as the user says: found a team, hire alice, who touches a file named as her team, delete it."""
    if asked.results:
        return Say("Done.")
    if member_of(asked) == "alice":
        team = all_texts(asked)[0].split("You are in ")[1].split(".")[0]
        return Say("I touch it.", [Use("bash", {"command": f"touch {team}"})])
    for team in ("first", "second"):
        words = {f"found {team}": [create(team)], f"hire {team}": [hire(team)], f"again {team}": [DELETE, create(team)]}
        for heard, calls in words.items():
            if hears(asked, heard):
                return Say("I do.", calls)
    if hears(asked, "run it"):
        return Say("I run it.", [Use("bash", {"command": "true"})])
    return Say("I do.", [DELETE]) if hears(asked, "delete") else Say("Fine.")


async def goes(sat: Sat, words: str, team: str) -> None:
    """Return once the lead, at these words, rests in a team."""
    await sat.session.say(words)
    await sat.until(lambda session: session.team == team)
    await sat.idle()


async def asks(sat: Sat, team: str) -> None:
    """Have the lead found a team and hire alice there; return once she asks."""
    await goes(sat, f"found {team}", team)
    await sat.session.say(f"hire {team}")
    await sat.until(lambda session: session.questions)


def commands(session: Session) -> list[object]:
    return [one.arguments["command"] for one in session.questions]


@pytest.mark.behaviour("P5", "team-delete")
async def test_a_namesake_in_the_next_team_asks_under_the_same_id_and_is_seen(harness: AppHarness) -> None:
    async with sitting(harness, play, None) as sat:
        session = sat.session
        await asks(sat, "first")
        (first,) = session.questions
        await session.answer(first, "yes")
        await sat.idle("alice")
        await goes(sat, "delete", "main")
        await asks(sat, "second")
        (second,) = session.questions
        assert (second.id, second.key != first.key, commands(session)) == (first.id, True, ["touch second"])
        await session.answer(second, "yes")
        await sat.idle("alice")
    assert (harness.place / "second").exists()


@pytest.mark.behaviour("P5", "team-delete")
async def test_what_a_namesake_left_unanswered_does_not_stand_in_for_what_is_asked_now(harness: AppHarness) -> None:
    async with sitting(harness, play, None) as sat:
        await asks(sat, "first")
        (old,) = sat.session.questions
        await goes(sat, "delete", "main")
        assert sat.session.questions == ()
        await asks(sat, "second")
        assert commands(sat.session) == ["touch second"]
        with pytest.raises(Refused, match="'alice' is no longer open"):
            await sat.session.answer(old, "yes")
        home = sat.session.home
    async with sitting(harness, play, None, team=home, continues=True) as sat:
        assert commands(sat.session) == ["touch second"]


def mail_to_alice(session: Session) -> list[str]:
    mail = [one.envelope for one in session.letters]
    return [text_of(one.message) for one in mail if one.recipient == "alice"]


@pytest.mark.behaviour("team-create", "team-delete")
async def test_a_team_that_is_founded_again_in_one_step_is_read_from_its_beginning(harness: AppHarness) -> None:
    async with sitting(harness, play, None, mode="dontAsk") as sat:
        session = sat.session
        await goes(sat, "found first", "first")
        await session.say("hire first")
        await sat.idle("alice")
        for words in ("one", "two", "three"):
            await session.say(words, "alice")
        await sat.until(lambda session: "three" in mail_to_alice(session))
        await session.say("again first")
        await sat.until(lambda session: session.team == "first" and [one.name for one in session.members] == [LEAD])
        await sat.idle()
        assert mail_to_alice(session) == []
        await session.say("hire first")
        await sat.idle("alice")
        await session.say("four", "alice")
        await sat.until(lambda session: mail_to_alice(session) == ["four"])


async def test_whoever_looks_while_teams_come_and_go_sees_one_of_them(harness: AppHarness) -> None:
    async with sitting(harness, play, None, mode="dontAsk") as sat, anyio.create_task_group() as tasks:

        async def looks() -> None:
            while True:
                await sat.session.look()
                await anyio.lowlevel.checkpoint()

        tasks.start_soon(looks)
        for team in ("first", "second", "first"):
            await goes(sat, f"found {team}", team)
            await goes(sat, "delete", "main")
        tasks.cancel_scope.cancel()


@pytest.mark.behaviour("permission", "team-delete")
async def test_a_mode_that_the_user_narrowed_in_a_team_holds_when_the_lead_goes_home(harness: AppHarness) -> None:
    async with sitting(harness, play, None, mode="bypass") as sat:
        session = sat.session
        await session.set_mode(Mode.BYPASS, LEAD)
        await goes(sat, "found first", "first")
        await session.set_mode(Mode.DEFAULT)
        await goes(sat, "delete", "main")
        assert (session.permitted.mode, session.permitted.modes) == (Mode.DEFAULT, {LEAD: Mode.DEFAULT})


@pytest.mark.behaviour("permission", "team-delete")
async def test_what_the_user_says_of_a_teammate_is_not_taken_home_and_of_the_lead_is(harness: AppHarness) -> None:
    async with sitting(harness, play, None) as sat:
        session = sat.session
        await asks(sat, "first")
        await session.set_mode(Mode.PLAN, "alice")
        await session.set_mode(Mode.ACCEPT_EDITS, LEAD)
        await goes(sat, "delete", "main")
        assert (session.permitted.mode, session.permitted.modes) == (Mode.DEFAULT, {LEAD: Mode.ACCEPT_EDITS})


@pytest.mark.behaviour("permission", "team-delete")
async def test_a_rule_that_the_user_dropped_or_added_in_a_team_is_so_at_home(harness: AppHarness) -> None:
    async with sitting(harness, play, "run it") as sat:
        session = sat.session
        await sat.until(lambda session: session.questions)
        await session.answer(session.questions[0], "always")
        await sat.idle()
        rules = session.permitted.rules
        await goes(sat, "found first", "first")
        await session.drop_rules(rules)
        await goes(sat, "delete", "main")
        assert (len(rules), session.permitted.rules) == (1, ())
        await asks(sat, "second")
        await session.answer(session.questions[0], "always")
        await goes(sat, "delete", "main")
        assert session.permitted.rules == ("allow bash(touch second)",)


async def test_a_lead_in_another_team_gets_an_image_of_the_user(harness: AppHarness) -> None:
    (harness.place / "shot.png").write_bytes(png())
    async with sitting(harness, play, None) as sat:
        await goes(sat, "found first", "first")
        calls = len(sat.provider.requests)
        await sat.session.ask("see", images=[harness.place / "shot.png"])
        assert base64.b64encode(png()).decode() in str(sat.provider.requests[calls].body)
