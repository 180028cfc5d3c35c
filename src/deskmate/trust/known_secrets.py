"""The secrets this process knows, and that no other process reads them from its memory.

They are redacted in all records, in the workspace and in the logs. `core.policy.redaction` finds them in a text.
"""

import contextlib
import re
import sys
from collections.abc import Mapping

from deskmate.config import Settings, environment, load
from deskmate.core.mcp import LOGINS
from deskmate.core.policy.redaction import Redaction, secrets_in
from deskmate.errors import BadRecord, BadSettings
from deskmate.fs.safe_files import read_regular
from deskmate.trust.project_files import has_servers

_PR_SET_DUMPABLE = 4
_MOST_LOGINS, _MOST_LOGIN_BYTES = 100, 500_000
_TELLING_HEADER = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)


def redaction_of(settings: Settings | None = None, environ: Mapping[str, str] | None = None) -> Redaction:
    """Return what redacts the keys in the settings, by default the user's, and the secrets in the environment.

    Settings that cannot be read have no usable keys. `environ`: by default the environment of this process.
    """
    environ = environment() if environ is None else environ
    try:
        settings = settings or load(environ)
    except BadSettings:
        return Redaction(_of_collector(environ) | secrets_in(environ))
    providers = settings.described_providers
    known = {f"{name} key": one.key.get_secret_value() for name, one in providers.items() if one.key}
    for name, provider in providers.items():
        known |= _in_headers(provider.headers, name)
    known |= _of_servers(settings) | _of_logins(settings) | secrets_in({"store": settings.store or ""})
    known |= _of_collector(environ)
    # If a value has two names, the last one is used: the name of a variable says more.
    return Redaction(known | secrets_in(environ))


def _of_collector(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what the headers for an OpenTelemetry collector contain: mostly a key, under any name."""
    found: dict[str, str] = {}
    for signal in ("", "TRACES_", "METRICS_"):
        variable = f"OTEL_EXPORTER_OTLP_{signal}HEADERS"
        for header in environ.get(variable, "").split(","):
            name, _, value = header.partition("=")
            words = value.strip().replace("%20", " ")
            found |= {f"{variable} {name.strip()}": words.rpartition(" ")[2]} if words else {}
    return found


def _of_servers(settings: Settings) -> dict[str, str]:
    """Return the secrets that are written into the configuration of the user's MCP servers."""
    if not has_servers(settings, ()):
        return {}
    # Import this only if there are servers.
    from deskmate.trust.configured_servers import servers_of

    try:
        entries = servers_of(settings).entries.values()
    except BadSettings:
        return {}
    secret = {name: value for entry in entries for name, value in secrets_in(entry.env).items()}
    for entry in entries:
        secret |= _in_headers(entry.headers, entry.name)
    return secret


def _in_headers(headers: Mapping[str, str], owner: str) -> dict[str, str]:
    """Return the secrets in headers, each without the word before it, such as Bearer."""
    return {
        f"header {name} of {owner}": value.rpartition(" ")[2]
        for name, value in headers.items()
        if _TELLING_HEADER.search(name)
    }


def _of_logins(settings: Settings) -> dict[str, str]:
    """Return the tokens of the user's logins at MCP servers."""
    folder = settings.state / LOGINS
    if not folder.is_dir():
        return {}
    # Import this only if there are logins.
    from deskmate.core.mcp.server_logins import read_login

    found: dict[str, str] = {}
    for file in sorted(folder.glob("*.json"))[:_MOST_LOGINS]:
        with contextlib.suppress(OSError, BadRecord):
            secrets = read_login(read_regular(file, _MOST_LOGIN_BYTES)).secrets()
            found |= {f"login {file.stem[:8]} ({at})": secret for at, secret in enumerate(secrets, 1)}
    return found


def seclude() -> None:
    """Keep other processes of this user from reading this one's memory and environment, if the system can.

    Root still can. The process leaves no core dumps, and no debugger can attach.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
