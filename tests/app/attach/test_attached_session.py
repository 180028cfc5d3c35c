"""A second window on a team that another process runs: what it sees, what it may do, and that it holds no seat."""

import base64
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest

from deskmate.app import Feed, Recorded, TeamEvent, TeamStarted
from deskmate.app.attach.attached_session import AttachedSession, attached
from deskmate.app.sessions.team_session import TeamSession
from deskmate.core.agent.entries import Said
from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.status import Idle, Left
from deskmate.errors import Refused
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import hears
from tests.faces.chat.chat_harness import ChatHarness, chat, play
from tests.sample_images import png
from tests.scenarios.app_harness import SOON, AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("attach")]


async def until(session: TeamSession, holds: Callable[[TeamSession], bool]) -> None:
    """Wait until something holds of a session, bounded."""
    with anyio.fail_after(SOON):
        while not holds(session):
            await session.looked()


@asynccontextmanager
async def two_windows(
    harness: AppHarness, script: Callable[[Asked], Say] = play
) -> AsyncIterator[tuple[ChatHarness, AttachedSession, list[TeamEvent]]]:
    """Have a team that runs, and a window that is attached to it."""
    events: list[TeamEvent] = []
    feed = Feed()
    feed.listen(events.append)
    async with chat(harness, script) as typist:
        await typist.types("hello")
        await typist.until(lambda session: session.spent.calls == 1 and not session.busy)
        async with attached(harness.place, "main", typist.session.settings, feed) as window:
            yield typist, window, events


async def test_it_sees_the_team_and_what_is_said_from_then_on(harness: AppHarness) -> None:
    async with two_windows(harness) as (typist, window, events):
        assert (window.team, window.title, window.kept) == ("main", "hello", True)
        assert [member.name for member in window.members] == [LEAD]
        assert events[1:] == []
        await typist.types("and now?")
        await until(window, lambda seen: seen.spent.calls == 2 and not seen.busy)
        told = [event.entry.text for event in events if isinstance(event, Recorded) and isinstance(event.entry, Said)]
        assert len(told) == 1
        assert len(await window.entries(LEAD)) == len(await typist.session.entries(LEAD))


async def test_words_answers_interrupts_and_requests_to_leave_reach_the_team(harness: AppHarness) -> None:
    async with two_windows(harness) as (typist, window, _):
        await window.say("hire")
        await until(window, lambda seen: [one.status for one in seen.members] == [Idle(), Idle()])
        await window.say("ls", to="alice")
        await until(window, lambda seen: bool(seen.questions))
        (question,) = window.questions
        await window.answer(question, "no", "not now")
        await typist.until(lambda session: not session.questions and not session.busy)
        with pytest.raises(Refused):
            await typist.session.answer(question, "yes")
        await window.interrupt("alice")
        await window.stop("alice")
        await until(window, lambda seen: isinstance(seen.members[1].status, Left))


async def test_what_it_permits_counts_in_the_team(harness: AppHarness) -> None:
    async with two_windows(harness) as (typist, window, _):
        await window.say("ls")
        await until(window, lambda seen: bool(seen.questions))
        await window.answer(window.questions[0], "always")
        await window.set_mode(Mode.ACCEPT_EDITS)
        await typist.until(lambda session: session.permitted.mode is Mode.ACCEPT_EDITS and not session.busy)
        assert typist.session.permitted.rules == window.permitted.rules == ("allow bash(ls)",)


async def test_it_refuses_what_only_the_process_with_the_seat_can_do(harness: AppHarness) -> None:
    async with two_windows(harness) as (typist, window, _):
        before = await typist.session.entries(LEAD)
        with pytest.raises(Refused):
            await window.make_room()
        with pytest.raises(Refused):
            window.choose_model("anthropic:claude-haiku-4-5")
        assert await typist.session.entries(LEAD) == before


