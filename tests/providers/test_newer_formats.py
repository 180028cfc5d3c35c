"""The Responses API and Gemini: the vendors' own clients and our adapters, both against the fake provider."""

import base64
import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
from google import genai
from google.genai import errors, types

from deskmate.core.prompt.prompts import (
    CallBlock,
    Image,
    Prompt,
    Reply,
    ResultBlock,
    Spoke,
    TextBlock,
    ThinkingBlock,
    Told,
    ToolSpec,
)
from deskmate.errors import ModelRejected, ModelTrouble, PromptTooLong
from deskmate.models.wires.gemini import GeminiModel
from deskmate.models.wires.http_client import new_client
from deskmate.models.wires.responses import ResponsesModel
from deskmate.ports import Model, ModelLimits
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.provider_faults import DropAfter, ErrorEvent, ErrorStatus, Fault, TooLong
from tests.providers.sdk_clients import openai_client
from tests.sample_images import png

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("models", "providers")]

STREAMED = pytest.mark.parametrize("stream", [False, True])
PNG = png()
SAY = Say("Wörter 🎈 and more", [Use("read_file", {"path": "ä"}), Use("bash", {})], thinking="hm, " * 9)
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
ARGUMENTS = [("read_file", {"path": "ä"}), ("bash", {})]

# -- OpenAI's client ------------------------------------------------------------------------------


async def ask_openai(provider: FakeProvider, *, stream: bool, given: Any = "hi", **body: Any) -> Any:
    tool: Any = {"type": "function", "name": "read_file", "parameters": SCHEMA, "strict": False}
    asked = {"model": "m", "input": given, "store": False, "tools": [tool], **body}
    async with openai_client(provider) as client:
        if not stream:
            return await client.responses.create(**asked)
        async with client.responses.stream(**asked) as streamed:
            return await streamed.get_final_response()


@STREAMED
async def test_the_openai_client_reads_thoughts_words_calls_and_usage(stream: bool) -> None:
    async with FakeProvider([SAY], fragment=3) as provider:
        response = await ask_openai(provider, stream=stream)
    thought, _, *calls = response.output
    assert (thought.summary[0].text, response.output_text, response.status) == (SAY.thinking, SAY.text, "completed")
    assert [(call.name, json.loads(call.arguments)) for call in calls] == ARGUMENTS
    (usage,) = provider.usages
    assert (response.usage.input_tokens, response.usage.output_tokens) == (usage.prompt, usage.output)
    assert provider.complaints == []


