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
    """Return how many replicas each stream needs. Raises StoreUnavailable for servers that may lose messages.

    Raises ConnectionError if most of the servers cannot be asked now. One that is down is not asked.
    """
    info: dict[str, Any] = client._server_info
    if tuple(map(int, info["version"].split("-")[0].split(".")[:2])) < _OLDEST:
        raise StoreUnavailable(f"{place} has version {info['version']}", "Version 2.12 or later is needed.")
    wanted = CLUSTER_REPLICAS if info.get("cluster") else 1
    if len(monitors) < wanted:
        raise StoreUnavailable(f"{place} needs {wanted} monitoring addresses, and its URL has {len(monitors)}", _HOW)
    answers = await asyncio.gather(*map(ask_monitor, monitors))
    found = [answer for answer in answers if isinstance(answer, dict)]
    if 2 * len(found) <= len(monitors):
        errors = ", ".join(answer for answer in answers if isinstance(answer, str))
        raise ConnectionError(f"too few of its monitoring addresses can be used: {errors}")
    for server in found:
        _check_server(server)
    return wanted


def _check_server(server: dict[str, Any]) -> None:
    config = (server.get("jetstream") or {}).get("config") or {}
    if not config:
        raise StoreUnavailable(f"The NATS server {server['server_name']} has no JetStream", _HOW)
    if not config.get("sync_always"):
        raise StoreUnavailable(
            f"The NATS server {server['server_name']} syncs messages after it confirms them, so they can be lost", _HOW
        )


def check_stream(place: str, info: dict[str, Any], replicas: int) -> None:
    """Raise StoreUnavailable if a stream has fewer replicas than it needs."""
    if info["config"]["num_replicas"] < replicas:
        raise StoreUnavailable(
            f"The stream {info['config']['name']} on {place} has {info['config']['num_replicas']} replicas",
            f"Give it {replicas} with: nats stream edit --replicas {replicas}",
        )


async def ask_monitor(address: str) -> dict[str, Any] | str:
    """Return what a server says about itself, or why it does not."""
    try:
        found: dict[str, Any] = await asyncio.to_thread(_fetch, f"{address.rstrip('/')}/varz")
    except (OSError, ValueError) as error:
        return f"{address}: {error}"
    return found


def _fetch(url: str) -> Any:
    if not url.startswith(("http://", "https://")):
        raise ValueError("it is no HTTP address")
    with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
        return json.load(answer)
