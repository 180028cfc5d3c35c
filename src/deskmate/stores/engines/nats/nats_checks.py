"""Whether the servers sync every message before they confirm it, and keep it on three of them.

No client can ask a server for that through its connection, so the servers' monitoring addresses are asked. NATS syncs
every two minutes by default, and then a loss of power loses what was confirmed.
"""

import asyncio
import json
import urllib.request
from typing import Any

from nats.aio.client import Client

from deskmate.errors import StoreUnavailable

_SECONDS = 3.0
_OLDEST = (2, 12)
CLUSTER_REPLICAS = 3
_HOW = (
    "Start each server with `jetstream { sync_interval: always }` and an `http` address, and name these addresses in"
    " the URL: ?monitor=http://HOST:8222"
)


async def check_servers(client: Client, place: str, monitors: list[str]) -> int:
    """Return how many replicas each stream needs. Raises StoreUnavailable for servers that may lose messages."""
    found = [await _server(place, address) for address in monitors]
    names = {server["server_name"] for server in found}
    for server in found:
        config = (server.get("jetstream") or {}).get("config") or {}
        if not config:
            raise StoreUnavailable(f"The NATS server {server['server_name']} has no JetStream", _HOW)
        if not config.get("sync_always"):
            raise StoreUnavailable(
                f"The NATS server {server['server_name']} syncs messages after it confirms them, so they can be lost",
                _HOW,
            )
    info: dict[str, Any] = client._server_info
    if tuple(map(int, info["version"].split("-")[0].split(".")[:2])) < _OLDEST:
        raise StoreUnavailable(f"{place} has version {info['version']}", "Version 2.12 or later is needed.")
    if not info.get("cluster"):
        if info["server_name"] not in names:
            raise StoreUnavailable(f"Nothing says how {place} syncs messages", _HOW)
        return 1
    if len(names) < CLUSTER_REPLICAS:
        raise StoreUnavailable(f"{place} is a cluster, and {len(names)} of its servers are named by monitor=", _HOW)
    return CLUSTER_REPLICAS


def check_stream(place: str, info: dict[str, Any], replicas: int) -> None:
    """Raise StoreUnavailable if a stream has fewer replicas than it needs."""
    if info["config"]["num_replicas"] < replicas:
        raise StoreUnavailable(
            f"The stream {info['config']['name']} on {place} has {info['config']['num_replicas']} replicas",
            f"Give it {replicas} with: nats stream edit --replicas {replicas}",
        )


async def _server(place: str, address: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = await asyncio.to_thread(_fetch, f"{address.rstrip('/')}/varz")
    except (OSError, ValueError) as error:
        raise StoreUnavailable(f"The monitoring address {address} of {place} cannot be used: {error}", _HOW) from error
    return found


def _fetch(url: str) -> Any:
    if not url.startswith(("http://", "https://")):
        raise ValueError("it is no HTTP address")
    with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
        return json.load(answer)
