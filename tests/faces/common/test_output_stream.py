"""An output stream makes nobody wait, however slow its reader is, and says what went wrong."""

import errno
import os
import threading
from collections.abc import Iterator
from typing import TextIO

import pytest

from deskmate.faces.common.output_stream import CAP_BYTES, OutputStream

MORE_THAN_A_PIPE_HOLDS = 300_000


@pytest.fixture
def pipe() -> Iterator[tuple[TextIO, TextIO]]:
    near, far = os.pipe()
    with os.fdopen(near, "r") as reader, os.fdopen(far, "w") as stream:
        yield reader, stream


def test_what_is_put_arrives_in_order_and_whole(pipe: tuple[TextIO, TextIO]) -> None:
    reader, stream = pipe
    lines = [f"{number} {'é' * number}\n" for number in range(1000)]
    with OutputStream(stream) as output_stream:
        for line in lines:
            output_stream.put(line)
        assert [reader.readline() for _ in lines] == lines
    assert output_stream.trouble is None


def test_draining_gives_up_on_a_reader_that_takes_nothing_and_goes_on_with_one_that_does(
    pipe: tuple[TextIO, TextIO],
) -> None:
    reader, stream = pipe
    with OutputStream(stream) as output_stream:
        output_stream.put("x" * MORE_THAN_A_PIPE_HOLDS)
        assert not output_stream.drain(0.01)
        read: list[str] = []
        reading = threading.Thread(target=lambda: read.append(reader.read(MORE_THAN_A_PIPE_HOLDS)))
        reading.start()
        assert output_stream.drain(None)
        reading.join(60)
    assert read == ["x" * MORE_THAN_A_PIPE_HOLDS]


def test_a_stream_that_someone_made_not_to_wait_is_waited_for(pipe: tuple[TextIO, TextIO]) -> None:
    reader, stream = pipe
    os.set_blocking(stream.fileno(), False)
    with OutputStream(stream) as output_stream:
        output_stream.put("x" * MORE_THAN_A_PIPE_HOLDS)
        assert not output_stream.drain(0.01)
        assert reader.read(MORE_THAN_A_PIPE_HOLDS) == "x" * MORE_THAN_A_PIPE_HOLDS
    assert output_stream.trouble is None


def test_a_reader_that_went_away_is_told_by_the_alarm_and_ends_the_waiting(pipe: tuple[TextIO, TextIO]) -> None:
    reader, stream = pipe
    told = threading.Event()
    with OutputStream(stream, alarm=told.set) as output_stream:
        output_stream.put("x" * MORE_THAN_A_PIPE_HOLDS)
        reader.close()
        assert told.wait(60)
        assert output_stream.drain(60)
        output_stream.put("more")
        assert output_stream.drain(60)
    assert isinstance(output_stream.trouble, BrokenPipeError)


def test_a_reader_that_is_too_far_behind_gets_whole_what_waits_and_nothing_more(pipe: tuple[TextIO, TextIO]) -> None:
    reader, stream = pipe
    alarms: list[str] = []
    line = "x" * MORE_THAN_A_PIPE_HOLDS + "\n"
    with OutputStream(stream, alarm=lambda: alarms.append("told")) as output_stream:
        for text in (line, "y" * CAP_BYTES, "z"):
            output_stream.put(text)
        assert reader.readline() == line
    stream.close()
    assert reader.read() == ""
    assert alarms == ["told"]
    assert output_stream.trouble is not None
    assert (output_stream.trouble.errno, output_stream.trouble.strerror) == (
        errno.ENOBUFS,
        "its reader is 64 MB behind",
    )
