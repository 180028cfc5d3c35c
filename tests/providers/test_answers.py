"""The vendors' own clients read what a script says, streamed or not, and the provider notes what they asked."""

import json
from typing import Any

import anthropic
import openai
import pytest

from deskmate.core.prompt.prompts import Usage
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.formats.anthropic_format import sealed, signature
from deskmate.testing.provider_faults import ErrorStatus
from tests.providers.sdk_clients import HI, anthropic_client, ask_anthropic, ask_openai, openai_client

pytestmark = pytest.mark.anyio

STREAMED = pytest.mark.parametrize("stream", [False, True])
SAY = Say("Wörter 🎈 and more", [Use("read_file", {"path": "ä"}), Use("bash", {})], thinking="hm, " * 9)


@STREAMED
async def test_the_anthropic_client_reads_thoughts_words_calls_and_usage(stream: bool) -> None:
    async with FakeProvider([SAY], fragment=3) as provider:
        message = await ask_anthropic(provider, stream=stream)
    thoughts, words, *calls = message.content
    assert (thoughts.type, thoughts.thinking, thoughts.signature) == ("thinking", SAY.thinking, signature(SAY.thinking))
    assert (words.type, words.text) == ("text", SAY.text)
    assert [(call.type, call.name, call.input) for call in calls] == [
        ("tool_use", "read_file", {"path": "ä"}),
        ("tool_use", "bash", {}),
    ]
    assert len({call.id for call in calls}) == 2
    assert (message.stop_reason, message.model, message.role) == ("tool_use", "m", "assistant")
    assert provider.usages == [_anthropic_usage(message)]
    assert provider.complaints == []


def _anthropic_usage(message: anthropic.types.Message) -> Usage:
    usage: Any = message.usage
    return Usage(
        usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    )


