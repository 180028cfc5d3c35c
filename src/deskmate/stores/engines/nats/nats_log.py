"""Appending, deciding and reading.

An append names the message after which it must come, so of two that were made from the same state one is refused. It
cannot be stored twice, either: if an answer was lost, the same message is either refused when it comes again, or the
first one is. A refused process looks whether the records after that message are its own.
"""

import asyncio
import json
import random
import time
from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote, unquote

from nats.aio.msg import Msg

from deskmate.core.log.records import Item, Make, Record, Stamp, encode, stamp
from deskmate.errors import Conflict, SeatLost, StoreCorrupt
from deskmate.stores.engines.nats.nats_client import (
    ANSWER_SECONDS,
    PASSING,
    PATIENCE_SECONDS,
    UNDECIDED,
    WRONG_LAST,
    JetStreamError,
    NatsClient,
)
from deskmate.stores.engines.nats.nats_messages import (
    EPOCH,
    EXPECTED,
    FENCE,
    FIRST,
    LAST,
    Tail,
    packed,
    subject_of,
    unpacked,
)
from deskmate.stores.engines.server_backend import Ticket

T = TypeVar("T")
_BATCH, _BATCH_BYTES = 256, 4 << 20
# A replica that answers may be behind the leader.
_LAG_SECONDS, _PAUSE_SECONDS = 0.005, 0.1


