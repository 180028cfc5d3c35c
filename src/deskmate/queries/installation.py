"""How Deskmate was installed, and which optional parts are there."""

import json
import shlex
import sys
from importlib.metadata import Distribution, PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from deskmate.core.values import frozen

# The extra that has every optional part that a user can see.
_ALL = "all"
# File that an installer leaves in an environment of its own → the command that installs there.
_INSTALLERS = {"uv-receipt.toml": "uv tool install", "pipx_metadata.json": "pipx install --force"}


@frozen
class Installation:
    """An environment with Deskmate. `direct_url`: what its installer wrote about a source other than an index."""

    prefix: Path
    direct_url: str | None = None

    @classmethod
    def current(cls) -> Self:
        """Return the installation that this process runs from."""
        try:
            direct_url = Distribution.from_name("deskmate").read_text("direct_url.json")
        except PackageNotFoundError:
            direct_url = None
        return cls(Path(sys.prefix), direct_url)

    @property
    def command_for_all(self) -> str:
        """The command that adds all parts that most people want, for the same installer and from the same source."""
        return self.command_for(_ALL)

    def command_for(self, *extras: str) -> str:
        """Return the command that adds optional parts, for the installer that was used and from the same source."""
        installer = next((how for name, how in _INSTALLERS.items() if (self.prefix / name).exists()), "pip install")
        return f"{installer} {shlex.quote(self._requirement(','.join(extras)))}"

    def _requirement(self, extras: str) -> str:
        try:
            origin = json.loads(self.direct_url or "{}")
        except ValueError:
            origin = {}
        url = str(origin.get("url", ""))
        if not url:
            return f"deskmate[{extras}]"
        if url.startswith("file:") and "vcs_info" not in origin:
            return f"{unquote(urlsplit(url).path)}[{extras}]"
        vcs = origin.get("vcs_info", {}).get("vcs")
        return f"deskmate[{extras}] @ {f'{vcs}+{url}' if vcs else url}"


def has_terminal_ui() -> bool:
    """Return whether the packages of the terminal UI are installed. Imports none of them."""
    return find_spec("textual") is not None


def has_web_page() -> bool:
    """Return whether the packages that serve the web page are installed. Imports none of them."""
    return all(find_spec(name) is not None for name in ("starlette", "uvicorn", "markdown_it"))


def has_telemetry() -> bool:
    """Return whether the packages that send telemetry are installed. Imports none of them."""
    try:
        return all(find_spec(f"opentelemetry.{name}") is not None for name in ("sdk", "exporter.otlp.proto.http"))
    except ModuleNotFoundError:
        return False


def has_mcp() -> bool:
    """Return whether the MCP SDK is installed. Imports nothing of it."""
    return find_spec("mcp") is not None
