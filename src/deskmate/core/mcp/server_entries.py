"""A configured MCP server, and how configuration files describe it.

Two kinds of files have servers: JSON files with `mcpServers`, as Claude Code writes them, and the user's settings. What
a file of a workspace says is untrusted even if a person approved it: it chooses no sandbox and no network, and reads
only variables that the user allows.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any
from urllib.parse import urlsplit

from deskmate.core.values import frozen
from deskmate.errors import BadInput

CALL_SECONDS = 60.0
LONGEST_SECONDS = 3600.0
_MOST_SERVERS, _MOST_TEXT = 50, 32_000
# Two underscores would make the names of tools ambiguous.
_NAME = re.compile(r"(?!.*__)[A-Za-z0-9](?:[A-Za-z0-9_-]{0,30}[A-Za-z0-9])?")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
# What any program may know of its user.
HARMLESS = frozenset({"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "TZ", "USER"})
_OF_PROJECT = frozenset({"type", "command", "args", "env", "url", "headers", "timeout"})
_OF_USER = _OF_PROJECT | {"sandbox", "network", "per_member"}
_HTTP = ("http", "streamable-http", "streamableHttp")


@frozen
class ServerEntry:
    """One configured server: a command to start, or a URL.

    `seconds`: how long one call may take. `network`: for its sandbox, None for what commands get. `per_member`: whether
    each member has a process of its own. `place`: the file that describes it. `of_project`: whether that file is part
    of the workspace. `flaws`: what of it is not used, and why.
    """

    name: str
    place: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = CALL_SECONDS
    sandbox: bool = True
    network: bool | tuple[str, ...] | None = None
    per_member: bool = False
    of_project: bool = False
    flaws: tuple[str, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the environment that it names, in order."""
        found = (match[1] for text in self._texts() for match in _VARIABLE.finditer(text))
        return tuple(dict.fromkeys(found))

    def expanded(self, environ: Mapping[str, str], allowed: Collection[str]) -> "ServerEntry":
        """Return it with its variables replaced by their values.

        One of a project reads only harmless variables and those that the user allows. Raises BadInput for any other
        one, and for one that has neither a value nor a default.
        """

        def value(match: re.Match[str]) -> str:
            name, default = match[1], match[2]
            if self.of_project and name not in HARMLESS and name not in allowed:
                if default is not None:
                    return default
                raise BadInput(
                    f"{self.place} wants the variable {name} for the server '{self.name}', and you have not allowed it",
                    f'If that server may have it, set mcp_variables = ["{name}"] in your settings.',
                )
            found = environ.get(name) or default
            if found is None:
                raise BadInput(
                    f"The variable {name} for the server '{self.name}' is not set",
                    f"Set it, or give it a default in {self.place}, as in ${{{name}:-value}}.",
                )
            return found

        def whole(text: str) -> str:
            return _VARIABLE.sub(value, text)

        return replace(
            self,
            command=tuple(map(whole, self.command)),
            env={name: whole(text) for name, text in self.env.items()},
            url=whole(self.url),
            headers={name: whole(text) for name, text in self.headers.items()},
        )

    def _texts(self) -> Iterator[str]:
        yield from (*self.command, *self.env.values(), self.url, *self.headers.values())

    @property
    def summary(self) -> str:
        """What it starts or where it is, on one line. Values that may be secrets are left out."""
        return self.url if self.url else " ".join(self.command)

    @property
    def written(self) -> dict[str, object]:
        """It as `mcpServers` of a JSON file has it. `read_entry` reads this."""
        common: dict[str, object] = {"timeout": int(self.seconds * 1000)} if self.seconds != CALL_SECONDS else {}
        if self.url:
            return {
                "type": "http",
                "url": self.url,
                **({"headers": dict(self.headers)} if self.headers else {}),
                **common,
            }
        own: dict[str, object] = {"command": self.command[0], "args": list(self.command[1:])}
        if self.env:
            own["env"] = dict(self.env)
        if not self.sandbox:
            own["sandbox"] = False
        if self.network is not None:
            own["network"] = self.network if isinstance(self.network, bool) else list(self.network)
        if self.per_member:
            own["per_member"] = True
        return {**own, **common}


