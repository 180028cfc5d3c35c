"""Each fault shows up in the vendors' clients as what it is, and the next request gets the reply it cut off."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anthropic
import anyio
import httpx2
import openai
import pytest

from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.http_server import Response
from deskmate.testing.provider_faults import (
    Drop,
    DropAfter,
    ErrorEvent,
    ErrorStatus,
    Fault,
    Garbage,
    Slow,
    Stall,
    TooLong,
    damaged,
    planned,
)
from tests.providers.sdk_clients import HI, anthropic_client, ask_anthropic, ask_openai, openai_client

pytestmark = pytest.mark.anyio

Ask = Callable[..., Awaitable[Any]]
SAY = Say("some words that take a while", [Use("bash", {"command": "ls"})])
WHOLE, STREAMED = False, True


@pytest.mark.parametrize(
    ("ask", "stream", "fault", "error"),
    [
        (ask_anthropic, WHOLE, ErrorStatus(529), anthropic.OverloadedError),
        (ask_anthropic, STREAMED, ErrorStatus(429), anthropic.RateLimitError),
        (ask_anthropic, STREAMED, ErrorStatus(401), anthropic.AuthenticationError),
        (ask_anthropic, STREAMED, ErrorStatus(404), anthropic.NotFoundError),
        (ask_anthropic, STREAMED, ErrorStatus(500), anthropic.InternalServerError),
        (ask_anthropic, STREAMED, TooLong(), anthropic.BadRequestError),
        (ask_anthropic, WHOLE, Drop(), anthropic.APIConnectionError),
        (ask_anthropic, STREAMED, Drop(), anthropic.APIConnectionError),
        (ask_anthropic, WHOLE, DropAfter(), anthropic.APIConnectionError),
        (ask_anthropic, STREAMED, DropAfter(), httpx2.RemoteProtocolError),
        (ask_anthropic, STREAMED, DropAfter(0), httpx2.RemoteProtocolError),
        (ask_anthropic, STREAMED, DropAfter(100), httpx2.RemoteProtocolError),
        (ask_anthropic, STREAMED, ErrorEvent(), anthropic.APIStatusError),
        (ask_anthropic, WHOLE, ErrorEvent(), anthropic.OverloadedError),
        (ask_anthropic, WHOLE, ErrorEvent("api_error"), anthropic.InternalServerError),
        (ask_anthropic, STREAMED, Garbage(), UnicodeDecodeError),
        (ask_anthropic, STREAMED, Garbage(b"event: message_stop\ndata: {\n\n"), ValueError),
        (ask_anthropic, WHOLE, Garbage(), ValueError),
        (ask_openai, WHOLE, ErrorStatus(529), openai.InternalServerError),
        (ask_openai, STREAMED, ErrorStatus(429), openai.RateLimitError),
        (ask_openai, STREAMED, ErrorStatus(401), openai.AuthenticationError),
        (ask_openai, STREAMED, TooLong(), openai.BadRequestError),
        (ask_openai, WHOLE, Drop(), openai.APIConnectionError),
        (ask_openai, WHOLE, DropAfter(), openai.APIConnectionError),
        (ask_openai, STREAMED, DropAfter(), openai.APIConnectionError),
        (ask_openai, STREAMED, ErrorEvent(), openai.APIError),
        (ask_openai, WHOLE, ErrorEvent(), openai.InternalServerError),
        (ask_openai, STREAMED, Garbage(), UnicodeDecodeError),
    ],
)
async def test_a_fault_is_an_error_of_its_class_and_the_retry_gets_the_reply(
    ask: Ask, stream: bool, fault: Fault, error: type[Exception]
) -> None:
    async with FakeProvider([SAY], faults={0: fault}) as provider:
        with pytest.raises(error):
            await ask(provider, stream=stream)
        answer = await ask(provider, stream=stream)
    assert SAY.text in answer.model_dump_json()
    assert len(provider.requests) == 2
    assert provider.complaints == []


@pytest.mark.parametrize("ask", [ask_anthropic, ask_openai])
async def test_a_slow_answer_is_a_whole_one(ask: Ask) -> None:
    say = replace(SAY, text="Wörter 🎈 " * 9)
    async with FakeProvider([say], faults={0: Slow(pieces=50, pause_seconds=0.001)}) as provider:
        assert say.text in (await ask(provider, stream=True)).model_dump_json()


async def test_a_status_says_when_to_come_back() -> None:
    async with FakeProvider([SAY], faults={0: ErrorStatus(429, retry_after=1.5)}) as provider:
        with pytest.raises(anthropic.RateLimitError) as refused:
            await ask_anthropic(provider, stream=True)
    assert refused.value.response.headers["retry-after"] == "1.5"


async def test_a_prompt_too_long_is_told_as_each_provider_tells_it() -> None:
    async with FakeProvider([], faults=lambda _number, _asked: TooLong()) as provider:
        with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
            await ask_anthropic(provider, stream=True)
        with pytest.raises(openai.BadRequestError) as refused:
            await ask_openai(provider, stream=True)
    assert refused.value.code == "context_length_exceeded"


@pytest.mark.parametrize("part", [0, 0.5])
async def test_a_stalled_answer_is_for_the_client_to_give_up(part: float) -> None:
    async with (
        FakeProvider([SAY], faults=lambda _number, _asked: Stall(part)) as provider,
        anthropic_client(provider, timeout=0.3) as one,
        openai_client(provider, timeout=0.3) as other,
    ):
        with pytest.raises((anthropic.APITimeoutError, httpx2.ReadTimeout)):
            [event async for event in await one.messages.create(model="m", max_tokens=9, messages=HI, stream=True)]
        with pytest.raises(openai.APITimeoutError):
            [chunk async for chunk in await other.chat.completions.create(model="m", messages=HI, stream=True)]


async def test_a_stall_ends_with_the_provider() -> None:
    failed: list[Exception] = []

    async def wait(provider: FakeProvider) -> None:
        try:
            await ask_anthropic(provider, stream=True)
        except (anthropic.APIConnectionError, httpx2.RemoteProtocolError) as error:
            failed.append(error)

    stalled = anyio.Event()

    def stall(_number: int, _asked: Asked) -> Fault:
        stalled.set()
        return Stall()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks, FakeProvider([SAY], faults=stall) as provider:
            tasks.start_soon(wait, provider)
            await stalled.wait()
    assert len(failed) == 1


async def test_an_answer_that_broke_off_midway_was_paid_for_and_one_refused_at_once_was_not() -> None:
    async with FakeProvider([SAY], faults={0: ErrorStatus(500), 1: ErrorEvent()}) as provider:
        for _ in range(2):
            with pytest.raises(anthropic.APIStatusError):
                await ask_anthropic(provider, stream=True)
    assert [usage.prompt > 0 for usage in provider.usages] == [False, True]


def test_a_plan_goes_by_number_or_by_what_is_asked() -> None:
    asked = Asked(2, "openai", {}, {"model": "m"}, lambda _: pytest.fail("nobody looked"))
    assert planned({2: Drop()}, asked) == Drop()
    assert planned({1: Drop()}, asked) is None
    assert planned(lambda number, ask: ErrorStatus(number + 500) if ask.model == "m" else None, asked) == ErrorStatus(
        502
    )


WHOLE_RESPONSE = Response(200, (b"ab", b"cd", b"ef"), streamed=True)


@pytest.mark.parametrize(
    ("fault", "left"),
    [
        (DropAfter(0.5), replace(WHOLE_RESPONSE, upto=3, then="drop")),
        (DropAfter(5), replace(WHOLE_RESPONSE, upto=5, then="drop")),
        (DropAfter(9), replace(WHOLE_RESPONSE, upto=6, then="drop")),
        (Stall(0), replace(WHOLE_RESPONSE, upto=0, then="stall", head=False)),
        (Stall(1.0), replace(WHOLE_RESPONSE, upto=6, then="stall")),
        (Garbage(b"?", 0.4), replace(WHOLE_RESPONSE, pieces=(b"ab", b"?"))),
        (Slow(4, 0.1), replace(WHOLE_RESPONSE, pieces=[b"ab", b"cd", b"ef"], pause_seconds=0.1)),
        (Slow(2, 0.1), replace(WHOLE_RESPONSE, pieces=[b"abc", b"def"], pause_seconds=0.1)),
    ],
)
def test_a_fault_leaves_this_of_a_response(fault: DropAfter | Stall | Garbage | Slow, left: Response) -> None:
    assert damaged(WHOLE_RESPONSE, fault) == left
