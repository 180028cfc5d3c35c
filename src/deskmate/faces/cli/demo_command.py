"""The demo.

`deskmate.app.demo_team` plays it.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio

from deskmate.app import Feed, environment, wants_colour
from deskmate.app.demo_team import Rehearsed, prepare, rehearsal
from deskmate.app.session import Answer
from deskmate.core.team.open_questions import Question
from deskmate.faces.common.chat.question_text import detail_lines
from deskmate.faces.common.error_log import logging_to
from deskmate.faces.common.exit_codes import INTERRUPTED, UNUSABLE
from deskmate.faces.common.items.question_items import question_item
from deskmate.faces.common.output_stream import PATIENCE_SECONDS as READER_SECONDS
from deskmate.faces.common.output_stream import OutputStream
from deskmate.faces.common.progress_lines import Progress, progress_on
from deskmate.faces.common.stop_signals import StopSignals
from deskmate.faces.common.terminal_text import clean, exact, one_line

RED = 1
PATIENCE_SECONDS = 3.0
INTRODUCTION = """\
A team moves a small library service from REST to GraphQL. The models' words are scripted, so it needs no key and no
network. Everything else is real: files, tests, tasks, mail, plans, questions. The folder is {folder}
"""
_ANSWERS: dict[str, Answer] = {"y": "yes", "yes": "yes", "a": "always", "always": "always", "n": "no", "no": "no"}


def carry_out(*, fast: bool, on_screen: bool) -> int:
    """Play the demo. Return 0 only if the application's own tests pass. Raises DeskmateError."""
    folder = prepare()
    if on_screen:
        from deskmate.faces.tui.demo_screen import open_show

        rehearsed = open_show(folder, INTRODUCTION.format(folder=folder), fast=fast)
        with OutputStream(sys.stderr) as stderr, OutputStream(sys.stdout) as stdout:
            return _end(rehearsed, folder, progress_on(stderr, colour=False), stdout)
    with OutputStream(sys.stderr) as stderr:
        progress = progress_on(stderr, colour=wants_colour(environment()))
        stop_signals = StopSignals(progress.note)
        with (
            OutputStream(sys.stdout, alarm=stop_signals.pull) as stdout,
            stop_signals.signals(),
            logging_to(progress.note),
        ):
            progress.note(INTRODUCTION.format(folder=folder))
            try:
                rehearsed = anyio.run(_play, folder, progress, stop_signals, fast)
            finally:
                progress.close()
                # On a terminal, stdout and stderr write to the same place.
                stderr.drain(READER_SECONDS)
            return _end(rehearsed, folder, progress, stdout)


async def _play(folder: Path, progress: Progress, stop_signals: StopSignals, fast: bool) -> Rehearsed | None:
    """Return the result of the demo, or None if it was stopped first."""
    feed = Feed()
    feed.listen(progress.hear)
    with anyio.CancelScope() as scope, stop_signals.stops(scope):
        async with rehearsal(folder, feed, fast=fast) as show:
            return await show.play(_Onlooker(progress, fast=fast))
    return None


class _Onlooker:
    """The person at the terminal, if there is one. Sees every question and may answer with a key and Enter."""

    def __init__(self, progress: Progress, *, fast: bool) -> None:
        self._progress, self._fast = progress, fast

    @property
    def patience_seconds(self) -> float:
        """How long to wait for an answer. Zero for a fast demo if nobody can type."""
        return 0.0 if self._fast and not self._there else PATIENCE_SECONDS

    @property
    def _there(self) -> bool:
        """Whether a person can type. A background process that reads the terminal is stopped."""
        return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()

    async def ask(self, question: Question) -> Answer:
        """Show a question and return the typed answer. Waits forever if none is typed."""
        item = question_item(question)
        self._progress.note(f"\n{item.asker} {exact(item.asks)}")
        self._progress.put(detail_lines(item))
        if not self._there:
            await anyio.sleep_forever()
        self._progress.note(
            f"Type y (yes), a (always) or n (no), then Enter. After {PATIENCE_SECONDS:.0f} seconds the script answers."
        )
        return await self._typed()

    def told(self, question: Question, answer: Answer, by_person: bool) -> None:
        """Show the answer."""
        who = "you answered:" if by_person else "nobody answered, so the script answers for the user:"
        self._progress.note(f"{who} {answer}\n")

    async def _typed(self) -> Answer:
        number = sys.stdin.fileno()
        while True:
            await anyio.wait_readable(number)
            typed = os.read(number, 1024).decode(errors="replace")
            if not typed:
                # End of input: nobody will ever answer.
                await anyio.sleep_forever()
            if answer := _ANSWERS.get(typed.strip().lower()):
                return answer


def _end(rehearsed: Rehearsed | None, folder: Path, progress: Progress, stdout: OutputStream) -> int:
    """Report how the demo ended. Return the exit code."""
    if rehearsed is None:
        # A reader that closed the output knows that it was cut short.
        if stdout.trouble is None:
            progress.note(f"deskmate: interrupted\nThe files are in {folder}")
        return INTERRUPTED
    stdout.put("\n".join(_summary(rehearsed, folder)) + "\n")
    stdout.drain(None)
    if stdout.failure:
        progress.note(f"deskmate: cannot write to stdout: {stdout.failure}\nThe files are in {folder}")
        return UNUSABLE
    return 0 if rehearsed.passed else RED


def _summary(rehearsed: Rehearsed, folder: Path) -> Iterator[str]:
    outcome, here = rehearsed.outcome, shlex.quote(str(folder))
    yield one_line(outcome.text or f"{outcome.end}: {outcome.reason}")
    yield ""
    for task in rehearsed.tasks:
        yield f"  #{task.id} {task.status.replace('_', ' '):<11} {task.owner or '-':<9} {one_line(task.subject)}"
    yield ""
    verdict = "pass" if rehearsed.passed else "fail"
    yield f"The application's own tests, run once more, {verdict}:"
    yield from (f"  {line}" for line in clean(rehearsed.output).strip().splitlines()[-20:] if line.strip("- "))
    yield ""
    yield f"the folder         {here}"
    yield f"the transcripts    {here}/.teams/*/*_transcript.jsonl"
    yield f"what they changed  git -C {here} diff --stat rest"
    yield f"the tasks          {_program()} -C {here} board {rehearsed.team}"


def _program() -> str:
    """Return how to call this program: by its name if the shell finds it, else by its path."""
    return "deskmate" if shutil.which("deskmate") else shlex.quote(str(Path(sys.executable).with_name("deskmate")))
