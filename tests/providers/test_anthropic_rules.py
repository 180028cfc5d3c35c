"""What the Messages format asks: a good conversation passes; of each rule a planted violation is named."""

import base64
import copy
from collections.abc import Callable
from typing import Any

import pytest

from deskmate.testing.formats.anthropic_format import sealed, signature
from deskmate.testing.formats.conversations import flaws
from tests.sample_images import png

EPHEMERAL = {"type": "ephemeral"}
SCHEMA = {"type": "object", "properties": {}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def thought(words: str, signed: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": signed}


def use(id_: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "read_file", "input": {"path": "a"}}


def result(id_: str, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, **fields}


def picture() -> dict[str, Any]:
    data = base64.b64encode(png()).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def asks(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def says(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def good() -> dict[str, Any]:
    return {
        "model": "m",
        "max_tokens": 100,
        "stream": True,
        "system": [{**text("You are alice."), "cache_control": EPHEMERAL}],
        "tools": [
            {"name": "read_file", "description": "Reads.", "input_schema": SCHEMA},
            {"name": "bash", "description": "Runs.", "input_schema": SCHEMA, "cache_control": EPHEMERAL},
        ],
        "messages": [
            {"role": "user", "content": "read both"},
            says(
                thought("both", signature("both")),
                {"type": "redacted_thinking", "data": sealed("secret")},
                text("Reading. "),
                use("a-1"),
                use("a_2"),
            ),
            asks(
                result("a_2", content="no such file", is_error=True),
                result("a-1", content=[text("a picture"), picture()]),
                {**text("go on"), "cache_control": EPHEMERAL},
            ),
            says(thought("", "sig of another life"), text("done")),
            asks(picture(), text("thanks")),
        ],
    }


def test_a_good_conversation_has_no_flaw() -> None:
    assert flaws("anthropic", good()) == []


@pytest.mark.parametrize(
    "more",
    [
        {"system": "You are alice."},
        {"cache_control": EPHEMERAL},
        {"messages": [{"role": "user", "content": "begin"}, {"role": "assistant", "content": "I"}]},
        {"messages": [{"role": "user", "content": "begin"}, says(use("a")), asks(result("a"))]},
        {"messages": [{"role": "user", "content": "begin"}, says(use("a")), asks(result("a", content=""))]},
    ],
)
def test_these_have_no_flaw_either(more: dict[str, Any]) -> None:
    assert flaws("anthropic", good() | more) == []


def check(spoil: Callable[[dict[str, Any]], object], *expected: str) -> None:
    body = copy.deepcopy(good())
    spoil(body)
    assert flaws("anthropic", body) == list(expected)


COUNT = "max_tokens: must be a whole number above 0"


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        ({"model": ""}, "model: must be a name"),
        ({"max_tokens": None}, COUNT),
        ({"max_tokens": 0}, COUNT),
        ({"max_tokens": True}, COUNT),
        ({"seq": 1}, "body: the field 'seq' is not known here"),
        ({"system": ""}, "system: the text is empty or nothing but whitespace"),
        ({"system": []}, "system: the content must be a text or a list of at least one block"),
        ({"system": [text(" ")]}, "system.content.0: the text is empty or nothing but whitespace"),
        ({"system": [picture()]}, "system.content.0: a block of type 'image' does not belong here"),
        ({"system": "half \udc00"}, "system: holds half a surrogate pair"),
        ({"tools": None}, "tools: must be a list of objects"),
        ({"tools": ["bash"]}, "tools: must be a list of objects"),
        ({"cache_control": {"type": "lasting"}}, "cache_control: must be of type ephemeral"),
    ],
)
def test_a_request_of_the_wrong_shape_is_named(change: dict[str, Any], flaw: str) -> None:
    check(lambda body: body.update(change), flaw)


def test_a_request_without_a_limit_is_named() -> None:
    check(lambda body: body.pop("max_tokens"), COUNT)


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        ({"name": "a b"}, "the name 'a b' does not match [a-zA-Z0-9_-]{1,128}"),
        ({"name": "a" * 129}, f"the name '{'a' * 129}' does not match [a-zA-Z0-9_-]{{1,128}}"),
        ({"name": "read_file"}, "the name 'read_file' is taken by an earlier tool"),
        ({"input_schema": None}, "the schema must be one of type object"),
        ({"input_schema": {"type": "string"}}, "the schema must be one of type object"),
    ],
)
def test_a_tool_that_cannot_be_offered_is_named(change: dict[str, Any], flaw: str) -> None:
    check(lambda body: body["tools"][1].update(change), f"tools.1: {flaw}")


@pytest.mark.parametrize(
    ("index", "message", "flaw"),
    [
        (0, says(text("me first")), "roles must alternate and begin with user, so this must be user"),
        (3, asks(text("and")), "roles must alternate and begin with user, so this must be assistant"),
        (5, "more", "must have the role user or assistant"),
        (5, {"role": "system", "content": "be brief"}, "must have the role user or assistant"),
        (5, {"role": "assistant", "content": "so", "name": "al"}, "the field 'name' is not known here"),
        (5, says(), "the content must be a text or a list of at least one block"),
        (5, {"role": "assistant"}, "the content must be a text or a list of at least one block"),
        (5, {"role": "assistant", "content": "half \ud83d"}, "holds half a surrogate pair"),
        (5, says(text("so"), thought("", "sig"), text("so")), "thinking must come before all other blocks"),
        (5, says(thought("", "sig")), "the last block must not be thinking"),
        (5, {"role": "assistant", "content": "so "}, "the last text of the assistant must not end with whitespace"),
        (5, says(text("so\n")), "the last text of the assistant must not end with whitespace"),
        (5, says(use("b")), "'b' has no result in the next message"),
    ],
)
def test_a_message_that_cannot_stand_there_is_named(index: int, message: Any, flaw: str) -> None:
    check(lambda body: body["messages"].insert(index, message), f"messages.{index}: {flaw}")


