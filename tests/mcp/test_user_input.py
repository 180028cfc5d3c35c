"""Servers that ask the user during a call: forms and links, who answers, and what a hostile server gets."""

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from deskmate.app import Feed, run
from deskmate.app.question_answers import answer as answer_from_a_shell
from deskmate.app.question_answers import look_at_questions
from deskmate.app.session import Session, attended
from deskmate.core.mcp.server_entries import ServerEntry
from deskmate.core.team.messages import InputRequest, InputResponse
from deskmate.errors import BadInput, Refused
from deskmate.faces.common.chat.question_text import shell_lines
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from tests.mcp.server_harness import HOSTILE, ServerHarness, running
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("mcp-input")]
FORM = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"]}
ASKS = {"message": "Who are you?", "requestedSchema": FORM}
LINK = {"mode": "url", "message": "Pay here.", "url": "https://pay.example/cart", "elicitationId": "1"}
SOON = 60.0
# As servers of the newest version ask: the call is repeated with the answer.
MODERN = """
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
server = MCPServer("words", log_level="ERROR")
@server.tool()
def greet(ctx: Context) -> str | InputRequiredResult:
    if ctx.input_responses:
        return f"{ctx.protocol_version}: {ctx.input_responses['who'].model_dump_json(exclude_none=True)}"
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    params = ElicitRequestFormParams(message="Who are you?", requested_schema=schema)
    return InputRequiredResult(input_requests={"who": ElicitRequest(params=params)})
server.run("stdio")
"""


def agrees(values: dict[str, Any] | None, asked: list[InputRequest] | None = None) -> Any:
    async def given(request: InputRequest) -> InputResponse:
        if asked is not None:
            asked.append(request)
        return InputResponse(request_id=request.request_id, approve=True, values=values)

    return given


async def wants(place: Path, wanted: dict[str, Any], given: Any = None, mode: str = "wants", **fields: Any) -> str:
    """Call a server that wants this of the user. Return the result."""
    harness = ServerHarness(place, given=given)
    servers = harness.servers(mode, **fields)
    async with running(servers):
        return (await harness.call(servers, text=json.dumps(wanted) if mode == "wants" else wanted["url"])).text


async def test_the_answer_of_the_user_goes_to_the_server(tmp_path: Path) -> None:
    asked = list[InputRequest]()
    text = await wants(tmp_path, ASKS, agrees({"name": "Ann", "age": 3}, asked))
    assert json.loads(text.splitlines()[-1]) == {"action": "accept", "content": {"name": "Ann", "age": 3}}
    assert (asked[0].server, asked[0].content, [field.name for field in asked[0].fields or ()]) == (
        "hostile",
        "Who are you?",
        ["name", "age"],
    )


async def test_a_server_of_the_newest_version_gets_it_with_the_call_again(tmp_path: Path) -> None:
    harness = ServerHarness(tmp_path, given=agrees({"name": "Ann"}))
    servers = harness.of(ServerEntry("words", "here", command=(sys.executable, "-c", MODERN)))
    async with running(servers):
        await servers.settled()
        text = (await harness.call(servers, "greet")).text
    assert text.splitlines()[-1] == '2026-07-28: {"action":"accept","content":{"name":"Ann"}}'


async def test_a_no_is_said_to_the_server_and_to_the_model(tmp_path: Path) -> None:
    text = await wants(tmp_path, ASKS)
    assert text.startswith("hostile asked the user for input, and got none\n")
    assert json.loads(text.splitlines()[-1]) == {"action": "decline"}


async def test_a_link_is_only_shown(tmp_path: Path) -> None:
    asked = list[InputRequest]()
    text = await wants(tmp_path, LINK, agrees(None, asked))
    assert json.loads(text.splitlines()[-1]) == {"action": "accept"}
    assert (asked[0].url, asked[0].fields) == ("https://pay.example/cart", None)


async def test_a_page_that_must_be_opened_first_is_asked_about(tmp_path: Path) -> None:
    assert "and agreed. Call the tool again" in await wants(tmp_path, LINK, agrees(None), "wants-page")
    assert "and did not. Do not call" in await wants(tmp_path, LINK, None, "wants-page")


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({**LINK, "url": "javascript:alert(1)"}, "not a usable address"),
        ({**LINK, "url": "http://pay.example/"}, "not encrypted"),
        ({**LINK, "url": "https://bank.example@evil.example/"}, "not an ordinary https"),
        ({**LINK, "url": "https://localhost:8080/shutdown"}, "leads to this machine"),
        ({**ASKS, "requestedSchema": {"type": "object", "properties": {"a": {"type": "object"}}}}, "cannot be asked"),
        ({**ASKS, "message": "a" * 5_000}, "more than 4,000 characters"),
        ({**ASKS, "times": 12}, "more than 10 times"),
    ],
)
async def test_what_nobody_should_be_asked_is_refused(tmp_path: Path, wanted: dict[str, Any], why: str) -> None:
    asked = list[InputRequest]()
    text = await wants(tmp_path, wanted, agrees({"name": "Ann"}, asked))
    assert why in text
    assert json.loads(text.splitlines()[-1]) == {"action": "decline"}
    assert len(asked) == (10 if "times" in wanted else 0)


