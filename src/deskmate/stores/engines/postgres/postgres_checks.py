"""What `deskmate doctor` checks of a PostgreSQL server. The facts are asked for first, then judged without I/O."""

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from deskmate.core.checks import Check
from deskmate.core.values import frozen
from deskmate.stores.engines.postgres.postgres_schema import MIGRATIONS
from deskmate.stores.engines.server_checks import APPENDS, append_check, clock_check, connections_check, size

Rows: TypeAlias = Sequence[Mapping[str, Any]]
Ask: TypeAlias = Callable[..., Awaitable[Rows]]
# The oldest major version that it is tested with.
_TESTED = 15
# As long as a record of a task usually is.
_BODY = "x" * 500
_FACTS = """
SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
    pg_is_in_recovery() AS standby, current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS full_page_writes,
    current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('data_checksums') AS data_checksums,
    current_setting('synchronous_standby_names') AS synchronous_standby_names,
    (SELECT sum(numbackends) FROM pg_stat_database)::int AS connections,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS allowed
"""
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8 AS clock"
_REPLICAS = "SELECT state, sync_state, extract(epoch FROM replay_lag)::float8 AS lag FROM pg_stat_replication"
_COUNTS = """
SELECT (SELECT version FROM deskmate.version) AS schema,
    (SELECT count(*) FROM deskmate.team) AS teams,
    (SELECT count(*) FROM deskmate.team WHERE space = $1) AS own,
    (SELECT coalesce(sum(last), 0) FROM deskmate.stream)::bigint AS records,
    pg_total_relation_size('deskmate.record') AS bytes
"""
# Its commit waits for the disk and for synchronous replicas, as that of an append does, and leaves no row.
_APPEND = "SELECT pg_logical_emit_message(true, 'deskmate', $1)"


@frozen
class PostgresFacts:
    """What a server said. `seconds`: how long appends took. `ahead`: of its clock, known up to `rounding`."""

    server: Mapping[str, Any]
    replicas: Rows
    counts: Mapping[str, Any]
    seconds: Sequence[float]
    ahead: float
    rounding: float


async def check_server(ask: Ask, space: str) -> list[Check]:
    """Ask a server for its facts and judge them. `ask` runs a query."""
    [server] = await ask(_FACTS)
    before = time.time()
    [told] = await ask(_CLOCK)
    after = time.time()
    replicas = [] if server["standby"] else await ask(_REPLICAS)
    [counts] = await ask(_COUNTS, space)
    seconds = list[float]()
    if not server["standby"] and not _waits_for_ever(server, replicas):
        for _ in range(APPENDS):
            began = time.perf_counter()
            await ask(_APPEND, _BODY)
            seconds.append(time.perf_counter() - began)
    ahead, rounding = told["clock"] - (before + after) / 2, (after - before) / 2
    return list(judge(PostgresFacts(server, replicas, counts, seconds, ahead, rounding)))


def judge(facts: PostgresFacts) -> Iterator[Check]:
    """Yield what facts mean."""
    server, counts = facts.server, facts.counts
    yield _version(server)
    if facts.seconds:
        yield append_check(facts.seconds)
    yield _durability(server)
    yield _replication(server, facts.replicas)
    yield clock_check("the server", facts.ahead, facts.rounding)
    yield Check("schema", "ok", f"version {counts['schema']}, as in this Deskmate ({len(MIGRATIONS)})")
    words = f"{counts['records']:,} records of {counts['teams']:,} teams, {counts['own']:,} of them of this space"
    yield Check("records", "ok", f"{words}, {size(counts['bytes'])}")
    yield connections_check(server["connections"], server["allowed"])


def _version(server: Mapping[str, Any]) -> Check:
    words = f"PostgreSQL {server['version']} answers"
    if server["number"] >= _TESTED * 10_000:
        return Check("store", "ok", words)
    return Check("store", "warn", words, f"Deskmate is tested with PostgreSQL {_TESTED} and later: upgrade the server.")


def _durability(server: Mapping[str, Any]) -> Check:
    names = ("fsync", "full_page_writes", "synchronous_commit", "data_checksums")
    words = ", ".join(f"{name} {server[name]}" for name in names)
    if server["synchronous_commit"] == "local" and server["synchronous_standby_names"]:
        return Check("durability", "warn", words, "Set synchronous_commit = on: appends do not wait for the replicas.")
    return Check("durability", "ok", words)


def _waits_for_ever(server: Mapping[str, Any], replicas: Rows) -> bool:
    wants = server["synchronous_standby_names"] and server["synchronous_commit"] != "local"
    return bool(wants) and not any(row["sync_state"] in ("sync", "quorum", None) for row in replicas)


def _replication(server: Mapping[str, Any], replicas: Rows) -> Check:
    if server["standby"]:
        return Check(
            "replication",
            "bad",
            "this server is a standby, which nobody can write to",
            "Name the primary in the URL, or name all servers and add target_session_attrs=read-write.",
        )
    if _waits_for_ever(server, replicas):
        words = "this server is the primary, no synchronous replica is connected, and every append waits for one"
        return Check("replication", "bad", words, "Start the replicas that synchronous_standby_names lists.")
    if not replicas:
        words = "this server is the primary, without replicas: if its disk is lost, there are only backups"
        return Check("replication", "ok", words)
    if any(row["sync_state"] is None for row in replicas):
        words = f"this server is the primary, with {len(replicas)} replicas, whose state this user may not see"
        return Check("replication", "ok", words, "To see it, run as a superuser: GRANT pg_monitor TO the user")
    waited = sum(row["sync_state"] in ("sync", "quorum") for row in replicas)
    lag = max((row["lag"] or 0.0 for row in replicas), default=0.0)
    words = f"this server is the primary, {len(replicas)} replicas, {waited} of them synchronous, {lag:.1f} s behind"
    if waited:
        return Check("replication", "ok", words)
    step = "Set synchronous_standby_names = 'ANY 1 (*)': a replica that takes over can lack the last records."
    return Check("replication", "warn", words, step)
