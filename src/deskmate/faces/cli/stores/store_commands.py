"""migrate, with its help. Docstrings of commands are their help."""

import click

from deskmate.faces.cli import shell_completion
from deskmate.faces.common.command_start import importing


@click.command()
@click.argument("team", shell_complete=shell_completion.teams)
@click.option(
    "--to", metavar="URL", required=True, help="The store to copy to, as in the setting store. files: this workspace."
)
@click.pass_context
def migrate(ctx: click.Context, /, team: str, to: str) -> int:
    """Copy TEAM to another store, such as a PostgreSQL database.

    Also copies the teams that its lead created from it and has not closed. Every record is read back and compared. The
    team must not be running. It stays in its old store, too. If the command is interrupted, repeat it: it continues.
    To use the copy, put the same URL into the setting store or DESKMATE_STORE.
    """
    with importing():
        from deskmate.faces.cli.stores import migration_output

    return migration_output.copy_team(ctx.meta["workspace"], team, to)


STORE_COMMANDS = (migrate,)
