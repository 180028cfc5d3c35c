"""Waiting for changes of one team: its servers push the end of each stream whenever it moves."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

from nats.aio.client import Client
from nats.aio.msg import Msg

from deskmate.errors import StoreError
from deskmate.stores.engines.nats.nats_client import PASSING, NatsClient
from deskmate.stores.engines.nats.nats_log import NatsLog
from deskmate.stores.engines.nats.nats_messages import LAST, Tail, name_of

NET_SECONDS = 2.0
_HEARTBEAT_SECONDS = 2
# After this long without a heartbeat, nobody pushes any more.
_SILENCE_SECONDS = 7.0
_NANO = 10**9


class NatsWatch:
    """The ends of a team's streams. `name`: its stream in JetStream."""

    def __init__(self, client: NatsClient, log: NatsLog, team: str, name: str) -> None:
        self._client, self._log, self._team, self._name = client, log, team, name
        self._last: dict[str, int] = {}
        self._bell, self._opening = asyncio.Event(), asyncio.Lock()
        self._keeper: asyncio.Task[None] | None = None
        self._heard = 0.0

    async def changed(self, since: Mapping[str, int], is_over: Callable[[], bool]) -> None:
        """Return once a stream has something above its number, or, after `ring`, once `is_over` says so."""
        async with self._opening:
            if self._keeper is None:
                client = await self._client.client()
                inbox = client.new_inbox()
                await client.subscribe(inbox, cb=self._hear)
                await self._client.patiently(lambda: self._push_to(inbox))
                self._keeper = asyncio.create_task(self._keep(client, inbox))
        for stream in since.keys() - self._last.keys():
            # After the servers began to push: nothing is between this look and the first push.
            await self._client.patiently(partial(self._look, stream))
        while True:
            bell = self._bell
            if is_over() or any(self._last.get(stream, 0) > number for stream, number in since.items()):
                return
            try:
                await asyncio.wait_for(bell.wait(), NET_SECONDS)
            except TimeoutError:
                # A net, in case a push was lost.
                for stream in since:
                    with suppress(*PASSING, StoreError):
                        await self._look(stream)

    def ring(self) -> None:
        """Wake all who wait."""
        self._bell.set()
        self._bell = asyncio.Event()

    async def _look(self, stream: str) -> None:
        self._moved(stream, (await self._log.tail(stream)).number)

    def _moved(self, stream: str, number: int) -> None:
        if number > self._last.get(stream, -1):
            self._last[stream] = number
            self.ring()

    async def _hear(self, message: Msg) -> None:
        self._heard = time.monotonic()
        headers = message.headers or {}
        if LAST in headers:
            tail, stream = Tail.of(message.metadata.sequence.stream, headers), name_of(message.subject)
            self._log.saw(stream, tail)
            self._moved(stream, tail.number)

    async def _push_to(self, inbox: str) -> None:
        self._heard = time.monotonic()
        config = {
            "deliver_subject": inbox,
            "deliver_policy": "last_per_subject",
            "filter_subject": f"deskmate.{self._team}.s.>",
            "ack_policy": "none",
            "replay_policy": "instant",
            "headers_only": True,
            "idle_heartbeat": _HEARTBEAT_SECONDS * _NANO,
            "inactive_threshold": 30 * _NANO,
            "mem_storage": True,
            "num_replicas": 1,
        }
        await self._client.ask(f"CONSUMER.CREATE.{self._name}", {"stream_name": self._name, "config": config})

    async def _keep(self, client: Client, inbox: str) -> None:
        while not client.is_closed:
            await asyncio.sleep(NET_SECONDS)
            if time.monotonic() - self._heard > _SILENCE_SECONDS:
                with suppress(*PASSING):
                    await self._push_to(inbox)

    def close(self) -> None:
        """Stop looking after the pushes."""
        if self._keeper is not None:
            self._keeper.cancel()
