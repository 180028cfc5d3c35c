"""web and export, with their help. Docstrings of commands are their help."""

import click

from deskmate.faces.cli import shell_completion
from deskmate.faces.common.command_start import importing


@click.command()
@click.argument("team", required=False, shell_complete=shell_completion.teams)
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="Listen on this port. Default: any free one."
)
@click.option("--open", "opens", is_flag=True, help="Also open the page in your browser.")
@click.pass_context
def web(ctx: click.Context, /, team: str | None, port: int, opens: bool) -> int:
    """Show your teams in a browser, live: members, board, mail, conversations, costs and questions.

    Prints a link with a token, and serves the page until you press Ctrl-C. With TEAM, the page begins with that team.
    It listens on 127.0.0.1 only. With the link, anybody on this machine can write to members and answer questions in
    your name. The teams need not run, and stopping the page does not stop them.
    """
    with importing():
        from deskmate.faces.web import serve

    return serve(ctx.meta["workspace"], team, port=port, opens=opens)


@click.command()
@click.argument("team", required=False, shell_complete=shell_completion.teams)
@click.option("--html", "file", metavar="FILE", required=True, help="Write the page to this new file, or - for stdout.")
@click.pass_context
def export(ctx: click.Context, /, team: str | None, file: str) -> int:
    """Save a TEAM as one HTML file that needs no server and loads nothing from the web.

    It shows what the web page shows, also the past, but nobody can write to the team with it. Secrets that Deskmate
    knows are taken out. Everything else that the team read and wrote is in it, so look at it before you share it. TEAM
    defaults to the team that was used last.
    """
    with importing():
        from deskmate.faces.web import save

    return save(ctx.meta["workspace"], team, file)


PAGE_COMMANDS = (web, export)
