"""What PostgreSQL does beyond the promises of every store: restarts, lost seats, syncs, versions."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import asyncpg
import pytest

from deskmate.core.log.records import Decision, Record
from deskmate.errors import SeatLost, StoreUnavailable
from deskmate.ports import Store
from deskmate.stores.engines.postgres.postgres_engine import PostgresEngine
from deskmate.testing.servers.postgres_server import PostgresServer
from deskmate.testing.store_contract import record
from tests.servers.postgres import new_server, postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]

pytestmark = pytest.mark.anyio
SOON = 30


@pytest.fixture
def engine(postgres_url: str, tmp_path: Path) -> Iterator[PostgresEngine]:
    with closing(PostgresEngine(postgres_url, tmp_path)) as engine:
        yield engine


@pytest.fixture(scope="module")
def own_server(postgres_server: PostgresServer) -> Iterator[PostgresServer]:
    """A server that may be killed. It flushes late, so that a kill is like a loss of power."""
    yield from new_server("wal_writer_delay=10s")


def no_damage(words: str, kind: str = "other") -> None:
    raise AssertionError(words)


async def run_sql(server: PostgresServer, query: str) -> object:
    connection = await asyncpg.connect(server.url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def append_for_ever(store: Store) -> None:
    while True:
        await store.append("log/lead", record("still here"))


# -- restarts ---------------------------------------------------------------------------------------


async def test_everything_goes_on_after_the_server_was_killed_and_started(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    with closing(PostgresEngine(own_server.url, tmp_path)) as engine:
        store = engine.open("team", create=True)
        body = record("before")
        async with store.hold("lead", "me"):
            assert await store.append("board", body) == [1]
            with anyio.fail_after(SOON):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(store.changed, {"board": 3})
                    own_server.kill()
                    own_server.start()
                    assert await store.append("board", body) == [1]
                    assert await store.append("board", record("after")) == [2]
                    assert await store.decide("board", 0, lambda news: Decision(record(), len(news))) == (3, 2)
                    await store.append("board", record("wakes"))
            assert engine.look("team", no_damage).holder("lead") in ("me", None)


async def test_what_was_read_with_a_sync_outlives_a_loss_of_power_and_the_rest_may_not(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    with closing(PostgresEngine(own_server.url, tmp_path)) as engine:
        store = engine.open("team", create=True)
        await store.append("spend", record("first"), sync=False)
        await store.append("log/bob", record("first"), sync=False)
        assert len(await store.read("spend")) == 1
        await store.append("spend", record("lost"), sync=False)
        assert len(await store.read("spend", sync=False)) == 2
        own_server.kill()
        own_server.start()
        assert [item.body["text"] for item in await store.read("spend") if isinstance(item, Record)] == ["first"]


async def test_a_server_that_is_not_there_is_named_at_once_without_its_password(tmp_path: Path) -> None:
    url = "postgresql://bob:hunter2@127.0.0.1:1/teams"
    with closing(PostgresEngine(url, tmp_path)) as engine, pytest.raises(StoreUnavailable) as refused:
        engine.teams()
    assert "postgresql://bob@127.0.0.1:1/teams" in refused.value.message
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("risk", ["fsync", "synchronous_commit"])
async def test_a_server_that_may_lose_what_it_confirmed_is_refused(
    own_server: PostgresServer, tmp_path: Path, risk: str
) -> None:
    own_server.kill()
    own_server.start(f"{risk}=off")
    with closing(PostgresEngine(own_server.url, tmp_path)) as engine, pytest.raises(StoreUnavailable) as refused:
        engine.teams()
    own_server.kill()
    own_server.start()
    assert f"{risk} = on" in refused.value.hint


# -- seats ------------------------------------------------------------------------------------------


async def test_who_lost_its_seat_writes_nothing_more(engine: PostgresEngine, postgres_server: PostgresServer) -> None:
    store = engine.open("team", create=True)
    other = engine.open("team")
    async with store.hold("lead", "the first"):
        await store.append("board", record("mine"))
        # What the server sees if the first was cut off, and another process then took the seat.
        await run_sql(postgres_server, "UPDATE deskmate.seat SET epoch = epoch + 1, note = 'the second'")
        for stream in ("board", "log/lead"):
            with pytest.raises(SeatLost) as refused:
                await store.append(stream, record("late"))
            assert refused.value.note == "the second"
        with pytest.raises(SeatLost):
            await store.decide("board", 0, lambda news: Decision(record("late"), None))
        await other.append("board", record("another handle has no seat"))
    assert len(await store.read("board")) == 2


async def test_a_process_whose_session_was_ended_gives_way_to_the_next_in_line(
    engine: PostgresEngine, postgres_url: str, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    first, held = engine.open("team", create=True), anyio.Event()
    with closing(PostgresEngine(postgres_url, tmp_path)) as other, anyio.fail_after(SOON):
        second = other.open("team")

        async def hold_until_lost() -> None:
            async with first.hold("lead", "the first"):
                held.set()
                with pytest.raises(SeatLost):
                    await append_for_ever(first)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hold_until_lost)
            await held.wait()
            # Again and again, until the first is too late to take its seat back.
            async with anyio.create_task_group() as ending:

                async def end_sessions() -> None:
                    while True:
                        await run_sql(
                            postgres_server,
                            "SELECT count(pg_terminate_backend(pid)) FROM pg_locks"
                            " WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()",
                        )

                ending.start_soon(end_sessions)
                async with second.hold("lead", "the second", wait=True):
                    ending.cancel_scope.cancel()


async def test_a_seat_whose_holder_was_killed_is_free_at_once(
    engine: PostgresEngine, postgres_url: str, tmp_path: Path
) -> None:
    store = engine.open("team", create=True)
    with closing(PostgresEngine(postgres_url, tmp_path)) as other:
        async with other.open("team").hold("bob", "the other"):
            assert engine.look("team", no_damage).holder("bob") == "the other"
            # As a kill does, without a word to the server.
            other.close()
            with anyio.fail_after(SOON):
                async with store.hold("bob", "the next", wait=True):
                    assert engine.look("team", no_damage).holder("bob") == "the next"


# -- teams ------------------------------------------------------------------------------------------


async def test_spaces_do_not_see_each_other(
    engine: PostgresEngine, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    store = engine.open("team", create=True)
    assert engine.teams() == []
    await store.append("roster", record())
    assert engine.teams() == ["team"]
    with closing(PostgresEngine(f"{postgres_server.url}&space=other", tmp_path)) as other:
        assert other.teams() == []


async def test_an_archived_team_frees_its_name_and_can_still_be_read(engine: PostgresEngine) -> None:
    store = engine.open("team", create=True)
    await store.append("roster", record())
    assert engine.archive("team", 0.0) == "team-19700101T000000Z"
    assert engine.teams() == []
    assert len(await store.read("roster")) == 1
    assert await engine.open("team", create=True).read("roster") == []
    engine.remove("team", ("team-19700101T000000Z",))
    assert await store.read("roster") == []
    with pytest.raises(StoreUnavailable, match="removed"):
        await store.append("roster", record())


async def test_a_schema_of_a_newer_version_is_refused(own_server: PostgresServer, tmp_path: Path) -> None:
    with closing(PostgresEngine(own_server.url, tmp_path)) as engine:
        engine.teams()
    await run_sql(own_server, "UPDATE deskmate.version SET version = 99")
    with closing(PostgresEngine(own_server.url, tmp_path)) as engine, pytest.raises(StoreUnavailable) as refused:
        engine.teams()
    assert "99" in refused.value.message
