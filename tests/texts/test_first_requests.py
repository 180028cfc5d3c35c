"""The whole first request of each kind of agent, reviewed and short on every wire."""

import pytest

from deskmate.models.wires.requests import anthropic_request, openai_request
from tests.texts.first_requests import FIRST, lines
from tests.texts.golden import compare

pytestmark = pytest.mark.anyio

MOST = {"lead": 15 * 1024, "teammate": 10 * 1024, "subagent": 5 * 1024}


@pytest.mark.behaviour("prompt")
@pytest.mark.parametrize("who", FIRST)
async def test_the_first_request_is_the_one_that_was_reviewed(who: str) -> None:
    compare(f"requests/{who}", "\n".join(lines(await FIRST[who]())))


@pytest.mark.behaviour("prompt")
@pytest.mark.parametrize("who", FIRST)
async def test_the_first_request_is_short_on_both_wires(who: str) -> None:
    prompt = await FIRST[who]()
    requests = (
        anthropic_request.body_parts(prompt, "claude-sonnet-4-5", max_tokens=32_000, thinking_tokens=0),
        openai_request.body_parts(prompt, "gpt-5.5", max_tokens=32_000, max_tokens_key="max_completion_tokens"),
    )
    bodies = [b"".join(parts) for parts in requests]
    most = MOST[who.partition("-")[0]]
    assert [len(body) for body in bodies if len(body) > most] == []
