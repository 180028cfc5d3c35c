"""A machine whose cable is pulled for longer than its lease loses its seat, and writes nothing after that."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import anyio
import pytest

from deskmate.core.log.records import Record
from deskmate.errors import SeatLost, StoreUnavailable
from deskmate.stores.engines.engine_table import engine_of
from deskmate.testing.servers.cut_network import CutNetwork, can_cut
from deskmate.testing.servers.nats_servers import NatsServers
from deskmate.testing.servers.postgres_server import PostgresServer
from tests.servers.needed import need_nats, need_postgres

pytestmark = [pytest.mark.soak, pytest.mark.skipif(not can_cut(), reason="network namespaces need root")]
# Both free the seat after 12 seconds without a word, and the next in line looks twice a second.
LEASE_SECONDS, SOON = 12, 90


@pytest.fixture
def network() -> Iterator[CutNetwork]:
    with CutNetwork() as network:
        yield network


@pytest.fixture(params=["postgres", "nats"])
def url(request: pytest.FixtureRequest, network: CutNetwork) -> Iterator[str]:
    """The address of a server that machines of the network reach."""
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="dm-")))
        if request.param == "postgres":
            need_postgres()
            server = PostgresServer(folder, f"listen_addresses={network.here}")
            running.enter_context(closing(server))
            yield f"{server.url_at(network.here)}?space=cut"
        else:
            need_nats()
            yield f"{running.enter_context(closing(NatsServers(folder, network=network))).url}&space=cut"


@pytest.mark.anyio
async def test_who_is_cut_off_for_longer_than_its_lease_is_fenced(
    network: CutNetwork, url: str, tmp_path: Path
) -> None:
    network.add("far")
    words = [*network.inside("far"), sys.executable, __file__, url, str(tmp_path)]
    with (
        subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=os.getcwd()) as far,
        closing(engine_of(url, tmp_path)) as engine,
        closing(engine.open("team", create=True)) as store,
    ):
        assert far.stdout is not None
        try:
            with anyio.fail_after(SOON):
                await store.changed({"log/bob": 5})
                network.cut("far")
                began = anyio.current_time()
                async with store.hold("bob", "the next", wait=True):
                    assert anyio.current_time() - began < 2 * LEASE_SECONDS
                    first = len(await store.read("log/bob"))
                    mine = [await store.append("log/bob", {"by": "next", "run": "next", "ord": n}) for n in range(3)]
                    network.heal("far")
                    assert (await anyio.to_thread.run_sync(far.stdout.read)).split()[-1] == "lost"
                    found = await store.read("log/bob")
                    assert [item.number for item in found] == list(range(1, first + len(mine) + 1))
                    assert [item.body["by"] for item in found if isinstance(item, Record)][first:] == ["next"] * 3
        finally:
            far.kill()


async def be_far(url: str, folder: Path) -> None:
    """Hold a seat and write with it until it is lost."""
    with closing(engine_of(url, folder)) as engine, closing(engine.open("team", create=True)) as store:
        async with store.hold("bob", "the far one"):
            number = 0
            while True:
                number += 1
                try:
                    await store.append("log/bob", {"by": "far", "run": "far", "ord": number})
                except StoreUnavailable:
                    # What is in doubt is written again.
                    number -= 1
                except SeatLost:
                    print("lost", flush=True)
                    return
                await anyio.sleep(0.05)


if __name__ == "__main__":
    anyio.run(be_far, sys.argv[1], Path(sys.argv[2]))
