"""Messages as lines of JSON in a pipe, bounded.

A server may send anything: a message is dropped before it is larger than a limit, and lines that are no messages are
skipped, up to a number.
"""

import os

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCResponse, jsonrpc_message_adapter

from deskmate.errors import ToolError

# A picture of the largest size that models take fits, in base64.
MOST_BYTES = 8_000_000
_MOST_GARBAGE = 200
_CHUNK = 1 << 16


class LineReader:
    """Reads messages from a pipe that does not block."""

    def __init__(self, fd: int, most: int = MOST_BYTES) -> None:
        self._fd, self._most = fd, most
        self._pending = bytearray()
        self._ready: list[bytes] = []
        self._garbage = 0

    async def message(self) -> SessionMessage | None:
        """Return the next message, None at the end. Raises ToolError for one that is too large, or for much garbage."""
        while True:
            while self._ready:
                if (message := self._read(self._ready.pop(0))) is not None:
                    return message
            await anyio.wait_readable(self._fd)
            try:
                chunk = os.read(self._fd, _CHUNK)
            except BlockingIOError:
                continue
            if not chunk:
                return None
            self._add(chunk)

    def _add(self, chunk: bytes) -> None:
        *whole, rest = chunk.split(b"\n")
        if whole:
            self._ready = [bytes(self._pending) + whole[0], *whole[1:]]
            self._pending.clear()
        self._pending += rest
        if max(map(len, [self._pending, *self._ready])) > self._most:
            raise ToolError(f"it sent a message of more than {self._most:,} bytes")

    def _read(self, line: bytes) -> SessionMessage | None:
        try:
            return SessionMessage(without_promises(jsonrpc_message_adapter.validate_json(line, by_name=False)))
        except (ValueError, RecursionError):
            self._garbage += bool(line.strip())
            if self._garbage > _MOST_GARBAGE:
                raise ToolError("it prints lines that are no MCP messages") from None
            return None


def without_promises(message: JSONRPCMessage) -> JSONRPCMessage:
    """Return a message in which tools promise nothing about results. To check that, the SDK runs a server's regex."""
    if isinstance(message, JSONRPCResponse) and isinstance(tools := message.result.get("tools"), list):
        for tool in tools:
            if isinstance(tool, dict):
                tool.pop("outputSchema", None)
    return message


async def write_line(fd: int, message: SessionMessage) -> None:
    """Write a message to a pipe that does not block."""
    data = memoryview(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:
            await anyio.wait_writable(fd)