class NatsLog:
    """The streams of one team. `name`: its stream in JetStream. `patience`: the seconds that servers may be away."""

    def __init__(self, client: NatsClient, team: str, name: str, patience: float = PATIENCE_SECONDS) -> None:
        self._client, self._team, self._name, self._patience = client, team, name, patience
        self.tails: dict[str, Tail] = {}
        # Of each stream, the server's number of the message that ends with a number: where to read on.
        self._places: dict[str, tuple[int, int]] = {}
        # Records whose answer was lost, with the number after which they can be.
        self._doubts: dict[tuple[str, Stamp], int] = {}
        self._turns: dict[str, asyncio.Lock] = {}

    # -- reading ----------------------------------------------------------------------------------

    async def tail(self, stream: str) -> Tail:
        """Return the end of a stream as its leader knows it."""
        found = await self._client.message(self._name, {"last_by_subj": subject_of(self._team, stream)})
        tail = Tail() if found is None else Tail.of(found.sequence, found.headers)
        self.saw(stream, tail)
        return tail

    def saw(self, stream: str, tail: Tail) -> None:
        """Note the end of a stream."""
        if tail.sequence > self.tails.get(stream, Tail()).sequence:
            self.tails[stream] = tail

    async def read(self, stream: str, after: int, most: int | None = None) -> list[Item]:
        """Return what is after a number, at most so many. Raises StoreCorrupt if the stream ends before it."""
        return (await self._client.patiently(lambda: self._read(stream, after, most)))[0]

    async def _read(self, stream: str, after: int, most: int | None = None) -> tuple[list[Item], Tail]:
        """Return what is after a number, and the end of the stream that this reaches to."""
        tail = await self.tail(stream)
        if after > tail.number:
            raise shrunk(stream, after, tail.number)
        found = list[Item]()
        if after == tail.number:
            return found, tail
        start, until = await self._start(stream, after, tail), time.monotonic() + ANSWER_SECONDS
        while start <= tail.sequence and (most is None or len(found) < most):
            messages = await self._batch(stream, start)
            for message in messages:
                headers = message.headers or {}
                start = int(headers["Nats-Sequence"]) + 1
                found += [
                    item
                    for item in unpacked(f"{self._client.place} {stream}", headers, message.data)
                    if after < item.number <= tail.number
                ]
            if not messages:
                if time.monotonic() > until:
                    raise TimeoutError(f"no server has {stream} up to record {tail.number}")
                await asyncio.sleep(_LAG_SECONDS)
        self._places[stream] = tail.number, tail.sequence
        return found if most is None else found[:most], tail

    async def _start(self, stream: str, after: int, tail: Tail) -> int:
        """Return the server's number from which on to look for the record after a number."""
        number, sequence = self._places.get(stream, (0, 0))
        if number == after or after == 0:
            return sequence + 1 if after else 1
        # The numbers of records grow with those of the server.
        low, high, subject = 1, tail.sequence, subject_of(self._team, stream)
        while low < high:
            middle = (low + high) // 2
            found = await self._client.message(self._name, {"seq": middle, "next_by_subj": subject})
            if found is not None and int(found.headers[LAST]) <= after:
                low = found.sequence + 1
            else:
                high = middle
        return low

    async def _batch(self, stream: str, start: int) -> list[Msg]:
        """Return the next messages of a stream, from any server that has them."""
        client = await self._client.client()
        inbox, found, ended = client.new_inbox(), list[Msg](), asyncio.get_running_loop().create_future()

        async def take(message: Msg) -> None:
            if FIRST in (message.headers or {}):
                found.append(message)
            elif not ended.done():
                ended.set_result(None)

        listening = await client.subscribe(inbox, cb=take)
        try:
            wanted = {"seq": start, "next_by_subj": subject_of(self._team, stream)}
            asked = json.dumps({**wanted, "batch": _BATCH, "max_bytes": _BATCH_BYTES}).encode()
            await client.publish(f"$JS.API.DIRECT.GET.{self._name}", asked, reply=inbox)
            await asyncio.wait_for(ended, ANSWER_SECONDS)
        finally:
            await listening.unsubscribe()
        return found

    # -- appending --------------------------------------------------------------------------------

    async def append(
        self, stream: str, lines: Mapping[Stamp, bytes], expect: int | None, guards: Sequence[Ticket]
    ) -> list[int]:
        """Append lines. `Store.append` has the details."""
        attempt = _Attempt(stream, guards, self._patience)
        async with self._turn(stream):
            attempt.floor = min((found for mark in lines if (found := self._doubts.get((stream, mark)))), default=None)
            known = self.tails.get(stream)
            if known is None or attempt.floor is not None or expect not in (None, known.number):
                known = await self._client.patiently(lambda: self.tail(stream))
            while True:
                if attempt.floor is not None and (mine := await self._mine(stream, lines, attempt.floor - 1)):
                    return mine
                if expect is not None and expect > known.number:
                    raise shrunk(stream, expect, known.number)
                if expect is not None and expect != known.number:
                    raise Conflict(stream, expect, known.number)
                if await self._publish(attempt, lines, known):
                    return [known.number + place for place in range(1, len(lines) + 1)]
                known = await self._client.patiently(lambda: self.tail(stream))

    async def decide(self, stream: str, after: int, make: Make[T], guards: Sequence[Ticket]) -> tuple[int | None, T]:
        """Append what `make` decides. `Store.decide` has the details."""
        attempt, tried = _Attempt(stream, guards, self._patience), dict[Stamp, T]()
        async with self._turn(stream):
            while True:
                items, tail = await self._client.patiently(lambda: self._read(stream, after))
                for item in items:
                    if isinstance(item, Record) and stamp(item.body) in tried:
                        return item.number, tried[stamp(item.body)]
                decision = make(items)
                if decision.record is None:
                    return None, decision.outcome
                mark = stamp(decision.record)
                tried[mark] = decision.outcome
                if await self._publish(attempt, {mark: encode(decision.record)}, tail):
                    return tail.number + 1, decision.outcome
                # Others decide, too: not all of them at the same time again.
                await asyncio.sleep(random.uniform(0, 0.004))

    async def _publish(self, attempt: "_Attempt", lines: Mapping[Stamp, bytes], tail: Tail) -> bool:
        """Append lines after a message. Return False if another came first, or if the answer was lost."""
        await attempt.check(tail, self._client)
        body, headers = packed(tail.number + 1, list(lines.values()))
        headers |= {EXPECTED: str(tail.sequence), **attempt.epoch_header()}
        try:
            answer = await self._client.request(subject_of(self._team, attempt.stream), body, headers)
        except PASSING as error:
            if not (isinstance(error, JetStreamError) and error.code == WRONG_LAST):
                # It may have been stored, or may be stored still. Another one that comes after the same message is
                # then refused, or takes its place.
                await self._doubt(attempt, lines, tail, error)
            return False
        for mark in lines:
            self._doubts.pop((attempt.stream, mark), None)
        end = Tail(tail.number + len(lines), answer["seq"], epoch=attempt.epoch)
        if self._places.get(attempt.stream, (0, 0))[0] == tail.number:
            self._places[attempt.stream] = end.number, end.sequence
        self.saw(attempt.stream, end)
        return True

    async def _doubt(self, attempt: "_Attempt", lines: Mapping[Stamp, bytes], tail: Tail, error: Exception) -> None:
        undecided = isinstance(error, JetStreamError) and error.code == UNDECIDED
        if not undecided:
            attempt.floor = min(attempt.floor or tail.number + 1, tail.number + 1)
            for mark in lines:
                self._doubts[attempt.stream, mark] = attempt.floor
        if undecided and attempt.sees_progress(tail):
            # Others come through: the servers are not away, this process is only late.
            attempt.until = time.monotonic() + self._patience
        elif time.monotonic() > attempt.until:
            raise self._client.unavailable(error) from error
        await asyncio.sleep(_LAG_SECONDS if undecided else _PAUSE_SECONDS)

    async def _mine(self, stream: str, lines: Mapping[Stamp, bytes], floor: int) -> list[int] | None:
        """Return the numbers of records that an earlier try has stored, or None. `floor`: they are after it."""
        items = await self.read(stream, floor)
        places = {stamp(item.body): item.number for item in items if isinstance(item, Record)}
        if not lines.keys() <= places.keys():
            return None
        for mark in lines:
            self._doubts.pop((stream, mark), None)
        return [places[mark] for mark in lines]

    async def fence(self, stream: str, ticket: Ticket) -> None:
        """End what an earlier holder of a seat writes to a stream: it would have to come after an older message."""
        tail = await self.tail(stream)
        while tail.number and tail.epoch < ticket.epoch:
            headers = {FIRST: str(tail.number + 1), LAST: str(tail.number), EXPECTED: str(tail.sequence)}
            headers |= {FENCE: quote(ticket.note), EPOCH: str(ticket.epoch)}
            try:
                await self._client.request(subject_of(self._team, stream), b"", headers)
            except JetStreamError as error:
                if error.code not in (WRONG_LAST, UNDECIDED):
                    raise
            tail = await self.tail(stream)

    def _turn(self, stream: str) -> asyncio.Lock:
        return self._turns.setdefault(stream, asyncio.Lock())


