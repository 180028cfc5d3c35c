"""A process that loses many races for a stream goes on, and one whose servers are away says so."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import pytest

from deskmate.errors import StoreUnavailable
from deskmate.stores.engines.nats.nats_client import UNDECIDED, JetStreamError, NatsClient, Stored
from deskmate.stores.engines.nats.nats_log import NatsLog
from deskmate.stores.engines.nats.nats_messages import FIRST, LAST

pytestmark = pytest.mark.anyio


@dataclass
class BusyServers:
    """Servers that are about to store something else, several times. `moves`: whether that is ever stored."""

    losses: int
    moves: bool = True
    place: str = "nats://busy"
    last: int = 7

    async def message(self, stream: str, wanted: Mapping[str, object]) -> Stored:
        return Stored("", self.last, {FIRST: str(self.last), LAST: str(self.last)}, b"", "")

    async def request(self, subject: str, body: bytes, headers: dict[str, str]) -> dict[str, Any]:
        if self.losses:
            self.losses -= 1
            self.last += self.moves
            raise JetStreamError(UNDECIDED, "wrong last sequence")
        return {"seq": self.last + 1}

    async def patiently(self, work: Callable[[], Awaitable[Any]]) -> Any:
        return await work()

    def unavailable(self, error: BaseException) -> StoreUnavailable:
        return StoreUnavailable(str(error))


def log_of(servers: BusyServers) -> NatsLog:
    return NatsLog(cast(NatsClient, servers), "team", "DESKMATE_team", patience=0.0)


async def test_who_loses_many_races_goes_on_as_long_as_others_come_through() -> None:
    servers = BusyServers(losses=5)
    assert await log_of(servers).append("board", {("run", 1): b"{}"}, None, ()) == [13]
    assert servers.losses == 0


async def test_servers_that_store_nothing_any_more_are_away() -> None:
    with pytest.raises(StoreUnavailable):
        await log_of(BusyServers(losses=5, moves=False)).append("board", {("run", 1): b"{}"}, None, ())
