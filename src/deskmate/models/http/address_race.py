"""A socket to a host that may have several addresses, of which some do not answer.

asyncio can do this too, but when it is cancelled, it forgets the socket that has just connected, and leaves it open.
"""

import asyncio
import socket
from collections import Counter
from typing import Any

import anyio

# After so long, the next address is tried too.
_NEXT_ADDRESS_SECONDS = 0.25
_Address = tuple[int, int, int, str, Any]


async def connected_socket(host: str, port: int) -> socket.socket:
    """Return a socket to the address that answers first. Raises OSError if none does."""
    race = _Race()
    try:
        await race.run(await _addresses(host, port))
    except BaseException:
        if race.winner:
            race.winner.close()
        raise
    if race.winner is None:
        raise race.errors[0]
    return race.winner


class _Race:
    """Tries addresses, each a little later than the one before. `errors`: why those that failed did."""

    def __init__(self) -> None:
        self.winner: socket.socket | None = None
        self.errors: list[OSError] = []

    async def run(self, addresses: list[_Address]) -> None:
        async with anyio.create_task_group() as group:
            for address in addresses:
                has_ended = anyio.Event()
                group.start_soon(self._try, address, has_ended, group.cancel_scope)
                with anyio.move_on_after(_NEXT_ADDRESS_SECONDS):
                    await has_ended.wait()

    async def _try(self, address: _Address, has_ended: anyio.Event, others: anyio.CancelScope) -> None:
        family, kind, protocol, _, place = address
        try:
            candidate = socket.socket(family, kind, protocol)
            try:
                candidate.setblocking(False)
                await asyncio.get_running_loop().sock_connect(candidate, place)
                if self.winner is None:
                    self.winner = candidate
                    others.cancel()
            finally:
                if self.winner is not candidate:
                    candidate.close()
        except OSError as error:
            self.errors.append(error)
        has_ended.set()


async def _addresses(host: str, port: int) -> list[_Address]:
    """Return the addresses of a host: the first of each family, then the second of each."""
    try:
        # This needs no thread, because nobody is asked.
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    seen: Counter[int] = Counter()
    ranked: list[tuple[int, _Address]] = []
    for address in found:
        ranked.append((seen[address[0]], address))
        seen[address[0]] += 1
    return [address for _, address in sorted(ranked, key=lambda entry: entry[0])]
