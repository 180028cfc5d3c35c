"""What `deskmate doctor` checks of NATS servers. The facts are asked for first, then judged without I/O."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from deskmate.core.checks import Check
from deskmate.core.values import frozen
from deskmate.stores.engines.nats.nats_checks import ask_monitor
from deskmate.stores.engines.nats.nats_client import NatsClient
from deskmate.stores.engines.server_checks import (
    APPENDS,
    append_check,
    clock_check,
    connections_check,
    storage_check,
)

# No space has this name. Its one message is replaced each time.
_PROBE = "deskmate.teams.doctor"
_BODY = b"{}".ljust(500)
_LOOKS, _PAUSE_SECONDS = 4, 0.5


@frozen
class NatsServerFacts:
    """What a monitoring address said about its server. `asked`: our clock before and after."""

    said: Mapping[str, Any]
    asked: tuple[float, float]


@frozen
class NatsFacts:
    """What the servers said. `silent`: why monitoring addresses did not answer. `own`: the teams of this space."""

    servers: Sequence[NatsServerFacts]
    silent: Sequence[str]
    streams: Sequence[Mapping[str, Any]]
    own: int
    seconds: Sequence[float]


async def check_cluster(client: NatsClient, monitors: Sequence[str], own: int) -> list[Check]:
    """Ask the servers for their facts and judge them."""
    answers = await asyncio.gather(*map(_facts, monitors))
    servers = [answer for answer in answers if isinstance(answer, NatsServerFacts)]
    silent = [answer for answer in answers if isinstance(answer, str)]
    seconds = list[float]()
    for _ in range(APPENDS):
        began = time.perf_counter()
        await client.request(_PROBE, _BODY)
        seconds.append(time.perf_counter() - began)
    streams = await _streams(client)
    for _ in range(_LOOKS):
        if not _behind(streams):
            break
        # A stream that was just made, or a server that was just started, takes a moment.
        await asyncio.sleep(_PAUSE_SECONDS)
        streams = await _streams(client)
    return list(judge(NatsFacts(servers, silent, streams, own, seconds)))


async def _facts(monitor: str) -> NatsServerFacts | str:
    before = time.time()
    said = await ask_monitor(monitor)
    return said if isinstance(said, str) else NatsServerFacts(said, (before, time.time()))


async def _streams(client: NatsClient) -> list[Mapping[str, Any]]:
    """Return what the servers say about each stream of Deskmate."""
    found = list[Mapping[str, Any]]()
    while True:
        page = await client.ask("STREAM.LIST", {"offset": len(found), "subject": "deskmate.>"})
        found += page.get("streams") or ()
        if len(found) >= page["total"] or not page.get("streams"):
            return found


def judge(facts: NatsFacts) -> Iterator[Check]:
    """Yield what facts mean."""
    yield _servers(facts)
    yield append_check(facts.seconds)
    # A server that syncs later is refused.
    names = ", ".join(str(one.said["server_name"]) for one in facts.servers)
    yield Check("durability", "ok", f"messages are synced before they are confirmed, by {names}")
    yield _replication(facts)
    for one in facts.servers:
        before, after = one.asked
        ahead = datetime.fromisoformat(_whole(one.said["now"])).timestamp() - (before + after) / 2
        # Its time was cut to milliseconds.
        yield clock_check(one.said["server_name"], ahead, (after - before) / 2 + 0.001)
    counts = [one["state"]["messages"] for one in facts.streams if _has_records(one["config"]["name"])]
    words = f"{sum(counts):,} messages of {len(counts):,} teams, {facts.own:,} of them of this space"
    yield Check("records", "ok", words)
    for one in facts.servers:
        jetstream, where = one.said["jetstream"], f" on {one.said['server_name']}"
        yield storage_check(jetstream["stats"]["storage"], jetstream["config"]["max_storage"], where)
        yield connections_check(one.said["connections"], one.said["max_connections"], where)


def _whole(moment: str) -> str:
    """Return a time of a server without its nanoseconds, which Python cannot read."""
    head, _, rest = moment.partition(".")
    return f"{head}.{rest[:3]}+00:00" if rest else moment


def _has_records(stream: str) -> bool:
    return stream != "DESKMATE_teams" and not stream.endswith("_seats")


def _servers(facts: NatsFacts) -> Check:
    versions = sorted({one.said["version"] for one in facts.servers})
    count = len(facts.servers) + len(facts.silent)
    words = f"NATS {' and '.join(versions)}, {len(facts.servers)} of {count} servers answer"
    if facts.silent:
        return Check("store", "warn", f"{words}: {', '.join(facts.silent)}", "Start that server again.")
    return Check("store", "ok", words)


def _replication(facts: NatsFacts) -> Check:
    leaders = Counter(one["cluster"]["leader"] for one in facts.streams if one.get("cluster", {}).get("leader"))
    meta = next((found for one in facts.servers if (found := one.said["jetstream"].get("meta"))), None)
    if meta is None:
        return Check("replication", "ok", "one server, without replicas: if its disk is lost, there are only backups")
    behind = _behind(facts.streams)
    led = ", ".join(f"{name} leads {count}" for name, count in sorted(leaders.items()))
    fewest = min((one["config"]["num_replicas"] for one in facts.streams), default=0)
    words = (
        f"{meta['cluster_size']} servers, led by {meta.get('leader') or 'nobody'}. {len(facts.streams)} streams, each"
    )
    words = f"{words} on {fewest} servers or more: {led}"
    if not meta.get("leader"):
        return Check("replication", "bad", words, "Start servers until most of the cluster run.")
    if behind:
        more = f", and {len(behind) - 3} more" if len(behind) > 3 else ""
        words = f"{words}. Not up to date: {', '.join(behind[:3])}{more}"
        return Check("replication", "warn", words, "Start servers that are down. Otherwise wait, then check again.")
    return Check("replication", "ok", words)


def _behind(streams: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the replicas that do not have everything."""
    return sorted(
        f"{one['config']['name']} on {replica['name']}"
        for one in streams
        for replica in one.get("cluster", {}).get("replicas") or ()
        if replica.get("offline") or not replica["current"]
    )
