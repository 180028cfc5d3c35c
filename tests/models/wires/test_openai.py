"""Replies on the wire of chat completions, folded from any server's stream; OpenAI's client reads the same."""

import json
from collections.abc import Mapping
from typing import Any, cast

import openai
import pytest

from deskmate.core.prompt.compaction import estimate
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
from deskmate.models.wires.openai import OpenAIModel
from tests.models.in_process_provider import HELLO, KEY, LIMITS, Provider, all_of, reply_of

pytestmark = pytest.mark.anyio

NAME = "openai:gpt-test"
DONE = b"data: [DONE]\n\n"


def model_at(served: Provider, **more: Any) -> OpenAIModel:
    return OpenAIModel(served.client, "gpt-test", **{"key": KEY, "limits": LIMITS, **more})


# -- streams --------------------------------------------------------------------------------------


def chunk(*choices: Mapping[str, object], **fields: object) -> bytes:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test"}
    return f"data: {json.dumps({**head, 'choices': choices, **fields}, ensure_ascii=False)}\n\n".encode()


def delta(**fields: object) -> bytes:
    return chunk({"index": 0, "delta": fields, "finish_reason": None})


def call(index: int | None, id_: str | None, tool: str | None, arguments: object) -> dict[str, Any]:
    """One fragment of a call, without what is None."""
    function = {"name": tool, "arguments": arguments}
    fragment = {"index": index, "id": id_, "type": "function" if id_ else None}
    kept = {key: value for key, value in fragment.items() if value is not None}
    return {**kept, "function": {key: value for key, value in function.items() if value is not None}}


def calls(*fragments: Mapping[str, object]) -> bytes:
    return b"".join(delta(tool_calls=[fragment]) for fragment in fragments)


def ended(finish_reason: str = "stop") -> bytes:
    return chunk({"index": 0, "delta": {}, "finish_reason": finish_reason})


