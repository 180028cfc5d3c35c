"""One teammate for the process that started this one.

The first line of stdin says how to run the teammate. A second one asks it to end after its step. The end of stdin means
that the parent process is gone. Stdout has one JSON object per line: what happens, and beats that show the
process is not hung.
"""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio

from deskmate import app
from deskmate.app import Feed, Printed, Streamed, TeamEvent, TeammateRun
from deskmate.app.teammate_process import CORRUPT_EXIT, CORRUPTIONS
from deskmate.faces.common.error_log import discreet, logging_to
from deskmate.faces.common.exit_codes import INTERRUPTED
from deskmate.faces.common.output_stream import OutputStream
from deskmate.faces.common.stop_signals import StopSignals
from deskmate.faces.common.terminal_text import clean

BEAT = '{"type": "beat"}\n'
# More than any settings need.
ORDER_CAP = 2**20
# An orderly end is faster than this: a command gets 5 seconds to exit.
LAST_SECONDS = 15.0


def carry_out(workspace: Path | None, team: str, name: str) -> int:
    """Run a teammate and return the exit code. Raises DeskmateError."""
    app.seclude()
    app.raise_open_files(app.environment())
    line, rest = _first_line()
    if not line:
        return INTERRUPTED
    part = TeammateRun.told(workspace, team, name, line, app.environment())
    with OutputStream(sys.stderr) as stderr, OutputStream(sys.stdout) as stdout:

        def note(words: str) -> None:
            stderr.put(f"{clean(words)}\n")

        stop_signals = StopSignals(note)
        with stop_signals.signals(), logging_to(note):
            try:
                return 0 if anyio.run(_play, part, stdout, stop_signals, bool(rest)) else INTERRUPTED
            except CORRUPTIONS as error:
                note(discreet(str(error)))
                return CORRUPT_EXIT


def _first_line() -> tuple[bytes, bytes]:
    """Return the first line of stdin, and what was read after it. A buffered reader would keep that for itself."""
    data = b""
    while b"\n" not in data and len(data) < ORDER_CAP and (more := os.read(sys.stdin.fileno(), 65_536)):
        data += more
    line, end, rest = data.partition(b"\n")
    return line + end, rest


async def _play(part: TeammateRun, stdout: OutputStream, stop_signals: StopSignals, finishes: bool) -> bool:
    """Return whether the teammate left before the process was told to stop. `finishes`: it was asked to already."""

    def hear(event: TeamEvent) -> None:
        # A complete reply is recorded anyway, so a slow reader does not need its parts.
        if not (isinstance(event, Printed | Streamed) and stdout.behind):
            stdout.put(app.to_line(event) + "\n")

    feed, finishing, loop = Feed(), anyio.Event(), asyncio.get_running_loop()
    feed.listen(hear)
    if finishes:
        finishing.set()

    def finish() -> None:
        # The loop may have closed in the meantime.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(finishing.set)

    with anyio.CancelScope() as scope, stop_signals.stops(scope):
        threading.Thread(target=_follow_stdin, args=(finish, stop_signals.pull), daemon=True).start()
        await app.play(part, feed, lambda: stdout.put(BEAT), finishing)
        return True
    return False


def _follow_stdin(finish: Callable[[], None], stop: Callable[[], None]) -> None:
    """Finish at the second line of stdin, and stop in good order when stdin ends.

    If that takes too long, exit: nobody else will end this process.
    """
    while os.read(sys.stdin.fileno(), 4096):
        finish()
    stop()
    time.sleep(LAST_SECONDS)
    os._exit(INTERRUPTED)
