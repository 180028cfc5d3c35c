"""What the page shows of the past in a real browser: times, pauses, conversations as they were, what waits."""

import time
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from playwright.async_api import Page, expect

from deskmate.core.agent.entries import Began, Call, Did, Said, Started
from deskmate.core.team.messages import Broadcast, Plain
from deskmate.core.team.roster_records import Joined, MemberIdle, MemberWorking
from deskmate.core.team.tasks import Receipt
from deskmate.faces.web.team_export import team_export
from deskmate.runtime.streams.transcript import Transcript
from deskmate.testing import FakeClock
from tests.faces.disk_teams import OpenTeam, founded, hands, in_team
from tests.faces.web.browser import needs_browser, opened, slide, view, violations
from tests.faces.web.page_server import page_server

pytestmark = [pytest.mark.anyio, needs_browser, pytest.mark.behaviour("web-past")]

SOON = 60
PAUSE = 7200.0


async def with_a_pause(clock: FakeClock, team: OpenTeam) -> None:
    """Let bob work for two minutes, pause for two hours during a command, and work for two minutes again."""
    transcript, begin = await Transcript.load(team.writer, "bob"), clock.timestamp()
    await transcript.record(Started(name="bob", prompt="You build."))

    async def work(first: float, words: str) -> None:
        for number in range(5):
            kind = MemberIdle if number % 2 else MemberWorking
            clock.advance(begin + first + 30 * number - clock.timestamp())
            await team.roster.status(kind(name="bob", at=begin + first + 30 * number))
            await transcript.record(Said(text=f"{words} {number}."))

    await work(0, "before")
    said = await transcript.record(Said(text="I build.", calls=(Call(tool="bash", arguments={"command": "make"}),)))
    await transcript.record(Began(calls=(f"bob:{said}.0",)))
    clock.advance(PAUSE)
    await transcript.record(Did(call=f"bob:{said}.0", text="it is built"))
    await work(120 + PAUSE, "after")


@pytest.fixture
def paused(tmp_path: Path) -> Path:
    """A workspace whose team had a long pause. Nothing else happened in it."""
    (tmp_path / "work").mkdir()
    folder = founded(tmp_path / "work")
    in_team(folder, join_bob)
    clock = FakeClock(time.time())
    in_team(folder, partial(with_a_pause, clock), clock=clock)
    return folder


async def join_bob(team: OpenTeam) -> None:
    await team.roster.join(Joined(name="bob", role="dev", at=time.time()))


async def look_back(page: Page) -> None:
    """Check a conversation before, during and after the pause, and come back."""
    await page.locator(".member", has_text="bob").click()
    await expect(page.get_by_text("after 4.")).to_be_visible()
    await page.get_by_role("button", name="Past").click()
    await slide(page, 0.2)
    await expect(page.locator(".entry.words").last).to_have_text("before 1.")
    # In the middle of the line is the pause, in which the command ran.
    await slide(page, 0.5)
    await expect(page.locator(".entry.call.running")).to_contain_text("make")
    await expect(page.get_by_text("it is built")).to_have_count(0)
    await slide(page, 1)
    await expect(page.locator(".entry.call.done")).to_contain_text("make")
    await page.get_by_role("button", name="Now").click()
    await expect(page.get_by_text("after 4.")).to_be_visible()


async def test_a_conversation_is_shown_as_it_was(paused: Path) -> None:
    with anyio.fail_after(SOON):
        async with page_server(paused) as server, opened(f"{server.link}&team=main") as page:
            await look_back(page)


async def test_a_saved_page_shows_a_conversation_as_it_was(paused: Path, tmp_path: Path) -> None:
    file = tmp_path / "main.html"
    _, text = await anyio.to_thread.run_sync(team_export, paused, "main")
    file.write_text(text, encoding="utf-8")
    with anyio.fail_after(SOON):
        async with opened(f"file://{file}") as page:
            await look_back(page)


async def test_a_pause_takes_no_room_on_lines_of_time_and_the_timeline_ends_at_the_slider(paused: Path) -> None:
    with anyio.fail_after(SOON):
        async with page_server(paused) as server, opened(f"{server.link}&team=main") as page:
            await view(page, "Timeline")
            await expect(page.get_by_role("img", name="pause 2 h", exact=True)).to_be_visible()
            await expect(page.locator(".legend")).to_contain_text("pause cut out: 2 h")
            assert await violations(page) == []
            whole = await reach(page)
            await page.get_by_role("button", name="Past").click()
            await slide(page, 0.25)
            assert 0.2 < await reach(page) / whole < 0.3
            # All of it is played in a moment, as a pause is not waited for.
            await page.get_by_role("combobox", name="Speed").select_option("600×")
            await page.get_by_role("button", name="Play").click()
            await expect(page.get_by_role("button", name="Play")).to_be_visible()
            assert await reach(page) == whole


async def reach(page: Page) -> float:
    """Return up to where the timeline is drawn."""
    found: float = await page.evaluate(
        "() => Math.max(...[...document.querySelectorAll('.span')].map((one) => one.x.baseVal.value"
        " + one.width.baseVal.value))"
    )
    return found


