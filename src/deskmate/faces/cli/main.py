"""The entry of the command line: it answers `--version` by itself and hands all else to `commands`.

Importing it costs nothing, so that the version is told at once.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deskmate.faces.cli.run import Runner

USAGE, UNUSABLE, INTERRUPTED = 2, 3, 130


def main(args: Sequence[str] | None = None, runner: "Runner | None" = None) -> int:
    """Carry out what was typed; return the exit code. `runner`: who runs teams, `deskmate.app` itself unless given."""
    typed = list(sys.argv[1:] if args is None else args)
    if typed == ["--version"]:
        from importlib.metadata import version

        print(f"deskmate {version('deskmate')}")
        return 0
    try:
        return _carry_out(typed, runner)
    except KeyboardInterrupt:
        return INTERRUPTED


def _carry_out(typed: list[str], runner: "Runner | None") -> int:
    import click

    from deskmate import DeskmateError, StoreError
    from deskmate.faces.cli.commands import deskmate
    from deskmate.faces.cli.texts import clean

    try:
        return int(deskmate.main(typed, prog_name="deskmate", standalone_mode=False, obj=runner) or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return INTERRUPTED
    except DeskmateError as error:
        print(clean(f"deskmate: {error}"), file=sys.stderr)
        return UNUSABLE if isinstance(error, StoreError) else USAGE