async def test_the_time_of_a_call_stands_still_while_the_user_is_asked(tmp_path: Path) -> None:
    async def later(request: InputRequest) -> InputResponse:
        # Longer than the call may take.
        await anyio.sleep(0.7)
        return InputResponse(request_id=request.request_id, approve=True, values={"name": "Ann"})

    assert '"action": "accept"' in await wants(tmp_path, ASKS, later, seconds=0.5)


# -- in a team ------------------------------------------------------------------------------------


def asks_server(asked: Asked) -> Say:
    """Call the server once, and repeat its result."""
    if asked.results:
        return Say(asked.results[-1].text)
    return Say("Let me see.", [Use("mcp__asker__echo", {"text": json.dumps(ASKS)})])


def settings_of(harness: AppHarness, **flags: Any) -> dict[str, Any]:
    server = {"command": sys.executable, "args": [HOSTILE, "wants"]}
    return {"mcp": {"asker": server}, "permission": {"allow": ["mcp__asker__*"]}, **flags}


@asynccontextmanager
async def team(harness: AppHarness, *, continues: bool = False) -> AsyncIterator[tuple[Session, FakeProvider]]:
    with anyio.fail_after(SOON):
        async with FakeProvider(asks_server) as provider:
            flags = settings_of(harness, permission_mode="default")
            wanted = harness.wanted(provider, "anthropic", None if continues else "Go.", **flags)
            async with attended(replace(wanted, continues=continues), Feed()) as session:
                yield session, provider


async def until(session: Session, fact: Callable[[Session], object]) -> None:
    while not fact(session):
        await session.looked()


async def test_a_person_sees_whose_words_these_are_and_fills_in_the_form(harness: AppHarness) -> None:
    async with team(harness) as (session, provider):
        await until(session, lambda seen: seen.questions)
        (question,) = session.questions
        shown = "\n".join("".join(cell.text for cell in line) for line in shell_lines(question, {}))
        assert "lead asks for the MCP server asker, which wants an answer" in shown
        assert "the server says: Who are you?" in shown
        assert "name: a text" in shown
        assert f"deskmate answer {question.id} yes name=TEXT age=INTEGER or no" in shown
        with pytest.raises(BadInput, match="Missing: name"):
            await session.answer(question, "yes")
        with pytest.raises(Refused, match="always"):
            await session.answer(question, "always")
        await session.answer(question, "yes", "name=Ann age=3")
        await until(session, lambda seen: not seen.busy)
        assert session.questions == ()
    results = [result.text for asked in provider.requests for result in asked.results]
    assert json.loads(results[-1].splitlines()[-1]) == {"action": "accept", "content": {"name": "Ann", "age": 3}}


async def test_any_shell_can_answer(harness: AppHarness) -> None:
    async with team(harness) as (session, provider):
        await until(session, lambda seen: seen.questions)
        (question,) = (await look_at_questions(harness.place, None)).questions
        await answer_from_a_shell(harness.place, None, question.id, "yes", "name=Ann")
        await until(session, lambda seen: not seen.busy)
    assert '{"name": "Ann"}' in provider.requests[-1].results[-1].text


async def test_nobody_is_asked_in_a_run_that_nobody_attends(harness: AppHarness) -> None:
    async with FakeProvider(asks_server) as provider:
        outcome = await run(harness.wanted(provider, "anthropic", "Go.", **settings_of(harness)), Feed())
    assert "asker asked the user for input, and got none: nobody is asked in this run" in outcome.text


async def test_an_interrupted_question_is_over_after_a_restart(harness: AppHarness) -> None:
    async with team(harness) as (session, _):
        await until(session, lambda seen: seen.questions)
    # Nobody runs the team. The question is still shown, and the call ends when the team continues.
    async with team(harness, continues=True) as (session, provider):
        await until(session, lambda seen: not seen.questions)
        await until(session, lambda seen: not seen.busy)
    assert "Its outcome is unknown" in provider.requests[-1].results[-1].text