@STREAMED
async def test_the_openai_client_reads_thoughts_words_calls_and_usage(stream: bool) -> None:
    async with FakeProvider([SAY], fragment=3) as provider:
        completion = await ask_openai(provider, stream=stream)
    [choice] = completion.choices
    message = choice.message
    assert (message.role, message.content, choice.finish_reason) == ("assistant", SAY.text, "tool_calls")
    assert (message.model_extra or {})["reasoning_content"] == SAY.thinking
    assert [(call.type, call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls] == [
        ("function", "read_file", {"path": "ä"}),
        ("function", "bash", {}),
    ]
    assert len({call.id for call in message.tool_calls}) == 2
    assert provider.usages == [_openai_usage(completion)]
    assert provider.complaints == []


def _openai_usage(completion: openai.types.chat.ChatCompletion) -> Usage:
    usage: Any = completion.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    cached = usage.prompt_tokens_details.cached_tokens
    return Usage(usage.prompt_tokens - cached, usage.completion_tokens, cached)


@STREAMED
@pytest.mark.parametrize(
    ("say", "anthropic_end", "openai_end"),
    [
        (Say("done"), "end_turn", "stop"),
        (Say("cut off in the", end="length"), "max_tokens", "length"),
        (Say("I", end="refused"), "refusal", "content_filter"),
        (Say(), "end_turn", "stop"),
    ],
)
async def test_every_end_has_its_name(stream: bool, say: Say, anthropic_end: str, openai_end: str) -> None:
    async with FakeProvider([say, say]) as provider, openai_client(provider) as client:
        message = await ask_anthropic(provider, stream=stream)
        completed = await _completed(client, stream)
    assert "".join(block.text for block in message.content) == say.text
    assert (message.stop_reason, completed) == (anthropic_end, (say.text, openai_end))


async def _completed(client: openai.AsyncOpenAI, stream: bool) -> tuple[str | None, Any]:
    if not stream:
        [choice] = (await client.chat.completions.create(model="m", messages=HI)).choices
        return choice.message.content, choice.finish_reason
    chunks = [chunk async for chunk in await client.chat.completions.create(model="m", messages=HI, stream=True)]
    assert not any("usage" in chunk.model_fields_set for chunk in chunks)
    choices = [choice for chunk in chunks for choice in chunk.choices]
    return "".join(choice.delta.content or "" for choice in choices), choices[-1].finish_reason


@STREAMED
async def test_sealed_thoughts_stay_a_secret(stream: bool) -> None:
    async with FakeProvider([Say("ok", thinking="plan", sealed=True)] * 2) as provider:
        message = await ask_anthropic(provider, stream=stream)
        completion = await ask_openai(provider, stream=stream)
    assert [block.type for block in message.content] == ["redacted_thinking", "text"]
    assert message.content[0].data == sealed("plan")
    assert "reasoning_content" not in (completion.choices[0].message.model_extra or {})


async def test_a_stream_of_anthropic_has_the_events_of_the_real_one() -> None:
    async with (
        FakeProvider([Say("word", [Use("bash", {"a": 1})], thinking="t")], fragment=4) as provider,
        anthropic_client(provider) as client,
    ):
        stream = await client.messages.create(model="m", max_tokens=9, messages=HI, stream=True)
        kinds = [event.delta.type if event.type == "content_block_delta" else event.type async for event in stream]
    block = ["content_block_start", "content_block_stop"]
    assert kinds == [
        "message_start",
        *[block[0], "thinking_delta", "signature_delta", block[1]],
        *[block[0], "text_delta", block[1]],
        *[block[0], "input_json_delta", "input_json_delta", "input_json_delta", block[1]],
        "message_delta",
        "message_stop",
    ]


async def test_a_call_may_have_broken_arguments_an_unknown_tool_and_an_id_used_before() -> None:
    calls = [Use("write_file", raw='{"path": "a', id="same"), Use("no_such_tool", raw="[]", id="same")]
    async with FakeProvider([Say(calls=calls, end="length")] * 3) as provider:
        message = await ask_anthropic(provider, stream=False)
        completion = await ask_openai(provider, stream=False)
        async with anthropic_client(provider) as client:
            stream = await client.messages.create(model="m", max_tokens=9, messages=HI, stream=True)
            raw = [event.delta.partial_json async for event in stream if event.type == "content_block_delta"]
    assert [(block.id, block.name, block.input) for block in message.content] == [
        ("same", "write_file", {}),
        ("same", "no_such_tool", []),
    ]
    assert [(call.id, call.function.arguments) for call in completion.choices[0].message.tool_calls] == [
        ("same", '{"path": "a'),
        ("same", "[]"),
    ]
    assert "".join(raw) == '{"path": "a[]'


async def test_what_was_asked_is_kept_in_order() -> None:
    async with FakeProvider([Say("a"), Say("b")]) as provider:
        await ask_anthropic(provider, stream=False, system="be brief")
        await ask_openai(provider, stream=True)
    assert [(asked.number, asked.format, asked.model, asked.texts) for asked in provider.requests] == [
        (0, "anthropic", "m", ("hi",)),
        (1, "openai", "m", ("hi",)),
    ]
    first, second = provider.requests
    assert first.body == {"model": "m", "max_tokens": 100, "messages": HI, "system": "be brief"}
    assert first.headers["content-type"] == "application/json"
    assert second.body["stream_options"] == {"include_usage": True}


async def test_a_whole_step_goes_there_and_back_without_a_complaint() -> None:
    def script(asked: Asked) -> Say:
        if asked.results:
            return Say(f"it says {asked.results[0].text}")
        return Say("Reading.", [Use(asked.tools[0], {"path": "a"})], thinking="which?")

    tool: Any = {"name": "read_file", "input_schema": {"type": "object"}}
    async with FakeProvider(script) as provider:
        first = await ask_anthropic(provider, stream=True, tools=[tool])
        result = {"type": "tool_result", "tool_use_id": first.content[-1].id, "content": "hello"}
        messages = [*HI, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
        second = await ask_anthropic(provider, stream=True, tools=[tool], messages=messages)
    assert [block.text for block in second.content] == ["it says hello"]
    assert provider.complaints == []


async def test_a_conversation_with_a_flaw_is_refused_and_noted() -> None:
    flaw = "messages.0: roles must alternate and begin with user, so this must be user"
    async with FakeProvider([Say("never said")]) as provider:
        with pytest.raises(anthropic.BadRequestError) as refused:
            await ask_anthropic(provider, stream=True, messages=[{"role": "assistant", "content": "I"}])
        with pytest.raises(openai.BadRequestError):
            await ask_openai(provider, stream=False, messages=[{"role": "user", "content": ""}])
    assert refused.value.body == {"type": "error", "error": {"type": "invalid_request_error", "message": flaw}}
    assert provider.complaints == [
        f"request 0: {flaw}",
        "request 1: messages.0: the content must be a text that is not empty or a list of at least one part",
    ]


async def test_a_script_with_nothing_left_is_an_error_and_noted() -> None:
    async with FakeProvider([]) as provider:
        with pytest.raises(anthropic.BadRequestError):
            await ask_anthropic(provider, stream=False)
        with pytest.raises(openai.BadRequestError):
            await ask_openai(provider, stream=True)
    ended = "the script has no reply left after 0; add what this request should get"
    assert provider.complaints == [f"request 0: {ended}", f"request 1: {ended}"]


async def test_what_a_script_raises_is_printed_answered_and_raised_when_the_provider_closes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def script(asked: Asked) -> Say:
        raise LookupError(asked.model)

    provider = await FakeProvider(script).__aenter__()
    with pytest.raises(anthropic.BadRequestError):
        await ask_anthropic(provider, stream=False)
    assert "LookupError" in capsys.readouterr().err
    with pytest.raises(LookupError):
        await provider.__aexit__(None, None, None)


async def test_the_usage_tells_what_was_read_from_the_cache_and_the_ideal_what_could_have_been() -> None:
    system = [{"type": "text", "text": "You are alice. " + "x" * 4000, "cache_control": {"type": "ephemeral"}}]
    hi = [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]
    bob = [{"type": "text", "text": "You are bob."}]
    script = {"alice": [Say("a")] * 2, "bob": [Say("b")]}
    async with FakeProvider(script) as provider:
        await ask_anthropic(provider, stream=False, system=system)
        await ask_anthropic(provider, stream=False, system=bob)
        message = await ask_anthropic(provider, stream=True, system=system, messages=[{"role": "user", "content": hi}])
    first, _, third = provider.usages
    assert [provider.ideal_cache_read(number) for number in range(3)] == [0, 0, first.prompt]
    assert (first.cache_read, third.cache_read) == (0, first.cache_write)
    assert message.usage.cache_read_input_tokens == first.cache_write > 1000
    assert third.cache_write == third.prompt - third.cache_read


async def test_the_ideal_is_the_last_prompt_that_was_let_through() -> None:
    async with FakeProvider([Say("a"), Say("b")], faults={1: ErrorStatus(529)}) as provider:
        await ask_anthropic(provider, stream=False)
        with pytest.raises(anthropic.OverloadedError):
            await ask_anthropic(provider, stream=False)
        await ask_anthropic(provider, stream=False)
    prompt = provider.usages[0].prompt
    assert [provider.ideal_cache_read(number) for number in range(3)] == [0, prompt, prompt]
