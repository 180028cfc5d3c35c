"""Requests on Anthropic's wire: each is one that its own client would write, and the next begins like it."""

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from hypothesis import given, settings

from deskmate.core.prompt.prompts import (
    CallBlock,
    Image,
    Prompt,
    ResultBlock,
    Spoke,
    TextBlock,
    ThinkingBlock,
    Told,
    ToolSpec,
)
from deskmate.errors import BadSettings
from deskmate.models.wires.anthropic import AnthropicModel
from deskmate.models.wires.requests.anthropic_request import body_parts
from tests.models.in_process_provider import HELLO, KEY, LIMITS, Provider, all_of
from tests.models.prompt_strategies import prompts
from tests.models.sdk_types import closed

pytestmark = pytest.mark.anyio

NAME = "anthropic:claude-test"
VALID = closed(MessageCreateParamsStreaming)
# The shortest answer there is: only the question counts here.
ENOUGH = b'data: {"type": "message_stop"}\n\n'


def model_at(provider: Provider, **more: Any) -> AnthropicModel:
    return AnthropicModel(provider.client, "claude-test", key=KEY, limits=LIMITS, **more)


PROMPT = Prompt(
    "be brief",
    (
        Told((TextBlock("hello"), TextBlock(""))),
        Spoke(
            (
                ThinkingBlock("mine", "c2ln"),
                ThinkingBlock("", "b3BhcXVl", sealed=True),
                ThinkingBlock("of another provider"),
                TextBlock("  "),
                CallBlock("lead:4.0", "bash", {"command": "ls"}),
                CallBlock("toolu_2", "functions.läs", {}, "the arguments are not a JSON object: …"),
            )
        ),
        Told(
            (
                TextBlock("and then?"),
                ResultBlock("lead:4.0", "", images=(Image("image/png", "a.png"),)),
                ResultBlock("toolu_2", "no such tool", ok=False),
            )
        ),
        Spoke((ThinkingBlock("nothing that can be sent"),)),
        Told((TextBlock("\ud800 \n"), TextBlock(" "))),
    ),
    (ToolSpec("bash", "Run a command.", {"type": "object", "properties": {"command": {"type": "string"}}}),),
    {"a.png": b"\x89PNG"},
)
CACHED = {"cache_control": {"type": "ephemeral"}}
LEAD_4_0 = "call_a790f906eb36fb418a7b7bd80eaffa47"


def body_of(prompt: Prompt, thinking_tokens: int = 0) -> dict[str, Any]:
    body = b"".join(body_parts(prompt, "claude-test", max_tokens=LIMITS.output, thinking_tokens=thinking_tokens))
    VALID.validate_json(body, strict=True)
    found: dict[str, Any] = json.loads(body)
    return found


def told(*content: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


@pytest.mark.behaviour("models")
async def test_a_prompt_is_asked_for_as_the_api_wants_it() -> None:
    provider = Provider(ENOUGH)
    await all_of(model_at(provider), PROMPT)
    (request,) = provider.asked
    image = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    assert json.loads(request.content) == {
        "model": "claude-test",
        "max_tokens": LIMITS.output,
        "stream": True,
        "tools": [
            {
                "name": "bash",
                "description": "Run a command.",
                "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
            }
        ],
        "system": [{"type": "text", "text": "be brief", **CACHED}],
        "messages": [
            told({"type": "text", "text": "hello"}),
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "mine", "signature": "c2ln"},
                    {"type": "redacted_thinking", "data": "b3BhcXVl"},
                    {"type": "tool_use", "id": LEAD_4_0, "name": "bash", "input": {"command": "ls"}},
                    {"type": "tool_use", "id": "toolu_2", "name": "functions_l_s", "input": {}},
                ],
            },
            told(
                {
                    "type": "tool_result",
                    "tool_use_id": LEAD_4_0,
                    "content": [{"type": "text", "text": "(no output)"}, {"type": "image", "source": image}],
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_2",
                    "content": [{"type": "text", "text": "no such tool"}],
                    "is_error": True,
                },
                {"type": "text", "text": "and then?", **CACHED},
            ),
            told({"type": "text", "text": "\ufffd \n", **CACHED}),
        ],
    }


def test_images_of_the_user_follow_the_words_they_came_with() -> None:
    images = (Image("image/png", "a.png"), Image("image/webp", "gone.webp"))
    passage = Told((TextBlock("what is this?", images), ResultBlock("toolu_1", "fine"), TextBlock("and?")))
    call = Spoke((CallBlock("toolu_1", "bash", {}),))
    body = body_of(Prompt("", (Told((TextBlock("hello"),)), call, passage), pictures={"a.png": b"\x89PNG"}))
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    assert body["messages"][-1] == told(
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "fine"}]},
        {"type": "text", "text": "what is this?"},
        {"type": "image", "source": source},
        {"type": "text", "text": "and?", **CACHED},
    )


@pytest.mark.behaviour("models")
async def test_the_request_carries_key_and_version_to_the_messages_api() -> None:
    provider = Provider(ENOUGH)
    await all_of(model_at(provider, base_url="http://localhost:9/"))
    (request,) = provider.asked
    assert request.url == "http://localhost:9/v1/messages"
    sent = {name: request.headers[name] for name in ("x-api-key", "anthropic-version", "content-type", "accept")}
    assert sent == {
        "x-api-key": KEY,
        "anthropic-version": "2026-10-21",
        "content-type": "application/json",
        "accept": "text/event-stream",
    }


