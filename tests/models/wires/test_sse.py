"""Events out of bytes: however they are cut, whatever ends their lines."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.errors import ModelTrouble
from deskmate.models.wires.sse import EVENT_CAP, EventParser, ServerEvent

LINE_ENDS = ("\n", "\r\n", "\r")
# A line ends at CR and LF alone: the other line ends that Python knows are part of it.
lines = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=10) | st.just(
    "\u2028\x85"
)
names = lines.filter(bool)
events = st.builds(ServerEvent, st.just("") | names, st.lists(lines, min_size=1, max_size=3).map("\n".join))


def parsed(pieces: Iterable[bytes]) -> list[ServerEvent]:
    parser = EventParser()
    return [event for piece in pieces for event in parser.feed(piece)] + list(parser.end())


def written(sent: Sequence[ServerEvent], line_end: str = "\n") -> bytes:
    text = ""
    for event in sent:
        text += f"event: {event.name}{line_end}" if event.name else ""
        text += "".join(f"data: {line}{line_end}" for line in event.data.split("\n")) + line_end
    return text.encode()


@given(st.lists(events, max_size=4), st.sampled_from(LINE_ENDS), st.lists(st.integers(0, 200)))
def test_events_are_the_same_however_their_bytes_are_cut(
    sent: list[ServerEvent], line_end: str, cuts: list[int]
) -> None:
    stream = written(sent, line_end)
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    assert parsed(stream[start:stop] for start, stop in pairwise(places)) == sent


@pytest.mark.parametrize("line_end", LINE_ENDS)
def test_a_stream_that_comes_byte_by_byte_is_read_like_one_that_comes_at_once(line_end: str) -> None:
    sent = [ServerEvent("ping", "{}"), ServerEvent("", "a\n\nb"), ServerEvent("stop", "grüße")]
    stream = written(sent, line_end)
    assert parsed(bytes([byte]) for byte in stream) == parsed([stream]) == sent


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b": still here\n\n:\n\ndata: a\n\n", [ServerEvent("", "a")]),
        (b"id: 7\nretry: 10\nwhatever\ndata: a\n\n", [ServerEvent("", "a")]),
        (b"data:a\n\ndata:  b\n\n", [ServerEvent("", "a"), ServerEvent("", " b")]),
        (b"data\n\n", [ServerEvent("", "")]),
        (b"event: alone\n\ndata: a\n\n", [ServerEvent("", "a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [ServerEvent("", "a")]),
        (b"data: a: b\n\n", [ServerEvent("", "a: b")]),
        (b"data: \xff\n\n", [ServerEvent("", "\ufffd")]),
        (b"data: a\n\ndata: b", [ServerEvent("", "a"), ServerEvent("", "b")]),
        (b"data: a\r", [ServerEvent("", "a")]),
        (b"data: a\n\r\n", [ServerEvent("", "a")]),
        (b"", []),
    ],
)
def test_fields_are_read_as_the_format_says(stream: bytes, expected: list[ServerEvent]) -> None:
    assert parsed([stream]) == parsed(bytes([byte]) for byte in stream) == expected


def test_an_event_is_there_as_soon_as_its_blank_line_is() -> None:
    assert list(EventParser().feed(b"data: a\n\ndata: b")) == [ServerEvent("", "a")]


@pytest.mark.parametrize("line", [b"x" * 2**20, b"data: " + b"x" * 2**20 + b"\n"])
def test_an_event_that_never_ends_is_given_up(line: bytes) -> None:
    parser = EventParser()
    for _ in range(EVENT_CAP // 2**20 - 1):
        assert list(parser.feed(line)) == []
    with pytest.raises(ModelTrouble):
        list(parser.feed(line + line))


def test_many_events_may_together_be_above_the_cap_of_one() -> None:
    parser, event = EventParser(), b"data: " + b"x" * 2**20 + b"\n\n"
    assert sum(len(list(parser.feed(event))) for _ in range(EVENT_CAP // 2**20 + 1)) == EVENT_CAP // 2**20 + 1


def test_one_piece_cannot_hold_an_event_above_the_cap() -> None:
    with pytest.raises(ModelTrouble):
        list(EventParser().feed(b"data: " + b"x" * EVENT_CAP + b"\n\n"))
