"""Replies on Anthropic's wire, folded from any stream; its own client reads the same out of it."""

import json
from collections.abc import Mapping
from typing import Any

import anthropic
import pytest

from deskmate.core.prompt.prompts import (
    CallBlock,
    CallDelta,
    Reply,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    Usage,
)
from deskmate.errors import ModelError, ModelRejected, ModelTrouble, PromptTooLong
from deskmate.models.http.http_failures import HttpFailure
from deskmate.models.wires.anthropic import AnthropicModel
from tests.models.in_process_provider import HELLO, KEY, LIMITS, Provider, all_of, reply_of

pytestmark = pytest.mark.anyio

NAME = "anthropic:claude-test"


def model_at(provider: Provider, **more: Any) -> AnthropicModel:
    return AnthropicModel(provider.client, "claude-test", key=KEY, limits=LIMITS, **more)


# -- streams --------------------------------------------------------------------------------------


def event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n".encode()


def began(**usage: int) -> bytes:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test", "content": []}
    counted = {"input_tokens": 0, "output_tokens": 1, **usage}
    return event("message_start", message={**message, "stop_reason": None, "stop_sequence": None, "usage": counted})


def block(index: int, content: Mapping[str, object], *deltas: Mapping[str, object]) -> bytes:
    middle = b"".join(event("content_block_delta", index=index, delta=delta) for delta in deltas)
    opened = event("content_block_start", index=index, content_block=content)
    return opened + middle + event("content_block_stop", index=index)


def text(index: int, *parts: str) -> bytes:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": part} for part in parts))


def call(index: int, id_: str, tool: str, *parts: str) -> bytes:
    content = {"type": "tool_use", "id": id_, "name": tool, "input": {}}
    return block(index, content, *({"type": "input_json_delta", "partial_json": part} for part in parts))


def ended(stop_reason: str = "end_turn", **usage: int) -> bytes:
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    return event("message_delta", delta=delta, usage={"output_tokens": 9, **usage}) + event("message_stop")


STREAM = (
    began(input_tokens=12, cache_read_input_tokens=300, cache_creation_input_tokens=40)
    + event("ping")
    + block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "look "},
        {"type": "thinking_delta", "thinking": "first"},
        {"type": "signature_delta", "signature": "c2ln"},
    )
    + text(1, "Ich prüfe ", "das 🙂")
    + call(2, "toolu_1", "read_file", "", '{"pa', 'th": "grü', 'ße.md"}')
    + call(3, "toolu_2", "glob", "")
    + ended("tool_use", output_tokens=57)
)
REPLY = Reply(
    (
        ThinkingBlock("look first", "c2ln"),
        TextBlock("Ich prüfe das 🙂"),
        CallBlock("toolu_1", "read_file", {"path": "grüße.md"}),
        CallBlock("toolu_2", "glob", {}),
    ),
    Usage(input=12, output=57, cache_read=300, cache_write=40),
    model=NAME,
)
ANSWER = [
    ThinkingDelta("look "),
    ThinkingDelta("first"),
    TextDelta("Ich prüfe "),
    TextDelta("das 🙂"),
    CallDelta("read_file"),
    CallDelta("glob"),
    REPLY,
]


# -- replies --------------------------------------------------------------------------------------


@pytest.mark.behaviour("models")
async def test_a_stream_is_the_same_reply_wherever_it_is_cut() -> None:
    for place in range(len(STREAM) + 1):
        assert await all_of(model_at(Provider(STREAM[:place], STREAM[place:]))) == ANSWER
    assert await all_of(model_at(Provider(*(bytes([byte]) for byte in STREAM)))) == ANSWER


@pytest.mark.behaviour("models")
async def test_a_stream_that_breaks_off_anywhere_is_trouble_and_never_half_a_reply() -> None:
    whole = STREAM.rindex(b"}") + 1
    for place in range(whole):
        with pytest.raises(ModelTrouble):
            await all_of(model_at(Provider(STREAM[:place])))
        with pytest.raises(ModelTrouble):
            await all_of(model_at(Provider(STREAM[:place], then=HttpFailure("reset"))))
    assert await reply_of(model_at(Provider(STREAM[:whole]))) == REPLY


