"""Rewind, fork, compare and advise. Docstrings of commands are their help."""

from typing import Literal

import click

from deskmate.faces.cli import shell_completion
from deskmate.faces.common.command_start import importing

What = Literal["files", "conversation", "both"]


class PointNumber(click.IntRange):
    """The number of a point."""

    name = "number"

    def __init__(self) -> None:
        super().__init__(min=1)

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        """Return how to find the number that is missing."""
        return "To list the points, run: deskmate rewind TEAM"


@click.command()
@click.argument("team", required=False, shell_complete=shell_completion.teams)
@click.argument("point", required=False, type=PointNumber())
@click.option("--files", "what", flag_value="files", default=True, help="Restore the files (default).")
@click.option("--conversation", "what", flag_value="conversation", help="Fork the conversation.")
@click.option("--both", "what", flag_value="both", help="Restore the files and fork the conversation.")
@click.option("--dry-run", is_flag=True, help="Only show what would change, as a diff.")
@click.option("--force", is_flag=True, help="Also remove files created since that the team did not write.")
@click.option("--yes", is_flag=True, help="Do not ask first.")
@click.pass_context
def rewind(
    ctx: click.Context, /, team: str | None, point: int | None, what: What, dry_run: bool, force: bool, yes: bool
) -> int:
    """Restore your files as they were before one of your messages, or list these points.

    Before the lead acts on your message, a checkpoint of your files is made: a point that you can go back to. Without
    POINT, this lists the points of a TEAM. TEAM defaults to the team that was used last. What is overwritten is saved
    as a new point first, so a rewind can be undone. Files that git ignores and large files are never touched. A
    conversation is forked: it continues in a new team, and the old one stays. Exits with 1 if you do not say yes, or
    if a file could not be restored.
    """
    with importing():
        from deskmate.faces.cli.rewind import rewind_output

    folder = ctx.meta["workspace"]
    if team and point is None and team.isdecimal() and not rewind_output.is_team(folder, team):
        point, team = int(team), None
    if point is None:
        if dry_run or force or what != "files":
            raise click.UsageError("Name a point. To see the points, run: deskmate rewind", ctx)
        return rewind_output.list_points(folder, team)
    if what == "conversation" and (dry_run or force):
        raise click.UsageError(f"{'--dry-run' if dry_run else '--force'} concerns files. Leave it out.", ctx)
    if dry_run:
        return rewind_output.preview(folder, team, point, force=force)
    return rewind_output.rewind(folder, team, point, what, force=force, asks=not yes)


@click.command()
@click.argument("team", shell_complete=shell_completion.teams)
@click.option("--at", "point", required=True, type=PointNumber(), help="The point, as deskmate rewind lists it.")
@click.option(
    "--team", "new", metavar="NEW", help="The name of the new team. Default: the first free TEAM-2, TEAM-3, …"
)
@click.option("--model", metavar="PROVIDER:MODEL", help="Name this model in the command that continues the new team.")
@click.pass_context
def fork(ctx: click.Context, /, team: str, point: int, new: str | None, model: str | None) -> int:
    """Make a new team with the conversation of TEAM as it was before one of your messages.

    TEAM stays as it is. The new team has the lead's conversation up to that point, no teammates and no tasks. Your
    files are not changed: to restore them too, use deskmate rewind --both. If stdout is not a terminal, it gets the
    name of the new team and nothing else.
    """
    with importing():
        from deskmate.faces.cli.rewind import rewind_output

    return rewind_output.fork_team(ctx.meta["workspace"], team, point, new, model)


@click.command()
@click.argument("one", metavar="A", shell_complete=shell_completion.teams)
@click.argument("other", metavar="B", shell_complete=shell_completion.teams)
@click.option("--diff", is_flag=True, help="Also show how their files differ.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for programs.")
@click.pass_context
def compare(ctx: click.Context, /, one: str, other: str, diff: bool, as_json: bool) -> int:
    """Show the results of the teams A and B side by side: answer, cost, time, calls, files.

    The files are those that members edited with their tools for files. What commands changed is not known for each
    team. --diff shows it.

    --diff compares the files of their last checkpoints. For the team that was used last, it takes your files as they
    are now.
    """
    with importing():
        from deskmate.faces.cli.rewind import rewind_output

    return rewind_output.compare_teams(ctx.meta["workspace"], one, other, diff=diff, as_json=as_json)


@click.command()
@click.argument("team", required=False, shell_complete=shell_completion.teams)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
@click.pass_context
def advise(ctx: click.Context, /, team: str | None, as_json: bool) -> int:
    """Show whether teammates were worth it for a TEAM: its critical path, where they waited, and what one agent costs.

    The cost of one agent is an estimate, and its assumptions are printed. TEAM defaults to the most recently used team.
    """
    with importing():
        from deskmate.faces.cli.output import advice_output

    return advice_output.advise(ctx.meta["workspace"], team, as_json=as_json)


REWIND_COMMANDS = (rewind, fork, compare, advise)
