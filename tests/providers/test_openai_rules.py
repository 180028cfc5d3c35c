"""What the chat completions format asks: a good conversation passes; of each rule a planted violation is named."""

import base64
from typing import Any

import pytest

from deskmate.testing.formats.conversations import flaws
from tests.sample_images import png

NAME = "[a-zA-Z0-9_-]{1,64}"


def call(id_: str, name: str = "read_file", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*each: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(each)}


def result(id_: str, content: Any = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def asks(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


PNG = base64.b64encode(png()).decode()


def picture(url: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def tool(name: str, parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def good() -> dict[str, Any]:
    return {
        "model": "m",
        "max_completion_tokens": 100,
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [tool("read_file", {"type": "object"}), tool("bash", {"type": "object", "properties": {}})],
        "messages": [
            {"role": "system", "content": "You are alice."},
            asks("read both"),
            calls(call("a-1"), call("a.2", arguments="{broken")),
            result("a.2", ""),
            result("a-1", [{"type": "text", "text": "one"}]),
            asks([{"type": "text", "text": "see"}, picture(f"data:image/png;base64,{PNG}")]),
            {"role": "assistant", "content": "ok"},
            {"role": "developer", "content": "be brief"},
            asks("thanks"),
        ],
    }


def test_a_good_conversation_has_no_flaw() -> None:
    assert flaws("openai", good()) == []


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        ({"model": None}, "model: must be a name"),
        ({"max_tokens": 0}, "max_tokens: must be a whole number above 0"),
        ({"max_completion_tokens": "9"}, "max_completion_tokens: must be a whole number above 0"),
        ({"seq": 1}, "body: the field 'seq' is not known here"),
        ({"stream": False}, "stream_options: only for a request that is streamed"),
        ({"tools": None}, "tools: must be a list of objects of type function, each with a function"),
        ({"tools": [{"name": "a"}]}, "tools: must be a list of objects of type function, each with a function"),
        ({"tools": [tool("a b", {"type": "object"})]}, f"tools.0: the name 'a b' does not match {NAME}"),
        ({"tools": [tool("a", {})]}, "tools.0: the schema must be one of type object"),
        ({"tools": [tool("a", {"type": "object"})] * 2}, "tools.1: the name 'a' is taken by an earlier tool"),
        ({"user": "half \udc00"}, "user: holds half a surrogate pair"),
    ],
)
def test_a_request_of_the_wrong_shape_is_named(change: dict[str, Any], flaw: str) -> None:
    assert flaws("openai", good() | change) == [flaw]


ROLES = "must have one of the roles system, developer, user, assistant, tool"
CONTENT = "the content must be a text that is not empty or a list of at least one part"


@pytest.mark.parametrize(
    ("message", "flaw"),
    [
        ("more", f": {ROLES}"),
        ({"role": "function", "content": "a"}, f": {ROLES}"),
        ({"role": "user", "content": "a", "seq": 1}, ": the field 'seq' is not known here"),
        ({"role": "user", "content": "half \ud83d"}, ": holds half a surrogate pair"),
        ({"role": "system", "content": ""}, f": {CONTENT}"),
        (asks(""), f": {CONTENT}"),
        (asks([]), f": {CONTENT}"),
        (asks(None), f": {CONTENT}"),
        (asks([{"type": "text", "text": ""}]), ".content.0: the text is empty"),
        (asks(["a"]), ".content.0: a part of type None does not belong here"),
        (asks([{"type": "audio"}]), ".content.0: a part of type 'audio' does not belong here"),
        (asks([picture("data:image/png,a")]), ".content.0: image_url needs a data URL in base64"),
        (asks([picture("data:image/png;base64,???")]), ".content.0: the picture is no base64"),
        (asks([picture(f"data:image/gif;base64,{PNG}")]), ".content.0: the picture is not of type image/gif"),
        (
            asks([picture("data:text/html;base64,iVBO")]),
            ".content.0: 'text/html' is none of image/gif, image/jpeg, image/png, image/webp",
        ),
        ({"role": "assistant", "content": ""}, ": an assistant must have content or tool_calls"),
        ({"role": "assistant", "content": "a", "tool_calls": []}, ": tool_calls must be a list of at least one call"),
        (
            {"role": "assistant", "content": [picture("")]},
            ".content.0: a part of type 'image_url' does not belong here",
        ),
        (calls("a"), ".tool_calls.0: must be of type function, with a function"),
        (result("a"), ": 'a' is no open call of the messages before"),
    ],
)
def test_a_message_that_cannot_stand_there_is_named(message: Any, flaw: str) -> None:
    body = good()
    body["messages"].append(message)
    assert flaws("openai", body) == [f"messages.9{flaw}"]


@pytest.mark.parametrize(
    ("made", "flaw"),
    [
        (call("b", name="a b"), f"the name 'a b' does not match {NAME}"),
        (call("b", name="a" * 65), f"the name '{'a' * 65}' does not match {NAME}"),
        (call("b", arguments={}), "the arguments must be a text"),
        (call("b" * 41), f"the id '{'b' * 41}' must be a text of 1 to 40 characters"),
    ],
)
def test_a_call_that_cannot_be_read_is_named(made: dict[str, Any], flaw: str) -> None:
    body = good()
    body["messages"] += [calls(made), result(made["id"])]
    assert flaws("openai", body) == [f"messages.9.tool_calls.0: {flaw}"]


@pytest.mark.parametrize(
    ("messages", "flaw"),
    [
        ([calls(call("b"))], "messages.10: before this, 'b' needed its result"),
        ([calls(call("b")), asks("so?")], "messages.10: before this, 'b' needed its result"),
        ([calls(call("b"), call("c")), result("c")], "messages.11: before this, 'b' needed its result"),
        ([calls(call("b")), result("b"), result("b")], "messages.11: 'b' is no open call of the messages before"),
        ([calls(call("b")), result("c"), result("b")], "messages.10: 'c' is no open call of the messages before"),
        ([calls(call("a-1")), result("a-1")], "messages.9: the id 'a-1' is taken by an earlier call"),
        ([calls(call("b"), call("b")), result("b")], "messages.9: the id 'b' is that of two calls"),
    ],
)
def test_calls_and_results_that_do_not_pair_are_named(messages: list[Any], flaw: str) -> None:
    body = good()
    body["messages"] += messages
    assert flaws("openai", body) == [flaw]


def test_a_result_that_comes_late_answers_nothing() -> None:
    body = good()
    body["messages"] += [calls(call("b")), asks("so?"), result("b")]
    assert flaws("openai", body) == [
        "messages.10: before this, 'b' needed its result",
        "messages.11: 'b' is no open call of the messages before",
    ]