async def test_several_are_attached_and_leaving_one_stops_nothing(harness: AppHarness) -> None:
    async with two_windows(harness) as (typist, window, _):
        async with attached(harness.place, None, window.settings, Feed()) as other:
            await other.say("from the other")
        await window.say("from this one")
        await until(window, lambda seen: seen.spent.calls >= 2 and not seen.busy)
        said = [words for sender, _, words in await typist.mail(LEAD) if sender == "user"]
        assert said == ["hello", "from the other", "from this one"]


def moves(asked: Asked) -> Say:
    """Play a lead that creates a team and dismisses it, each when it is told to, and a teammate."""
    if not asked.results and hears(asked, "found"):
        return Say("", [Use("TeamCreate", {"team_name": "web"})])
    if not asked.results and hears(asked, "dismiss"):
        return Say("", [Use("TeamDelete", {"force": True})])
    return play(asked)


async def test_it_goes_with_a_lead_that_creates_a_team_and_dismisses_it(harness: AppHarness) -> None:
    async with two_windows(harness, moves) as (typist, window, events):
        await typist.types("found")
        await until(window, lambda seen: seen.team == "web" and not seen.busy)
        await window.say("hire")
        await until(window, lambda seen: [one.status for one in seen.members] == [Idle(), Idle()])
        await window.set_mode(Mode.ACCEPT_EDITS)
        assert (typist.session.team, window.home, window.holder) == ("web", "main", f"process {os.getpid()}")
        assert len(await window.entries("alice")) == len(await typist.session.entries("alice"))
        await typist.types("dismiss")
        await until(window, lambda seen: seen.team == "main" and not seen.busy)
        assert [member.name for member in window.members] == [LEAD]
        assert window.permitted.mode is Mode.ACCEPT_EDITS
        teams = [event.team for event in events if isinstance(event, TeamStarted)]
        heard = [event.number for event in events if isinstance(event, Recorded) and event.member == LEAD]
        assert (teams, heard) == (["main", "web", "main"], sorted(set(heard)))


async def test_a_team_that_does_not_run_is_refused(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        await typist.types("hello")
        await typist.until(lambda session: session.spent.calls == 1 and not session.busy)
        settings = typist.session.settings
    with pytest.raises(Refused):
        async with attached(harness.place, "main", settings, Feed()):
            pass


async def test_an_image_can_be_sent_from_it(harness: AppHarness) -> None:
    (harness.place / "shot.png").write_bytes(png())
    shown: list[bool] = []

    def looks(asked: Asked) -> Say:
        shown.append(base64.b64encode(png()).decode() in str(asked.body))
        return Say("Fine.")

    async with two_windows(harness, looks) as (_, window, _):
        await window.say("see", images=[harness.place / "shot.png"])
        await until(window, lambda seen: seen.spent.calls == 2 and not seen.busy)
    assert shown == [False, True]


@pytest.mark.behaviour("two-teams")
async def test_it_shows_members_of_the_home_of_a_lead_that_is_elsewhere_and_what_they_do(harness: AppHarness) -> None:
    async with two_windows(harness, moves) as (typist, window, events):
        await typist.types("hire")
        await until(window, lambda seen: [one.status for one in seen.members] == [Idle(), Idle()])
        await typist.types("found")
        await until(window, lambda seen: seen.team == "web" and not seen.busy)
        assert [member.name for member in window.members] == [LEAD, "alice@main"]
        known = len(await window.entries("alice@main"))
        await window.say("hello", "alice@main")
        await until(window, lambda seen: any(one.envelope.recipient == "alice@main" for one in seen.letters))
        await window.changed("alice@main", known)
        await until(window, lambda seen: any(isinstance(e, Recorded) and e.member == "alice@main" for e in events))
        await window.set_mode(Mode.ACCEPT_EDITS, "alice@main")
        await window.stop("alice@main")
        await until(window, lambda seen: [member.name for member in seen.members] == [LEAD])
