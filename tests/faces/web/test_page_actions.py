"""What people do on the page in a real browser, beyond looking: start, resume, search, look back, share."""

import json
import re
from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from playwright.async_api import Page, expect

from deskmate.app import Feed, RunRequest, environment, load, run
from deskmate.core.agent.entries import Said, Started
from deskmate.core.team.messages import Plain
from deskmate.core.team.task_fields import NewTask
from deskmate.runtime.streams.transcript import Transcript
from deskmate.testing import Scenario
from tests.app.rewind.rewind_story import SETTINGS, begin, go_on
from tests.faces.disk_teams import OpenTeam, founded, in_team
from tests.faces.mcp.team_client import NOT_WRITTEN, no_leads_left, writes_a_file
from tests.faces.web.browser import needs_browser, opened, slide, view, violations
from tests.faces.web.page_server import page_server

pytestmark = [pytest.mark.anyio, needs_browser, pytest.mark.behaviour("web")]

SOON = 60
WAIT = 20_000


async def test_a_team_is_started_answered_and_resumed_from_the_page(tmp_path: Path) -> None:
    with anyio.fail_after(SOON):
        async with Scenario(tmp_path, writes_a_file, sandbox=False) as team, page_server(team.workspace) as server:
            with no_leads_left(team.workspace):
                async with opened(server.link) as page:
                    await expect(page.get_by_text("There are no teams here.")).to_be_visible()
                    await page.get_by_label("What should a new team do?").fill("Write.")
                    assert await violations(page) == []
                    await page.get_by_role("button", name="Start a team").click()
                    question = page.locator(".question")
                    await expect(question).to_contain_text("out.txt", timeout=WAIT)
                    assert await violations(page) == []
                    await question.get_by_role("button", name="No").click()
                    # It has nothing left to do, so its process ends.
                    await expect(page.get_by_text("This team is not running.")).to_be_visible(timeout=WAIT)
                    await view(page, "Conversation")
                    await expect(page.locator(".entry.words").last).to_have_text(NOT_WRITTEN)
                    await page.get_by_label("What to tell the lead first").fill("Try again.")
                    await page.get_by_role("button", name="Resume").click()
                    await expect(page.locator(".entry.from-user", has_text="Try again.")).to_be_visible(timeout=WAIT)
                    await expect(page.locator(".entry.words", has_text=NOT_WRITTEN)).to_have_count(2, timeout=WAIT)


async def test_a_team_that_cannot_start_says_why(tmp_path: Path) -> None:
    with anyio.fail_after(SOON):
        async with (
            Scenario(tmp_path, writes_a_file) as team,
            page_server(team.workspace) as server,
            opened(server.link) as page,
        ):
            await page.get_by_label("What should a new team do?").fill("Write.")
            await page.get_by_role("button", name="Options").click()
            await page.get_by_label("Name").fill("no/name")
            await page.get_by_role("button", name="Start a team").click()
            await expect(page.get_by_role("alert")).to_contain_text("no/name", timeout=WAIT)


async def test_an_error_is_shown_as_every_command_prints_it_with_the_hint_on_a_line_of_its_own(tmp_path: Path) -> None:
    with anyio.fail_after(SOON):
        async with Scenario(tmp_path, writes_a_file) as team, page_server(team.workspace) as server:
            await to_thread.run_sync(founded, team.workspace)
            async with opened(server.link) as page:
                await page.get_by_label("What should a new team do?").fill("Write.")
                await page.get_by_role("button", name="Options").click()
                await page.get_by_label("Name").fill("main")
                await page.get_by_role("button", name="Start a team").click()
                await expect(page.get_by_role("alert")).to_contain_text("main", timeout=WAIT)
                what, how = (await page.get_by_role("alert").inner_text()).splitlines()
                assert (what.endswith("."), how) == (False, "To continue it, run: deskmate --team main")


