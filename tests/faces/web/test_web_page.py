"""The page in a real browser: what people see of a team, and what they do."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from playwright.async_api import Page, expect

from deskmate.core.agent.entries import AgentParked, Call, Compacted, Did, Said, Started
from deskmate.core.team.messages import Envelope, Plain, PlanResponse
from deskmate.core.team.roster_records import Joined, MemberIdle
from deskmate.core.team.task_fields import NewTask
from deskmate.faces.web.team_export import team_export
from deskmate.runtime.streams.transcript import Transcript
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import hears
from tests.attacks.naughty_texts import STRINGS
from tests.faces.chat.chat_harness import ALICE, LS, chat
from tests.faces.disk_teams import OpenTeam, hands, in_team
from tests.faces.web.browser import needs_browser, opened, slide, view, violations
from tests.faces.web.page_server import page_server
from tests.scenarios.app_harness import SOON, AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = [pytest.mark.anyio, needs_browser]

VIEWS = ("Overview", "Conversation", "Board", "Graph", "Mail", "Timeline", "Cost", "Changes", "Files")
SIZES = ({"width": 1440, "height": 900}, {"width": 390, "height": 844})
PLANNER = {"name": "paul", "prompt": "Plan.", "plan_mode_required": True}
PLAN = "1. Read.\n2. Write **carefully**."


def play(asked: Asked) -> Say:
    """Play lead and teammates: do as one is told last."""
    if asked.results:
        return Say("Done.")
    if hears(asked, "hire"):
        return Say("I hire.", [Use("Task", ALICE)])
    if hears(asked, "planner"):
        return Say("I hire a planner.", [Use("Task", PLANNER)])
    if hears(asked, "look at it"):
        return Say("I *look*.", [Use("bash", LS)])
    if "ExitPlanMode" in asked.tools and not hears(asked, "too short"):
        return Say("This is my plan.", [Use("ExitPlanMode", {"plan": PLAN})])
    return Say("I have nothing to do.")


@pytest.mark.behaviour("web")
async def test_a_running_team_is_seen_live_and_takes_what_is_written_and_answered(harness: AppHarness) -> None:
    with anyio.fail_after(SOON):
        async with chat(harness, play) as typist, page_server(harness.place) as server:
            await typist.types("hello")
            async with opened(f"{server.link}&team=main") as page:
                await expect(page.locator(".member")).to_have_count(1)
                await view(page, "Conversation")
                await expect(page.get_by_text("I have nothing to do.")).to_be_visible()
                await page.get_by_label("Message to lead").fill("hire")
                await page.get_by_role("button", name="Send").click()
                await expect(page.locator(".member")).to_have_count(2)
                await typist.until(lambda session: not session.busy)
                # A task that anybody adds appears without a reload.
                await view(page, "Board")
                await page.get_by_label("Subject of the task").fill("look around")
                await page.get_by_role("button", name="Add a task").click()
                await expect(page.locator(".task")).to_contain_text("look around")
                # A question shows the exact call, and the answer runs it.
                await page.locator(".member", has_text="alice").click()
                await page.get_by_label("Message to alice").fill("look at it")
                await page.keyboard.press("Enter")
                question = page.locator(".question")
                await expect(question).to_contain_text("command")
                await expect(question.locator("pre")).to_have_text("ls")
                await question.get_by_role("button", name="Yes").click()
                await expect(question).to_have_count(0)
                await typist.until(lambda session: not session.questions)
                await expect(page.locator(".entry.call.done")).to_contain_text("ls")
                await expect(page.locator(".entry.words em")).to_have_text("look")


@pytest.mark.behaviour("web")
async def test_a_plan_is_read_as_markdown_and_refused_with_a_reason(harness: AppHarness) -> None:
    with anyio.fail_after(SOON):
        async with chat(harness, play) as typist, page_server(harness.place) as server:
            await typist.types("planner")
            async with opened(f"{server.link}&team=main") as page:
                question = page.locator(".question")
                await expect(question.locator("ol li")).to_have_count(2)
                await expect(question.locator("strong")).to_have_text("carefully")
                await question.get_by_label("Why not? (optional)").fill("too short")
                await question.get_by_role("button", name="No").click()
                # The planner may submit another plan at once, so the answer is waited for, not the end of the question.
                await typist.until(lambda session: any(is_refusal(one.envelope) for one in session.letters))


def is_refusal(envelope: Envelope) -> bool:
    told = envelope.message
    return (
        envelope.sender == "user"
        and isinstance(told, PlanResponse)
        and (told.approve, told.content) == (False, "too short")
    )


@pytest.mark.behaviour("web")
async def test_a_page_whose_server_was_restarted_loses_and_doubles_nothing(place: Path) -> None:
    async def say(team: OpenTeam, words: str) -> None:
        await team.roster.refresh()
        await team.mailbox("lead").send("alice", Plain(content=words))

    with anyio.fail_after(SOON):
        async with page_server(place) as server:
            port, link = server.port, f"{server.link}&team=main"
            async with opened(link) as page:
                await expect(page.locator(".member")).to_have_count(3)
                await view(page, "Mail")
                await expect(page.locator(".letter")).to_have_count(2)
                # The server goes away while the page stays open.
                await stop(server)
                await expect(page.get_by_text("No connection")).to_be_visible()
                async with hands(place) as team:
                    await say(team, "while you were away")
                async with page_server(place, port=port):
                    await expect(page.locator(".letter")).to_have_count(3)
                    await expect(page.get_by_text("No connection")).to_have_count(0)
                    async with hands(place) as team:
                        await say(team, "and now")
                    await expect(page.locator(".letter")).to_have_count(4)
                    await page.locator(".member", has_text="alice").click()
                    await expect(page.locator(".entry.words")).to_have_count(1)


async def stop(server: Any) -> None:
    await server.stop()


@pytest.mark.behaviour("web-past")
async def test_the_time_line_shows_the_board_as_it_was_and_comes_back_to_now(place: Path) -> None:
    with anyio.fail_after(SOON):
        async with page_server(place) as server, opened(f"{server.link}&team=main") as page:
            await scrub(page)


async def scrub(page: Page) -> None:
    await view(page, "Board")
    await expect(page.locator(".task")).to_have_count(3)
    await page.get_by_role("button", name="Past").click()
    await slide(page, 0)
    await expect(page.locator(".task")).to_have_count(0)
    await page.get_by_role("button", name="Now").click()
    await expect(page.locator(".task")).to_have_count(3)
    for name in ("Graph", "Timeline", "Cost", "Mail"):
        await view(page, name)
        await expect(page.get_by_role("tabpanel").locator("section").first).to_be_visible()


@pytest.mark.behaviour("web-past")
async def test_a_saved_page_opens_without_a_server(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "main.html"
    _, page_text = await anyio.to_thread.run_sync(team_export, place, "main")
    file.write_text(page_text, encoding="utf-8")
    with anyio.fail_after(SOON):
        async with opened(f"file://{file}") as page:
            await expect(page.locator(".member")).to_have_count(3)
            await page.locator(".member", has_text="alice").click()
            await expect(page.locator(".entry.words")).to_have_text("I look.")
            await expect(page.get_by_role("button", name="Send")).to_have_count(0)
            await scrub(page)


@pytest.mark.behaviour("web-safe")
async def test_no_text_of_an_agent_runs_a_script(place: Path) -> None:
    hostile = [text for text in STRINGS if "<" in text or "javascript" in text.lower() or "{{" in text]
    loud = ["<img src=x onerror=alert(1)>", "[a](javascript:alert(1))", "</script><script>alert(1)</script>"]
    texts = [*loud, *hostile[:300]]

    async def write(team: OpenTeam) -> None:
        await team.roster.refresh()
        for index in range(0, len(texts), 20):
            part = texts[index : index + 20]
            await team.mailbox("alice").send("lead", Plain(content="\n\n".join(part), summary=part[0][:100]))
            await team.board.create("alice", NewTask(part[-1][:200] or "x", description="\n".join(part)))
        await team.roster.join(Joined(name="eve", role="<img src=x onerror=alert(2)>", at=2.0))
        await team.spend("eve", loud[0], 0.5)
        await team.roster.status(MemberIdle(name="eve", words=loud[0], at=3.0))
        transcript = await Transcript.load(team.writer, "eve")
        await transcript.record(Started(name="eve", prompt=loud[0]))
        calls = tuple(Call(tool=tool, arguments={loud[0]: text}) for text in texts[:40] for tool in ("bash", loud[0]))
        said = await transcript.record(Said(text="\n\n".join(texts), calls=calls))
        for index, call in enumerate(calls):
            shown = f"--- a\n+++ b\n@@ -1 +1 @@\n+{call.arguments[loud[0]]}"
            await transcript.record(Did(call=f"eve:{said}.{index}", text=loud[0], shown=shown if index % 2 else ""))
        await transcript.record(Compacted(upto=0, summary="\n".join(loud)))
        await transcript.record(AgentParked(reason=loud[0]))

    await anyio.to_thread.run_sync(in_team, place, write)
    with anyio.fail_after(SOON):
        async with page_server(place) as server, opened(f"{server.link}&team=main") as page:
            for name in VIEWS:
                await view(page, name)
                await expect(page.get_by_role("tabpanel")).to_be_visible()
            await view(page, "Cost")
            await page.get_by_role("button", name="Models").click()
            await page.locator(".member", has_text="eve").click()
            await expect(page.locator(".entry.call")).to_have_count(80)
            await page.evaluate(
                "for (const one of document.querySelectorAll('.fold[aria-expanded=false]')) one.click()"
            )
            await expect(page.locator(".fold[aria-expanded=false]")).to_have_count(0)
            await page.get_by_role("searchbox", name="Search").fill("alert")
            await expect(page.get_by_role("list", name="Found").get_by_role("button").first).to_be_visible()
            await view(page, "Mail")
            for arrow in await page.locator(".arrow").all():
                await arrow.click()
            await view(page, "Board")
            for task in await page.locator(".task > .title").all():
                await task.click()
                await page.keyboard.press("Escape")
            # `opened` fails for a dialog or a request that a script made.
            assert await page.locator("img, iframe, object, embed").count() == 0
            assert await page.locator("script").count() == 2
            assert await page.locator('a[href^="javascript"]').count() == 0


@pytest.mark.behaviour("web")
@pytest.mark.parametrize("size", SIZES, ids=("desk", "phone"))
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_nothing_on_the_page_is_hard_to_use_with_a_screen_reader(place: Path, size: Any, scheme: Any) -> None:
    with anyio.fail_after(SOON):
        async with page_server(place) as server, opened(server.link, viewport=size, color_scheme=scheme) as page:
            await expect(page.get_by_role("button", name="main")).to_be_visible()
            found = await violations(page)
            await page.get_by_role("button", name="main").click()
            for name in VIEWS:
                await view(page, name)
                await expect(page.get_by_role("tabpanel").locator("section").first).to_be_visible()
                found += await violations(page)
            await page.keyboard.press("?")
            await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
            found += await violations(page)
            await page.keyboard.press("Escape")
            await view(page, "Board")
            await page.get_by_role("button", name="Past").click()
            await expect(page.get_by_role("slider", name="Time")).to_be_visible()
            await page.locator(".task > .title").first.click()
            found += await violations(page)
            assert found == []


@pytest.mark.behaviour("web")
async def test_without_the_link_the_page_says_what_to_do(place: Path) -> None:
    with anyio.fail_after(SOON):
        async with page_server(place) as server, opened(server.link.partition("#")[0]) as page:
            await expect(page.get_by_role("alert")).to_contain_text("deskmate web")


@pytest.mark.behaviour("web")
async def test_the_page_speaks_chinese_to_those_who_do(place: Path) -> None:
    with anyio.fail_after(SOON):
        async with page_server(place) as server, opened(f"{server.link}&team=main", locale="zh-CN") as page:
            await expect(page.get_by_role("tab", name="任务")).to_be_visible()
            assert await page.evaluate("document.documentElement.lang") == "zh"
