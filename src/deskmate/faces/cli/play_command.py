"""One teammate for the process that started this one.

Its stdin brings one line that says how, and then its end: whoever started it is gone. Its stdout tells what happens, a
JSON object a line, and that it is not hung. `commands` stands above, `deskmate.app` does the work.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import anyio

from deskmate import app
from deskmate.app import Feed, Streamed, TeamEvent, TeammateRun
from deskmate.app.teammate_process import CORRUPT_EXIT, CORRUPTIONS
from deskmate.faces.common.error_log import discreet, logging_to
from deskmate.faces.common.exit_codes import INTERRUPTED
from deskmate.faces.common.output_stream import OutputStream
from deskmate.faces.common.stop_signals import StopSignals
from deskmate.faces.common.terminal_text import clean

BEAT = '{"type": "beat"}\n'
# More than any settings have.
ORDER_CAP = 2**20
# What ends in good order ends sooner: a command has 5 seconds to do so.
LAST_SECONDS = 15.0


def carry_out(workspace: Path | None, team: str, name: str) -> int:
    """Play a teammate; return the exit code. Raises DeskmateError."""
    app.seclude()
    app.raise_open_files()
    line = sys.stdin.buffer.readline(ORDER_CAP)
    if not line:
        return INTERRUPTED
    part = TeammateRun.told(workspace, team, name, line, os.environ)
    with OutputStream(sys.stderr) as stderr, OutputStream(sys.stdout) as stdout:

        def note(words: str) -> None:
            stderr.put(f"{clean(words)}\n")

        stop_signals = StopSignals(note)
        with stop_signals.signals(), logging_to(note):
            try:
                return 0 if anyio.run(_play, part, stdout, stop_signals) else INTERRUPTED
            except CORRUPTIONS as error:
                note(discreet(str(error)))
                return CORRUPT_EXIT


async def _play(part: TeammateRun, stdout: OutputStream, stop_signals: StopSignals) -> bool:
    """Return whether the teammate left before the brake was pulled."""

    def hear(event: TeamEvent) -> None:
        # What was said is recorded once it is whole; a reader that is behind needs no parts of it.
        if not (isinstance(event, Streamed) and stdout.behind):
            stdout.put(app.to_line(event) + "\n")

    feed = Feed()
    feed.listen(hear)
    with anyio.CancelScope() as scope, stop_signals.stops(scope):
        threading.Thread(target=_stop_at_end_of_stdin, args=(stop_signals.pull,), daemon=True).start()
        await app.play(part, feed, lambda: stdout.put(BEAT))
        return True
    return False


def _stop_at_end_of_stdin(stop: Callable[[], None]) -> None:
    """Stop in good order once stdin ends, and if that takes too long, at once: nobody else will end this process."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    stop()
    time.sleep(LAST_SECONDS)
    os._exit(INTERRUPTED)