@frozen
class ReadServers:
    """Servers by name, and what is wrong with others."""

    entries: Mapping[str, ServerEntry] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def read_servers(data: bytes, place: str, *, of_project: bool) -> ReadServers:
    """Return the servers that a JSON file describes. One that is malformed is a problem, and the others count."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return ReadServers(problems=(f"{place} is not JSON, so none of its MCP servers is used",))
    servers = found.get("mcpServers") if isinstance(found, dict) else None
    if not isinstance(servers, dict):
        return ReadServers(problems=(f'{place} has no "mcpServers", so it describes no MCP servers',))
    return entries_of(servers, place, of_project=of_project)


def entries_of(servers: Mapping[str, Any], place: str, *, of_project: bool) -> ReadServers:
    """Return servers from their fields, by name."""
    entries: dict[str, ServerEntry] = {}
    problems = []
    if len(servers) > _MOST_SERVERS:
        problems.append(f"{place} has {len(servers)} MCP servers. Only the first {_MOST_SERVERS} are used")
    for name in list(servers)[:_MOST_SERVERS]:
        try:
            entries[name] = read_entry(name, servers[name], place, of_project=of_project)
        except BadInput as error:
            problems.append(str(error))
    return ReadServers(entries, tuple(problems))


def read_entry(name: str, fields: object, place: str, *, of_project: bool) -> ServerEntry:
    """Return one server from its fields. Raises BadInput that names what is wrong."""
    check_name(name)
    where = f"The MCP server '{name}' in {place}"
    if not isinstance(fields, dict):
        raise BadInput(f"{where} must be an object with `command` or `url`")
    known = _OF_PROJECT if of_project else _OF_USER
    flaws = tuple(f"{field_} is not used" for field_ in sorted(set(map(str, fields)) - known))
    url, command = fields.get("url"), fields.get("command")
    if isinstance(url, str) == isinstance(command, str) or not (url or command):
        raise BadInput(f"{where} must have either `command` or `url`, as a text")
    if fields.get("type") == "sse":
        raise BadInput(f"{where} uses the old transport SSE, which Deskmate does not have", "Use the server over HTTP.")
    if fields.get("type") not in (None, *(_HTTP if url else ("stdio",))):
        raise BadInput(f"{where} has the unknown type {ascii(fields['type'])[:40]}")
    return ServerEntry(
        name,
        place,
        command=(command, *_texts(fields, "args", where)) if isinstance(command, str) else (),
        env=_pairs(fields, "env", where),
        url=_url(url, where) if isinstance(url, str) else "",
        headers=_pairs(fields, "headers", where),
        seconds=_seconds(fields.get("timeout"), where),
        sandbox=of_project or fields.get("sandbox") is not False,
        network=None if of_project else _network(fields.get("network"), where),
        per_member=not of_project and fields.get("per_member") is True,
        of_project=of_project,
        flaws=flaws,
    )


def check_name(name: str) -> None:
    """Raise BadInput if a server cannot have this name."""
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"{ascii(name)[:60]} cannot be the name of an MCP server",
            "Use letters, digits, - and single _, at most 32, as in: github",
        )


def _texts(fields: Mapping[str, Any], key: str, where: str) -> Iterable[str]:
    found = fields.get(key, [])
    if not isinstance(found, list) or not all(isinstance(text, str) and _is_fit(text) for text in found):
        raise BadInput(f"{where}: `{key}` must be a list of texts")
    return found


def _pairs(fields: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
    found = fields.get(key, {})
    if not isinstance(found, dict) or not all(isinstance(text, str) and _is_fit(text) for text in found.values()):
        raise BadInput(f"{where}: `{key}` must have texts as values")
    return found


def _is_fit(text: str) -> bool:
    return "\0" not in text and len(text) <= _MOST_TEXT


def _url(url: str, where: str) -> str:
    # A variable may be the whole host.
    parts = urlsplit(_VARIABLE.sub("x", url))
    is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme not in ("https", "http") or not parts.hostname or "@" in parts.netloc:
        raise BadInput(f"{where}: `url` must be an address that begins with https://, without a password")
    if parts.scheme == "http" and not is_local:
        raise BadInput(
            f"{where}: http:// is possible only on this machine, as in http://localhost:8000/mcp", "Use https."
        )
    return url


def _seconds(timeout: object, where: str) -> float:
    """Return a time limit. Claude Code writes milliseconds."""
    if timeout is None:
        return CALL_SECONDS
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= LONGEST_SECONDS * 1000:
        raise BadInput(f"{where}: `timeout` must be a number of milliseconds, at most {LONGEST_SECONDS * 1000:.0f}")
    return timeout / 1000


def _network(network: object, where: str) -> bool | tuple[str, ...] | None:
    if network is None or isinstance(network, bool):
        return network
    if isinstance(network, list) and all(isinstance(host, str) for host in network):
        return tuple(network)
    raise BadInput(f"{where}: `network` must be true, false or a list of hosts")
