"""One connection: bytes out, bytes in, with time limits.

An asyncio protocol, because that needs no task switch where nothing has to be waited for.
"""

import asyncio
import os
import select
import ssl
from collections.abc import Iterable, Iterator, Sequence

from deskmate.models.http.http_failures import HttpFailure, SilenceTimeout

# What TLS takes in one call. It copies what the kernel does not take at once.
_PART = 2**20
# The kernel takes no more parts in one call.
_PARTS_MOST = 1024
# More than this waits in the kernel until somebody reads.
_RECEIVED_CAP = 256 * 1024


class Connection(asyncio.Protocol):
    """A connection that one task uses at a time. The loop calls the methods of the protocol."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received: list[bytes] = []
        self._size = 0
        self._is_reading = True
        self._has_ended = False
        self._error: Exception | None = None
        self._can_write = True
        self._waiter: asyncio.Future[None] | None = None
        # When it was last used, on the clock of the loop.
        self.used_at = 0.0

    # -- what the loop calls ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Keep what arrived until `receive` takes it."""
        self._received.append(data)
        self._size += len(data)
        if self._size > _RECEIVED_CAP and self._is_reading and self._transport:
            self._transport.pause_reading()
            self._is_reading = False
        self._wake()

    def eof_received(self) -> bool:
        """Note that nothing more arrives. The transport then closes itself."""
        self._has_ended = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the connection is gone."""
        self._has_ended, self._error = True, exc
        self._wake()

    def pause_writing(self) -> None:
        """Note that the kernel takes no more now."""
        self._can_write = False

    def resume_writing(self) -> None:
        """Note that the kernel takes more again."""
        self._can_write = True
        self._wake()

    # -- what its user calls ----------------------------------------------------------------------

    @property
    def is_ready(self) -> bool:
        """Whether it can take a new request: it is open, all was sent, and nothing arrived that nobody asked for."""
        assert self._transport
        if self._has_ended or self._received or self._transport.is_closing() or self._transport.get_write_buffer_size():
            return False
        # A TLS transport that was reset has none any more, for a moment before it says so.
        own = self._transport.get_extra_info("socket")
        return own is not None and own.fileno() >= 0 and not _has_news(own.fileno())

    async def send(self, parts: Sequence[bytes], seconds: float) -> None:
        """Send all parts, unless the server ends the connection: then `receive` returns what it said, or why it ended.

        The same if it takes nothing for so long, but has answered already. Raises SilenceTimeout if it has not.
        """
        assert self._transport
        try:
            if self._transport.get_extra_info("ssl_object") is None:
                await self._send_plain(self._transport, parts, seconds)
            else:
                await self._send_secure(self._transport, parts, seconds)
        except SilenceTimeout:
            if not self._received:
                raise

    async def _send_plain(self, transport: asyncio.Transport, parts: Sequence[bytes], seconds: float) -> None:
        """Hand the parts to the kernel. The transport would join them first, and copy what the kernel does not take."""
        own = transport.get_extra_info("socket").fileno()
        waiting, taken = [memoryview(part) for part in parts], 0
        while not self._has_ended:
            try:
                waiting = _after(waiting, taken := os.writev(own, waiting[:_PARTS_MOST]))
            except BlockingIOError:
                taken = 0
            except OSError:
                # The transport finds the same when it reads, after what the server said before.
                return
            if not waiting:
                return
            if not taken:
                await self._wait_for_room(own, seconds)

    async def _wait_for_room(self, own: int, seconds: float) -> None:
        # The loop lets only the transport watch its own number of the socket.
        other = os.dup(own)
        try:
            self._loop.add_writer(other, self._wake)
            await self._wait(seconds)
        finally:
            self._loop.remove_writer(other)
            os.close(other)

    async def _send_secure(self, transport: asyncio.Transport, parts: Iterable[bytes], seconds: float) -> None:
        for part in _pieces(parts):
            while not self._can_write and not self._has_ended:
                await self._wait(seconds)
            if self._has_ended:
                return
            transport.write(part)

    async def receive(self, seconds: float) -> bytes:
        """Return what arrived since the last call, at least a byte. Empty after the end of the connection.

        Raises SilenceTimeout if nothing arrived for so long, or HttpFailure.
        """
        while not self._received and not self._has_ended:
            await self._wait(seconds)
        if not self._received:
            if self._error:
                raise HttpFailure(str(self._error) or type(self._error).__name__) from self._error
            return b""
        data = self._received[0] if len(self._received) == 1 else b"".join(self._received)
        self._received.clear()
        self._size = 0
        if not self._is_reading and self._transport:
            self._transport.resume_reading()
            self._is_reading = True
        return data

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Continue in TLS. Raises OSError if the server cannot be trusted."""
        assert self._transport
        self._transport = await self._loop.start_tls(self._transport, self, context, server_hostname=host)

    def close(self) -> None:
        """Close the connection at once. What was not sent yet is dropped."""
        self._has_ended = True
        if self._transport:
            self._transport.abort()

    async def _wait(self, seconds: float) -> None:
        """Wait until something changes. A timer of the loop costs less than a cancel scope."""
        self._waiter = waiter = self._loop.create_future()
        timer = self._loop.call_later(seconds, _give_up, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)


def _pieces(parts: Iterable[bytes]) -> Iterator[bytes]:
    for part in parts:
        if len(part) <= _PART:
            yield part
        else:
            yield from (part[start : start + _PART] for start in range(0, len(part), _PART))


def _after(parts: list[memoryview], taken: int) -> list[memoryview]:
    """Return what is left of parts without their first bytes."""
    for place, part in enumerate(parts):
        if taken < len(part):
            return [part[taken:], *parts[place + 1 :]]
        taken -= len(part)
    return []


def _give_up(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_exception(SilenceTimeout())


def _has_news(socket: int) -> bool:
    """Return whether the loop has not seen yet what arrived, such as the end of the connection."""
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    return bool(poll.poll(0))
