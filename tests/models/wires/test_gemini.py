"""The wire of the Gemini API: its requests fit the types of Google's client."""

import base64
import json
from typing import Any

import pytest
from google.genai import types
from hypothesis import given, settings

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
from deskmate.models.wires.gemini import GeminiModel
from deskmate.models.wires.requests.gemini_request import body_parts
from tests.models.in_process_provider import HELLO, KEY, LIMITS, Provider, all_of, reply_of
from tests.models.prompt_strategies import prompts

pytestmark = pytest.mark.anyio

NAME = "gemini:gemini-3-pro"
SIGNATURE = base64.b64encode(b"signed").decode()


def model_at(served: Provider, **more: Any) -> GeminiModel:
    return GeminiModel(served.client, "gemini-3-pro", **{"key": KEY, "limits": LIMITS, **more})


# -- answers --------------------------------------------------------------------------------------


def chunk(*parts: dict[str, Any], end: str = "", **fields: Any) -> bytes:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    whole = {"candidates": [candidate | ({"finishReason": end} if end else {})], **fields}
    return f"data: {json.dumps(whole, ensure_ascii=False)}\r\n\r\n".encode()


USAGE = {"promptTokenCount": 320, "cachedContentTokenCount": 300, "candidatesTokenCount": 17, "thoughtsTokenCount": 40}
STREAM = (
    chunk({"text": "look ", "thought": True}, usageMetadata={"promptTokenCount": 320})
    + chunk({"text": "first", "thought": True})
    + chunk({"text": "Ich prüfe "})
    + chunk({"text": "das 🙂"})
    + chunk(
        {"functionCall": {"name": "bash", "args": {"command": "ls"}, "id": "a"}, "thoughtSignature": SIGNATURE},
        {"functionCall": {"name": "pwd"}},
    )
    + chunk({"text": ""}, end="STOP", usageMetadata=USAGE)
)
REPLY = Reply(
    (
        ThinkingBlock("look first"),
        TextBlock("Ich prüfe das 🙂"),
        ThinkingBlock("", SIGNATURE, sealed=True),
        CallBlock("a", "bash", {"command": "ls"}),
        CallBlock("call_2", "pwd", {}),
    ),
    Usage(input=20, output=57, cache_read=300),
    model=NAME,
)
ANSWER = [
    ThinkingDelta("look "),
    ThinkingDelta("first"),
    TextDelta("Ich prüfe "),
    TextDelta("das 🙂"),
    CallDelta("bash"),
    CallDelta("pwd"),
    REPLY,
]


@pytest.mark.behaviour("models")
async def test_a_stream_is_the_same_reply_wherever_it_is_cut() -> None:
    for place in range(0, len(STREAM) + 1, 5):
        assert await all_of(model_at(Provider(STREAM[:place], STREAM[place:]))) == ANSWER


@pytest.mark.behaviour("models")
async def test_a_stream_that_breaks_off_anywhere_is_trouble_and_never_half_a_reply() -> None:
    for place in range(0, STREAM.index(b"finishReason"), 7):
        with pytest.raises(ModelTrouble):
            await all_of(model_at(Provider(STREAM[:place])))


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("reason", "end"), [("STOP", "done"), ("MAX_TOKENS", "length"), ("SAFETY", "refused"), ("OTHER", "done")]
)
async def test_the_finish_reason_says_how_a_reply_ended(reason: str, end: str) -> None:
    reply = await reply_of(model_at(Provider(chunk({"text": "so"}, end=reason))))
    assert (reply.end, reply.text) == (end, "so")


async def test_a_prompt_that_is_blocked_is_refused() -> None:
    blocked = b'data: {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}}\n\n'
    reply = await reply_of(model_at(Provider(blocked)))
    assert (reply.end, reply.blocks) == ("refused", ())


async def test_a_call_that_the_server_could_not_read_is_trouble_and_asked_again() -> None:
    with pytest.raises(ModelTrouble, match="MALFORMED_FUNCTION_CALL"):
        await all_of(model_at(Provider(chunk(end="MALFORMED_FUNCTION_CALL"))))


async def test_what_is_not_known_is_skipped() -> None:
    odd = chunk({"executableCode": {"code": "1"}}, {"novelty": 1}) + b'data: {"candidates": [7]}\n\n'
    assert (await reply_of(model_at(Provider(odd + chunk(end="STOP"))))).blocks == ()


