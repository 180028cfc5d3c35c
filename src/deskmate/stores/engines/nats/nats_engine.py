"""The engine for a `nats://` URL.

    nats://HOST:4222?monitor=http://HOST:8222&space=NAME

Several servers of a cluster are separated by commas, and so are their monitoring addresses. The space is as for
PostgreSQL: without it, the path of the workspace.
"""

from pathlib import Path
from urllib.parse import urlsplit

from deskmate.stores.engines.engine_url import parted_url, shown_url
from deskmate.stores.engines.nats.nats_backend import NatsBackend
from deskmate.stores.engines.server_engine import ServerEngine


class NatsEngine(ServerEngine):
    """The teams of one workspace in NATS JetStream."""

    def __init__(self, url: str, workspace: Path) -> None:
        server, options = parted_url(url, ("space", "monitor"))
        parts, place = urlsplit(server), shown_url(url)
        user, at, hosts = parts.netloc.rpartition("@")
        servers = [f"{parts.scheme}://{user}{at}{host}" for host in hosts.split(",")]
        monitors = [address for address in options.get("monitor", "").split(",") if address]
        backend = NatsBackend(servers, monitors, options.get("space") or str(workspace), place)
        super().__init__(backend, place, workspace)
