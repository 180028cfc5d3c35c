"""The wire of the Responses API: its requests are those of OpenAI's client, which reads the same answers."""

import json
from typing import Any

import openai
import pytest
from hypothesis import given, settings
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

from deskmate.core.prompt.prompts import (
    CallBlock,
    CallDelta,
    Image,
    Prompt,
    Reply,
    ResultBlock,
    Spoke,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    Told,
    ToolSpec,
    Usage,
)
from deskmate.errors import ModelError, ModelRejected, ModelTrouble, PromptTooLong
from deskmate.models.wires.requests.responses_request import body_parts
from deskmate.models.wires.responses import ResponsesModel
from tests.models.in_process_provider import HELLO, KEY, LIMITS, Provider, all_of, reply_of
from tests.models.prompt_strategies import prompts
from tests.models.sdk_types import closed

pytestmark = pytest.mark.anyio

NAME = "openai:o9"
VALID = closed(ResponseCreateParamsStreaming)


def model_at(served: Provider, **more: Any) -> ResponsesModel:
    return ResponsesModel(served.client, "o9", **{"key": KEY, "limits": LIMITS, **more})


# -- answers --------------------------------------------------------------------------------------


def event(type_: str, **fields: Any) -> bytes:
    return f"event: {type_}\ndata: {json.dumps({'type': type_, 'sequence_number': 0, **fields})}\n\n".encode()


def added(place: int, **item: Any) -> bytes:
    return event("response.output_item.added", output_index=place, item=item)


def done(place: int, **item: Any) -> bytes:
    return event("response.output_item.done", output_index=place, item=item)


def delta(kind: str, place: int, text: str, **more: Any) -> bytes:
    return event(f"response.{kind}.delta", output_index=place, item_id="x", delta=text, **more)


THOUGHT = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "first"}]}
SAID = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
PART = {"type": "output_text", "text": "Ich prüfe", "annotations": [], "logprobs": []}
CALL = {"id": "fc_1", "type": "function_call", "call_id": "call_a", "name": "bash", "status": "completed"}
USAGE = {
    "input_tokens": 320,
    "input_tokens_details": {"cached_tokens": 300, "cache_write_tokens": 0},
    "output_tokens": 57,
    "output_tokens_details": {"reasoning_tokens": 40},
    "total_tokens": 377,
}
WHOLE = '{"command": "ls"}'
ITEMS: list[dict[str, Any]] = [
    {**THOUGHT, "encrypted_content": "gAAA="},
    {**SAID, "content": [PART]},
    {**CALL, "arguments": WHOLE},
]


def ended(status: str = "completed", output: object = (), usage: object = USAGE, **more: Any) -> bytes:
    fields = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, **more}
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "o9", "status": status}
    return event(f"response.{status}", response={**head, "output": output, "usage": usage, **fields})


BEGUN = {"id": "resp_1", "object": "response", "created_at": 1, "model": "o9", "status": "in_progress", "output": []}
STREAM = (
    event("response.created", response={**BEGUN, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []})
    + added(0, **{**THOUGHT, "summary": []})
    + event("response.reasoning_summary_part.added", output_index=0, item_id="rs_1", summary_index=0, part={})
    + delta("reasoning_summary_text", 0, "first", summary_index=0)
    + event("response.reasoning_summary_part.added", output_index=0, item_id="rs_1", summary_index=1, part={})
    + delta("reasoning_summary_text", 0, "then", summary_index=1)
    + done(0, **ITEMS[0])
    + added(1, **SAID, content=[])
    + event("response.content_part.added", output_index=1, item_id="msg_1", content_index=0, part={**PART, "text": ""})
    + delta("output_text", 1, "Ich ", content_index=0, logprobs=[])
    + delta("output_text", 1, "prüfe", content_index=0, logprobs=[])
    + done(1, **ITEMS[1])
    + added(2, **CALL, arguments="")
    + delta("function_call_arguments", 2, '{"comm')
    + delta("function_call_arguments", 2, 'and": "ls"}')
    + done(2, **ITEMS[2])
    + ended(output=ITEMS)
)
REPLY = Reply(
    (
        ThinkingBlock("first\n\nthen", "rs_1 gAAA="),
        TextBlock("Ich prüfe"),
        CallBlock("call_a", "bash", {"command": "ls"}),
    ),
    Usage(input=20, output=57, cache_read=300),
    model=NAME,
)
ANSWER = [
    ThinkingDelta("first"),
    ThinkingDelta("\n\n"),
    ThinkingDelta("then"),
    TextDelta("Ich "),
    TextDelta("prüfe"),
    CallDelta("bash"),
    REPLY,
]


