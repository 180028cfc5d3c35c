"""A question with choices at every face: what a person sees and types, and what the model gets."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from playwright.async_api import expect

from deskmate import Question, Team
from deskmate.app import Feed, run
from deskmate.app.session import attended
from deskmate.testing import Asked, Say, Scenario, Use
from deskmate.testing.fake_provider import FakeProvider
from tests.faces.chat.chat_harness import chat
from tests.faces.mcp.team_client import served
from tests.faces.tui.idle_sessions import SIZES
from tests.faces.tui.screen_harness import on_screen
from tests.faces.web.browser import needs_browser, opened
from tests.faces.web.page_server import page_server
from tests.scenarios.app_harness import SOON, AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("ask-user", "questions")]

DATABASE: dict[str, Any] = {
    "question": "Which database?",
    "header": "Database",
    "options": [{"label": "SQLite", "description": "one file"}, {"label": "Postgres", "description": "a server"}],
}
PARTS: dict[str, Any] = {"question": "Which parts?", "header": "Parts", "options": [{"label": "API"}, {"label": "Web"}]}
BOTH = [DATABASE, {**PARTS, "multi_select": True}]


def asks(*questions: dict[str, Any]) -> Any:
    def script(asked: Asked) -> Say:
        if asked.results:
            return Say(asked.results[-1].text)
        return Say("Let me ask.", [Use("AskUser", {"questions": list(questions)})])

    return script


def heard(provider: FakeProvider) -> str:
    """Return what the model got."""
    return [result.text for asked in provider.requests for result in asked.results][-1]


async def test_in_a_conversation_a_number_or_own_words_follow_the_yes(harness: AppHarness) -> None:
    async with chat(harness, asks(*BOTH)) as typist:
        await typist.types("go")
        await typist.until(lambda session: bool(session.questions))
        shown = typist.talk.answers.question(typist.session.questions[0])
        assert ["".join(cell.text for cell in line) for line in shown] == [
            "question 1: lead asks you 2 questions",
            "    database:",
            "        Which database?",
            "        1. SQLite: one file",
            "        2. Postgres: a server",
            "        or your own words",
            "    parts:",
            "        Which parts?",
            "        1. API",
            "        2. Web",
            "        or several of them, or your own words",
            "answer with y 1 database=NUMBER parts=NUMBERS or n 1 WORDS",
        ]
        assert "Missing: parts" in (await typist.types("y 1 database=2"))[0]
        done = await typist.types("y 1 database=none at all parts=2,1")
        assert done == ["yes to lead: Which database? Which parts?"]
        await typist.until(lambda session: not session.questions)


async def test_no_may_say_why(harness: AppHarness) -> None:
    async with chat(harness, asks(DATABASE)) as typist:
        await typist.types("go")
        await typist.until(lambda session: bool(session.questions))
        typist.talk.answers.question(typist.session.questions[0])
        await typist.types("n ask Ann")
        await typist.until(lambda session: not session.busy)
        ended = typist.session.members[0]
        assert "says: ask Ann" in (ended.words or "")


@pytest.mark.parametrize("size", SIZES)
async def test_on_the_whole_screen_one_key_chooses(harness: AppHarness, size: tuple[int, int]) -> None:
    with anyio.fail_after(SOON):
        async with FakeProvider(asks(DATABASE)) as provider:
            feed = Feed()
            async with (
                attended(harness.wanted(provider, "anthropic", "go", permission_mode="default"), feed) as session,
                on_screen(session, feed, size) as screen,
            ):
                await screen.asked("lead asks you a question", "2. Postgres: a server", "3. Something else")
                await screen.press("2")
                await screen.until(lambda: not screen.session.busy)
            assert heard(provider) == "The user answered:\ndatabase: Postgres"


async def test_on_the_whole_screen_own_words_and_several_answers_are_typed(harness: AppHarness) -> None:
    with anyio.fail_after(SOON):
        async with FakeProvider(asks(*BOTH)) as provider:
            feed = Feed()
            async with (
                attended(harness.wanted(provider, "anthropic", "go", permission_mode="default"), feed) as session,
                on_screen(session, feed, SIZES[-1]) as screen,
            ):
                await screen.asked("lead asks you 2 questions", "Which parts?")
                await screen.press("1")
                await screen.sees("database=NUMBER parts=NUMBERS (Enter sends")
                await screen.type("database=what we have parts=2")
                await screen.until(lambda: not screen.session.busy)
            assert heard(provider) == "The user answered:\ndatabase: what we have\nparts: Web"


@needs_browser
async def test_on_the_page_options_are_clicked(harness: AppHarness) -> None:
    with anyio.fail_after(SOON):
        async with chat(harness, asks(*BOTH)) as typist, page_server(harness.place) as server:
            await typist.types("go")
            async with opened(f"{server.link}&team=main") as page:
                question = page.locator(".question")
                await expect(question).to_contain_text("asks you 2 questions")
                await question.get_by_label("SQLite").check()
                await question.get_by_label("API").check()
                await question.get_by_label("Web").check()
                await question.get_by_label("In your own words").last.fill("the docs")
                await question.get_by_role("button", name="Yes").click()
                await expect(question).to_have_count(0)
                await typist.until(lambda session: not session.busy)
                words = typist.session.members[0].words or ""
                assert words == "The user answered:\ndatabase: SQLite\nparts: API; Web; the docs"


async def test_an_mcp_client_that_may_answer_sees_the_options_and_answers(tmp_path: Path) -> None:
    async with Scenario(tmp_path, asks(DATABASE)) as team, served(team, answers=True) as client:
        await client.call("start_team", goal="go")
        await client.watch()
        (question,) = (await client.call("get_team"))["questions"]
        assert (question["kind"], question["arguments"]) == (
            "choice",
            {"database": "Which database?\n1. SQLite: one file\n2. Postgres: a server\nor your own words"},
        )
        await client.call("answer_question", id=question["id"], answer="yes", words="1")
        assert await client.finish() == "The user answered:\ndatabase: SQLite"


async def test_a_program_answers_with_values(harness: AppHarness) -> None:
    seen = list[str]()

    def decide(question: Question) -> dict[str, object]:
        assert question.input
        assert question.input.fields
        seen.append(question.input.fields[0].about)
        return {"database": "Postgres", "parts": ["API"]}

    async with FakeProvider(asks(*BOTH)) as provider:
        settings = harness.settings(provider, "anthropic", permission_mode="default")
        outcome = await Team(workspace=harness.place, settings=settings).run("go", on_question=decide)
    assert (seen, outcome.text) == (["Which database?"], "The user answered:\ndatabase: Postgres\nparts: API")


async def test_in_a_run_the_model_hears_at_once_that_nobody_is_there(harness: AppHarness) -> None:
    async with FakeProvider(asks(DATABASE)) as provider:
        outcome = await run(harness.wanted(provider, "anthropic", "Go."), Feed())
    assert "Decide yourself" in outcome.text
