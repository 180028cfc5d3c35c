"""What NATS does beyond the promises of every store: refused servers, restarts, lost seats, fences."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import nats
import pytest

from deskmate.core.log.records import Decision, Record
from deskmate.errors import Conflict, SeatLost, StoreUnavailable
from deskmate.stores.engines.nats.nats_engine import NatsEngine
from deskmate.stores.engines.nats.nats_seats import LEASE_SECONDS
from deskmate.testing.servers.nats_servers import NatsServers
from deskmate.testing.store_contract import record
from tests.servers.nats_nodes import nats_server, nats_url, new_servers

__all__ = ["nats_server", "nats_url"]

pytestmark = pytest.mark.anyio
SOON = 40


@pytest.fixture
def engine(nats_url: str, tmp_path: Path) -> Iterator[NatsEngine]:
    with closing(NatsEngine(nats_url, tmp_path)) as engine:
        yield engine


@pytest.fixture(scope="module")
def own_server(nats_server: NatsServers) -> Iterator[NatsServers]:
    """A server that may be killed."""
    yield from new_servers(1)


async def free_all_seats(server: NatsServers) -> None:
    """Do what the server does with seats that are not renewed."""
    client = await nats.connect(server.url.partition("?")[0])
    try:
        names = json.loads((await client.request("$JS.API.STREAM.NAMES", timeout=5)).data)["streams"]
        for name in names:
            if name.endswith("_seats"):
                await client.request(f"$JS.API.STREAM.PURGE.{name}", timeout=5)
    finally:
        await client.close()


# -- servers ----------------------------------------------------------------------------------------


async def test_a_server_that_syncs_late_is_refused_with_what_to_write(nats_server: NatsServers, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = NatsServers(Path(folder), sync="2m")
        try:
            with closing(NatsEngine(server.url, tmp_path)) as engine, pytest.raises(StoreUnavailable) as refused:
                engine.teams()
        finally:
            server.close()
    assert "can be lost" in refused.value.message
    assert "sync_interval: always" in refused.value.hint


async def test_a_server_about_which_nothing_is_known_is_refused(nats_server: NatsServers, tmp_path: Path) -> None:
    url = nats_server.url.partition("?")[0]
    for address, said in (
        (url, "needs 1 monitoring"),
        (f"{url}?monitor=http://127.0.0.1:1", "too few of its monitoring"),
    ):
        with closing(NatsEngine(address, tmp_path)) as engine, pytest.raises(StoreUnavailable, match=said):
            engine.teams()


async def test_a_server_that_is_not_there_is_named_without_its_password(tmp_path: Path) -> None:
    url = "nats://bob:hunter2@127.0.0.1:1?monitor=http://127.0.0.1:1"
    with closing(NatsEngine(url, tmp_path)) as engine, pytest.raises(StoreUnavailable) as refused:
        engine.teams()
    assert "nats://bob@127.0.0.1:1" in refused.value.message
    assert "hunter2" not in str(refused.value)


async def test_everything_goes_on_after_the_server_was_killed_and_started(
    own_server: NatsServers, tmp_path: Path
) -> None:
    with closing(NatsEngine(own_server.url, tmp_path)) as engine:
        store = engine.open("team", create=True)
        body = record("before")
        async with store.hold("lead", "me"):
            assert await store.append("board", body) == [1]
            with anyio.fail_after(SOON):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(store.changed, {"board": 3})
                    own_server.kill()
                    own_server.start()
                    assert await store.append("board", record("after")) == [2]
                    assert await store.decide("board", 0, lambda news: Decision(record(), len(news))) == (3, 2)
                    await store.append("board", record("wakes"))
        assert next(item.body["text"] for item in await store.read("board") if isinstance(item, Record)) == "before"


# -- seats ------------------------------------------------------------------------------------------


async def test_who_lost_its_seat_is_kept_from_its_transcript_at_once_and_from_the_rest_soon(
    engine: NatsEngine, nats_url: str, nats_server: NatsServers, tmp_path: Path
) -> None:
    store = engine.open("team", create=True)
    async with store.hold("bob", "the first"):
        [last] = await store.append("log/bob", record("mine"))
        await free_all_seats(nats_server)
        with closing(NatsEngine(nats_url, tmp_path)) as other:
            async with other.open("team").hold("bob", "the second"):
                with pytest.raises((SeatLost, Conflict)):
                    await store.append("log/bob", record("late"), expect=last)
                with anyio.fail_after(SOON):
                    # It returns without a change once the loss was noticed.
                    await store.changed({"board": 0})
                with pytest.raises(SeatLost) as refused:
                    await store.append("board", record("late"))
                assert refused.value.note == "the second"
    assert [item.number for item in await store.read("log/bob")] == [last]
    assert await store.read("board") == []


@pytest.mark.soak
async def test_a_seat_that_nobody_took_is_taken_back(
    engine: NatsEngine, nats_url: str, nats_server: NatsServers, tmp_path: Path
) -> None:
    store = engine.open("team", create=True)
    async with store.hold("bob", "the first"):
        await free_all_seats(nats_server)
        # Longer than the lease: without a renewal meanwhile, the append would be refused.
        with anyio.move_on_after(LEASE_SECONDS):
            await store.changed({"board": 0})
        assert engine.look("team", no_damage).holder("bob") == "the first"
        await store.append("log/bob", record("still here"))


def no_damage(words: str, kind: str = "other") -> None:
    raise AssertionError(words)


# -- teams ------------------------------------------------------------------------------------------


async def test_spaces_do_not_see_each_other(engine: NatsEngine, nats_server: NatsServers, tmp_path: Path) -> None:
    store = engine.open("team", create=True)
    assert engine.teams() == []
    await store.append("roster", record())
    assert engine.teams() == ["team"]
    with closing(NatsEngine(f"{nats_server.url}&space=other", tmp_path)) as other:
        assert other.teams() == []


async def test_an_archived_team_frees_its_name_and_can_still_be_read(engine: NatsEngine) -> None:
    store = engine.open("team", create=True)
    await store.append("roster", record())
    assert engine.archive("team", 0.0) == "team-19700101T000000Z"
    assert engine.teams() == []
    assert len(await store.read("roster")) == 1
    assert await engine.open("team", create=True).read("roster") == []
    engine.remove("team", ("team-19700101T000000Z",))
    assert engine.teams() == []