SCALES = """async () => {
    const { scaleOf } = await import("deskmate/scale");
    const steady = Array.from({ length: 100 }, (_, index) => index * 600);
    const once = scaleOf([0, 30, 60, 90, 4000, 4030, 4060], 0, 4060);
    const back = [0, 0.1, 0.5, 0.9, 1].map((share) => Math.abs(once.place(once.at(share)) - share));
    return {
        steady: scaleOf(steady, 0, 59400).pauses.length,
        once: once.pauses,
        inside: [once.at(once.place(90)), once.at(once.place(4000))],
        back: Math.max(...back) < 1e-9,
        ends: [once.place(-5), once.place(0), once.place(4060), once.place(9999)],
        empty: [scaleOf([], 5, 5).place(5), scaleOf([], 5, 5).at(1)],
        order: [1, 50, 60, 2000, 3999, 4010].map(once.place).every((one, index, all) => !index || one > all[index - 1]),
    };
}"""


async def test_only_long_pauses_are_cut_out_and_every_time_has_one_place(paused: Path) -> None:
    with anyio.fail_after(SOON):
        async with page_server(paused) as server, opened(f"{server.link}&team=main") as page:
            found: dict[str, Any] = await page.evaluate(SCALES)
    assert found == {
        "steady": 0,
        "once": [{"start": 90, "end": 4000}],
        "inside": [90, 4000],
        "back": True,
        "ends": [0, 0, 1, 1],
        "empty": [0, 6],
        "order": True,
    }


async def test_a_message_to_a_stopped_team_is_shown_as_waiting_until_it_is_read(place: Path) -> None:
    with anyio.fail_after(SOON):
        async with page_server(place) as server, opened(f"{server.link}&team=main") as page, hands(place) as team:
            await page.locator(".member", has_text="alice").click()
            await team.mailbox("user").send("alice", Plain(content="How far are you?"))
            await team.mailbox("user").broadcast(("alice", "bob"), Broadcast(content="Hello all."), id_="user:2.0")
            waiting = page.locator(".entry.unread")
            await expect(waiting).to_have_count(2)
            await expect(waiting.first).to_contain_text("Waits until the team runs again")
            await expect(page.locator(".member", has_text="alice").locator(".waits")).to_have_text("2")
            await expect(page.locator(".member", has_text="bob").locator(".waits")).to_have_text("1")
            assert await violations(page) == []
            await view(page, "Mail")
            await expect(page.locator(".letter.unread")).to_have_count(2)
            # It is read once it is in the transcript.
            await team.mailbox("alice").hear(await Transcript.load(team.writer, "alice"))
            await expect(page.locator(".letter.unread")).to_have_count(1)
            await page.locator(".member", has_text="alice").click()
            await expect(waiting).to_have_count(0)
            await expect(page.locator(".entry.from-user")).to_have_count(2)


async def test_tasks_show_how_long_they_took_and_a_finished_board_has_its_critical_path(place: Path) -> None:
    async def finish(team: OpenTeam) -> None:
        members = (await team.roster.refresh()).members
        for number, name in ((1, "alice"), (2, "alice"), (3, "bob")):
            if number > 1:
                await team.board.claim(members[name], number)
            task = (await team.board.refresh()).tasks[number]
            receipt = Receipt(command=task.verify, workspace=".", exit=0, output="") if task.verify else None
            await team.board.complete(name, number, task.epoch, receipt=receipt)

    with anyio.fail_after(SOON):
        async with page_server(place) as server, opened(f"{server.link}&team=main") as page:
            await view(page, "Graph")
            await expect(page.locator(".path-words")).to_have_text("critical path: #1 → #2 → #3")
            await anyio.to_thread.run_sync(in_team, place, finish)
            await expect(page.locator(".node.done")).to_have_count(3)
            await expect(page.locator(".path-words")).to_contain_text(" s")
            await page.locator(".node").first.click()
            task = page.get_by_role("dialog", name="Task #1")
            for word in ("Began", "Ended", "Took"):
                await expect(task.locator("dt", has_text=word)).to_be_visible()
            await view(page, "Board")
            await expect(page.locator('.task .badge[title="Took"]')).to_have_count(3)


async def test_who_has_left_is_counted_apart_and_is_not_written_to(place: Path) -> None:
    with anyio.fail_after(SOON):
        async with page_server(place) as server, opened(f"{server.link}&team=main") as page, hands(place) as team:
            await expect(page.get_by_role("heading", name="Members 3")).to_be_visible()
            await page.locator(".member", has_text="bob").click()
            await expect(page.get_by_label("Message to bob")).to_be_visible()
            await team.roster.leave("bob", "done", heard=0)
            await expect(page.get_by_text("bob has left the team")).to_be_visible()
            await expect(page.get_by_label("Message to bob")).to_have_count(0)
            await expect(page.get_by_role("heading", name="Members 2")).to_be_visible()
            await expect(page.get_by_role("heading", name="Have left 1")).to_be_visible()
            await page.get_by_role("button", name="Write to the lead").click()
            await expect(page.get_by_label("Message to lead")).to_be_visible()
            await view(page, "Overview")
            members = page.locator(".figure", has_text="Members")
            await expect(members.locator("strong")).to_have_text("2")
            await expect(members).to_contain_text("1 have left")
