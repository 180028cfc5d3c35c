"""Hooks that are addresses."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from deskmate.core.hooks.hook_outputs import merged
from deskmate.core.hooks.hook_tables import Hook
from deskmate.hooks.hook_request import run_http_hook
from deskmate.testing.http_server import HttpRequest, HttpServer, Response

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("hooks")]

HEADERS = (("Authorization", "Bearer $TOKEN ${OTHER}"),)
ENVIRON = {"TOKEN": "t1", "OTHER": "o1"}


@asynccontextmanager
async def served(*responses: Response) -> AsyncIterator[tuple[Hook, list[HttpRequest]]]:
    asked: list[HttpRequest] = []
    left = list(responses)

    def answer(request: HttpRequest) -> Response:
        asked.append(request)
        return left.pop(0)

    server = HttpServer(answer)
    url = await server.start()
    try:
        yield Hook("PreToolUse", "", "", 10, "f", False, f"{url}/hook", HEADERS, ("TOKEN",)), asked
    finally:
        await server.close()


async def test_the_json_is_posted_and_the_answer_counts_like_that_of_a_command() -> None:
    async with served(Response(200, [b'{"decision": "block", "reason": "no"}'])) as (hook, asked):
        ended = await run_http_hook(hook, b'{"a": 1}', ENVIRON)
    assert (merged([ended]).decision, merged([ended]).reason) == ("deny", "no")
    assert (asked[0].body, asked[0].headers["authorization"]) == (b'{"a": 1}', "Bearer t1")


@pytest.mark.parametrize("status", [301, 307, 404, 500])
async def test_any_other_status_is_an_error_and_no_redirect_is_followed(status: int) -> None:
    async with served(Response(status, [], headers={"location": "http://127.0.0.1:9/"})) as (hook, asked):
        ended = await run_http_hook(hook, b"{}", ENVIRON)
    assert (ended.exit, f"status {status}" in ended.ended, len(asked)) == (None, True, 1)


async def test_a_flood_is_an_error() -> None:
    async with served(Response(200, [b"x" * 300_000])) as (hook, _):
        ended = await run_http_hook(hook, b"{}", ENVIRON)
    assert ended.ended == "answered with more than 256 kB"


async def test_an_address_that_nobody_serves_is_an_error() -> None:
    async with served() as (hook, _):
        pass
    ended = await run_http_hook(replace(hook, seconds=5), b"{}", ENVIRON)
    assert (ended.exit, bool(ended.ended)) == (None, True)


async def test_a_header_that_cannot_be_sent_is_not_shown() -> None:
    async with served() as (hook, _):
        ended = await run_http_hook(hook, b"{}", {"TOKEN": "geheim\nx"})
    assert (ended.exit, "geheim" in ended.ended) == (None, False)
