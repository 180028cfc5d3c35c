"""Watching: nothing is shown of a transcript that is not so, and a name in another team is somebody else's."""

from pathlib import Path

import anyio
import pytest

from deskmate.errors import StoreCorrupt
from deskmate.faces.tui.member_activity import Activity
from deskmate.faces.tui.watched_member import Watching
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.team_scripts import member_of, step
from tests.faces.tui.busy_team import at_work
from tests.faces.tui.idle_sessions import session_at
from tests.faces.tui.screen_harness import show_live_team, show_team

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui")]


async def test_before_a_transcript_is_read_nothing_of_it_is_said_to_be_unheard(tmp_path: Path) -> None:
    async with session_at(await at_work(tmp_path)) as session:
        read = anyio.Event()
        watching = Watching(session, Activity(lambda: 0.0), read.set)
        assert watching.items == []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watching.follow)
            with anyio.fail_after(10):
                await read.wait()
            tasks.cancel_scope.cancel()
        assert watching.items[-1].title == "bash make serve"


async def test_what_was_read_of_a_member_is_kept_while_another_is_watched(tmp_path: Path) -> None:
    folder = await at_work(tmp_path)
    async with session_at(folder) as session:
        watching = Watching(session, Activity(lambda: 0.0), lambda: None)
        for name in ("lead", "dave", "lead"):
            watching.choose(name)
            with anyio.move_on_after(0.2):
                await watching.follow()
        before = watching.items
        watching.choose("dave")
        watching.choose("lead")
        assert watching.items == before


@pytest.mark.parametrize("name", ["lead", "dave"])
async def test_a_transcript_that_cannot_be_read_ends_it_and_is_not_shown_as_empty(tmp_path: Path, name: str) -> None:
    folder = await at_work(tmp_path)
    async with show_team(folder, (80, 24)) as screen:
        await screen.press(*(["tab"] * 4 if name == "dave" else []))
        await screen.sees(f"to {name}", "parked" if name == "dave" else "make serve")
        (folder / f".teams/main/{name}_transcript.jsonl").write_bytes(b"")
        await screen.until(lambda: isinstance(screen.app.trouble, StoreCorrupt))


def teams(asked: Asked) -> Say:
    """Have a team with an alice; when sent away from it, another with an alice of its own."""
    if member_of(asked) == "alice":
        return Say("I am here.")
    told = str(asked.prompt.passages)
    if "away" not in told:
        return _founding(told, "api", 1)
    deletion = Use("TeamDelete", {"force": True})
    return _founding(told, "web", 2) if "Closed team 'api'" in told else Say("", [deletion])


def _founding(told: str, team: str, alices: int) -> Say:
    if f"You lead team '{team}' now" not in told:
        return Say("", [Use("TeamCreate", {"team_name": team})])
    if told.count("agent_id alice") < alices:
        return Say("", [Use("Task", {"name": "alice", "prompt": "Be there.", "role": "dev"})])
    return Say(f"{team} has an alice.")


async def test_in_another_team_the_same_name_is_somebody_else(tmp_path: Path) -> None:
    async with FakeProvider(teams) as provider, show_live_team(tmp_path, provider, (80, 24), "hire") as screen:
        await screen.sees("api has an alice.")
        await screen.press("tab")
        await screen.sees("to alice", "I am here.")
        await screen.session.say("go away")
        await screen.sees("hire  web", "to lead", "web has an alice.")
        await screen.press("tab")
        await screen.sees("to alice", "I am here.")
        assert sum("I am here." in line for line in screen.lines) == 1


def scouts(asked: Asked) -> Say:
    """Have a scout that writes to the user."""
    if member_of(asked) == "scout":
        return (
            Say("Sent.")
            if step(asked)
            else Say("", [Use("SendMessage", {"recipient": "user", "content": "The bridge is down."})])
        )
    return Say("Off it goes.") if step(asked) else Say("", [Use("Task", {"name": "scout", "prompt": "Look."})])


async def test_a_message_to_the_user_is_shown_in_the_conversation_and_marked_until_the_mail_is_opened(
    tmp_path: Path,
) -> None:
    async with FakeProvider(scouts) as provider, show_live_team(tmp_path, provider, (80, 24), "go") as screen:
        await screen.sees("to lead", "scout to you", "The bridge is down.", "1 mail: F4")
        await screen.press("f4")
        await screen.sees_no("1 mail: F4")
        await screen.press("escape")
        await screen.sees("to lead", "scout to you")
        assert not any("1 mail: F4" in line for line in screen.lines)