@pytest.mark.behaviour("models")
async def test_a_stream_is_the_same_reply_wherever_it_is_cut() -> None:
    for place in range(0, len(STREAM) + 1, 7):
        assert await all_of(model_at(Provider(STREAM[:place], STREAM[place:]))) == ANSWER


@pytest.mark.behaviour("models")
async def test_a_stream_that_breaks_off_anywhere_is_trouble_and_never_half_a_reply() -> None:
    for place in range(0, STREAM.index(b'"type": "response.completed"'), 11):
        with pytest.raises(ModelTrouble):
            await all_of(model_at(Provider(STREAM[:place])))


async def test_the_providers_own_client_reads_the_same_out_of_the_stream() -> None:
    provider = Provider(STREAM, headers={"content-type": "text/event-stream"})
    client = openai.AsyncOpenAI(api_key=KEY, http_client=provider.sdk_client)
    async with client.responses.stream(model="o9", input="hi") as stream:
        response = await stream.get_final_response()
    assert response.output_text == REPLY.text
    thought, _, call = response.output
    assert (thought.encrypted_content, call.call_id, call.name, call.arguments) == ("gAAA=", "call_a", "bash", WHOLE)
    assert (response.usage.input_tokens, response.usage.output_tokens) == (320, 57)


async def test_items_that_are_not_streamed_are_read_whole() -> None:
    stream = b"".join(done(place, **item) for place, item in enumerate(ITEMS)) + ended()
    reply = await reply_of(model_at(Provider(stream)))
    assert reply == Reply((ThinkingBlock("first", "rs_1 gAAA="), *REPLY.blocks[1:]), REPLY.usage, model=NAME)


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("reason", "end"), [("max_output_tokens", "length"), ("content_filter", "refused"), ("odd", "done")]
)
async def test_an_incomplete_response_says_how_it_ended(reason: str, end: str) -> None:
    said = added(0, **SAID, content=[]) + delta("output_text", 0, "so")
    reply = await reply_of(
        model_at(Provider(said + ended("incomplete", incomplete_details={"reason": reason}, usage=None)))
    )
    assert (reply.end, reply.text) == (end, "so")


async def test_a_call_cut_in_the_middle_is_left_out() -> None:
    call = added(0, **CALL, arguments="") + delta("function_call_arguments", 0, '{"comm')
    reply = await reply_of(
        model_at(Provider(call + ended("incomplete", incomplete_details={"reason": "max_output_tokens"})))
    )
    assert (reply.end, reply.blocks) == ("length", ())


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        (ended("failed", error={"code": "server_error", "message": "alas"}), ModelTrouble),
        (ended("failed", error={"code": "rate_limit_exceeded", "message": "alas"}), ModelTrouble),
        (ended("failed", error={"code": "context_length_exceeded", "message": "alas"}), PromptTooLong),
        (event("error", code="invalid_request_error", message="alas", param=None), ModelRejected),
        (event("error", code=None, message="alas", param=None), ModelTrouble),
    ],
)
async def test_an_error_in_the_stream_means_what_its_status_would(failed: bytes, expected: type[ModelError]) -> None:
    with pytest.raises(ModelError, match="alas") as raised:
        await all_of(model_at(Provider(added(0, **SAID, content=[]) + failed)))
    assert type(raised.value) is expected