def used(prompt: int, completion: int, cached: int) -> bytes:
    return chunk(
        usage={
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
    )


STREAM = (
    b": OPENROUTER PROCESSING\n\n"
    + delta(role="assistant", content="", refusal=None)
    + delta(reasoning_content="look first")
    + delta(content="Ich prüfe ")
    + delta(content="das 🙂")
    + calls(
        call(0, "call_a", "read_file", ""),
        call(0, None, None, '{"pa'),
        call(1, "call_b", "glob", ""),
        call(0, None, None, 'th": "grüße.md"}'),
    )
    + ended("tool_calls")
    + used(prompt=320, completion=57, cached=300)
    + DONE
)
REPLY = Reply(
    (
        ThinkingBlock("look first"),
        TextBlock("Ich prüfe das 🙂"),
        CallBlock("call_a", "read_file", {"path": "grüße.md"}),
        CallBlock("call_b", "glob", {}),
    ),
    Usage(input=20, output=57, cache_read=300),
    model=NAME,
)
ANSWER = [
    ThinkingDelta("look first"),
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
    finished = STREAM.index(b'tool_calls"}]}') + len(b'tool_calls"}]}')
    for place in range(finished):
        with pytest.raises(ModelTrouble):
            await all_of(model_at(Provider(STREAM[:place])))
    for place in range(len(STREAM) - 2):
        with pytest.raises(ModelTrouble):
            await all_of(model_at(Provider(STREAM[:place], then=HttpFailure("reset"))))


async def test_the_providers_own_client_reads_the_same_out_of_the_stream() -> None:
    provider = Provider(STREAM, headers={"content-type": "text/event-stream"})
    client = openai.AsyncOpenAI(api_key=KEY, http_client=provider.sdk_client)
    async with client.chat.completions.stream(model="gpt-test", messages=[{"role": "user", "content": "hi"}]) as stream:
        completion = await stream.get_final_completion()
    message = completion.choices[0].message
    assert message.content == REPLY.text
    asked = [(one.id, one.function.name, json.loads(one.function.arguments or "{}")) for one in message.tool_calls]
    assert [CallBlock(*one) for one in asked] == list(REPLY.calls)
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (320, 57)


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("finish_reason", "end"),
    [("stop", "done"), ("tool_calls", "done"), ("odd", "done"), ("length", "length"), ("content_filter", "refused")],
)
async def test_the_finish_reason_says_how_a_reply_ended(finish_reason: str, end: str) -> None:
    reply = await reply_of(model_at(Provider(delta(content="so") + ended(finish_reason) + DONE)))
    assert (reply.end, reply.text) == (end, "so")


@pytest.mark.behaviour("models")
@pytest.mark.parametrize("ending", [ended(), DONE, ended() + DONE, ended() + b"data: [DONE]"])
async def test_a_finish_reason_or_a_last_word_ends_a_reply_and_usage_may_be_missing(ending: bytes) -> None:
    reply = await reply_of(model_at(Provider(delta(content="so") + ending)))
    assert (reply.blocks, reply.end, reply.model) == ((TextBlock("so"),), "done", NAME)


PATTERN = {"pattern": "*"}
TWO = (CallBlock("call_a", "glob", PATTERN), CallBlock("call_b", "glob", PATTERN))
NAMELESS = (CallBlock("call_1", "glob", PATTERN), CallBlock("call_2", "glob", PATTERN))
TWINS = (CallBlock("x", "glob", PATTERN), CallBlock("x_2", "glob", PATTERN))
BARE = (CallBlock("a", "pwd", {}), CallBlock("b", "pwd", {}))
BARER = (CallBlock("call_1", "pwd", {}), CallBlock("call_2", "pwd", {}))
WHOLE = '{"pattern": "*"}'


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        pytest.param([call(0, "call_a", "glob", WHOLE), call(1, "call_b", "glob", WHOLE)], TWO, id="one chunk each"),
        pytest.param([call(0, "call_a", "glob", WHOLE), call(0, "call_b", "glob", WHOLE)], TWO, id="always index 0"),
        pytest.param([call(None, "call_a", "glob", WHOLE), call(None, "call_b", "glob", WHOLE)], TWO, id="no index"),
        pytest.param([call(0, None, "glob", WHOLE), call(0, None, "glob", WHOLE)], NAMELESS, id="index 0, no id"),
        pytest.param([call(None, None, "glob", WHOLE), call(None, None, "glob", WHOLE)], NAMELESS, id="neither"),
        pytest.param([call(0, "a", "pwd", ""), call(0, "b", "pwd", "")], BARE, id="index 0, no arguments"),
        pytest.param([call(None, "a", "pwd", ""), call(None, "b", "pwd", "")], BARE, id="no index, no arguments"),
        pytest.param([call(None, None, "pwd", ""), call(None, None, "pwd", "")], BARER, id="nothing but names"),
        pytest.param([call(0, "", "glob", WHOLE), call(1, "", "glob", WHOLE)], NAMELESS, id="empty id"),
        pytest.param(
            [call(0, "call_a", "glob", '{"pattern"'), call(0, "call_a", "glob", ': "*"}')], TWO[:1], id="all repeated"
        ),
        pytest.param([call(0, "call_a", "glob", WHOLE), call(0, "call_a", "glob", "")], TWO[:1], id="empty tail"),
        pytest.param(
            [call(None, "call_a", "glob", '{"pattern"'), call(None, None, None, ': "*"}')], TWO[:1], id="rest"
        ),
        pytest.param([call(0, None, None, ""), call(0, "call_a", "glob", WHOLE)], TWO[:1], id="id and name come late"),
        pytest.param([call(0, "call_a", "glob", PATTERN)], TWO[:1], id="arguments as an object"),
        pytest.param([call(0, "x", "glob", WHOLE), call(1, "x", "glob", WHOLE)], TWINS, id="the same id twice"),
    ],
)
async def test_calls_are_told_apart_however_a_server_numbers_them(
    fragments: list[dict[str, Any]], expected: tuple[CallBlock, ...]
) -> None:
    apart, together = calls(*fragments), delta(tool_calls=fragments)
    for stream in (apart, together):
        assert (await reply_of(model_at(Provider(delta(content="so") + stream + ended() + DONE)))).calls == expected


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("arguments", "flaw"),
    [
        ('{"path": ', "Expecting value: line 1 column 10 (char 9)"),
        ("null", "they are of type NoneType"),
        ('{"a": Infinity}', "Infinity is not a JSON number"),
    ],
)
async def test_arguments_that_cannot_be_read_are_a_flaw_of_the_call(arguments: str, flaw: str) -> None:
    stream = calls(call(0, "call_a", "bash", arguments)) + ended("tool_calls") + DONE
    reply = await reply_of(model_at(Provider(stream)))
    (block,) = reply.calls
    assert reply.blocks == (CallBlock("call_a", "bash", {}, block.flaw),)
    assert block.flaw.endswith(flaw)


@pytest.mark.behaviour("models")
@pytest.mark.parametrize("finish_reason", ["length", "content_filter"])
@pytest.mark.parametrize("arguments", ['{"command": "rm -r', ""])
async def test_a_call_cut_in_the_middle_is_left_out(finish_reason: str, arguments: str) -> None:
    fragments = calls(call(0, "call_a", "glob", WHOLE), call(1, "call_b", "bash", arguments))
    reply = await reply_of(model_at(Provider(fragments + ended(finish_reason) + DONE)))
    assert reply.blocks == TWO[:1]


