"""The group `mcp`, with its help. Docstrings of commands are their help."""

import click

from deskmate.faces.cli.mcp.serve_options import serve
from deskmate.faces.common.command_start import SuggestingGroup, importing

MCP_EPILOG = """
\b
Examples:
  deskmate mcp add time -- uvx mcp-server-time
  deskmate mcp add github --env GITHUB_TOKEN='${GITHUB_TOKEN}' --network -- npx -y some-github-server
  deskmate mcp add docs https://example.org/mcp
  deskmate mcp login docs
  deskmate mcp test time
  deskmate mcp list
  deskmate mcp serve
"""


@click.group(cls=SuggestingGroup, epilog=MCP_EPILOG)
def mcp() -> None:
    """List, add, test and remove MCP servers, which give agents more tools, and log in at them.

    Servers are found in your settings, in what `add` writes, and in .mcp.json of the workspace once you trust it.
    """


@mcp.command("list")
@click.pass_context
def list_(ctx: click.Context, /) -> int:
    """List the configured servers: name, what is started or where it is, and the file that says so."""
    with importing():
        from deskmate.faces.cli.mcp import mcp_output

    return mcp_output.listing(ctx.meta["workspace"])


@mcp.command("add")
@click.argument("name")
@click.argument("target", nargs=-1, required=True)
@click.option("--env", "env", multiple=True, metavar="KEY=VALUE", help="A variable for the command. Repeatable.")
@click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="A header for the URL. Repeatable.")
@click.option("--timeout", type=click.FloatRange(0, 3600, min_open=True), help="Seconds for one call. Default: 60.")
@click.option("--network", is_flag=True, help="Let the command use the network.")
@click.option("--no-sandbox", is_flag=True, help="Run the command outside the sandbox.")
@click.option("--per-member", is_flag=True, help="Start a process for each member, in its own folder.")
@click.pass_context
def add(
    ctx: click.Context,
    /,
    name: str,
    target: tuple[str, ...],
    env: tuple[str, ...],
    headers: tuple[str, ...],
    **options: object,
) -> int:
    """Add a server under a NAME, for all your workspaces: a command to start, or the URL of a server.

    TARGET is the URL, or the command with its arguments. Write -- before a command. ${VAR} in a value is replaced when
    the server starts, so that no secret is stored.
    """
    with importing():
        from deskmate.faces.cli.mcp import mcp_output

    return mcp_output.add(name, target, env, headers, options)


@mcp.command("test")
@click.argument("name")
@click.pass_context
def test(ctx: click.Context, /, name: str) -> int:
    """Start the server NAME, list its tools and end it. Exits with 1 if that fails.

    If nothing of the server was approved yet, the tools that it lists are approved now.
    """
    with importing():
        from deskmate.faces.cli.mcp import mcp_output

    return mcp_output.test(ctx.meta["workspace"], name)


@mcp.command("login")
@click.argument("name")
@click.option("--no-browser", is_flag=True, help="Only print the link.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port for the way back. Default: any free one.")
@click.option("--client-id", metavar="ID", default="", help="Use this client instead of registering a new one.")
@click.pass_context
def login(ctx: click.Context, /, name: str, no_browser: bool, port: int, client_id: str) -> int:
    """Log in at the server NAME with your browser, and keep the login for all commands.

    The login is for servers with a URL that ask for OAuth. It is renewed when it ends, as long as the server allows.
    """
    with importing():
        from deskmate.faces.cli.mcp import login_output

    return login_output.login(ctx.meta["workspace"], name, opens=not no_browser, port=port, client_id=client_id)


@mcp.command("logout")
@click.argument("name")
@click.pass_context
def logout(ctx: click.Context, /, name: str) -> int:
    """Forget your login at the server NAME."""
    with importing():
        from deskmate.faces.cli.mcp import login_output

    return login_output.logout(ctx.meta["workspace"], name)


@mcp.command("approve")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask first.")
@click.pass_context
def approve(ctx: click.Context, /, name: str, yes: bool) -> int:
    """Show which tools of the server NAME are new or changed, and approve them if you confirm.

    Until then, new tools are not offered to agents and changed ones are not called. Exits with 1 if you do not confirm.
    """
    with importing():
        from deskmate.faces.cli.mcp import mcp_output

    return mcp_output.approve(ctx.meta["workspace"], name, asks=not yes)


@mcp.command("remove")
@click.argument("name")
@click.pass_context
def remove(ctx: click.Context, /, name: str) -> int:
    """Remove the server NAME, which was added with `deskmate mcp add`."""
    with importing():
        from deskmate.faces.cli.mcp import mcp_output

    return mcp_output.remove(name)


mcp.add_command(serve)
