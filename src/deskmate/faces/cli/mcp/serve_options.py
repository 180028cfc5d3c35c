"""The command `mcp serve`, with its options and its help."""

from pathlib import Path

import click

from deskmate.faces.cli.run_options import mode_option, work_options
from deskmate.faces.common.command_start import importing
from deskmate.faces.common.exit_codes import UNUSABLE

_EPILOG = """
\b
Add it to Claude Code, in the folder that teams shall work in:
  claude mcp add deskmate -- deskmate mcp serve

\b
Or write it in .mcp.json, which most clients read:
  {"mcpServers": {"deskmate": {"command": "deskmate", "args": ["mcp", "serve"]}}}

\b
Add it to Codex, in ~/.codex/config.toml:
  [mcp_servers.deskmate]
  command = "deskmate"
  args = ["-C", "/path/to/project", "mcp", "serve"]

\b
More examples:
  deskmate mcp serve --read-only
  deskmate mcp serve --max-cost 5 --permission-mode acceptEdits
  deskmate mcp serve --http --port 8765 --token-file ~/.config/deskmate/mcp.token
"""


@click.command(epilog=_EPILOG)
@click.option("--http", is_flag=True, help="Serve over HTTP, on this machine only, instead of stdin and stdout.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="With --http: listen on this port. Default: any free one."
)
@click.option("--host", metavar="ADDRESS", help="With --http: only 127.0.0.1 is possible.")
@click.option(
    "--token-file",
    metavar="PATH",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --http: read the token from this file of mode 0600, or create it. Default: print a new token.",
)
@click.option("--read-only", is_flag=True, help="Offer only the tools that look at teams.")
@click.option(
    "--allow-answers",
    "answers",
    is_flag=True,
    help="Let clients answer questions: allow tool calls, approve plans, run verify commands.",
)
@click.option(
    "--max-teams",
    "most_teams",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Start no team while this many run in the workspace.",
)
@mode_option("Clients cannot choose a wider mode than this.")
@work_options
@click.pass_context
def serve(
    ctx: click.Context,
    /,
    http: bool,
    port: int,
    host: str | None,
    token_file: Path | None,
    read_only: bool,
    answers: bool,
    most_teams: int,
    **flags: object,
) -> int:
    """Serve the teams of this workspace as MCP tools, for Claude Code, Codex, an IDE or any other MCP client.

    A client can start teams, watch them, read their boards, mail and transcripts, send mail and stop them. Teams run in
    processes of their own, and continue when the server ends. You see them in every other command.

    A client acts as you. It cannot allow tool calls or approve plans, unless you add --allow-answers.
    Otherwise you answer yourself, with: deskmate answer. Clients can only ask for narrower modes and lower caps than
    the options say.
    """
    if not http and (port or host or token_file):
        raise click.UsageError("--port, --host and --token-file need --http.", ctx)
    if host not in (None, "127.0.0.1", "localhost"):
        raise click.UsageError(
            f"Cannot serve on {host}: a client acts as you, so only this machine may connect. "
            f"From another machine, use ssh: ssh -L {port or 8765}:127.0.0.1:{port or 8765} HOST",
            ctx,
        )
    if read_only and answers:
        raise click.UsageError("Choose one of --read-only and --allow-answers.", ctx)
    if _lacks_mcp():
        return UNUSABLE
    with importing():
        from deskmate.faces.mcp.serve_command import carry_out

    return carry_out(
        ctx.meta["workspace"],
        flags,
        http=http,
        port=port,
        token_file=token_file,
        read_only=read_only,
        answers=answers,
        most_teams=most_teams,
    )


def _lacks_mcp() -> bool:
    """Return whether the MCP SDK is not installed. If so, print how to install it."""
    from deskmate.faces.common.text_tables import note
    from deskmate.queries.installation import Installation, has_mcp

    if has_mcp():
        return False
    note(f"deskmate: MCP is not installed. To install it, run: {Installation.current().command_for_all}")
    return True