async def test_the_providers_own_client_reads_the_same_out_of_the_stream() -> None:
    provider = Provider(STREAM, headers={"content-type": "text/event-stream"})
    client = anthropic.AsyncAnthropic(api_key=KEY, http_client=provider.sdk_client)
    asked: list[anthropic.types.MessageParam] = [{"role": "user", "content": "hello"}]
    async with client.messages.stream(max_tokens=9, model="claude-test", messages=asked) as stream:
        message = await stream.get_final_message()
    thought, said, *calls = message.content
    assert (thought.thinking, thought.signature, said.text) == ("look first", "c2ln", REPLY.text)
    assert [CallBlock(one.id, one.name, one.input) for one in calls] == list(REPLY.calls)
    assert (message.usage.input_tokens, message.usage.output_tokens) == (REPLY.usage.input, REPLY.usage.output)


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("stop_reason", "end"),
    [
        ("end_turn", "done"),
        ("tool_use", "done"),
        ("pause_turn", "done"),
        ("something_new", "done"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refused"),
    ],
)
async def test_the_stop_reason_says_how_a_reply_ended(stop_reason: str, end: str) -> None:
    reply = await reply_of(model_at(Provider(began() + text(0, "so") + ended(stop_reason))))
    assert (reply.end, reply.text) == (end, "so")


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("arguments", "flaw"),
    [
        ('{"path": ', "Expecting value: line 1 column 10 (char 9)"),
        ('["a"]', "they are of type list"),
        ('"a"', "they are of type str"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": 1e999}', "1e999 is too large"),
    ],
)
async def test_arguments_that_cannot_be_read_are_a_flaw_of_the_call(arguments: str, flaw: str) -> None:
    reply = await reply_of(model_at(Provider(began() + call(0, "toolu_1", "bash", arguments) + ended("tool_use"))))
    (block_,) = reply.calls
    assert reply.blocks == (CallBlock("toolu_1", "bash", {}, block_.flaw),)
    assert block_.flaw.endswith(flaw)


async def test_arguments_nested_beyond_all_reason_are_a_flaw_too() -> None:
    stream = began() + call(0, "toolu_1", "bash", '{"a":' * 100_000) + ended()
    (block_,) = (await reply_of(model_at(Provider(stream)))).calls
    assert block_.arguments == {}
    assert "JSON object" in block_.flaw


@pytest.mark.behaviour("models")
@pytest.mark.parametrize("stop_reason", ["max_tokens", "refusal"])
@pytest.mark.parametrize("arguments", ['{"command": "rm -r', ""])
async def test_a_call_cut_in_the_middle_is_left_out(stop_reason: str, arguments: str) -> None:
    whole, half = call(0, "toolu_1", "glob", '{"pattern": "*"}'), call(1, "toolu_2", "bash", arguments)
    reply = await reply_of(model_at(Provider(began() + whole + half + ended(stop_reason))))
    assert reply.blocks == (CallBlock("toolu_1", "glob", {"pattern": "*"}),)


async def test_duplicate_and_missing_ids_are_made_unique() -> None:
    calls = b"".join(call(index, id_, "glob", "{}") for index, id_ in enumerate(["a_3", "a", "a", "", "", "a_3"]))
    reply = await reply_of(model_at(Provider(began() + calls + ended())))
    assert [one.id for one in reply.calls] == ["a_3", "a", "a_3_3", "call_4", "call_5", "a_3_6"]


async def test_blocks_that_say_nothing_are_dropped() -> None:
    empty = block(2, {"type": "thinking", "thinking": "", "signature": ""})
    reply = await reply_of(model_at(Provider(began() + text(0) + text(1, "\n\n") + empty + ended())))
    assert reply == Reply((), Usage(output=9), model=NAME)


