"""Seats as messages that expire.

The holder of a seat repeats its message three times before it expires. A message that was repeated too late was
replaced by the server, or by the next holder: then the seat is lost, unless nobody took it meanwhile.
"""

import asyncio
import secrets
import time
from collections.abc import Callable
from contextlib import suppress

from deskmate.core.log.names import log
from deskmate.errors import Held, StoreError
from deskmate.stores.engines.nats.nats_client import (
    ANSWER_SECONDS,
    PASSING,
    UNDECIDED,
    WRONG_LAST,
    JetStreamError,
    NatsClient,
    Stored,
)
from deskmate.stores.engines.nats.nats_log import NatsLog, is_own
from deskmate.stores.engines.nats.nats_messages import EXPECTED, TTL, name_of, token
from deskmate.stores.engines.server_backend import Ticket

LEASE_SECONDS = 12
# Nothing is written with a seat after this, so that it is stored before the server frees the seat.
_SURE_SECONDS = LEASE_SECONDS - ANSWER_SECONDS
_RENEW_SECONDS, _AGAIN_SECONDS = LEASE_SECONDS / 3, 0.3
# Nobody tells that a process was killed.
_LINE_SECONDS = 0.25
_FREE, _EXPIRED, _OWNER = "Dm-Free", "Nats-Marker-Reason", "Dm-Owner"


class NatsSeats:
    """The seats of one team. `name`: their stream in JetStream. `ring`: called when a seat was lost."""

    def __init__(self, client: NatsClient, log: NatsLog, team: str, name: str, ring: Callable[[], None]) -> None:
        self._client, self._log, self._team, self._name, self._ring = client, log, team, name, ring
        self._renewals: dict[Ticket, asyncio.Task[None]] = {}
        self._sequences: dict[Ticket, int] = {}
        self._freed = asyncio.Event()

    async def take(self, ticket: Ticket, *, wait: bool) -> None:
        """Take a seat, or wait in line for it. Raises Held."""
        ticket.id = secrets.token_hex(8)
        while True:
            attempt = asyncio.ensure_future(self._attempt(ticket))
            attempt.add_done_callback(lambda done: done.cancelled() or done.exception())
            holder = await asyncio.shield(attempt)
            if holder is None:
                return
            if not wait:
                raise Held(ticket.name, holder)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._freed.wait(), _LINE_SECONDS)

    async def _attempt(self, ticket: Ticket) -> str | None:
        """Take a seat, or return its holder's note. An attempt that has begun is not interrupted."""

        async def attempt() -> str | None:
            while True:
                last = await self._last(ticket.name)
                if last is not None and last.headers.get(_OWNER) == ticket.id:
                    # The answer to our own message was lost.
                    self._sit(ticket, last.sequence, time.monotonic() - LEASE_SECONDS)
                elif _is_held(last):
                    assert last is not None, "it is held"
                    return last.body.decode(errors="replace")
                elif not await self._claim(ticket, last):
                    continue
                if last is None or _FREE not in last.headers:
                    await self._fence(ticket)
                return None

        async with ticket.busy:
            holder = await self._client.patiently(attempt)
            if holder is None:
                self._renewals[ticket] = asyncio.create_task(self._renew(ticket))
            return holder

    async def _claim(self, ticket: Ticket, last: Stored | None) -> bool:
        sent = time.monotonic()
        try:
            sequence = await self._put(ticket, last.sequence if last else 0)
        except JetStreamError as error:
            if error.code not in (WRONG_LAST, UNDECIDED):
                raise
            return False
        self._sit(ticket, sequence, sent)
        return True

    def _sit(self, ticket: Ticket, sequence: int, sent: float) -> None:
        if not ticket.epoch:
            ticket.epoch = sequence
        self._sequences[ticket] = sequence
        ticket.until = sent + _SURE_SECONDS

    async def _put(self, ticket: Ticket, after: int) -> int:
        headers = {EXPECTED: str(after), _OWNER: ticket.id, TTL: f"{LEASE_SECONDS}s"}
        answer = await self._client.request(self._subject(ticket.name), ticket.note.encode(), headers)
        return int(answer["seq"])

    async def _fence(self, ticket: Ticket) -> None:
        """Keep an earlier holder, which may only be cut off, from writing to the transcripts of this seat."""
        if "/" in ticket.name:
            return
        for stream in {log(ticket.name), *(known for known in self._log.tails if is_own(known, ticket.name))}:
            await self._log.fence(stream, ticket)

    async def _renew(self, ticket: Ticket) -> None:
        pause = _RENEW_SECONDS
        while ticket.lost is None:
            await asyncio.sleep(pause)
            sent, pause = time.monotonic(), _AGAIN_SECONDS
            try:
                self._sit(ticket, await self._put(ticket, self._sequences[ticket]), sent)
                pause = _RENEW_SECONDS
            except JetStreamError as error:
                if error.code == WRONG_LAST:
                    with suppress(*PASSING):
                        await self._look_again(ticket)
            except PASSING:
                # It is not known whether it was stored: ask.
                with suppress(*PASSING):
                    await self._look_again(ticket)

    async def _look_again(self, ticket: Ticket) -> None:
        last = await self._last(ticket.name)
        if last is not None and _EXPIRED not in last.headers and last.headers.get(_OWNER) != ticket.id:
            # Another process has it, or has had it and freed it.
            ticket.lost = last.body.decode(errors="replace")
            self._ring()
        else:
            # Ours, or free: the next renewal comes after this message.
            self._sequences[ticket] = last.sequence if last else 0

    async def drop(self, ticket: Ticket) -> None:
        """Free a seat, if the ticket has it."""
        async with ticket.busy:
            if (renewal := self._renewals.pop(ticket, None)) is None:
                return
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)
            if ticket.lost is None:
                headers = {EXPECTED: str(self._sequences[ticket]), _FREE: "1"}
                with suppress(*PASSING, StoreError):
                    await self._client.request(self._subject(ticket.name), b"", headers)
        self._freed.set()
        self._freed = asyncio.Event()

    async def holders(self, only: str | None = None) -> dict[str, str | None]:
        """Return the seats that are or were held, with the holder's note or None. `only`: at most this one."""
        wanted = {"subjects_filter": self._subject(only) if only else f"deskmate.{self._team}.seat.>"}
        info = await self._client.ask(f"STREAM.INFO.{self._name}", wanted)
        found = dict[str, str | None]()
        for subject in sorted(info["state"].get("subjects") or ()):
            last = await self._client.message(self._name, {"last_by_subj": subject})
            found[name_of(subject)] = (
                last.body.decode(errors="replace") if last is not None and _is_held(last) else None
            )
        return found

    async def _last(self, name: str) -> Stored | None:
        return await self._client.message(self._name, {"last_by_subj": self._subject(name)})

    def _subject(self, name: str) -> str:
        return ".".join(("deskmate", self._team, "seat", *map(token, name.split("/"))))


def _is_held(last: Stored | None) -> bool:
    return last is not None and _FREE not in last.headers and _EXPIRED not in last.headers
