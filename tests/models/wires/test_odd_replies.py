"""Answers that no provider should give, on both wires: odd counts of tokens, and floods of any kind."""

import itertools
import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from deskmate.core.prompt.compaction import estimate
from deskmate.core.prompt.prompts import TOKENS_CAP, Reply, Spoke, TextBlock, Usage
from deskmate.errors import ModelRejected
from deskmate.models.http.response_reader import ResponseHead
from deskmate.models.wires.anthropic import AnthropicModel
from deskmate.models.wires.http_client import STREAM_CAP
from deskmate.models.wires.openai import OpenAIModel
from deskmate.models.wires.reply_parts import CALLS_MOST, REPLY_CAP
from deskmate.models.wires.sse import LINES_CAP
from deskmate.models.wires.usage import read_tokens
from deskmate.ports import Model, ModelLimits
from tests.models.in_process_provider import HELLO, Body, all_of, reply_of

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("models")]

WORDS = "some words"
ASKED, ANSWERED = estimate(HELLO.passages, HELLO.system), estimate([Spoke((TextBlock(WORDS),))])
# What a provider says, and what it comes to: None where it is no number of tokens.
COUNTS: list[tuple[str, int | None]] = [
    ("7", 7),
    ("0", 0),
    ("12.7", 13),
    ("7.0", 7),
    ("1e3", 1000),
    ('"123"', 123),
    ('" 123 "', 123),
    ('"12.7"', 13),
    ("9" * 400, TOKENS_CAP),
    ("9" * 5000, TOKENS_CAP),
    ("1e308", TOKENS_CAP),
    ("1e999", TOKENS_CAP),
    ("Infinity", TOKENS_CAP),
    ('"' + "9" * 5000 + '"', TOKENS_CAP),
    ("-1", None),
    ("-0.5", None),
    ("-Infinity", None),
    ("NaN", None),
    ('"NaN"', None),
    ('"-3"', None),
    ('"many"', None),
    ('""', None),
    ("null", None),
    ("true", None),
    ("[7]", None),
    ('{"tokens": 7}', None),
]


class Served:
    """A provider that streams these pieces, which may be without end, and keeps how much of them was taken."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.taken = 0
        self.client = self
        self.body = Body(ResponseHead(200, "OK", {}, keeps=True), self._count(pieces))

    async def post(self, url: str, headers: Mapping[str, str], body: Sequence[bytes]) -> Body:
        return self.body

    def _count(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self.taken += len(piece)
            yield piece


class Anthropic:
    """What Anthropic's wire looks like."""

    @staticmethod
    def model(served: Served, name: str = "odd") -> Model:
        return AnthropicModel(served.client, name, key="sk-test-0123456789", limits=ModelLimits(200_000, 8_192))

    @staticmethod
    def event(kind: str, fields: str) -> bytes:
        return f'event: {kind}\ndata: {{"type": "{kind}", {fields}}}\n\n'.encode()

    def head(self) -> bytes:
        return self.event("message_start", '"message": {"usage": {}}') + self.opened(0, {"type": "text", "text": ""})

    def opened(self, index: int, block: dict[str, Any]) -> bytes:
        return self.event("content_block_start", f'"index": {index}, "content_block": {json.dumps(block)}')

    def delta(self, index: int, delta: dict[str, Any]) -> bytes:
        return self.event("content_block_delta", f'"index": {index}, "delta": {json.dumps(delta)}')

    def text(self, words: str) -> bytes:
        return self.delta(0, {"type": "text_delta", "text": words})

    def thought(self, words: str) -> bytes:
        block = self.opened(1, {"type": "thinking", "thinking": ""})
        return block + self.delta(1, {"type": "thinking_delta", "thinking": words})

    def signature(self, words: str) -> bytes:
        return self.opened(1, {"type": "redacted_thinking", "data": words})

    def call(self, index: int) -> bytes:
        return self.opened(index + 2, {"type": "tool_use", "id": f"c{index}", "name": "glob", "input": {}})

    def arguments(self, words: str) -> bytes:
        return self.delta(2, {"type": "input_json_delta", "partial_json": words})

    def whole_arguments(self, words: str) -> bytes:
        return self.opened(2, {"type": "tool_use", "id": "c", "name": "glob", "input": {"pattern": words}})

    def tail(self, given: str = "7", got: str = "7", cached: str = "0") -> bytes:
        counts = f'"input_tokens": {given}, "output_tokens": {got}, "cache_read_input_tokens": {cached}'
        ended = self.event("message_delta", f'"delta": {{"stop_reason": "end_turn"}}, "usage": {{{counts}}}')
        return ended + self.event("message_stop", '"x": 1')


class OpenAI:
    """What the wire of chat completions looks like."""

    @staticmethod
    def model(served: Served, name: str = "odd") -> Model:
        return OpenAIModel(served.client, name, key=None, base_url="http://x/v1", limits=ModelLimits(200_000, 8_192))

    @staticmethod
    def head() -> bytes:
        return b""

    @staticmethod
    def delta(**fields: object) -> bytes:
        return f"data: {json.dumps({'choices': [{'index': 0, 'delta': fields}]})}\n\n".encode()

    def text(self, words: str) -> bytes:
        return self.delta(content=words)

    def thought(self, words: str) -> bytes:
        return self.delta(reasoning=words)

    def signature(self, words: str) -> bytes:
        return self.delta(refusal=words)

    def call(self, index: int) -> bytes:
        function = {"name": "glob", "arguments": ""}
        return self.delta(tool_calls=[{"index": index, "id": f"c{index}", "function": function}])

    def arguments(self, words: str) -> bytes:
        return self.delta(tool_calls=[{"index": 0, "function": {"arguments": words}}])

    def whole_arguments(self, words: str) -> bytes:
        function = {"name": "glob", "arguments": {"pattern": words}}
        return self.delta(tool_calls=[{"index": 0, "id": "c", "function": function}])

    def tail(self, given: str = "7", got: str = "7", cached: str = "0") -> bytes:
        details = f'"prompt_tokens_details": {{"cached_tokens": {cached}}}'
        usage = f'"prompt_tokens": {given}, "completion_tokens": {got}, {details}'
        ended = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
        return ended + f'data: {{"choices": [], "usage": {{{usage}}}}}\n\ndata: [DONE]\n\n'.encode()