@pytest.mark.behaviour("models")
async def test_thoughts_the_provider_keeps_to_itself_are_kept_for_it() -> None:
    sealed = block(0, {"type": "redacted_thinking", "data": "b3BhcXVl"})
    unread = block(1, {"type": "thinking", "thinking": ""}, {"type": "signature_delta", "signature": "c2ln"})
    reply = await reply_of(model_at(Provider(began() + sealed + unread + ended())))
    assert reply.blocks == (ThinkingBlock("", "b3BhcXVl", sealed=True), ThinkingBlock("", "c2ln"))


async def test_what_stands_in_the_beginning_of_a_block_is_not_lost() -> None:
    said = block(0, {"type": "text", "text": "He"}, {"type": "text_delta", "text": "llo"})
    asked = block(1, {"type": "tool_use", "id": "toolu_1", "name": "glob", "input": {"pattern": "*"}})
    reply = await reply_of(model_at(Provider(began() + said + asked + ended())))
    assert reply.blocks == (TextBlock("Hello"), CallBlock("toolu_1", "glob", {"pattern": "*"}))


async def test_what_is_not_known_is_skipped() -> None:
    unknown = (
        event("novelty", index=0)
        + block(7, {"type": "server_tool_use", "id": "x"}, {"type": "input_json_delta", "partial_json": "{}"})
        + event("content_block_delta", index=99, delta={"type": "text_delta", "text": "nowhere"})
        + block(0, {"type": "text", "text": ""}, {"type": "citations_delta", "citation": {}})
        + event("content_block_delta", index=0, delta="odd")
        + event("content_block_start", content_block=None)
    )
    reply = await reply_of(model_at(Provider(began() + unknown + text(1, "so") + ended())))
    assert reply.blocks == (TextBlock("so"),)


async def test_the_last_figures_of_usage_count_and_what_is_left_out_stands() -> None:
    stream = began(input_tokens=5, cache_read_input_tokens=7) + ended(input_tokens=6, output_tokens=3)
    assert (await reply_of(model_at(Provider(stream)))).usage == Usage(input=6, output=3, cache_read=7)


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("overloaded_error", "Overloaded", ModelTrouble),
        ("api_error", "Internal", ModelTrouble),
        ("rate_limit_error", "Slow down", ModelTrouble),
        ("timeout_error", "Too slow", ModelTrouble),
        ("something_new", "Odd", ModelTrouble),
        ("invalid_request_error", "max_tokens is odd", ModelRejected),
        ("invalid_request_error", "prompt is too long: 3 > 2", PromptTooLong),
        ("request_too_large", "32 MB", PromptTooLong),
        ("authentication_error", "who are you", ModelRejected),
        ("permission_error", "not you", ModelRejected),
        ("not_found_error", "no such model", ModelRejected),
    ],
)
async def test_an_error_in_the_stream_means_what_its_status_would(
    kind: str, message: str, expected: type[ModelError]
) -> None:
    provider = Provider(began() + text(0, "so") + event("error", error={"type": kind, "message": message}))
    with pytest.raises(ModelError, match=message) as raised:
        await all_of(model_at(provider))
    assert type(raised.value) is expected
    assert [body.closed for body in provider.bodies] == [True]


async def test_an_error_that_says_nothing_is_trouble() -> None:
    with pytest.raises(ModelTrouble):
        await all_of(model_at(Provider(began() + event("error"))))


async def test_a_finished_answer_is_read_to_its_end_so_that_its_connection_can_serve_again() -> None:
    provider = Provider(STREAM, b": bye\n\n")
    await all_of(model_at(provider))
    assert [(body.spent, body.closed) for body in provider.bodies] == [(True, True)]


async def test_closing_a_stream_closes_its_connection() -> None:
    provider = Provider(STREAM[:900], STREAM[900:])
    stream = model_at(provider).stream(HELLO)
    assert await anext(stream) == ANSWER[0]
    await stream.aclose()
    assert [body.closed for body in provider.bodies] == [True]
