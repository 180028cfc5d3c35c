"""A form of an MCP server at every face: what a person sees and types."""

import json
from typing import Any

import anyio
import pytest
from playwright.async_api import expect

from deskmate.app import Feed
from deskmate.app.session import attended
from deskmate.core.mcp.forms import FormField
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.messages import InputRequest
from deskmate.core.team.open_questions import Question
from deskmate.faces.common.items.question_items import question_item
from deskmate.testing import Asked
from deskmate.testing.fake_provider import FakeProvider
from tests.faces.chat.chat_harness import chat
from tests.faces.disk_teams import hands
from tests.faces.mcp.team_client import served
from tests.faces.mcp.test_bounded_tools import Scenario, has_team, writes_a_file
from tests.faces.tui.idle_sessions import SIZES
from tests.faces.tui.screen_harness import on_screen
from tests.faces.web.browser import needs_browser, opened
from tests.faces.web.page_server import page_server
from tests.mcp.test_user_input import LINK, asks_server, settings_of
from tests.scenarios.app_harness import SOON, AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("mcp-input", "questions")]


def content(requests: list[Asked]) -> object:
    """Return what the server got."""
    results = [result.text for asked in requests for result in asked.results]
    return json.loads(results[-1].splitlines()[-1]).get("content")


async def test_values_are_typed_after_a_yes_with_the_number_of_the_question(harness: AppHarness) -> None:
    async with chat(harness, asks_server, **settings_of(harness)) as typist:
        await typist.types("go")
        await typist.until(lambda session: bool(session.questions))
        shown = typist.talk.answers.question(typist.session.questions[0])
        assert "answer with y 1 name=TEXT age=INTEGER or n 1" in "\n".join(cell.text for line in shown for cell in line)
        refused = await typist.types("y 1")
        assert "Missing: name" in refused[0]
        # Without the number, these are words for the lead.
        assert "still open" in "\n".join(await typist.types("yes, but use tabs"))
        done = await typist.types("y 1 name='Ann Lee' age=3")
        assert done == ["yes to lead: asker: Who are you?"]
        await typist.until(lambda session: not session.questions)


@pytest.mark.parametrize("size", SIZES)
async def test_a_form_is_filled_in_on_the_whole_screen(harness: AppHarness, size: tuple[int, int]) -> None:
    with anyio.fail_after(SOON):
        async with FakeProvider(asks_server) as provider:
            feed = Feed()
            flags = settings_of(harness, permission_mode="default")
            async with (
                attended(harness.wanted(provider, "anthropic", "go", **flags), feed) as session,
                on_screen(session, feed, size) as screen,
            ):
                await screen.asked("the server says: Who are you?", "name: a text")
                await screen.press("1")
                await screen.sees("name=TEXT age=INTEGER (Enter sends")
                await screen.type("age=3")
                await screen.sees("Missing: name")
                await screen.asked("the server says: Who are you?")
                await screen.press("1")
                await screen.type("name=Ann age=3")
                await screen.until(lambda: not session.busy)
            assert content(provider.requests) == {"name": "Ann", "age": 3}


@needs_browser
async def test_a_form_is_filled_in_on_the_page(harness: AppHarness) -> None:
    with anyio.fail_after(SOON):
        async with chat(harness, asks_server, **settings_of(harness)) as typist, page_server(harness.place) as server:
            await typist.types("go")
            async with opened(f"{server.link}&team=main") as page:
                question = page.locator(".question")
                await expect(question).to_contain_text("asks for the MCP server asker")
                await expect(question.locator("pre").first).to_have_text("Who are you?")
                await question.get_by_label("name *").fill("Ann")
                await question.get_by_label("age").fill("3")
                await question.get_by_role("button", name="Yes").click()
                await expect(question).to_have_count(0)
                await typist.until(lambda session: not session.questions)


async def test_an_mcp_client_sees_the_question_and_cannot_say_yes(tmp_path: Any) -> None:
    form = (FormField(name="name", kind="text", required=True),)
    asked = InputRequest(
        request_id="lead:1.0.input-1", call="lead:1.0", server="asker", content="Who are you?", fields=form
    )
    async with Scenario(tmp_path, writes_a_file) as team, served(team, answers=True) as client:
        await has_team(team)
        async with hands(team.workspace) as opened_team:
            await opened_team.mailbox("lead").send("user", asked)
        (question,) = (await client.call("get_team"))["questions"]
        assert (question["kind"], question["arguments"]["the server says"]) == ("input", "Who are you?")
        refusal = await client.refusal("answer_question", id=question["id"], answer="yes", words="name=Ann")
        assert "no client can say yes" in refusal
        assert (await client.call("answer_question", id=question["id"], answer="no"))["what"] == "answered no"


def test_the_link_is_shown_with_its_host() -> None:
    url = "https://\u0430pple.example/pay"
    asked = InputRequest(request_id="a.1", call="a", server="asker", content=str(LINK["message"]), url=url)
    item = question_item(Question("a.1", "lead", 0.0, Shake.INPUT, input=asked))
    assert ("which leads to", "xn--pple-43d.example") in item.arguments
    assert item.example == ""
