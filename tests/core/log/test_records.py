"""What may be stored as a record, and what a line of JSON gives back."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deskmate.core.log.records import DEPTH_CAP, RECORD_CAP, Encoded, check_number, decode, encode, stamp
from deskmate.errors import BadInput, BadRecord, TooLarge

STAMP: dict[str, Any] = {"run": "r", "ord": 1}

keys = st.text(max_size=6)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
)
bodies = st.dictionaries(keys.filter(lambda key: key not in ("n", "crc", "run", "ord")), values, max_size=4)


def nested(levels: int) -> dict[str, Any]:
    """Return a record of that many levels, itself the first, and a few brackets beside."""
    value: Any = "end"
    for level in range(levels - 1):
        value = [value] if level % 2 else {"in": value}
    return {**STAMP, "in": value, "beside": [[], {}]}


@given(bodies)
def test_what_was_encoded_is_decoded_again_whole(body: dict[str, Any]) -> None:
    record = {**body, **STAMP}
    line = encode(record)
    assert b"\n" not in line
    assert decode(line) == record
    assert encode(decode(line)) == line


@given(bodies)
def test_an_encoded_record_is_as_it_will_be_read_and_has_its_line(body: dict[str, Any]) -> None:
    record = {**body, **STAMP, "odd": ("a\ud800", (1,))}
    made = Encoded(record)
    assert (made, encode(made)) == (decode(encode(record)), encode(record))
    assert made["odd"] == ["a\ufffd", [1]]


def test_text_is_kept_readable_and_only_a_line_feed_could_end_a_line() -> None:
    record = {"content": "größer 漢字 \u2028\u2029\u0085\x0b\x0c\x1c\r\n\x00\t", **STAMP}
    line = encode(record)
    assert "größer 漢字 \u2028\u2029\u0085".encode() in line
    assert line.split(b"\n") == [line]
    assert decode(line) == record


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("\ud800", "\ufffd"),
        ("\udc00!", "\ufffd!"),
        ("a\ud800b\udfffc", "a\ufffdb\ufffdc"),
        ("\ud83d\ude00", "😀"),
    ],
    ids=ascii,
)
def test_half_a_sign_is_replaced_and_two_halves_are_joined(text: str, kept: str) -> None:
    assert decode(encode({text: [text], **STAMP})) == {kept: [kept], **STAMP}


@pytest.mark.parametrize(
    "record",
    [
        {},
        [],
        "text",
        None,
        {"n": 1, **STAMP},
        {"crc": "", **STAMP},
        {"a": float("nan"), **STAMP},
        {"a": float("inf"), **STAMP},
        {"a": [-float("inf")], **STAMP},
        {"a": {1, 2}, **STAMP},
        {"a": b"bytes", **STAMP},
        {**STAMP, **dict[Any, Any]({("a", "b"): 1})},
        {"a": object(), **STAMP},
    ],
)
def test_what_is_no_json_object_of_ours_is_refused(record: Any) -> None:
    with pytest.raises(BadRecord):
        encode(record)


def test_a_record_that_holds_itself_is_refused() -> None:
    record: dict[str, Any] = {**STAMP}
    record["self"] = record
    with pytest.raises(BadRecord):
        encode(record)


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"run": "r"},
        {"ord": 1},
        {"run": "", "ord": 1},
        {"run": 1, "ord": 1},
        {"run": "r", "ord": "1"},
        {"run": "r", "ord": True},
        {"run": "r", "ord": 1.0},
        {"run": None, "ord": None},
    ],
)
def test_a_record_without_a_whole_stamp_is_refused(bad: dict[str, Any]) -> None:
    for rule in (stamp, encode):
        with pytest.raises(BadRecord):
            rule({"a": 1, **bad})


def test_a_stamp_is_run_and_ordinal() -> None:
    assert stamp({"a": 1, "run": "r", "ord": 0}) == ("r", 0)


@pytest.mark.parametrize("sign", ["x", "é", "漢", "😀"])
def test_a_record_may_reach_its_cap_in_bytes_and_no_further(sign: str) -> None:
    width = len(sign.encode())
    room = RECORD_CAP - len(encode({"a": "", **STAMP}))
    full = sign * (room // width) + "x" * (room % width)
    assert len(encode({"a": full, **STAMP})) == RECORD_CAP
    with pytest.raises(TooLarge, match="the rest in a blob"):
        encode({"a": full + "x", **STAMP})


def test_a_record_may_be_nested_to_its_cap_and_no_further() -> None:
    deepest = encode(nested(DEPTH_CAP))
    assert decode(deepest) == nested(DEPTH_CAP)
    with pytest.raises(BadRecord, match="nested deeper"):
        encode(nested(DEPTH_CAP + 1))
    with pytest.raises(BadRecord):
        encode(nested(100_000))


def test_many_brackets_side_by_side_or_in_text_are_not_deep() -> None:
    record = {"a": [[], {}] * 1000, "b": "[" * 1000 + "{" * 1000, **STAMP}
    assert decode(encode(record)) == record


@pytest.mark.parametrize("depth", [DEPTH_CAP + 1, 300, 100_000])
def test_a_line_nested_deeper_than_any_record_is_no_record(depth: int) -> None:
    text = json.dumps(STAMP)[:-1].encode() + b',"in":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
    with pytest.raises(BadRecord):
        decode(text)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"1",
        b'"text"',
        b"[]",
        b'[{"a":1}]',
        b"{",
        b'{"a":1}}',
        b'{"a":1} {"b":2}',
        b"{'a':1}",
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":-Infinity}',
        b'{"a":1e999}',
        b'{"a":[-1e999]}',
        b'{"a":' + b"1" * 5000 + b"}",
        b'{"a":"\xff"}',
        b'{"a":"\xc3"}',
    ],
)
def test_a_line_that_is_no_json_object_is_no_record(line: bytes) -> None:
    with pytest.raises(BadRecord):
        decode(line)


@given(
    st.binary()
    | st.text().map(lambda text: text.encode(errors="surrogatepass"))
    | values.map(json.dumps).map(str.encode)
)
@example(b'{"a":1}\x00')
@example('{"a":1}'.encode("utf-16"))
def test_any_bytes_are_an_object_or_no_record(line: bytes) -> None:
    try:
        found = decode(line)
    except BadRecord:
        return
    assert type(found) is dict


def test_a_number_below_zero_is_no_place_in_a_stream() -> None:
    check_number(0)
    with pytest.raises(BadInput, match="-1"):
        check_number(-1)