WIRES = pytest.mark.parametrize("wire", [Anthropic(), OpenAI()], ids=["anthropic", "openai"])


async def answer(wire: Anthropic | OpenAI, tail: bytes, name: str = "odd") -> Reply:
    reply = await reply_of(wire.model(Served([wire.head() + wire.text(WORDS), tail]), name))
    assert reply.text == WORDS
    return reply


# -- counts -----------------------------------------------------------------------------------------


@WIRES
@pytest.mark.parametrize(("said", "tokens"), COUNTS, ids=[said[:20] for said, _ in COUNTS])
async def test_an_odd_count_of_the_output_counts_or_is_estimated(
    wire: Anthropic | OpenAI, said: str, tokens: int | None
) -> None:
    reply = await answer(wire, wire.tail(got=said))
    assert reply.usage == Usage(input=7, output=ANSWERED if tokens is None else tokens)


@WIRES
@pytest.mark.parametrize(("said", "tokens"), COUNTS, ids=[said[:20] for said, _ in COUNTS])
async def test_an_odd_count_of_the_input_counts_or_is_estimated(
    wire: Anthropic | OpenAI, said: str, tokens: int | None
) -> None:
    reply = await answer(wire, wire.tail(given=said))
    assert reply.usage == Usage(input=ASKED if tokens is None else tokens, output=7)


@WIRES
@pytest.mark.parametrize("said", [said for said, tokens in COUNTS if tokens is None and said != "null"])
async def test_an_unreadable_count_of_what_was_cached_makes_the_input_an_estimate(
    wire: Anthropic | OpenAI, said: str
) -> None:
    assert (await answer(wire, wire.tail(cached=said))).usage == Usage(input=ASKED, output=7)


@WIRES
async def test_that_tokens_are_estimated_is_said_once_for_each_model(
    wire: Anthropic | OpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            await answer(wire, wire.tail(got="true", given="[]"), name="once")
        await answer(wire, wire.tail(), name="never")
    (record,) = caplog.records
    assert ":once does not report usable token counts" in record.getMessage()


@pytest.mark.parametrize("value", [2**70, 10**400, 1e400, "1" * 10_000, TOKENS_CAP + 0.5])
def test_no_count_is_above_the_cap(value: object) -> None:
    assert read_tokens(value) == TOKENS_CAP


# -- floods -----------------------------------------------------------------------------------------


def endless(wire: Anthropic | OpenAI, kind: str) -> Iterator[bytes]:
    """Yield an answer without end."""
    yield wire.head()
    words = "word " * 4_000
    for number in itertools.count():
        match kind:
            case "text":
                yield wire.text(words)
            case "thoughts":
                yield wire.thought(words)
            case "signatures":
                yield wire.signature(words)
            case "arguments":
                yield (wire.call(0) if number == 0 else b"") + wire.arguments(words)
            case "whole arguments":
                yield wire.whole_arguments(words)
            case "calls":
                yield wire.call(number)
            case "events":
                yield b'event: novelty\ndata: {"novelty": "' + words.encode() + b'"}\n\n'
            case "comments":
                yield b": " + words.encode() + b"\n"
            case "empty lines":
                yield b"\n" * 20_000
            case _:
                raise AssertionError(kind)


LARGE = f"gave an answer of more than {REPLY_CAP:,} characters"
LONG = f"sent more than {STREAM_CAP >> 20} MB for one answer"
FLOODS = {
    "text": LARGE,
    "thoughts": LARGE,
    "signatures": LARGE,
    "arguments": LARGE,
    "whole arguments": LARGE,
    "calls": f"asked for more than {CALLS_MOST:,} calls in one answer",
    "events": LONG,
    "comments": LONG,
    "empty lines": f"more than {LINES_CAP:,} lines",
}


@WIRES
@pytest.mark.parametrize("kind", list(FLOODS))
async def test_an_answer_without_end_is_not_heard_for_ever(wire: Anthropic | OpenAI, kind: str) -> None:
    served = Served(endless(wire, kind))
    with pytest.raises(ModelRejected, match=FLOODS[kind]):
        await all_of(wire.model(served))
    assert (served.body.closed, served.taken < STREAM_CAP + 2**20) == (True, True)


@WIRES
async def test_a_finished_answer_is_kept_though_a_flood_follows_it(wire: Anthropic | OpenAI) -> None:
    flood = itertools.chain([wire.head() + wire.text(WORDS), wire.tail()], itertools.repeat(b": x\n" * 100_000))
    assert (await reply_of(wire.model(Served(flood)))).text == WORDS


@WIRES
async def test_the_largest_answer_of_any_model_is_heard(wire: Anthropic | OpenAI) -> None:
    # A token at a time, as many as the largest models give, each in an event of its own.
    parts = [wire.text("word ") * 1_000 for _ in range(128)]
    reply = await reply_of(wire.model(Served([wire.head(), *parts, wire.tail()])))
    assert len(reply.text) == 5 * 128_000
