"""The commands that look at a team and that act on it by the user's hand. Only click is imported before one runs.

`commands` above adds them to what can be typed and hands over the folder; `looking`, `transcripts` and `acting` carry
them out.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from deskmate.faces.cli.starting import Suggesting, bounded, from_stdin, importing

Command = TypeVar("Command", bound=Callable[..., Any])


def _team_option(command: Command) -> Command:
    return click.option("--team", metavar="NAME", help="The team. Else: the one last written to.")(command)


def _json_option(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object for programs.")(command)


@click.command()
@_json_option
@click.pass_context
def teams(ctx: click.Context, /, as_json: bool) -> int:
    """List the teams here: who is on them, what they do, tasks, cost, and whether they are played now."""
    with importing():
        from deskmate.faces.cli import looking

    return looking.teams(ctx.meta["workspace"], as_json=as_json)


class Board(Suggesting):
    """A group of which one word that is no command names the team whose board is shown."""

    advice = "To show the board of a team: deskmate board TEAM"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = [word for word in args if not word.startswith("-")]
        asks_help = not words and any(word in ctx.help_option_names for word in args)
        if len(words) <= 1 and not asks_help and not any(word in self.commands for word in words):
            args = ["show", *args]
        return super().parse_args(ctx, args)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[TEAM] [--json]")
        formatter.write_usage(ctx.command_path, "COMMAND [ARGS]...", prefix="       ")


@click.group(cls=Board)
def board() -> None:
    """Show the tasks of a TEAM and what holds each up, or change them by your own hand.

    Without TEAM, the team last written to.
    """


@board.command(hidden=True)
@click.argument("team", required=False)
@_json_option
@click.pass_context
def show(ctx: click.Context, /, team: str | None, as_json: bool) -> int:
    """Show the tasks of a TEAM, the one last written to if none is named."""
    with importing():
        from deskmate.faces.cli import looking

    return looking.board(ctx.meta["workspace"], team, as_json=as_json)


@board.command()
@click.argument("subject")
@click.option("--description", default="", help="What is to be done, in as many words as it takes.")
@click.option("--blocked-by", metavar="ID", multiple=True, help="A task that must be done first. May be repeated.")
@click.option("--role", help="Only for who has this role or name.")
@click.option("--owner", metavar="NAME", help="Give it to this member.")
@click.option("--verify", metavar="COMMAND", help="The command that must succeed for it to be done.")
@_team_option
@click.pass_context
def add(ctx: click.Context, /, subject: str, team: str | None, **fields: object) -> int:
    """Put a task on the board."""
    with importing():
        from deskmate.faces.cli import acting

    return acting.add(ctx.meta["workspace"], team, subject, **fields)


@board.command()
@click.argument("id_", metavar="ID")
@click.argument("name")
@_team_option
@click.pass_context
def assign(ctx: click.Context, /, id_: str, name: str, team: str | None) -> int:
    """Give the task ID to the member NAME."""
    with importing():
        from deskmate.faces.cli import acting

    return acting.assign(ctx.meta["workspace"], team, id_, name)


@board.command()
@click.argument("id_", metavar="ID")
@_team_option
@click.pass_context
def done(ctx: click.Context, /, id_: str, team: str | None) -> int:
    """Mark the task ID as done. The command that verifies it, if it has one, runs here first and must succeed."""
    with importing():
        from deskmate.faces.cli import acting

    return acting.done(ctx.meta["workspace"], team, id_)


@board.command()
@click.argument("id_", metavar="ID")
@_team_option
@click.pass_context
def drop(ctx: click.Context, /, id_: str, team: str | None) -> int:
    """Take the task ID off the board; what it blocked no longer waits for it."""
    with importing():
        from deskmate.faces.cli import acting

    return acting.drop(ctx.meta["workspace"], team, id_)


@click.command()
@click.argument("name")
@click.argument("team", required=False)
@_json_option
@click.pass_context
def inbox(ctx: click.Context, /, name: str, team: str | None, as_json: bool) -> int:
    """Show the mail of the member NAME: what it has not heard, marked, and below it the last 20 that it has.

    Looking changes nothing. Of your own, which is that of user, nothing is known to be heard.
    """
    with importing():
        from deskmate.faces.cli import looking

    return looking.inbox(ctx.meta["workspace"], team, name, as_json=as_json)


@click.command()
@click.argument("name")
@click.argument("team", required=False)
@click.option("-f", "--follow", is_flag=True, help="Go on with what is added, until Ctrl-C.")
@click.option("-n", "--last", type=click.IntRange(min=1), default=100, show_default=True, help="So many entries.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each entry, whole.")
@click.pass_context
def tail(ctx: click.Context, /, name: str, team: str | None, follow: bool, last: int, as_json: bool) -> int:
    """Show what the member NAME heard, said and did."""
    with importing():
        from deskmate.faces.cli import transcripts

    return transcripts.tail(ctx.meta["workspace"], team, name, last=last, follows=follow, as_json=as_json)


@click.command()
@click.argument("name")
@click.argument("text")
@_team_option
@click.pass_context
def send(ctx: click.Context, /, name: str, text: str, team: str | None) -> int:
    """Send the member NAME a message from you. With - for TEXT it is read from stdin."""
    words = from_stdin() if text == "-" else text
    if not words or not words.strip():
        raise click.UsageError("There is no text to send.", ctx)
    with importing():
        from deskmate.faces.cli import acting

    return acting.send(ctx.meta["workspace"], team, name, bounded(words))


@click.command()
@click.argument("team", required=False)
@_json_option
@click.pass_context
def cost(ctx: click.Context, /, team: str | None, as_json: bool) -> int:
    """Show what a TEAM has used and spent, by member and model."""
    with importing():
        from deskmate.faces.cli import looking

    return looking.cost(ctx.meta["workspace"], team, as_json=as_json)


@click.command()
@click.argument("name")
@_team_option
@click.pass_context
def stop(ctx: click.Context, /, name: str, team: str | None) -> int:
    """Ask the teammate NAME to leave, and wait until it has left or refused."""
    with importing():
        from deskmate.faces.cli import acting

    return acting.stop(ctx.meta["workspace"], team, name)


TEAM_COMMANDS = (teams, board, inbox, tail, send, cost, stop)
