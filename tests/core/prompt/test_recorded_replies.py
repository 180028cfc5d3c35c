"""A reply becomes an entry, and the entry gives the reply's blocks again, whatever stood on disk in between."""

from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskmate.core.agent.entries import Call, Said
from deskmate.core.prompt.prompts import CallBlock, Reply, Spoken, TextBlock, ThinkingBlock, Usage
from deskmate.core.prompt.recorded_replies import REFUSED, blocks_of, said
from deskmate.core.prompt.rendering import spoken
from tests.core.random_histories import stored

LS = Call(tool="bash", arguments={"command": "ls"})

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
arguments = st.dictionaries(words, words | st.integers() | st.lists(words), max_size=2)
texts = st.builds(TextBlock, words)
thoughts = st.builds(ThinkingBlock, words, words, st.booleans())
calls = st.builds(CallBlock, st.just("theirs"), st.sampled_from(["bash", "no_tool"]), arguments, words)
replies = st.builds(
    Reply,
    st.lists(texts | thoughts | calls, max_size=6).map(tuple),
    st.builds(Usage, *[st.integers(0, 10**6)] * 4),
    st.sampled_from(["done", "length"]),
    words,
    st.none() | st.floats(0, 9),
)


def as_given_back(reply: Reply, number: int) -> list[Spoken]:
    """Return a reply's blocks as a provider takes them again: under our ids, nothing blank, no thought at the end."""
    index, found = 0, list[Spoken]()
    for block in reply.blocks:
        match block:
            case TextBlock(text=text):
                found += [TextBlock(text.rstrip())] if text.strip() else []
            case CallBlock(tool=tool, arguments=given, flaw=flaw):
                found.append(CallBlock(f"call_{number}_{index}", tool, given, flaw))
                index += 1
            case ThinkingBlock():
                found.append(replace(block, signer=reply.model.partition(":")[0]))
    while found and isinstance(found[-1], ThinkingBlock):
        found.pop()
    return found


@settings(max_examples=300)
@given(replies)
def test_a_recorded_reply_gives_its_blocks_again_after_a_restart_too(reply: Reply) -> None:
    entry = stored(said(reply))
    assert isinstance(entry, Said)
    assert list(spoken(7, entry)) == as_given_back(reply, 7)


def test_blocks_are_recorded_only_where_their_order_says_more() -> None:
    call = CallBlock("x", "bash", {})
    assert blocks_of(Reply((TextBlock("a"), call, call))) == ()
    assert blocks_of(Reply((call, TextBlock("a")))) == ({"type": "call", "index": 0}, {"type": "text", "text": "a"})
    assert blocks_of(Reply((ThinkingBlock("t", "s"), TextBlock("a"), TextBlock("b"), call))) == (
        {"type": "thinking", "text": "t", "signature": "s", "sealed": False},
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
        {"type": "call", "index": 0},
    )


def test_a_reply_is_recorded_with_its_counts() -> None:
    flawed = CallBlock("x", "bash", {}, "no JSON")
    reply = Reply((TextBlock("a "), flawed), Usage(1, 2, 3, 4), "length", "p:m", 0.5)
    assert said(reply) == Said(
        text="a",
        calls=(Call(tool="bash", arguments={}, flaw="no JSON"),),
        usage={"input": 1, "output": 2, "cache_read": 3, "cache_write": 4, "model": "p:m", "cost": 0.5},
        unfinished=True,
    )
    assert "cost" not in said(Reply(())).usage


@pytest.mark.parametrize(
    ("blocks", "end", "text"),
    [
        ([TextBlock("One, two,")], "length", "One, two,"),
        ([TextBlock("One, two, ")], "length", "One, two, "),
        ([TextBlock("Hm.\n\n")], "length", "Hm.\n\n"),
        ([TextBlock("Hm. "), ThinkingBlock("so")], "length", "Hm.\n\n"),
        ([TextBlock("Hm. "), ThinkingBlock("so")], "done", "Hm."),
        ([ThinkingBlock("so")], "length", ""),
        ([TextBlock("Hm. "), CallBlock("x", "bash", {}), ThinkingBlock("so")], "length", "Hm."),
    ],
)
def test_an_answer_that_is_cut_keeps_what_separates_it_from_the_next_piece(
    blocks: list[Spoken], end: Literal["done", "length"], text: str
) -> None:
    assert said(Reply(tuple(blocks), end=end)).text == text


def test_a_refused_reply_says_so_where_it_says_nothing() -> None:
    assert said(Reply((), end="refused")).text == REFUSED
    assert said(Reply((TextBlock("no"),), end="refused")).text == "no"
    thought = ThinkingBlock("t", "s")
    assert spoken(1, said(Reply((TextBlock(" "), thought), end="refused"))) == (thought, TextBlock(REFUSED))


def test_what_no_store_can_keep_is_recorded_as_a_store_gives_it_back() -> None:
    entry = said(
        Reply((TextBlock("\ud800"), ThinkingBlock("\udc00", "s"), CallBlock("x", "t", {"\ud83d\ude00": ["\ud800"]})))
    )
    assert stored(entry) == entry
    assert entry.calls[0].arguments == {"\U0001f600": ["\ufffd"]}


@pytest.mark.parametrize(
    "blocks",
    [
        ({"type": "picture"},),
        ({},),
        ({"type": "text", "text": 3},),
        ({"type": "text", "text": "other"},),
        ({"type": "call", "index": 1},),
        ({"type": "call", "index": -1},),
        ({"type": "call", "index": "0"},),
        ({"type": "call", "index": 0}, {"type": "call", "index": 0}),
        ({"type": "thinking", "text": "t"}, {"type": "call", "index": 0}),
    ],
    ids=str,
)
def test_blocks_that_are_not_whole_give_way_to_text_and_calls(blocks: tuple[dict[str, object], ...]) -> None:
    assert spoken(4, Said(text="a", calls=(LS,), blocks=blocks)) == (
        TextBlock("a"),
        CallBlock("call_4_0", "bash", {"command": "ls"}),
    )


def test_what_the_provider_stopped_has_no_calls() -> None:
    stopped = Reply((TextBlock("I"), CallBlock("a", "bash", {"command": "rm x"})), end="refused")
    assert said(stopped) == Said(text="I", usage=said(stopped).usage)


def test_a_thought_knows_who_signed_it() -> None:
    reply = Reply((ThinkingBlock("t", "s"), TextBlock("a")), model="lab:qwen3:8b")
    entry = stored(said(reply))
    assert isinstance(entry, Said)
    assert spoken(1, entry) == (ThinkingBlock("t", "s", signer="lab"), TextBlock("a"))