@STREAMED
async def test_the_openai_client_gives_thoughts_calls_and_pictures_back(stream: bool) -> None:
    picture = {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{coded(PNG)}"}
    async with FakeProvider([SAY, Say("done")]) as provider:
        first = await ask_openai(provider, stream=stream)
        said = [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in first.output]
        calls = [item["call_id"] for item in said if item["type"] == "function_call"]
        results: list[Any] = [{"type": "function_call_output", "call_id": id_, "output": [picture]} for id_ in calls]
        messages = [{**item, "content": bare(item["content"])} if "content" in item else item for item in said]
        second = await ask_openai(
            provider, stream=stream, given=[{"role": "user", "content": "hi"}, *messages, *results]
        )
    assert second.output_text == "done"
    assert provider.complaints == []


def bare(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the content of a message without what the client adds."""
    return [{"type": part["type"], "text": part["text"]} for part in content]


def coded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("fault", "stream", "error"),
    [
        (ErrorStatus(429), True, openai.RateLimitError),
        (ErrorStatus(401), False, openai.AuthenticationError),
        (TooLong(), True, openai.BadRequestError),
        # Its client says of an error in a stream only that the stream did not end.
        (ErrorEvent(), True, RuntimeError),
        (DropAfter(), False, openai.APIConnectionError),
    ],
)
async def test_a_fault_is_an_error_of_the_openai_client(fault: Fault, stream: bool, error: type[Exception]) -> None:
    async with FakeProvider([SAY], faults={0: fault}) as provider:
        with pytest.raises(error):
            await ask_openai(provider, stream=stream)
        assert (await ask_openai(provider, stream=stream)).output_text == SAY.text


# -- Google's client ------------------------------------------------------------------------------


async def ask_google(provider: FakeProvider, *, stream: bool, given: Any = "hi") -> types.Content:
    """Return what the model says; a streamed answer is put together here."""
    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=provider.url))
    tool = types.Tool(
        function_declarations=[types.FunctionDeclaration(name="read_file", parameters_json_schema=SCHEMA)]
    )
    off = types.AutomaticFunctionCallingConfig(disable=True)
    config = types.GenerateContentConfig(tools=[tool], max_output_tokens=99, automatic_function_calling=off)
    asked: Any = {"model": "gemini-3-pro", "contents": given, "config": config}
    answers: list[Any]
    try:
        if not stream:
            answers = [await client.aio.models.generate_content(**asked)]
        else:
            answers = [chunk async for chunk in await client.aio.models.generate_content_stream(**asked)]
    finally:
        await client.aio.aclose()
        client.close()
    (usage,) = [answer.usage_metadata for answer in answers if answer.usage_metadata.candidates_token_count]
    counted = provider.usages[-1]
    assert usage.candidates_token_count + (usage.thoughts_token_count or 0) == counted.output
    assert usage.prompt_token_count == counted.prompt
    parts = [part for answer in answers for part in answer.candidates[0].content.parts]
    return types.Content(role="model", parts=[part for part in parts if part.text or part.function_call])


@STREAMED
async def test_the_google_client_reads_thoughts_words_calls_and_usage(stream: bool) -> None:
    async with FakeProvider([SAY], fragment=3) as provider:
        content = await ask_google(provider, stream=stream)
    parts = content.parts or []
    assert "".join(part.text or "" for part in parts if part.thought) == SAY.thinking
    assert "".join(part.text or "" for part in parts if not part.thought) == SAY.text
    calls = [part.function_call for part in parts if part.function_call]
    assert [(call.name, call.args) for call in calls] == ARGUMENTS
    assert provider.complaints == []


@STREAMED
async def test_the_google_client_gives_thoughts_calls_and_pictures_back(stream: bool) -> None:
    async with FakeProvider([SAY, Say("done")]) as provider:
        first = await ask_google(provider, stream=stream)
        hi = types.Content(role="user", parts=[types.Part(text="hi")])
        calls = [part.function_call for part in first.parts or [] if part.function_call]
        answers = [
            types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response={"output": "x"}))
            for call in calls
        ]
        picture = types.Part(inline_data=types.Blob(mime_type="image/png", data=PNG))
        told = types.Content(role="user", parts=[*answers, picture])
        second = await ask_google(provider, stream=stream, given=[hi, first, told])
    assert [part.text for part in second.parts or []] == ["done"]
    assert provider.complaints == []


@pytest.mark.parametrize(("fault", "code"), [(ErrorStatus(400), 400), (ErrorStatus(403), 403), (TooLong(), 400)])
async def test_a_fault_is_an_error_of_the_google_client(fault: Fault, code: int) -> None:
    async with FakeProvider([SAY], faults={0: fault}) as provider:
        with pytest.raises(errors.ClientError) as raised:
            await ask_google(provider, stream=True)
    assert raised.value.code == code


# -- our adapters ---------------------------------------------------------------------------------

LIMITS = ModelLimits(200_000, 8_192)
MakeModel = Callable[[Any, str], Model]
ADAPTERS = pytest.mark.parametrize(
    "make",
    [
        lambda client, url: ResponsesModel(client, "m", key="k", base_url=f"{url}/v1", limits=LIMITS, effort="low"),
        lambda client, url: GeminiModel(client, "gemini-3-pro", key="k", base_url=url, limits=LIMITS, effort="low"),
        lambda client, url: GeminiModel(client, "gemini-2.5-pro", key="k", base_url=url, limits=LIMITS),
    ],
    ids=["responses", "gemini 3", "gemini 2.5"],
)
TOOLS = (ToolSpec("read_file", "Read.", SCHEMA), ToolSpec("bash", "Run.", {"type": "object"}))
HELLO = Prompt("You are alice.", (Told((TextBlock("hello"),)),), TOOLS)


async def asked(make: MakeModel, provider: FakeProvider, prompt: Prompt) -> Reply:
    async with new_client(secure=False) as client:
        *_, reply = [item async for item in make(client, provider.url).stream(prompt)]
    assert isinstance(reply, Reply)
    return reply


@ADAPTERS
async def test_a_step_with_thoughts_calls_and_pictures_goes_there_and_back(make: MakeModel) -> None:
    def script(asked: Asked) -> Say:
        return Say(f"it says {asked.results[0].text}") if asked.results else SAY

    async with FakeProvider(script, fragment=5) as provider:
        first = await asked(make, provider, HELLO)
        assert [(call.tool, call.arguments) for call in first.calls] == ARGUMENTS
        assert (first.text, first.usage) == (SAY.text, provider.usages[0])
        assert "".join(block.text for block in first.blocks if isinstance(block, ThinkingBlock)) == SAY.thinking
        provider_name = first.model.partition(":")[0]
        said = tuple(signed(block, provider_name) for block in first.blocks)
        image = Image("image/png", "a.png")
        results = tuple(ResultBlock(call.id, "hello", images=(image,)) for call in first.calls)
        again = Prompt(HELLO.system, (*HELLO.passages, Spoke(said), Told(results)), TOOLS, {"a.png": PNG})
        second = await asked(make, provider, again)
    assert second.text == "it says hello"
    assert provider.complaints == []
    # The thoughts of the first step are in the second request.
    assert any(isinstance(block, ThinkingBlock) for block in provider.requests[1].prompt.passages[1].blocks)


def signed(block: Any, provider: str) -> Any:
    if not isinstance(block, ThinkingBlock):
        return block
    return ThinkingBlock(block.text, block.signature, block.sealed, provider)


@ADAPTERS
async def test_calls_of_another_provider_are_taken(make: MakeModel) -> None:
    calls = (ThinkingBlock("x", "c2ln", signer="anthropic"), CallBlock("call_1_0", "bash", {}))
    prompt = Prompt("", (*HELLO.passages, Spoke(calls), Told((ResultBlock("call_1_0", "ok"),))), TOOLS)
    async with FakeProvider([Say("done")]) as provider:
        assert (await asked(make, provider, prompt)).text == "done"
    assert provider.complaints == []


@ADAPTERS
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (ErrorStatus(429, retry_after=1), ModelTrouble),
        (ErrorStatus(401), ModelRejected),
        (TooLong(), PromptTooLong),
        (ErrorEvent(), ModelTrouble),
        (DropAfter(200), ModelTrouble),
    ],
    ids=str,
)
async def test_a_fault_is_one_of_our_errors(make: MakeModel, fault: Fault, error: type[Exception]) -> None:
    async with FakeProvider([SAY], faults={0: fault}) as provider:
        with pytest.raises(error):
            await asked(make, provider, HELLO)
        assert (await asked(make, provider, HELLO)).text == SAY.text


@ADAPTERS
@pytest.mark.parametrize("end", ["done", "length", "refused"])
async def test_every_end_arrives(make: MakeModel, end: Any) -> None:
    async with FakeProvider([Say("so", end=end)]) as provider:
        reply = await asked(make, provider, HELLO)
    assert (reply.text, reply.end) == ("so", end)
