"""What `deskmate doctor` finds of servers: real ones, healthy and not, and facts that are hard to bring about."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from deskmate.core.checks import Check
from deskmate.stores.engines.nats.nats_engine import NatsEngine
from deskmate.stores.engines.postgres.postgres_checks import PostgresFacts, judge
from deskmate.stores.engines.postgres.postgres_engine import PostgresEngine
from deskmate.stores.engines.server_checks import append_check, clock_check, connections_check, storage_check
from deskmate.testing.servers.nats_servers import NatsServers
from deskmate.testing.servers.postgres_server import PostgresServer
from deskmate.testing.store_contract import record
from tests.servers.nats_nodes import nats_cluster
from tests.servers.postgres import new_server, postgres_server, postgres_url

__all__ = ["nats_cluster", "postgres_server", "postgres_url"]

SERVER = {
    "version": "15.1",
    "number": 150001,
    "standby": False,
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "data_checksums": "on",
    "synchronous_standby_names": "",
    "connections": 3,
    "allowed": 97,
}
COUNTS = {"schema": 1, "teams": 2, "own": 1, "records": 10, "bytes": 4096}
FACTS = PostgresFacts(SERVER, (), COUNTS, (0.004,), 0.0, 0.001)


def found(facts: PostgresFacts) -> dict[str, Check]:
    return {check.what: check for check in judge(facts)}


def checks_of(url: str, folder: Path) -> dict[str, Check]:
    with closing(PostgresEngine(url, folder)) as engine:
        return {check.what: check for check in engine.checks()}


# -- PostgreSQL -------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_healthy_database_is_checked_without_a_trace(postgres_url: str, tmp_path: Path) -> None:
    with closing(PostgresEngine(postgres_url, tmp_path)) as engine:
        store = engine.open("team", create=True)
        await store.append("roster", record(), record())
        before = store.projections(), engine.teams()
        checks = engine.checks()
        assert [check.what for check in checks] == [
            *("store", "append", "durability", "replication", "clock", "schema", "records", "connections")
        ]
        assert {check.state for check in checks if check.what not in ("append", "clock")} == {"ok"}
        [records] = [check.words for check in checks if check.what == "records"]
        assert "1 of them of this space" in records
        assert (len(await store.read("roster")), engine.teams()) == (2, before[1])


@pytest.fixture(scope="module")
def primary(postgres_server: PostgresServer) -> Iterator[PostgresServer]:
    """A server that has replicas at times."""
    yield from new_server()


@pytest.fixture
def standby(primary: PostgresServer, eventually: Callable[[Callable[[], bool]], None]) -> Iterator[PostgresServer]:
    """A replica that streams from the primary."""
    with closing(PostgresEngine(primary.url, Path())) as engine:
        engine.teams()
    with (
        tempfile.TemporaryDirectory(prefix="dm-pg-") as folder,
        closing(PostgresServer(Path(folder), primary=primary)) as server,
    ):
        eventually(lambda: "streaming" in primary.sql("SELECT state FROM pg_stat_replication"))
        yield server


@pytest.mark.slow
def test_replicas_are_asked_whether_a_failover_loses_records(
    primary: PostgresServer,
    standby: PostgresServer,
    tmp_path: Path,
    eventually: Callable[[Callable[[], bool]], None],
) -> None:
    def state() -> str:
        return checks_of(primary.url, tmp_path)["replication"].state

    assert state() == "warn"
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'", "SELECT pg_reload_conf()")
    try:
        eventually(lambda: state() == "ok")
        standby.kill()
        # Its appends would wait for ever, so none is tried.
        eventually(lambda: state() == "bad")
        assert "append" not in checks_of(primary.url, tmp_path)
    finally:
        primary.sql("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")


@pytest.mark.slow
def test_a_standby_is_named_as_one_that_cannot_be_written_to(standby: PostgresServer, tmp_path: Path) -> None:
    check = checks_of(standby.url, tmp_path)["replication"]
    assert (check.state, "standby" in check.words) == ("bad", True)
    assert "target_session_attrs" in check.next


def test_each_fact_that_is_a_risk_has_a_next_step() -> None:
    risks = {
        "store": replace(FACTS, server={**SERVER, "number": 140000}),
        "durability": replace(
            FACTS, server={**SERVER, "synchronous_commit": "local", "synchronous_standby_names": "a"}
        ),
        "connections": replace(FACTS, server={**SERVER, "connections": 90}),
        "append": replace(FACTS, seconds=(0.2,)),
        "clock": replace(FACTS, ahead=-5.0),
    }
    for what, facts in risks.items():
        check = found(facts)[what]
        assert (check.state, bool(check.next)) == ("warn", True), what
    assert {check.state for check in judge(FACTS)} == {"ok"}


def test_replicas_that_a_user_may_not_see_are_no_failure() -> None:
    facts = replace(FACTS, replicas=[{"state": None, "sync_state": None, "lag": None}])
    assert "pg_monitor" in found(facts)["replication"].next


# -- NATS -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_cluster_says_who_leads_and_which_server_is_missing(nats_cluster: NatsServers, tmp_path: Path) -> None:
    with closing(NatsEngine(f"{nats_cluster.url}&space=doctor", tmp_path)) as engine:
        engine.open("team", create=True)
        whole = {check.what: check for check in engine.checks()}
        assert whole["store"].words.endswith("3 of 3 servers answer")
        assert (whole["replication"].state, "led by n" in whole["replication"].words) == ("ok", True)
        nats_cluster.kill("n3")
        try:
            fewer = {check.what: check for check in engine.checks()}
        finally:
            nats_cluster.start()
        assert (fewer["store"].state, fewer["replication"].state) == ("warn", "warn")
        assert "on n3" in fewer["replication"].words
        assert engine.teams() == []


# -- every server -----------------------------------------------------------------------------------


def test_figures_that_are_too_high_are_warned_of() -> None:
    fine = [
        append_check([0.01, 0.3, 0.02]),
        clock_check("n1", 1.0, 0.1),
        clock_check("n1", 9.0, 9.0),
        connections_check(79, 100),
        storage_check(79, 100, ""),
    ]
    assert {check.state for check in fine} == {"ok"}
    high = [
        append_check([0.2]),
        clock_check("n1", -3.0, 0.1),
        connections_check(80, 100),
        storage_check(80, 100, ""),
    ]
    assert {check.state for check in high} == {"warn"}
    assert all(check.next for check in high)
