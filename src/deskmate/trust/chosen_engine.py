"""Which engine keeps the teams of a workspace. A process uses one for each workspace as long as it runs."""

from pathlib import Path

from deskmate.config import environment, store_url
from deskmate.stores.engines.engine import Engine
from deskmate.stores.engines.engine_table import engine_of

_engines: dict[Path, tuple[str | None, Engine]] = {}


def use_store(workspace: Path, url: str | None) -> None:
    """Keep the teams of a workspace at this URL from now on, None for the workspace itself. Raises BadSettings."""
    known = _engines.get(workspace)
    if known is None or known[0] != url:
        _engines[workspace] = url, engine_of(url, workspace)


def engine_at(workspace: Path) -> Engine:
    """Return what keeps the teams of a workspace: what `use_store` said, or the user's settings. Raises BadSettings."""
    if workspace not in _engines:
        use_store(workspace, store_url(environment()))
    return _engines[workspace][1]


def close_engines() -> None:
    """Close all connections to servers. The next use connects again, to what the settings say then."""
    for _, engine in _engines.values():
        engine.close()
    _engines.clear()