async def talked(opened_team: OpenTeam) -> None:
    """Let bob say 500 things, the second one about a whale."""
    transcript = await Transcript.load(opened_team.writer, "bob")
    await transcript.record(Started(name="bob", prompt="You talk."))
    for number in range(500):
        await transcript.record(Said(text=f"sentence {number}{' about a **whale**' if number == 1 else ''}"))


async def test_words_are_found_in_every_transcript_and_in_its_earliest_part(place: Path) -> None:
    await anyio.to_thread.run_sync(in_team, place, talked)
    with anyio.fail_after(SOON):
        async with page_server(place) as server, opened(f"{server.link}&team=main") as page:
            # The page listens to keys before it shows members.
            await expect(page.locator(".member").first).to_be_visible()
            await page.keyboard.press("/")
            await page.get_by_role("searchbox", name="Search").fill("Whale sentence")
            await page.get_by_role("list", name="Found").get_by_role("button").click()
            entry = page.locator(".entry.words", has_text="whale")
            await expect(entry).to_be_visible()
            await expect(entry).to_be_focused()
            await expect(page.locator(".entry.words")).to_have_count(500)
            await expect(page.get_by_role("button", name="Show earlier")).to_have_count(0)


async def test_files_are_shown_as_they_were_at_the_time_of_the_slider(tmp_path: Path) -> None:
    with anyio.fail_after(SOON):
        async with begin(tmp_path, in_git=False) as team:
            settings = load(environment(), SETTINGS)
            await run(RunRequest(team.workspace, "paint red", None, settings), Feed())
            await go_on(team, "main", "paint blue")
            await go_on(team, "main", "paint green")
            async with (
                page_server(team.workspace, settings=settings) as server,
                opened(f"{server.link}&team=main") as page,
            ):
                await view(page, "Files")
                await page.get_by_role("button", name="M wall").click()
                # These are the files as they are now, not those of the last checkpoint.
                await expect(page.locator(".diff .added", has_text="green")).to_be_visible()
                await page.get_by_role("button", name="Whole file").click()
                await expect(page.locator(".code")).to_have_text("bare\nred\nblue\ngreen\n")
                await view(page, "Changes")
                await expect(page.locator(".diff .added", has_text="green")).to_have_count(2)
                await view(page, "Files")
                await page.get_by_role("button", name="M wall").click()
                # Before the second message there was only red.
                points = (await server.client.get("/api/teams/main/files")).json()["points"]
                steps = (await server.client.get("/api/teams/main/history")).json()["steps"]
                first, last = steps[0]["at"], steps[-1]["at"]
                await page.get_by_role("button", name="Past").click()
                # The line is at least a second long.
                await slide(page, (points[1]["at"] + 0.001 - first) / max(last - first, 1.0))
                await page.get_by_role("button", name="Whole file").click()
                await expect(page.locator(".code")).to_have_text("bare\nred\n")
                await expect(page.get_by_role("button", name="blue.txt")).to_have_count(0)


async def test_two_teams_of_one_lead_are_shown_side_by_side(place: Path) -> None:
    await anyio.to_thread.run_sync(partial(founded, place, "second", "carl", home="main"))
    with anyio.fail_after(SOON):
        async with page_server(place) as server, opened(server.link) as page:
            await page.get_by_role("button", name="Side by side with second").click()
            await expect(page.locator(".team")).to_have_count(2)
            main, second = page.locator(".team").first, page.locator(".team").last
            await expect(main.locator(".member", has_text="alice")).to_be_visible()
            await expect(second.locator(".member", has_text="carl")).to_be_visible()
            await second.locator(".head").get_by_role("button", name="Close").click()
            await expect(page.locator(".team")).to_have_count(1)


