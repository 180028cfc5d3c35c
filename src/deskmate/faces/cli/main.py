"""The entry point: version, exit codes, uncaught errors.

Importing it is cheap, so `--version` prints at once.
"""

import errno
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deskmate.faces.common.exit_codes import INTERRUPTED, UNUSABLE, USAGE

if TYPE_CHECKING:
    from deskmate.faces.cli.run_command import Runner


# What a user can do with a lead that another process runs.


def main(args: Sequence[str] | None = None, runner: "Runner | None" = None) -> int:
    """Carry out a command line and return the exit code. `runner` runs teams. The default is `deskmate.app`."""
    _replace_closed_streams()
    if sys.stdout is None:
        print("deskmate: stdout is closed\nRedirect it, as in: > answer.txt", file=sys.stderr)
        return UNUSABLE
    typed = list(sys.argv[1:] if args is None else args)
    try:
        code = _tell_version() if typed == ["--version"] else _carry_out(typed, runner)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        return _give_up_writing(error)


def _tell_version() -> int:
    from deskmate import __version__

    print(f"deskmate {__version__}")
    return 0


def _give_up_writing(error: OSError) -> int:
    """Report that output cannot be written, and drop what was printed. Return the exit code."""
    # Python would try to write again at exit.
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    # A reader that closed the output has seen enough.
    if isinstance(error, BrokenPipeError):
        return 0
    print(f"deskmate: cannot write: {error.strerror}", file=sys.stderr)
    return UNUSABLE


def _replace_closed_streams() -> None:
    """Provide stdin and stderr if the caller closed them. Python sets a closed stream to None."""
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _carry_out(typed: list[str], runner: "Runner | None") -> int:
    import click

    from deskmate.errors import DeskmateError, StoreError
    from deskmate.faces.cli.root_commands import deskmate
    from deskmate.faces.common.error_log import discreet, error_text

    try:
        return int(deskmate.main(typed, prog_name="deskmate", standalone_mode=False, obj=runner) or 0)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        print(discreet(shown.getvalue()), end="", file=sys.stderr)
        return error.exit_code
    except click.Abort:
        return INTERRUPTED
    except DeskmateError as error:
        print(discreet(error_text(error)), file=sys.stderr)
        return UNUSABLE if isinstance(error, StoreError) else USAGE
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise
        _tell_own(error)
        return UNUSABLE


def _tell_own(error: Exception) -> None:
    """Report an error in Deskmate itself: one line for people, and the traceback in a file."""
    import traceback

    from deskmate.faces.common.error_log import discreet, keep
    from deskmate.faces.common.terminal_text import clean, one_line

    words = f"deskmate: an error in Deskmate itself: {type(error).__name__}: {one_line(str(error))}"
    trace = "".join(traceback.format_exception(error))
    try:
        words, trace = discreet(words), discreet(trace)
        print(f"{words}\nDetails are in {keep(words, error)}", file=sys.stderr)
    except (OSError, ImportError):
        # The file cannot be written, or the installation itself is broken.
        print(clean(f"{words}\n{trace}").rstrip(), file=sys.stderr)
