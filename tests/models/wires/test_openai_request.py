"""Requests on the wire of chat completions: each is one that OpenAI's client would write."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

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
from deskmate.errors import ModelRejected
from deskmate.models.wires.openai import OpenAIModel
from deskmate.models.wires.requests.openai_request import body_parts
from tests.models.in_process_provider import HELLO, KEY, LIMITS, Provider, all_of
from tests.models.prompt_strategies import prompts
from tests.models.sdk_types import closed

pytestmark = pytest.mark.anyio

VALID = closed(CompletionCreateParamsStreaming)
# The shortest answer there is: only the question counts here.
ENOUGH = b"data: [DONE]\n\n"


def model_at(served: Provider, **more: Any) -> OpenAIModel:
    return OpenAIModel(served.client, "gpt-test", **{"key": KEY, "limits": LIMITS, **more})


PROMPT = Prompt(
    "be brief",
    (
        Told((TextBlock("hello"), TextBlock(""), TextBlock("there"))),
        Spoke(
            (
                ThinkingBlock("mine", "c2ln"),
                TextBlock("let me see"),
                CallBlock("lead:4.0", "bash", {"command": "grüße"}),
                CallBlock("call_2", "functions.läs", {}, "the arguments are not a JSON object: …"),
            )
        ),
        Told(
            (
                ResultBlock("lead:4.0", "", images=(Image("image/png", "a.png"),)),
                ResultBlock("call_2", "no such tool", ok=False),
                TextBlock("and then?"),
            )
        ),
        Spoke((CallBlock("lead:6.0", "bash", {}),)),
        Told((ResultBlock("lead:6.0", "fine"),)),
        Spoke((ThinkingBlock("nothing that can be sent"),)),
        Told((TextBlock(" "),)),
        Spoke((TextBlock("so"),)),
        Told((TextBlock("go on"),)),
    ),
    (ToolSpec("bash", "Run a command.", {"type": "object", "properties": {"command": {"type": "string"}}}),),
    {"a.png": b"\x89PNG"},
)
LEAD_4_0 = "call_a790f906eb36fb418a7b7bd80eaffa47"
LEAD_6_0 = "call_70ff30f3e6fa15925195def3ccd9955d"


def body_of(prompt: Prompt, max_tokens_key: str = "max_tokens") -> dict[str, Any]:
    body = b"".join(body_parts(prompt, "gpt-test", max_tokens=LIMITS.output, max_tokens_key=max_tokens_key))
    VALID.validate_json(body, strict=True)
    found: dict[str, Any] = json.loads(body)
    return found


def asked_for(id_: str, tool: str, arguments: str) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": tool, "arguments": arguments}}


@pytest.mark.behaviour("models")
async def test_a_prompt_is_asked_for_as_the_api_wants_it() -> None:
    provider = Provider(ENOUGH)
    await all_of(model_at(provider), PROMPT)
    (request,) = provider.asked
    assert json.loads(request.content) == {
        "model": "gpt-test",
        "max_completion_tokens": LIMITS.output,
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "bash",
                    "description": "Run a command.",
                    "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hello\n\nthere"},
            {
                "role": "assistant",
                "content": "let me see",
                "tool_calls": [
                    asked_for(LEAD_4_0, "bash", '{"command":"grüße"}'),
                    asked_for("call_2", "functions_l_s", "{}"),
                ],
            },
            {"role": "tool", "tool_call_id": LEAD_4_0, "content": "(no output)"},
            {"role": "tool", "tool_call_id": "call_2", "content": "error: no such tool"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": f"Images in the result of call {LEAD_4_0}:"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
                    {"type": "text", "text": "and then?"},
                ],
            },
            {"role": "assistant", "content": None, "tool_calls": [asked_for(LEAD_6_0, "bash", "{}")]},
            {"role": "tool", "tool_call_id": LEAD_6_0, "content": "fine"},
            {"role": "user", "content": "(nothing)"},
            {"role": "assistant", "content": "so"},
            {"role": "user", "content": "go on"},
        ],
    }


def test_images_of_the_user_follow_the_words_they_came_with() -> None:
    images = (Image("image/png", "a.png"), Image("image/webp", "gone.webp"))
    texts = (TextBlock("hello"), TextBlock("what is this?", images), TextBlock("and?"), TextBlock("quick"))
    body = body_of(Prompt("", (Told(texts),), pictures={"a.png": b"\x89PNG"}))
    assert body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "hello\n\nwhat is this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
                {"type": "text", "text": "and?\n\nquick"},
            ],
        }
    ]


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("more", "url", "authorization"),
    [
        ({}, "https://api.openai.com/v1/chat/completions", f"Bearer {KEY}"),
        ({"base_url": "http://localhost:11434/v1/"}, "http://localhost:11434/v1/chat/completions", f"Bearer {KEY}"),
        ({"key": None}, "https://api.openai.com/v1/chat/completions", None),
        ({"key": ""}, "https://api.openai.com/v1/chat/completions", None),
    ],
)
async def test_the_request_carries_the_key_if_there_is_one(
    more: dict[str, Any], url: str, authorization: str | None
) -> None:
    provider = Provider(ENOUGH)
    await all_of(model_at(provider, **more))
    (request,) = provider.asked
    assert request.url == url
    assert request.headers.get("authorization") == authorization


async def test_servers_other_than_openai_are_told_the_limit_in_the_old_word() -> None:
    provider = Provider(ENOUGH)
    await all_of(model_at(provider, base_url="https://openrouter.test/api/v1"))
    body = json.loads(provider.asked[0].content)
    assert (body["max_tokens"], "max_completion_tokens" in body) == (LIMITS.output, False)


@pytest.mark.behaviour("models")
@settings(max_examples=max(200, settings().max_examples))
@given(prompts)
def test_every_prompt_is_a_request_that_the_providers_own_client_would_send(prompt: Prompt) -> None:
    messages = body_of(prompt)["messages"]
    assert messages[-1]["role"] in ("user", "tool")
    contents = [message["content"] for message in messages if isinstance(message["content"], str)]
    assert all(content.strip() for content in contents)


@given(prompts)
def test_every_call_has_an_id_and_name_the_api_takes_and_its_result_right_after_it(prompt: Prompt) -> None:
    messages = body_of(prompt, "max_completion_tokens")["messages"]
    ids = []
    for place, message in enumerate(messages):
        asked = message.get("tool_calls", [])
        answers = messages[place + 1 : place + 1 + len(asked)]
        assert [one["id"] for one in asked] == [answer.get("tool_call_id") for answer in answers]
        assert all(re.fullmatch("[a-zA-Z0-9_-]{1,40}", one["id"]) for one in asked)
        assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", one["function"]["name"]) for one in asked)
        assert all(isinstance(json.loads(one["function"]["arguments"]), dict) for one in asked)
        ids += [one["id"] for one in asked]
    assert len(set(ids)) == len(ids)
    assert sum(message["role"] == "tool" for message in messages) == len(ids)


@pytest.mark.behaviour("models")
@given(prompts)
def test_each_request_begins_with_the_whole_of_the_one_before(prompt: Prompt) -> None:
    more = (*prompt.passages, Spoke((TextBlock("so"),)), Told((TextBlock("and?"),)))
    earlier, later = body_of(prompt), body_of(Prompt(prompt.system, more, prompt.tools, prompt.pictures))
    assert later["messages"][: len(earlier["messages"])] == earlier["messages"]
    assert {**later, "messages": []} == {**earlier, "messages": []}


def test_the_same_prompt_gives_the_same_bytes() -> None:
    bodies = {b"".join(body_parts(PROMPT, "gpt-test", max_tokens=9, max_tokens_key="max_tokens")) for _ in range(3)}
    assert len(bodies) == 1


def test_a_prompt_without_system_and_tools_leaves_them_out() -> None:
    body = body_of(Prompt(" ", HELLO.passages))
    assert ("tools" in body, [message["role"] for message in body["messages"]]) == (False, ["user"])


async def test_a_model_says_its_name_and_limits_and_whose_key_is_wrong() -> None:
    model = model_at(Provider(b"{}", status=401), provider="open-router", key_env="OPEN_ROUTER_API_KEY")
    assert (model.name, model.limits) == ("open-router:gpt-test", LIMITS)
    with pytest.raises(ModelRejected, match="OPEN_ROUTER_API_KEY"):
        await all_of(model)
