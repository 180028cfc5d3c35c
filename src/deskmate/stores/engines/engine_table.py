"""Which engine belongs to a URL. A server's engine is imported only if its URL is used."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import cast
from urllib.parse import urlsplit

from deskmate.core.values import frozen
from deskmate.errors import BadSettings
from deskmate.stores.engines.engine import Engine, EngineMaker
from deskmate.stores.engines.engine_url import shown_url
from deskmate.stores.engines.file_engine import FileEngine


@frozen
class EngineKind:
    """A kind of server. `maker`: `module:class`. `extra`: what to install for it, which brings `package`."""

    maker: str
    extra: str
    package: str


# By the scheme of their URLs.
_POSTGRES = EngineKind("deskmate.stores.engines.postgres.postgres_engine:PostgresEngine", "postgres", "asyncpg")
_NATS = EngineKind("deskmate.stores.engines.nats.nats_engine:NatsEngine", "nats", "nats")
ENGINES: Mapping[str, EngineKind] = MappingProxyType({"postgresql": _POSTGRES, "postgres": _POSTGRES, "nats": _NATS})


def engine_of(url: str | None, workspace: Path, kinds: Mapping[str, EngineKind] = ENGINES) -> Engine:
    """Return what keeps the teams of a workspace: the server of a URL, or without one the workspace itself.

    Raises BadSettings for a URL that cannot be used, and for a package that is not installed.
    """
    if not url:
        return FileEngine(workspace)
    kind = _kind_of(url, kinds)
    if find_spec(kind.package) is None:
        raise BadSettings(
            f"The store {shown_url(url)} needs the package {kind.package}, which is not installed",
            f'To install it, run: pip install "deskmate[{kind.extra}]"',
        )
    module, _, name = kind.maker.partition(":")
    maker = cast(EngineMaker, getattr(import_module(module), name))
    return maker(url, workspace)


def _kind_of(url: str, kinds: Mapping[str, EngineKind]) -> EngineKind:
    scheme = urlsplit(url).scheme
    if kind := kinds.get(scheme):
        return kind
    there = f"URLs of stores begin with {' or '.join(f'{known}://' for known in kinds)}. " if kinds else ""
    raise BadSettings(
        f"No kind of store has a URL that begins with {scheme}:// ({shown_url(url)})",
        f"{there}To keep teams in the workspace, unset the setting `store` and DESKMATE_STORE.",
    )
