"""Where the team of a storm is kept, and its records without the product's code."""

import json
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from deskmate.stores.engines.engine import Engine
from deskmate.stores.engines.engine_table import engine_of
from deskmate.testing.servers.cut_network import CutNetwork
from deskmate.testing.servers.nats_servers import NatsServers
from deskmate.testing.servers.postgres_server import PostgresServer

TEAM = "storm"


class StormServer(Protocol):
    """A server that may be killed."""

    @property
    def url(self) -> str:
        """Its address, as in the setting `store`."""

    def disturb(self) -> None:
        """Kill it, or one of several, and start it again."""

    def bodies(self, team: str, stream: str) -> list[bytes]:
        """Return the records of a stream, read without the product's code."""

    def close(self) -> None:
        """End it for good."""


@dataclass(frozen=True, slots=True)
class StormPlace:
    """A team in the files of a folder, or on a server. The histories of a storm are always in the folder."""

    folder: Path
    server: StormServer | None = None

    def engine(self) -> Engine:
        """Return what keeps the team."""
        return engine_of(self.server.url if self.server else None, self.folder)

    def records(self, stream: str) -> Iterator[dict[str, Any]]:
        """Yield the records of a stream, without using the product's code."""
        if self.server is not None:
            yield from map(json.loads, self.server.bodies(TEAM, stream))
        elif stream == "board":
            yield from raw_records(self.folder / ".tasks" / TEAM / "board.jsonl")
        else:
            yield from raw_records(self.folder / ".teams" / TEAM / f"{stream.partition('/')[2]}_transcript.jsonl")


def raw_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a stream file with a valid checksum, without using the product's code."""
    for line in path.read_bytes().split(b"\n"):
        head, found, seal = line.rpartition(b',"crc":"')
        if found and seal[8:] == b'"}' and zlib.crc32(head) == int(seal[:8], 16):
            yield json.loads(line)


SERVERS = ("postgres", "nats", "nats-cluster", "nats-network")


@contextmanager
def new_server(kind: str | None) -> Iterator[StormServer | None]:
    """Yield a server of a kind in a folder of its own, None for none, and end it after that.

    The servers of `nats-network` are cut off at times, too. That needs root.
    """
    if kind is None:
        yield None
        return
    # A short path, because of its socket.
    with ExitStack() as running, tempfile.TemporaryDirectory(prefix="dm-") as folder:
        place = Path(folder)
        if kind == "postgres":
            server: StormServer = PostgresServer(place)
        elif kind == "nats-network":
            server = NatsServers(place, 3, network=running.enter_context(CutNetwork()))
        else:
            server = NatsServers(place, 3 if kind == "nats-cluster" else 1)
        with closing(server):
            yield server
