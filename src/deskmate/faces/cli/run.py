"""One run, carried out: from what was typed to an exit code.

`commands` stands above. `deskmate.app` does the work, or whoever plays it in a test; feed and signals meet here.
"""

import asyncio
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Literal, Protocol

import anyio

from deskmate import app
from deskmate.app import Feed, Happening, Outcome, Settings, Wanted
from deskmate.faces.cli import outputs
from deskmate.faces.cli.main import INTERRUPTED, UNUSABLE
from deskmate.faces.cli.printing import Progress, progress_on
from deskmate.faces.cli.texts import clean, one_line

EXIT_CODES = {"answered": 0, "parked": 1, "interrupted": INTERRUPTED}
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Runner(Protocol):
    """Who runs teams: `deskmate.app`."""

    async def run(self, wanted: Wanted, feed: Feed) -> Outcome:
        """Found a team and bring it to the end of its turn."""

    async def resume(self, wanted: Wanted, feed: Feed) -> Outcome:
        """Go on with what a team left open."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What was typed."""

    deed: Literal["run", "resume"]
    workspace: Path | None
    words: str | None
    team: str | None
    output: str
    flags: Mapping[str, object]

    def resumed(self, team: str | None) -> str:
        """Return what to type to go on with it."""
        where = [] if self.workspace is None else ["-C", str(self.workspace)]
        return shlex.join(["deskmate", *where, "resume", *filter(None, [team])])


def carry_out(errand: Errand, runner: Runner | None) -> int:
    """Do what was typed; return the exit code. Raises DeskmateError."""
    settings = app.load(os.environ, {name: value for name, value in errand.flags.items() if value is not None})
    model = app.choose_model(settings)
    progress = progress_on(sys.stderr, colour=settings.colour)
    for warning in settings.warnings:
        progress.note(f"deskmate: warning: {warning}")
    # A team that is resumed keeps its mode unless another is set.
    mode = settings.permission_mode or ("default" if errand.deed == "run" else None)
    progress.note(f"{model}, permission mode {mode}" if mode else model)
    stdout = Stdout()
    try:
        outcome = anyio.run(_play, errand, settings, runner or app, progress, stdout)
    finally:
        progress.close()
    if outcome is not None:
        _print(outcome, model, errand.output, stdout)
    if stdout.trouble is not None and not isinstance(stdout.trouble, BrokenPipeError):
        progress.note(f"deskmate: cannot write to stdout: {stdout.trouble.strerror}")
        return UNUSABLE
    if outcome is None:
        # Who closed the output knows that it was cut short.
        if stdout.trouble is None:
            progress.note(f"deskmate: interrupted; go on with: {errand.resumed(errand.team)}")
        return INTERRUPTED
    _tell(outcome, errand, progress)
    return EXIT_CODES[outcome.end]


class Stdout:
    """The way out for results. It never raises: what went wrong first is kept in `trouble`, and the rest is dropped."""

    def __init__(self) -> None:
        self.trouble: OSError | None = None
        # An answer is not lost for a character that the locale does not have.
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")

    def put(self, text: str) -> None:
        """Write a text and a line end, at once."""
        if self.trouble is not None:
            return
        try:
            print(text, flush=True)
        except OSError as error:
            self.trouble = error
            # Python flushes once more at its end, and would complain again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


async def _play(
    errand: Errand, settings: Settings, runner: Runner, progress: Progress, stdout: Stdout
) -> Outcome | None:
    """Return the outcome, or none where a signal or a closed output came first."""
    feed = Feed()
    feed.listen(progress.hear)
    with anyio.CancelScope() as scope, _signals(scope):
        if errand.output == "stream-json":
            feed.listen(_streaming(stdout, scope))
        wanted = Wanted(errand.workspace, errand.words, errand.team, settings)
        return await (runner.run if errand.deed == "run" else runner.resume)(wanted, feed)
    return None


def _streaming(stdout: Stdout, scope: anyio.CancelScope) -> "app.Listener":
    def hear(happening: Happening) -> None:
        stdout.put(outputs.line(outputs.of_happening(happening)))
        # Whoever read along has gone; the team stays where it is, to be resumed.
        if stdout.trouble is not None:
            scope.cancel()

    return hear


@contextmanager
def _signals(scope: anyio.CancelScope) -> Iterator[None]:
    """Let the first signal end the scope in good order, and the next end the process at once."""
    loop = asyncio.get_running_loop()
    # Ignored ones stay so: nohup and shells in the background ask for it.
    heeded = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]

    def let_go() -> None:
        for number in heeded:
            loop.remove_signal_handler(number)

    def stop() -> None:
        let_go()
        scope.cancel()

    for number in heeded:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        let_go()


def _tell(outcome: Outcome, errand: Errand, progress: Progress) -> None:
    progress.note(_sum(outcome))
    if outcome.end != "answered":
        what = ": ".join(filter(None, [outcome.end, one_line(outcome.reason)]))
        progress.note(f"deskmate: {what}; go on with: {errand.resumed(outcome.team)}")


def _sum(outcome: Outcome) -> str:
    if outcome.end == "answered" and not outcome.steps:
        return f"team {outcome.team} had nothing left to do; this was its last answer"
    cost = "cost unknown" if outcome.cost is None else f"${outcome.cost:.4f}"
    steps = f"{outcome.steps} step{'' if outcome.steps == 1 else 's'}"
    return f"team {outcome.team}: {steps}, {outcome.usage.prompt:,} tokens in, {outcome.usage.output:,} out, {cost}"


def _print(outcome: Outcome, model: str, output: str, stdout: Stdout) -> None:
    result = outputs.of_outcome(outcome, model)
    if output == "json":
        stdout.put(outputs.line(result))
    elif output == "stream-json":
        stdout.put(outputs.line({"type": "result", **result}))
    elif text := clean(outcome.text).rstrip():
        stdout.put(text)
