"""web, export and telemetry, with their help. Docstrings of commands are their help."""

from pathlib import Path
from typing import Any

import click

from deskmate.faces.cli import shell_completion
from deskmate.faces.common.command_start import importing

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("team", required=False, shell_complete=shell_completion.teams)
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="Listen on this port. Default: any free one."
)
@click.option("--open", "opens", is_flag=True, help="Also open the page in your browser.")
@click.option("--listen", metavar="ADDRESS", help="Listen on this address, such as 0.0.0.0. Default: 127.0.0.1.")
@click.option("--tls-cert", "certificate", metavar="FILE", type=_FILE, help="Encrypt with this certificate (PEM).")
@click.option("--tls-key", "key", metavar="FILE", type=_FILE, help="The key of the certificate (PEM).")
@click.option("--proxy", metavar="URL", help="The https address of a proxy in front of the page that encrypts.")
@click.pass_context
def web(ctx: click.Context, /, team: str | None, **options: Any) -> int:
    """Show your teams in a browser, live: members, board, mail, conversations, costs and questions.

    Prints a link with a token, and serves the page until you press Ctrl-C. With TEAM, the page begins with that team.
    With the link, anybody on this machine can write to members and answer questions in your name. The teams need not
    run, and stopping the page does not stop them. Other machines reach it only with --listen and --tls-cert, or through
    a --proxy.
    """
    with importing():
        from deskmate.faces.web import serve

    return serve(ctx.meta["workspace"], team, **options)


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


@click.command()
@click.argument("team", required=False, shell_complete=shell_completion.teams)
@click.option("-f", "--follow", is_flag=True, help="Keep exporting what is new, until Ctrl-C.")
@click.option("--console", "as_tree", is_flag=True, help="Print the spans as a tree instead of sending them.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each span instead of sending them.")
@click.pass_context
def telemetry(ctx: click.Context, /, team: str | None, follow: bool, as_tree: bool, as_json: bool) -> int:
    """Send the spans and metrics of a TEAM to an OpenTelemetry collector.

    The variables OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS say where to. Default: localhost:4318. The
    team may run or not. Spans that were sent before are sent again with the same ids. They have no texts of people or
    models. TEAM defaults to the most recently used team.
    """
    if as_tree and as_json:
        raise click.UsageError("Choose one of --console and --json.", ctx)
    with importing():
        from deskmate.faces.cli.output import telemetry_output

    form: telemetry_output.Form = "tree" if as_tree else "json" if as_json else "collector"
    return telemetry_output.telemetry(ctx.meta["workspace"], team, form, follows=follow)


PAGE_COMMANDS = (web, export, telemetry)