async def test_a_team_is_shared_as_a_file_from_the_page(place: Path, tmp_path: Path) -> None:
    with anyio.fail_after(SOON):
        async with page_server(place) as server, opened(f"{server.link}&team=main") as page:
            async with page.expect_download() as saving:
                await page.get_by_role("button", name="Share").click()
            saved = await saving.value
            assert saved.suggested_filename == "main.html"
            await saved.save_as(tmp_path / "main.html")
        async with opened(f"file://{tmp_path / 'main.html'}") as page:
            await expect(page.locator(".member")).to_have_count(3)
            await page.keyboard.press("/")
            await page.get_by_role("searchbox", name="Search").fill("look")
            await page.get_by_role("list", name="Found").get_by_role("button").first.click()
            await expect(page.locator(".entry.words")).to_have_text("I look.")


async def test_a_task_shows_what_it_needs_and_what_it_blocks(place: Path) -> None:
    with anyio.fail_after(SOON):
        async with page_server(place) as server, opened(f"{server.link}&team=main") as page:
            await view(page, "Board")
            await page.get_by_role("button", name="#2 write the schema").click()
            task = page.get_by_role("dialog", name="Task #2")
            await expect(task).to_contain_text("Needs#1")
            await expect(task).to_contain_text("Blocks#3")
            await expect(task).to_contain_text("test -f schema.txt")
            await task.get_by_role("button", name="#3").click()
            await expect(page.get_by_role("dialog", name="Task #3")).to_contain_text("bob")
            await page.keyboard.press("Escape")
            await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_a_graph_of_500_tasks_overlaps_nowhere_and_names_its_critical_path(place: Path) -> None:
    async def plan(team: OpenTeam) -> None:
        for number in range(4, 501):
            await team.board.create("lead", NewTask(f"task {number}", blocked_by=[number - 1] if number % 10 else []))

    await anyio.to_thread.run_sync(in_team, place, plan)
    with anyio.fail_after(SOON):
        async with page_server(place) as server, opened(f"{server.link}&team=main") as page:
            await view(page, "Graph")
            await expect(page.locator(".node")).to_have_count(500)
            assert await overlaps(page) == 0
            await expect(page.locator(".path-words")).to_contain_text("(10)")
            await page.get_by_role("button", name="Fit").click()
            wide = await page.locator(".graph svg").evaluate("one => one.clientWidth <= one.parentElement.clientWidth")
            assert wide


async def overlaps(page: Page) -> int:
    found: int = await page.evaluate(
        """() => {
            const boxes = [...document.querySelectorAll(".node rect:first-of-type")].map((one) => one.getBBox());
            const near = (a, b, axis, size) => a[axis] < b[axis] + b[size] && b[axis] < a[axis] + a[size];
            const meet = (a, b) => near(a, b, "x", "width") && near(a, b, "y", "height");
            return boxes.reduce((sum, a, index) => sum + boxes.slice(index + 1).filter((b) => meet(a, b)).length, 0);
        }"""
    )
    return found


async def test_a_page_keeps_only_the_newest_of_what_grows(place: Path) -> None:
    async def write(team: OpenTeam) -> None:
        await team.roster.refresh()
        for number in range(700):
            await team.mailbox("alice").send("bob", Plain(content=f"letter {number}"))

    with anyio.fail_after(SOON):
        async with page_server(place) as server, opened(f"{server.link}&team=main") as page:
            await view(page, "Mail")
            await expect(page.locator(".letter")).to_have_count(2)
            await anyio.to_thread.run_sync(in_team, place, write)
            await expect(page.locator(".letter", has_text="letter 699")).to_be_visible()
            await expect(page.locator(".letter")).to_have_count(500)


def test_every_word_of_the_page_has_a_chinese_one() -> None:
    folder = Path(__file__).parents[3] / "src/deskmate/faces/web/page"
    known = set(re.findall(r'"((?:[^"\\]|\\.)+)": "', (folder / "words.mjs").read_text(encoding="utf-8")))
    used: set[str] = set()
    for file in folder.rglob("*.mjs"):
        if file.parent.name != "vendor":
            text = file.read_text(encoding="utf-8")
            used |= {json.loads(one) for one in re.findall(r'\bt\(("(?:[^"\\]|\\.)+")\)', text)}
    assert used - known == set()
    assert len(used) > 100