TOO_LONG = "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (429, "alas", ModelTrouble),
        (503, "alas", ModelTrouble),
        (400, "alas", ModelRejected),
        (403, "alas", ModelRejected),
        (400, TOO_LONG, PromptTooLong),
    ],
)
async def test_an_error_means_the_same_in_a_stream_and_before_it(
    status: int, message: str, expected: type[ModelError]
) -> None:
    error = json.dumps({"error": {"code": status, "message": message, "status": "ANY"}}).encode()
    providers = (
        Provider(error, status=status),
        Provider(b"[" + error + b"]", status=status),
        Provider(chunk({"text": "so"}) + b"data: " + error + b"\n\n"),
    )
    for provider in providers:
        with pytest.raises(ModelError, match=message[:9]) as raised:
            await all_of(model_at(provider))
        assert type(raised.value) is expected


# -- requests -------------------------------------------------------------------------------------

PROMPT = Prompt(
    "be brief",
    (
        Told((TextBlock("hello"), TextBlock(" "), TextBlock("see", (Image("image/png", "a.png"),)))),
        Spoke(
            (
                ThinkingBlock("for people"),
                TextBlock("let me see"),
                ThinkingBlock("", SIGNATURE, sealed=True, signer="gemini"),
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
        Spoke((ThinkingBlock("of another", "c2ln", signer="anthropic"), CallBlock("call_2_0", "bash", {}))),
        Told((ResultBlock("call_2_0", "fine"),)),
    ),
    (ToolSpec("bash", "Run a command.", {"type": "object", "properties": {"command": {"type": "string"}}}),),
    {"a.png": b"\x89PNG"},
)
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}


def body_of(prompt: Prompt, model: str = "gemini-3-pro", effort: str | None = None) -> dict[str, Any]:
    """Return a body that the types of Google's client can read, which refuse what they do not know."""
    body: dict[str, Any] = json.loads(
        b"".join(body_parts(prompt, model, max_tokens=99, effort=effort, provider="gemini"))
    )
    fields = {"maxOutputTokens", "thinkingConfig"}
    assert body["generationConfig"].keys() <= fields
    types.ThinkingConfig.model_validate(body["generationConfig"].get("thinkingConfig", {}))
    for content in [*body["contents"], body.get("systemInstruction", {})]:
        types.Content.model_validate_json(json.dumps(content))
    for tool in body.get("tools", []):
        types.Tool.model_validate(tool)
    return body


@pytest.mark.behaviour("models", "providers")
async def test_a_prompt_is_asked_for_as_the_api_wants_it() -> None:
    provider = Provider(STREAM)
    await all_of(model_at(provider, base_url="http://here/v1beta/", effort="low", headers={"x-a": "b"}), PROMPT)
    (request,) = provider.asked
    assert request.url == "http://here/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"
    assert {"x-goog-api-key": KEY, "x-a": "b"}.items() <= request.headers.items()
    assert json.loads(request.content) == {
        "generationConfig": {
            "maxOutputTokens": LIMITS.output,
            "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "LOW"},
        },
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "bash",
                        "description": "Run a command.",
                        "parametersJsonSchema": {"type": "object", "properties": {"command": {"type": "string"}}},
                    }
                ]
            }
        ],
        "contents": [
            {"role": "user", "parts": [{"text": "hello"}, {"text": "see"}, IMAGE]},
            {
                "role": "model",
                "parts": [
                    {"text": "let me see"},
                    {
                        "functionCall": {"id": "call_1_0", "name": "bash", "args": {"command": "grüße"}},
                        "thoughtSignature": SIGNATURE,
                    },
                    {"functionCall": {"id": "call_1_1", "name": "functions_l_s", "args": {}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "call_1_0", "name": "bash", "response": {"output": "(no output)"}}},
                    {
                        "functionResponse": {
                            "id": "call_1_1",
                            "name": "functions_l_s",
                            "response": {"error": "no such tool"},
                        }
                    },
                    {"text": "Images in the result of call call_1_0:"},
                    IMAGE,
                    {"text": "and then?"},
                ],
            },
            {
                "role": "model",
                "parts": [
                    {
                        "functionCall": {"id": "call_2_0", "name": "bash", "args": {}},
                        "thoughtSignature": "skip_thought_signature_validator",
                    }
                ],
            },
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "call_2_0", "name": "bash", "response": {"output": "fine"}}}],
            },
        ],
    }


@given(prompts)
@settings(max_examples=100)
def test_every_prompt_fits_the_types_of_the_providers_client(prompt: Prompt) -> None:
    body_of(prompt, effort="high")


def test_earlier_models_think_for_a_number_of_tokens_and_need_no_signature() -> None:
    body = body_of(PROMPT, "gemini-2.5-pro", "low")
    assert body["generationConfig"]["thinkingConfig"] == {"includeThoughts": True, "thinkingBudget": 1024}
    assert "skip_thought" not in json.dumps(body)
    assert body_of(Prompt(" ", HELLO.passages)).keys() == {"generationConfig", "contents"}
