"""The engine for a `postgresql://` URL.

A database keeps the teams of many workspaces apart by their space: the option `space` of the URL, or without it the
path of the workspace. Clones of a repository on several machines share their teams if they name the same space.
"""

from pathlib import Path

from deskmate.stores.engines.engine_url import parted_url, shown_url
from deskmate.stores.engines.postgres.postgres_backend import PostgresBackend
from deskmate.stores.engines.server_engine import ServerEngine


class PostgresEngine(ServerEngine):
    """The teams of one workspace in a PostgreSQL database."""

    def __init__(self, url: str, workspace: Path) -> None:
        server, options = parted_url(url, ("space",))
        place = shown_url(url)
        super().__init__(PostgresBackend(server, options.get("space") or str(workspace), place), place, workspace)
