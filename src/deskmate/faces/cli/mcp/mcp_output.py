"""What the commands of the group `mcp` print."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from deskmate import app
from deskmate.app.parts.server_check import CheckedServer, check_server
from deskmate.core.mcp.server_entries import ServerEntry, check_name, read_entry
from deskmate.core.policy.trusted_files import SERVERS
from deskmate.errors import BadInput, Refused
from deskmate.faces.common.error_log import error_text, logging_to
from deskmate.faces.common.terminal_text import exact
from deskmate.faces.common.text_tables import note, put, sheet_for
from deskmate.trust.approvals import survey
from deskmate.trust.configured_servers import added_servers, change_servers, file_of, servers_of

FAILED = 1


def listing(folder: Path | None) -> int:
    """Print the configured servers. Return the exit code."""
    settings = app.load(app.environment())
    with logging_to(note):
        found = survey(folder, settings.state, reads=False)
    if found.trouble:
        note(error_text(found.trouble))
    servers = servers_of(settings, found.consent.definitions)
    for problem in servers.problems:
        note(problem)
    if SERVERS in found.unused:
        note(f"not used, because you have not trusted it: {SERVERS}\nTo review and trust it, run: deskmate trust")
    if not servers.entries:
        note("No MCP servers are configured. To add one, run: deskmate mcp add NAME -- COMMAND")
        return 0
    rows = [(entry.name, exact(entry.summary), exact(entry.place)) for entry in servers.entries.values()]
    return put(sheet_for(sys.stdout).table([("NAME", "STARTS", "FROM"), *rows], gives=1))


def add(
    name: str, target: tuple[str, ...], env: tuple[str, ...], headers: tuple[str, ...], options: Mapping[str, object]
) -> int:
    """Add a server of the user. Return the exit code."""
    settings = app.load(app.environment())
    fields = dict(_fields(target, env, headers, options))
    entry = read_entry(name, fields, str(file_of(settings)), of_project=False)
    if name in settings.mcp:
        raise Refused(f"The server '{name}' is in {settings.file} already", "Change it there, or use another name.")

    def with_it(known: dict[str, ServerEntry]) -> dict[str, ServerEntry]:
        if name in known:
            raise Refused(f"There is a server '{name}' already", f"To remove it, run: deskmate mcp remove {name}")
        return {**known, name: entry}

    change_servers(settings, with_it)
    return put([f"added: {name}, in {exact(entry.place)}", f"To try it, run: deskmate mcp test {name}"])


def _fields(
    target: tuple[str, ...], env: tuple[str, ...], headers: tuple[str, ...], options: Mapping[str, object]
) -> Iterator[tuple[str, object]]:
    """Yield the fields of a server, as its file has them."""
    is_url = target[0].startswith(("http://", "https://"))
    if is_url and (len(target) > 1 or env or options["network"] or options["no_sandbox"] or options["per_member"]):
        raise BadInput("A server with a URL takes only --header and --timeout")
    if not is_url and headers:
        raise BadInput("--header is only for a server with a URL", "For a command, use --env.")
    if is_url:
        yield "url", target[0]
        yield "headers", dict(_pair(one, ":", "Authorization: Bearer ...") for one in headers)
    else:
        yield "command", target[0]
        yield "args", list(target[1:])
        yield "env", dict(_pair(one, "=", "LEVEL=debug") for one in env)
    if options["timeout"]:
        yield "timeout", float(str(options["timeout"])) * 1000
    if options["network"]:
        yield "network", True
    if options["no_sandbox"]:
        yield "sandbox", False
    if options["per_member"]:
        yield "per_member", True


def _pair(text: str, sign: str, example: str) -> tuple[str, str]:
    key, found, value = text.partition(sign)
    if not found or not key.strip():
        raise BadInput(f"{text!r} has no name and value", f"Write it as in: '{example}'")
    return key.strip(), value.strip() if sign == ":" else value


def test(folder: Path | None, name: str) -> int:
    """Start a server, list its tools and end it. Return the exit code."""
    checked = _checked(folder, name)
    for problem in checked.problems:
        note(problem)
    if checked.why:
        note(f"deskmate: {name} cannot be used: {checked.why}")
        return FAILED
    lines = [f"{name}: ready in {checked.seconds:.1f} s, {_count(checked)}"]
    rows = [(tool.full_name, tool.text.split("\n")[0][:100]) for tool in checked.tools]
    lines += sheet_for(sys.stdout).table(rows, gives=1, indent="  ") if rows else []
    if checked.changes:
        note(f"not as you approved them: {checked.changes.words}\nTo look at them, run: deskmate mcp approve {name}")
    return put(lines)


def approve(folder: Path | None, name: str, *, asks: bool) -> int:
    """Show what changed in the tools of a server, and approve it if the person agrees. Return the exit code."""
    checked = _checked(folder, name)
    if checked.why:
        note(f"deskmate: {name} cannot be used: {checked.why}")
        return FAILED
    if not checked.changes:
        return put([f"approved as they are: {_count(checked)} of {name}"])
    put([exact(line) for line in checked.changes.lines()])
    if asks and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Refused("Nothing was approved, because there is no terminal to ask in", "To approve this, add --yes.")
    if asks and not click.confirm("Approve these tools?", err=True):
        note("Nothing was approved.")
        return FAILED
    checked.approve()
    return put([f"approved: {_count(checked)} of {name}. Teams that run now use them after a restart."])


def _count(checked: CheckedServer) -> str:
    return f"{len(checked.tools)} tool{'' if len(checked.tools) == 1 else 's'}"


def _checked(folder: Path | None, name: str) -> CheckedServer:
    settings = app.load(app.environment())
    with logging_to(note):
        found = survey(folder, settings.state, reads=False)
        return check_server(found, settings, name)


def remove(name: str) -> int:
    """Remove a server that was added. Return the exit code."""
    settings = app.load(app.environment())
    check_name(name)
    if name not in added_servers(settings).entries:
        where = f"It is in {settings.file}: remove it there." if name in settings.mcp else "See: deskmate mcp list"
        raise Refused(f"No server '{name}' was added with deskmate mcp add", where)
    change_servers(settings, lambda known: {other: entry for other, entry in known.items() if other != name})
    return put([f"removed: {name}"])
