"""Responses from bytes: compared with another reader of HTTP, wherever they are cut."""

from itertools import pairwise

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.models.http.http_failures import BadResponse
from deskmate.models.http.response_reader import HEAD_CAP, ResponseReader

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
BODY = b"4\r\nwith\r\n6;name=x\r\n in it\r\n0\r\nx-trailer: 1\r\n\r\n"


def read(*pieces: bytes, ends: bool = False) -> tuple[ResponseReader, bytes]:
    """Return a reader after these pieces, and the body."""
    reader = ResponseReader()
    body = b"".join(reader.feed(piece) for piece in pieces)
    if ends:
        reader.end()
    return reader, body


@given(
    chunks=st.lists(st.binary(min_size=1, max_size=40), max_size=5),
    names=st.lists(st.sampled_from(["x-one", "X-Two", "Retry-After"]), max_size=4),
    value=st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=10),
    framing=st.sampled_from(["chunked", "length", "close"]),
    status=st.sampled_from([200, 204, 304, 400, 429, 529]),
    cuts=st.lists(st.integers(0, 400), max_size=6),
)
@pytest.mark.behaviour("models")
def test_a_response_is_read_as_by_another_reader_wherever_it_is_cut(
    chunks: list[bytes], names: list[str], value: str, framing: str, status: int, cuts: list[int]
) -> None:
    whole = b"".join(chunks)
    lines = [f"HTTP/1.1 {status} Some Reason", *(f"{name}: {value}" for name in names)]
    frames = {"chunked": ["transfer-encoding: chunked"], "length": [f"content-length: {len(whole)}"]}
    lines += frames.get(framing, [])
    parts = [b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks]
    sent = b"".join([*parts, b"0\r\n\r\n"]) if framing == "chunked" else whole
    data = "\r\n".join([*lines, "", ""]).encode() + (b"" if status in (204, 304) else sent)
    places = sorted({0, *(min(cut, len(data)) for cut in cuts), len(data)})
    pieces = [data[start:stop] for start, stop in pairwise(places)]

    reader, body = read(*pieces, ends=framing == "close")
    assert reader.head
    other, theirs = by_h11(pieces)
    assert (reader.head.status, reader.head.reason, body) == (other.status_code, other.reason.decode(), theirs)
    assert reader.is_done
    assert reader.head.keeps is (framing != "close" or status in (204, 304))
    if names:
        values = [text.decode() for name, text in other.headers if name.decode() == names[0].lower()]
        assert reader.head.headers[names[0].lower()] == ", ".join(values)


def by_h11(pieces: list[bytes]) -> tuple[h11.Response, bytes]:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="POST", target="/", headers=[("host", "x"), ("content-length", "0")]))
    connection.send(h11.EndOfMessage())
    head, body = None, b""
    for piece in [*pieces, b""]:
        connection.receive_data(piece)
        while not isinstance(event := connection.next_event(), (h11.EndOfMessage, h11.ConnectionClosed)):
            if event is h11.NEED_DATA or event is h11.PAUSED:
                break
            match event:
                case h11.Response():
                    head = event
                case h11.Data(data=data):
                    body += data
        else:
            break
    assert head
    return head, body


def test_sizes_of_chunks_may_have_a_note_and_chunks_may_be_followed_by_headers() -> None:
    reader, body = read(CHUNKED, BODY)
    assert (body, reader.is_done, reader.rest) == (b"with in it", True, False)


def test_answers_before_the_real_one_are_passed_over() -> None:
    reader, body = read(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\n" + CHUNKED + BODY)
    assert reader.head
    assert (reader.head.status, body) == (200, b"with in it")


def test_lines_may_end_without_a_carriage_return() -> None:
    assert read(b"HTTP/1.1 200\ncontent-length: 2\n\nhi")[1] == b"hi"


@pytest.mark.parametrize("head", [b"HTTP/1.0 200 OK\r\n", b"HTTP/1.1 200 OK\r\nConnection: foo, Close\r\n"])
def test_a_connection_that_the_server_closes_is_not_used_again(head: bytes) -> None:
    reader, _ = read(head + b"content-length: 2\r\n\r\nhi")
    assert reader.head
    assert (reader.is_done, reader.head.keeps) == (True, False)


def test_what_follows_a_response_is_noticed() -> None:
    assert read(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi there")[0].rest


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nspace : x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nnull: \0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: two\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
        CHUNKED + b"z\r\n",
        CHUNKED + b"-1\r\n",
        CHUNKED + b"ffffffffffffffffffff\r\n",
        CHUNKED + b"2\r\nthree",
        CHUNKED.replace(b"\r\n\r\n", b"\r\nx: " + b"x" * HEAD_CAP),
        CHUNKED + b"1;" + b"x" * (HEAD_CAP + 1),
    ],
)
def test_what_is_no_response_is_refused(data: bytes) -> None:
    with pytest.raises(BadResponse):
        read(data, b"\r\n")


@pytest.mark.behaviour("models")
@pytest.mark.parametrize("place", [0, 10, len(CHUNKED), len(CHUNKED) + 5, len(CHUNKED + BODY) - 1])
def test_a_response_that_ends_too_early_is_noticed(place: int) -> None:
    with pytest.raises(BadResponse):
        read((CHUNKED + BODY)[:place], ends=True)


def test_a_response_that_ends_with_its_connection_is_whole() -> None:
    reader, body = read(b"HTTP/1.1 200 OK\r\n\r\n", b"all", ends=True)
    assert (reader.is_done, body) == (True, b"all")


def test_the_answer_to_connect_has_no_body() -> None:
    reader = ResponseReader(tunnels=True)
    reader.feed(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n")
    assert reader.is_done


# A rule for headers that could match in several ways would need hours for the first of these.
@pytest.mark.parametrize("end", [b"\0", b"value"])
def test_a_header_with_endless_white_space_is_read_or_refused_at_once(end: bytes) -> None:
    data = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx:" + b" " * 100_000 + end + b"\r\n\r\n"
    if end == b"\0":
        with pytest.raises(BadResponse):
            read(data)
    else:
        reader, _ = read(data)
        assert reader.head
        assert reader.head.headers["x"] == "value"


@pytest.mark.parametrize(
    ("begin", "again"),
    [(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), (CHUNKED + b"0\r\n", b"x-trailer: 1\r\n")],
    ids=["answers before the real one", "headers after the body"],
)
def test_what_is_neither_header_nor_body_cannot_go_on_for_ever(begin: bytes, again: bytes) -> None:
    with pytest.raises(BadResponse):
        read(begin, *[again] * (HEAD_CAP // len(again) + 1))