class _Attempt:
    """One append or decision. `floor`: the first number that its records can have, if an answer was lost."""

    def __init__(self, stream: str, guards: Sequence[Ticket], patience: float) -> None:
        self.stream, self._guards = stream, guards
        self.floor: int | None = None
        self.until = time.monotonic() + patience
        self._tried_after = 0
        owners = (ticket for ticket in guards if is_own(stream, ticket.name))
        self.epoch = next((ticket.epoch for ticket in owners), 0)

    def sees_progress(self, tail: Tail) -> bool:
        """Return whether the stream has moved since this was last asked."""
        before, self._tried_after = self._tried_after, tail.sequence
        return tail.sequence != before

    def epoch_header(self) -> dict[str, str]:
        """Return the header that shows later holders of the seat, and this one if it is not the last, who wrote."""
        return {EPOCH: str(self.epoch)} if self.epoch else {}

    async def check(self, tail: Tail, client: NatsClient) -> None:
        """Return once all seats are certainly held. Raises SeatLost or StoreUnavailable."""
        while True:
            for ticket in self._guards:
                if ticket.lost is not None:
                    raise SeatLost(ticket.name, ticket.lost)
            if self.epoch and tail.epoch > self.epoch:
                raise SeatLost(self.stream.partition("/")[2], unquote(tail.fence))
            now = time.monotonic()
            if all(now < ticket.until for ticket in self._guards):
                return
            if now > self.until:
                raise client.unavailable(TimeoutError("a seat could not be renewed"))
            await asyncio.sleep(_PAUSE_SECONDS)


def is_own(stream: str, member: str) -> bool:
    """Return whether a stream is the transcript of a member or of one of its subagents."""
    kind, _, owner = stream.partition("/")
    return kind == "log" and owner.partition(":")[0] == member


def shrunk(stream: str, known: int, last: int) -> StoreCorrupt:
    """Return the error for a stream that ends before what was read."""
    return StoreCorrupt(f"{stream} ends at record {last}, but record {known} was read from it before")
