"""A stand-in for a provider that answers at once: it asks for one call, and says a word once it has the result.

It runs in a process of its own, so that its work is not counted as anybody's, and speaks both formats, streamed or
whole, as it is asked. `commands` and `agents` start it; peers are sent there.
"""

import asyncio
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deskmate.core.prompt.prompts import Usage
from deskmate.testing import Say, Use
from deskmate.testing.formats import anthropic_format, openai_format
from deskmate.testing.scripts import Answer

# Models by what they do: one asks for a call first, the other only talks.
CALLS, TALKS = "gpt-5", "gpt-5-mini"
FILE, CONTENT = "note.txt", "The answer is 42.\n"
ROOT = Path(__file__).parents[1]
ARRIVAL, LAST = "/arrival", "/last"
_ANSWERS = {
    "call": Say(calls=[Use("read_file", {"path": FILE}, id="call_0123456789")]),
    "text": Say("The file says that the answer is 42."),
}
_BLANK_LINE = b"\r\n\r\n"
_LONG = 32 * 1024
_CHUNK = b"%x\r\n%b\r\n"
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
_HEAD = "HTTP/1.1 200 OK\r\ncontent-type: {}\r\n{}\r\n\r\n"


@dataclass(frozen=True)
class Stub:
    """Where the stand-in listens."""

    port: int

    @property
    def url(self) -> str:
        """Its address, without the version that the formats add."""
        return f"http://127.0.0.1:{self.port}"

    def arrival(self) -> int:
        """Return when the first request since the last look began to come, on the clock that all processes share.

        0 if there was none. A client that connects with a HEAD before it asks has not asked yet.
        """
        return int(self._told(ARRIVAL))

    def last(self) -> bytes:
        """Return the last request that asked a model, as it came."""
        return self._told(LAST)

    def _told(self, path: str) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", path)
        told = connection.getresponse().read()
        connection.close()
        return told


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process that is measured: byte code is kept, and no proxy stands before the stub."""
    # Some set it against clutter; every start would then compile all of its modules anew.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", **more}


@contextmanager
def stub() -> Iterator[Stub]:
    """Lend a stand-in; it ends with the block, and with this process."""
    command = [sys.executable, "-m", "benchmarks.stub"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdin
        try:
            yield Stub(int(process.stdout.readline()))
        finally:
            process.stdin.close()
            process.wait(10)


class _Conversation(asyncio.Protocol):
    """One connection."""

    # When the first of them had something to say since somebody last looked, and what was asked last.
    arrived, last = 0, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._received, self._wanted = transport, bytearray(), 0

    def data_received(self, data: bytes) -> None:
        if not _Conversation.arrived and (self._received or data).startswith(b"POST "):
            _Conversation.arrived = time.monotonic_ns()
        self._received += data
        if not self._wanted and (end := self._received.find(_BLANK_LINE)) >= 0:
            self._wanted = end + len(_BLANK_LINE) + _length(bytes(self._received[:end]))
        if self._wanted and len(self._received) >= self._wanted:
            request = bytes(self._received)
            head, _, body = request.partition(_BLANK_LINE)
            self._received, self._wanted = bytearray(), 0
            if head.startswith(b"POST "):
                _Conversation.last = request
            self._transport.write(_response(head.split(b" ")[1].decode(), body))


def _length(head: bytes) -> int:
    lines = (line.partition(b":") for line in head.lower().split(b"\r\n"))
    return next((int(value) for name, _, value in lines if name == b"content-length"), 0)


def _response(path: str, body: bytes) -> bytes:
    if path == ARRIVAL:
        arrived, _Conversation.arrived = _Conversation.arrived, 0
        return _whole(str(arrived).encode())
    if path == LAST:
        return _whole(_Conversation.last)
    if path == "/":
        return _whole(b"")
    wire = _WIRES.get(path.partition("?")[0])
    if wire is None:
        return _NOT_FOUND
    asked = _read(body)
    return (wire.streamed if asked.get("stream") else wire.whole)[_step(asked)]


def _read(body: bytes) -> Mapping[str, Any]:
    """Return what a request asks, of the messages of a long one only the last.

    Reading all of a long one takes tens of milliseconds, and a step takes more processor time if its answer comes
    later, probably because caches are cold by then. Deskmate sends the messages last. A request that has other fields
    after them is read whole.
    """
    if len(body) < _LONG:
        return dict(json.loads(body))
    fields, _, messages = body.partition(b',"messages":[')
    # Quotes inside of a text are escaped, so only a message begins like this.
    last = messages[messages.rindex(b'{"role":') :]
    try:
        return {**json.loads(fields + b"}"), "messages": [json.loads(last.removesuffix(b"]}"))]}
    except json.JSONDecodeError:
        return dict(json.loads(body))


def _step(asked: Mapping[str, Any]) -> str:
    """Return what is due: a call, unless its result is there or the model never asks for one."""
    last = asked["messages"][-1]
    has_result = last["role"] == "tool" or "tool_result" in str(last["content"])
    return "text" if asked["model"] == TALKS or has_result else "call"


@dataclass(frozen=True)
class _Wire:
    """The responses of one format, made beforehand."""

    whole: Mapping[str, bytes]
    streamed: Mapping[str, bytes]


def _wire(whole: Callable[[Answer], bytes], events: Callable[[Answer, Mapping[str, Any]], list[bytes]]) -> _Wire:
    usage = Usage(input=100, output=10)
    answers = {step: Answer(say, CALLS, usage, "0" * 24, 16) for step, say in _ANSWERS.items()}
    options = {"stream_options": {"include_usage": True}}
    return _Wire(
        {step: _whole(whole(answer)) for step, answer in answers.items()},
        {step: _streamed(events(answer, options)) for step, answer in answers.items()},
    )


def _whole(body: bytes) -> bytes:
    return _HEAD.format("application/json", f"content-length: {len(body)}").encode() + body


def _streamed(events: list[bytes]) -> bytes:
    chunks = b"".join(_CHUNK % (len(event), event) for event in [*events, b""])
    return _HEAD.format("text/event-stream", "transfer-encoding: chunked").encode() + chunks


_WIRES = {
    anthropic_format.PATH: _wire(anthropic_format.whole, anthropic_format.events),
    openai_format.PATH: _wire(openai_format.whole, openai_format.events),
}


async def _serve() -> None:
    """Print the port and serve until the standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Conversation, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve())
