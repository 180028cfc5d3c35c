"""Merge, diff, conflicts and trees, with their help. Docstrings of commands are their help."""

import click

from deskmate.faces.cli import shell_completion
from deskmate.faces.common.command_start import ShowingGroup, importing


@click.command()
@click.argument("team", required=False, shell_complete=shell_completion.teams)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for programs.")
@click.pass_context
def merge(ctx: click.Context, /, team: str | None, as_json: bool) -> int:
    """Merge the branch of a TEAM into the branch that you have checked out.

    Teammates with their own trees have one: deskmate/TEAM. Your files change only if nothing of yours is lost.
    Otherwise everything stays as it is, and you see why, and the command that merges it. None of your git hooks runs.
    TEAM defaults to the team that was used last. Exits with 1 if the branch was not merged.
    """
    with importing():
        from deskmate.faces.cli.trees import tree_output

    return tree_output.merge(ctx.meta["workspace"], team, as_json=as_json)


@click.command()
@click.argument("team", required=False, shell_complete=shell_completion.teams)
@click.argument("part", required=False, metavar="[MEMBER|TASK]", shell_complete=shell_completion.members)
@click.option("--stat", is_flag=True, help="Only list the files, with the number of changed lines.")
@click.pass_context
def diff(ctx: click.Context, /, team: str | None, part: str | None, stat: bool) -> int:
    """Show what the branch of a TEAM changes, and your own branch does not have.

    [MEMBER|TASK] shows a part of it. With a task, such as 3 or '#3', this is what was merged for it. With a member, it
    is what is in the tree of that teammate and not merged yet. TEAM defaults to the team that was used last.
    """
    with importing():
        from deskmate.faces.cli.trees import tree_output

    return tree_output.diff(ctx.meta["workspace"], team, part, stat=stat)


@click.command()
@click.argument("team", required=False, shell_complete=shell_completion.teams)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for programs.")
@click.pass_context
def conflicts(ctx: click.Context, /, team: str | None, as_json: bool) -> int:
    """Show which teammates of a TEAM change the same files in their own trees.

    Their commits are merged on trial, with each other and with the branch of the team, while the team runs. Files that
    are not committed yet count too. TEAM defaults to the team that was used last. Exits with 1 if commits conflict.
    """
    with importing():
        from deskmate.faces.cli.trees import tree_output

    return tree_output.conflicts(ctx.meta["workspace"], team, as_json=as_json)


class TreesGroup(ShowingGroup):
    """The commands for trees."""

    advice = "To show the trees of a team: deskmate trees TEAM"


@click.group(cls=TreesGroup)
def trees() -> None:
    """List the trees of teammates: team, member, state, size and folder.

    With TEAM, only those of that team are listed.
    """


@trees.command(hidden=True)
@click.argument("team", required=False, shell_complete=shell_completion.teams)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for programs.")
@click.pass_context
def show(ctx: click.Context, /, team: str | None, as_json: bool) -> int:
    """List the trees of teammates."""
    with importing():
        from deskmate.faces.cli.trees import tree_output

    return tree_output.trees(ctx.meta["workspace"], team, as_json=as_json)


@trees.command("prune")
@click.pass_context
def prune(ctx: click.Context, /) -> int:
    """Remove the trees of teammates that have left, and of teams that are gone.

    Free trees, and what killed runs have left, are removed too. A tree with changes that are not merged is kept and
    named. The branches of teams are kept.
    """
    with importing():
        from deskmate.faces.cli.trees import tree_output

    return tree_output.prune(ctx.meta["workspace"])


TREE_COMMANDS = (merge, diff, conflicts, trees)
