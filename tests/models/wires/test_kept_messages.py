"""Requests that are put together from what was kept equal requests written from scratch, whatever happens between."""

import base64
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from deskmate.core.prompt.compaction import halved
from deskmate.core.prompt.prompts import (
    CallBlock,
    ConversationCache,
    Image,
    Passage,
    Prompt,
    ResultBlock,
    Spoke,
    TextBlock,
    Told,
    ToolSpec,
)
from deskmate.core.prompt.rendering import Rendered
from deskmate.models.wires.requests import anthropic_request, openai_request
from tests.core.random_histories import history

HISTORIES = 10_000 if os.environ.get("DESKMATE_SOAK") == "1" else 150
TOOLS = tuple(ToolSpec(name, f"Use {name}.", {"type": "object"}) for name in ("bash", "edit", "read_file"))
PICTURE = Image("image/png", "a.png")

Write = Callable[[Prompt], bytes]


def by_anthropic(prompt: Prompt) -> bytes:
    return b"".join(anthropic_request.body_parts(prompt, "claude-test", max_tokens=9, thinking_tokens=0))


def by_openai(prompt: Prompt) -> bytes:
    return b"".join(openai_request.body_parts(prompt, "gpt-test", max_tokens=9, max_tokens_key="max_tokens"))


WIRES: tuple[Write, ...] = (by_anthropic, by_openai)
on_each_wire = pytest.mark.parametrize("write", WIRES)


def from_scratch(prompt: Prompt) -> Prompt:
    return replace(prompt, cache=ConversationCache())


def conversation(seed: int) -> Iterator[Prompt]:
    """Yield the prompts of a random life: now and then with other tools, other pictures, or cut to its newer half."""
    entries, name = history(seed)
    chance, cache, rendered = random.Random(seed), ConversationCache(), Rendered(name)
    tools, pictures = TOOLS, {PICTURE.blob: b"\x89PNG"}
    for number, entry in entries:
        rendered.add(number, entry)
        if chance.random() < 0.1:
            tools = tuple(tool for tool in TOOLS if chance.random() < 0.7)
        if chance.random() < 0.1:
            pictures = chance.choice([{}, {PICTURE.blob: chance.randbytes(3)}])
        passages = halved(rendered.passages) if chance.random() < 0.05 else rendered.passages
        yield Prompt("be brief", passages, tools, pictures, cache=cache)


def test_a_request_made_from_kept_parts_equals_one_made_from_scratch() -> None:
    for seed in range(HISTORIES):
        chance = random.Random(seed)
        write: Write = by_anthropic
        for step, prompt in enumerate(conversation(seed)):
            # The user chooses another model, or the fallback is asked.
            write = chance.choice(WIRES) if chance.random() < 0.1 else write
            assert write(prompt) == write(from_scratch(prompt)), f"history {seed}, prompt {step}"


def talk(*, turns: int, result: ResultBlock | None = None) -> tuple[Passage, ...]:
    """Return a conversation with one call in each turn."""
    passages: list[Passage] = [Told((TextBlock("begin"),))]
    for turn in range(turns):
        call = CallBlock(f"call_{turn}_0", "bash", {"command": "ls"})
        passages += [Spoke((call,)), Told((result or ResultBlock(call.id, f"file {turn}"),))]
    return tuple(passages)


@on_each_wire
def test_a_request_of_megabytes_made_from_kept_parts_equals_one_made_from_scratch(write: Write) -> None:
    passages, cache = talk(turns=30, result=ResultBlock("call_0_0", "x" * 100_000)), ConversationCache()
    for count in range(1, len(passages) + 1, 2):
        prompt = Prompt("", passages[:count], cache=cache)
        assert write(prompt) == write(from_scratch(prompt))


@on_each_wire
def test_pictures_of_old_passages_are_in_every_request(write: Write) -> None:
    passages = talk(turns=5, result=ResultBlock("call_0_0", "a picture", images=(PICTURE,)))
    prompt = Prompt("", passages, pictures={PICTURE.blob: b"\x89PNG"})
    coded = base64.b64encode(b"\x89PNG")
    assert [write(prompt).count(coded) for _ in range(2)] == [5, 5]


@on_each_wire
def test_images_of_the_user_are_in_every_request(write: Write) -> None:
    first = Told((TextBlock("see this", (PICTURE,)),))
    prompt = Prompt("", (first, *talk(turns=5)[1:]), pictures={PICTURE.blob: b"\x89PNG"})
    coded = base64.b64encode(b"\x89PNG")
    assert [write(prompt).count(coded) for _ in range(2)] == [1, 1]


@on_each_wire
def test_a_picture_that_is_gone_is_gone_from_the_next_request(write: Write) -> None:
    passages = talk(turns=5, result=ResultBlock("call_0_0", "a picture", images=(PICTURE,)))
    shown = Prompt("", passages, pictures={PICTURE.blob: b"\x89PNG"})
    write(shown)
    gone = replace(shown, pictures={})
    assert write(gone) == write(from_scratch(gone)) != write(from_scratch(shown))


@on_each_wire
def test_passages_that_only_look_the_same_are_written_again(write: Write) -> None:
    def called(value: object) -> tuple[Passage, ...]:
        first = (Told((TextBlock("begin"),)), Spoke((CallBlock("call_1_0", "bash", {"timeout": value}),)))
        return (*first, *talk(turns=3))

    prompt, other = Prompt("", called(1)), Prompt("", called(1.0))
    assert prompt == other
    write(prompt)
    after = replace(prompt, passages=other.passages)
    assert write(after) == write(from_scratch(other)) != write(from_scratch(prompt))