@pytest.mark.behaviour("models")
async def test_words_before_a_call_cut_in_the_middle_end_their_paragraph() -> None:
    words = delta(content="Hm. ") + calls(call(0, "call_a", "bash", '{"command": "rm -r'))
    reply = await reply_of(model_at(Provider(words + ended("length") + DONE)))
    assert reply.blocks == (TextBlock("Hm.\n\n"),)


async def test_blank_words_are_dropped_and_others_kept_as_they_are() -> None:
    blank = delta(reasoning="") + delta(content="\n\n") + ended() + DONE
    assert (await reply_of(model_at(Provider(blank)))).blocks == ()
    kept = delta(reasoning=" a") + delta(content=" b ") + ended() + DONE
    assert (await reply_of(model_at(Provider(kept)))).blocks == (ThinkingBlock(" a"), TextBlock(" b "))


async def test_thoughts_sent_under_both_names_are_heard_once() -> None:
    stream = delta(reasoning_content="hm", reasoning="hm") + ended() + DONE
    assert (await reply_of(model_at(Provider(stream)))).blocks == (ThinkingBlock("hm"),)


async def test_the_words_of_a_refusal_are_words() -> None:
    reply = await reply_of(model_at(Provider(delta(refusal="I will not") + ended() + DONE)))
    assert reply.blocks == (TextBlock("I will not"),)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 2}, Usage(input=5, output=2)),
        ({"prompt_tokens": 5, "prompt_tokens_details": None}, Usage(input=5, output=1)),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}, Usage(output=1, cache_read=5)),
        ({"prompt_tokens": "5", "completion_tokens": None}, Usage(input=5, output=1)),
        (None, Usage(input=4, output=1)),
    ],
)
async def test_usage_is_read_as_far_as_it_makes_sense(usage: object, expected: Usage) -> None:
    before = chunk(usage={"prompt_tokens": 4, "completion_tokens": 1})
    stream = delta(content="so") + ended() + before + chunk(usage=usage) + DONE
    assert (await reply_of(model_at(Provider(stream)))).usage == expected


async def test_what_is_not_known_is_skipped() -> None:
    odd = chunk(cast("Any", 7), {"index": 0}, {"index": 0, "delta": None}) + delta(
        content=["x"], tool_calls="x", novelty=1
    )
    reply = await reply_of(model_at(Provider(odd + b"event: novelty\ndata: {}\n\n" + ended() + DONE)))
    assert reply == Reply((), usage=Usage(input=estimate(HELLO.passages, HELLO.system)), model=NAME)


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"code": 502, "message": "alas"}, ModelTrouble),
        ({"code": "429", "message": "alas"}, ModelTrouble),
        ({"type": "invalid_request_error", "code": "rate_limit_exceeded", "message": "alas"}, ModelTrouble),
        ({"type": "server_error", "message": "alas"}, ModelTrouble),
        ("alas", ModelTrouble),
        ({"code": 400, "type": "BadRequestError", "message": "alas"}, ModelRejected),
        ({"type": "invalid_request_error", "code": None, "message": "alas"}, ModelRejected),
        ({"type": "invalid_request_error", "code": "invalid_api_key", "message": "alas"}, ModelRejected),
        ({"type": "invalid_request_error", "code": "context_length_exceeded", "message": "alas"}, PromptTooLong),
        ({"code": 400, "type": "exceed_context_size_error", "message": "alas"}, PromptTooLong),
    ],
)
async def test_an_error_in_the_stream_means_what_its_status_would(error: object, expected: type[ModelError]) -> None:
    provider = Provider(delta(content="so") + chunk(error=error) + DONE)
    with pytest.raises(ModelError, match="alas") as raised:
        await all_of(model_at(provider))
    assert type(raised.value) is expected
    assert [body.closed for body in provider.bodies] == [True]


async def test_an_event_that_is_no_json_is_trouble() -> None:
    with pytest.raises(ModelTrouble):
        await all_of(model_at(Provider(delta(content="so") + b'data: {"choices"\n\n' + ended() + DONE)))


async def test_a_finished_answer_is_read_to_its_end_so_that_its_connection_can_serve_again() -> None:
    provider = Provider(STREAM, b": bye\n\n")
    await all_of(model_at(provider))
    assert [(body.spent, body.closed) for body in provider.bodies] == [(True, True)]


async def test_closing_a_stream_closes_its_connection() -> None:
    provider = Provider(STREAM[:600], STREAM[600:])
    stream = model_at(provider).stream(HELLO)
    assert await anext(stream) == ANSWER[0]
    await stream.aclose()
    assert [body.closed for body in provider.bodies] == [True]