def test_a_message_of_nothing_but_whitespace_is_named() -> None:
    empty = "messages.0: the text is empty or nothing but whitespace"
    check(lambda body: body["messages"][0].update(content=" \n"), empty)


NAME = "does not match [a-zA-Z0-9_-]{1,128}"
FORGED = "the signature was never issued for these thoughts"


@pytest.mark.parametrize(
    ("at", "change", "flaw"),
    [
        ((2, 2), {"text": ""}, "the text is empty or nothing but whitespace"),
        ((2, 2), {"text": None}, "the text is empty or nothing but whitespace"),
        ((2, 2), {"type": "audio"}, "a block of type 'audio' does not belong here"),
        ((2, 2), {"type": "thinking"}, "a block of type 'thinking' does not belong here"),
        ((2, 2), {"seq": 1}, "the field 'seq' is not known here"),
        ((1, 3), {"input": "{}"}, "the input must be an object"),
        ((1, 3), {"name": "read file"}, f"the name 'read file' {NAME}"),
        ((1, 0), {"signature": "forged"}, FORGED),
        ((1, 0), {"signature": ""}, FORGED),
        ((1, 0), {"thinking": "changed"}, FORGED),
        ((1, 0), {"signature": None}, "thinking needs a text and a signature"),
        ((1, 0), {"cache_control": EPHEMERAL}, "the field 'cache_control' is not known here"),
        ((1, 1), {"data": sealed("secret")[:-4] + "AAAA"}, "these sealed thoughts were never issued"),
        ((1, 1), {"data": "forged"}, "these sealed thoughts were never issued"),
        ((2, 0), {"is_error": "yes"}, "is_error must be true or false"),
        ((2, 0), {"content": ""}, "a result that is an error must say something"),
        ((2, 0), {"content": 7}, "the content must be a text or a list of blocks"),
        ((4, 0), {"source": {"type": "url"}}, "the source of a picture must be of type base64"),
    ],
)
def test_a_block_that_cannot_be_read_is_named(at: tuple[int, int], change: dict[str, Any], flaw: str) -> None:
    message, block = at
    check(
        lambda body: body["messages"][message]["content"][block].update(change),
        f"messages.{message}.content.{block}: {flaw}",
    )


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        ({"media_type": "image/tiff"}, "'image/tiff' is none of image/gif, image/jpeg, image/png, image/webp"),
        ({"data": ""}, "the picture is no base64"),
        ({"data": "not base64"}, "the picture is no base64"),
        ({"data": "abc"}, "the picture is no base64"),
        ({"media_type": "image/webp"}, "the picture is not of type image/webp"),
    ],
)
def test_a_picture_that_cannot_be_seen_is_named(change: dict[str, Any], flaw: str) -> None:
    check(lambda body: body["messages"][4]["content"][0]["source"].update(change), f"messages.4.content.0: {flaw}")


@pytest.mark.parametrize(
    ("part", "flaw"),
    [
        (text("\t"), "the text is empty or nothing but whitespace"),
        ({**text("a"), "cache_control": EPHEMERAL}, "the field 'cache_control' is not known here"),
        (use("b"), "a block of type 'tool_use' does not belong here"),
    ],
)
def test_what_a_result_cannot_hold_is_named(part: dict[str, Any], flaw: str) -> None:
    check(
        lambda body: body["messages"][2]["content"][1].update(content=[part]),
        f"messages.2.content.1.content.0: {flaw}",
    )


@pytest.mark.parametrize(
    ("second", "third", "expected"),
    [
        ([use("a"), use("b")], [result("a")], ["messages.1: 'b' has no result in the next message"]),
        ([use("a")], [text("go on")], ["messages.1: 'a' has no result in the next message"]),
        ([use("a")], [result("a"), result("b")], ["messages.2: 'b' is not a call of the previous message"]),
        ([text("hm")], [result("b")], ["messages.2: 'b' is not a call of the previous message"]),
        ([use("a")], [result("a"), result("a")], ["messages.2: 'a' has more than one result"]),
        ([use("a")], [text("so"), result("a")], ["messages.2: results must come before all other blocks"]),
        ([use("a"), use("a")], [result("a")], ["messages.1: the id 'a' is that of two calls"]),
        (
            [use("a.b")],
            [result("a.b")],
            [
                "messages.1.content.0: the id 'a.b' does not match [a-zA-Z0-9_-]+",
                "messages.2.content.0: the tool_use_id 'a.b' does not match [a-zA-Z0-9_-]+",
            ],
        ),
    ],
)
def test_calls_and_results_that_do_not_pair_are_named(second: list[Any], third: list[Any], expected: list[str]) -> None:
    check(lambda body: body.update(messages=[asks(text("go")), says(*second), asks(*third)]), *expected)


def test_an_id_that_comes_again_later_is_named() -> None:
    again = [asks(text("go")), says(use("a")), asks(result("a")), says(use("a")), asks(result("a"))]
    check(lambda body: body.update(messages=again), "messages.3: the id 'a' is taken by an earlier call")


def test_a_fifth_breakpoint_is_named() -> None:
    def spoil(body: dict[str, Any]) -> None:
        body["cache_control"] = body["messages"][1]["content"][3]["cache_control"] = EPHEMERAL

    check(spoil, "cache_control: 5 breakpoints, at most 4 are allowed")
