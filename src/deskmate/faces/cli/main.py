"""The entry of the command line: it answers `--version` by itself and hands all else to `commands`.

Importing it costs nothing, so that the version is told at once.
"""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deskmate.faces.cli.run import Runner

USAGE, UNUSABLE, INTERRUPTED = 2, 3, 130


def main(args: Sequence[str] | None = None, runner: "Runner | None" = None) -> int:
    """Carry out what was typed; return the exit code. `runner`: who runs teams, `deskmate.app` itself unless given."""
    _replace_closed_streams()
    if sys.stdout is None:
        print("deskmate: stdout is closed; send it somewhere, such as > answer.txt", file=sys.stderr)
        return UNUSABLE
    typed = list(sys.argv[1:] if args is None else args)
    if typed == ["--version"]:
        from importlib.metadata import version

        print(f"deskmate {version('deskmate')}")
        return 0
    try:
        return _carry_out(typed, runner)
    except KeyboardInterrupt:
        return INTERRUPTED


def _replace_closed_streams() -> None:
    """Have a stdin to read and a stderr to write, whatever the caller closed: Python has none there."""
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


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
    except Exception as error:
        _tell_own(error)
        return UNUSABLE


def _tell_own(error: Exception) -> None:
    """Tell an error that is nobody's but ours: a line for people, the rest for who mends it."""
    import traceback

    from deskmate.faces.cli.error_log import keep
    from deskmate.faces.cli.texts import clean, one_line

    words = f"deskmate: an error in Deskmate itself: {type(error).__name__}: {one_line(str(error))}"
    try:
        print(f"{words}; details in {keep(words, error)}", file=sys.stderr)
    except (OSError, ImportError):
        # No place to keep it, or the installation is what is broken.
        print(clean(f"{words}\n{''.join(traceback.format_exception(error))}").rstrip(), file=sys.stderr)
