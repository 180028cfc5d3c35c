"""The first request is short on every wire: every agent pays for it at each step."""

import pytest

from deskmate.core.roles import Kind
from deskmate.models import anthropic_wire, openai_wire
from tests.texts.requests import READERS, Reader

MOST = {Kind.LEAD: 15 * 1024, Kind.TEAMMATE: 10 * 1024, Kind.SUBAGENT: 5 * 1024}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_the_first_request_is_short(reader: Reader) -> None:
    prompt = reader.prompt
    bodies = (
        anthropic_wire.request_body(prompt, "claude-sonnet-4-5", max_tokens=32_000, thinking_tokens=0),
        openai_wire.request_body(prompt, "gpt-5.5", max_tokens=32_000, max_tokens_key="max_completion_tokens"),
    )
    assert [len(body) for body in bodies if len(body) > MOST[reader.kind]] == []