async def test_what_is_not_known_is_skipped() -> None:
    odd = (
        event("response.novelty") + added(0, type="web_search_call") + delta("output_text", 0, "x") + done(0, type="x")
    )
    assert (await reply_of(model_at(Provider(odd + ended())))).blocks == ()


# -- requests -------------------------------------------------------------------------------------

PROMPT = Prompt(
    "be brief",
    (
        Told((TextBlock("hello"), TextBlock(" "), TextBlock("see", (Image("image/png", "a.png"),)))),
        Spoke(
            (
                ThinkingBlock("mine", "rs_1 gAAA=", signer="openai"),
                ThinkingBlock("of another", "c2ln", signer="anthropic"),
                ThinkingBlock("for people"),
                TextBlock("let me see"),
                CallBlock("call_1_0", "bash", {"command": "grüße"}),
                CallBlock("call_1_1", "functions.läs", {}, "flaw"),
            )
        ),
        Told(
            (
                ResultBlock("call_1_0", "", images=(Image("image/png", "a.png"),)),
                ResultBlock("call_1_1", "no such tool", ok=False),
                TextBlock("and then?"),
            )
        ),
    ),
    (ToolSpec("bash", "Run a command.", {"type": "object", "properties": {"command": {"type": "string"}}}),),
    {"a.png": b"\x89PNG"},
)
IMAGE = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw=="}


def body_of(prompt: Prompt, model: str = "o9", effort: str | None = None) -> dict[str, Any]:
    body = b"".join(body_parts(prompt, model, max_tokens=99, effort=effort, provider="openai"))
    VALID.validate_json(body, strict=True)
    found: dict[str, Any] = json.loads(body)
    return found


@pytest.mark.behaviour("models", "providers")
async def test_a_prompt_is_asked_for_as_the_api_wants_it() -> None:
    provider = Provider(STREAM)
    await all_of(model_at(provider, base_url="http://here/v1/", effort="high", headers={"x-a": "b"}), PROMPT)
    (request,) = provider.asked
    assert request.url == "http://here/v1/responses"
    assert {"authorization": f"Bearer {KEY}", "x-a": "b"}.items() <= request.headers.items()
    assert json.loads(request.content) == {
        "model": "o9",
        "max_output_tokens": LIMITS.output,
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "high", "summary": "auto"},
        "instructions": "be brief",
        "tools": [
            {
                "type": "function",
                "name": "bash",
                "description": "Run a command.",
                "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
                "strict": False,
            }
        ],
        "input": [
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "hello"}, {"type": "input_text", "text": "see"}, IMAGE],
            },
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "mine"}],
                "encrypted_content": "gAAA=",
            },
            {"role": "assistant", "content": "let me see"},
            {"type": "function_call", "call_id": "call_1_0", "name": "bash", "arguments": '{"command":"grüße"}'},
            {"type": "function_call", "call_id": "call_1_1", "name": "functions_l_s", "arguments": "{}"},
            {
                "type": "function_call_output",
                "call_id": "call_1_0",
                "output": [{"type": "input_text", "text": "(no output)"}, IMAGE],
            },
            {"type": "function_call_output", "call_id": "call_1_1", "output": "error: no such tool"},
            {"role": "user", "content": [{"type": "input_text", "text": "and then?"}]},
        ],
    }


@given(prompts)
@settings(max_examples=100)
def test_every_prompt_is_a_request_that_the_providers_client_would_write(prompt: Prompt) -> None:
    body_of(prompt, effort="low")


def test_models_that_do_not_reason_are_asked_nothing_about_it() -> None:
    assert body_of(Prompt(" ", HELLO.passages), "gpt-4.1").keys() == {
        *("model", "max_output_tokens", "stream", "store", "input")
    }