@pytest.mark.behaviour("models")
@settings(max_examples=max(200, settings().max_examples))
@given(prompts)
def test_every_prompt_is_a_request_that_the_providers_own_client_would_send(prompt: Prompt) -> None:
    body = body_of(prompt)
    assert body["messages"][0]["role"] == body["messages"][-1]["role"] == "user"
    for message in body["messages"]:
        kinds = [part["type"] for part in message["content"]]
        assert kinds == sorted(kinds, key="tool_result".__ne__)
        assert all(part["text"].strip() for part in message["content"] if part["type"] == "text")
    assert json.dumps(body).count("cache_control") <= 4


@given(prompts)
def test_every_call_has_an_id_and_name_the_api_takes_and_its_result_right_after_it(prompt: Prompt) -> None:
    messages = body_of(prompt)["messages"]
    for message, following in pairwise(messages):
        calls = [part for part in message["content"] if part["type"] == "tool_use"]
        results = [part["tool_use_id"] for part in following["content"] if part["type"] == "tool_result"]
        if calls:
            assert [part["id"] for part in calls] == results
            assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", part[key]) for part in calls for key in ("id", "name"))
    ids = [part["id"] for message in messages for part in message["content"] if part["type"] == "tool_use"]
    assert len(set(ids)) == len(ids)


@pytest.mark.behaviour("models")
@given(prompts)
def test_each_request_ends_a_prefix_where_the_next_one_looks_for_it(prompt: Prompt) -> None:
    def bare(message: dict[str, Any]) -> dict[str, Any]:
        return {
            **message,
            "content": [{k: v for k, v in part.items() if k not in CACHED} for part in message["content"]],
        }

    earlier = body_of(prompt)
    later = body_of(
        Prompt(
            prompt.system,
            (*prompt.passages, Spoke((TextBlock("so"),)), Told((TextBlock("and?"),))),
            prompt.tools,
            prompt.pictures,
        )
    )
    last = len(earlier["messages"]) - 1
    assert [bare(message) for message in later["messages"][: last + 1]] == [bare(each) for each in earlier["messages"]]
    for body, places in ((earlier, [last]), (later, [last, last + 2])):
        assert all(body["messages"][place]["content"][-1].items() >= CACHED.items() for place in places)
    assert (later.get("tools"), later.get("system")) == (earlier.get("tools"), earlier.get("system"))


def test_the_same_prompt_gives_the_same_bytes() -> None:
    bodies = {b"".join(body_parts(PROMPT, "claude-test", max_tokens=9, thinking_tokens=0)) for _ in range(3)}
    assert len(bodies) == 1


@pytest.mark.behaviour("providers")
def test_thoughts_go_back_only_to_the_provider_that_signed_them() -> None:
    thoughts = tuple(ThinkingBlock(signer, "c2ln", signer=signer) for signer in ("", "anthropic", "lab"))
    prompt = Prompt("", (*HELLO.passages, Spoke((*thoughts, TextBlock("so"))), Told((TextBlock("and?"),))))

    def sent_to(provider: str) -> list[str]:
        body = b"".join(body_parts(prompt, "m", max_tokens=9, thinking_tokens=0, provider=provider))
        return [
            block["thinking"] for block in json.loads(body)["messages"][1]["content"] if block["type"] == "thinking"
        ]

    # The same conversation: what was kept for one provider is not sent to the other.
    assert {provider: sent_to(provider) for provider in ("anthropic", "lab", "gate")} == {
        "anthropic": ["", "anthropic"],
        "lab": ["", "lab"],
        "gate": [""],
    }


def test_a_prompt_without_system_and_tools_leaves_them_out() -> None:
    assert body_of(Prompt(" ", HELLO.passages)).keys() == {"model", "max_tokens", "stream", "messages"}


async def test_thinking_is_asked_for_only_where_it_is_wanted() -> None:
    provider = Provider(ENOUGH, ENOUGH)
    for tokens in (0, 2048):
        await all_of(model_at(provider, thinking_tokens=tokens))
    assert ["thinking" in json.loads(asked.content) for asked in provider.asked] == [False, True]


@pytest.mark.parametrize("tokens", [-1, 1, 1023, LIMITS.output])
def test_a_budget_the_api_would_refuse_is_refused_at_once(tokens: int) -> None:
    with pytest.raises(BadSettings):
        model_at(Provider(), thinking_tokens=tokens)


def test_a_model_says_its_name_and_limits() -> None:
    model = model_at(Provider())
    assert (model.name, model.limits) == (NAME, LIMITS)


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("claude-sonnet-4-5", {"type": "enabled", "budget_tokens": 2048}),
        ("claude-opus-4-20250514", {"type": "enabled", "budget_tokens": 2048}),
        ("claude-3-7-sonnet-20250219", {"type": "enabled", "budget_tokens": 2048}),
        ("claude-opus-4-7", {"type": "adaptive"}),
        ("claude-sonnet-5", {"type": "adaptive"}),
    ],
)
def test_only_models_that_take_a_budget_for_their_thoughts_are_given_one(model: str, thinking: dict[str, Any]) -> None:
    body = json.loads(
        b"".join(body_parts(Prompt("", (Told((TextBlock("hi"),)),)), model, max_tokens=4096, thinking_tokens=2048))
    )
    assert body["thinking"] == thinking
