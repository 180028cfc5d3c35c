"""One act of the demo, in a process of its own that `demo_command` may kill.

`deskmate.app.demo_team` plays it.
"""

import os
import sys
from collections.abc import Callable

import anyio

from deskmate.app import environment, wants_colour
from deskmate.app.demo_team import DemoAct, Rehearsed, rehearsal
from deskmate.app.session import Answer
from deskmate.core.team.open_questions import Question
from deskmate.faces.common.chat.question_text import detail_lines
from deskmate.faces.common.error_log import logging_to
from deskmate.faces.common.exit_codes import INTERRUPTED
from deskmate.faces.common.items.question_items import question_item
from deskmate.faces.common.output_stream import PATIENCE_SECONDS as READER_SECONDS
from deskmate.faces.common.output_stream import OutputStream
from deskmate.faces.common.progress_lines import Progress, progress_on
from deskmate.faces.common.stop_signals import StopSignals
from deskmate.faces.common.terminal_text import exact

PATIENCE_SECONDS = 15.0
FAST_PATIENCE_SECONDS = 3.0
_ANSWERS: dict[str, Answer] = {"y": "yes", "yes": "yes", "a": "always", "always": "always", "n": "no", "no": "no"}


def carry_out(act: DemoAct, *, on_screen: bool) -> int:
    """Play an act. Return 0 if it came to its end. Raises DeskmateError."""
    if act.cue is not None:
        # The commands of the team must not keep it open.
        os.set_inheritable(act.cue, False)
    if on_screen:
        from deskmate.faces.tui.demo_screen import open_show

        return INTERRUPTED if open_show(act) is None else 0
    with OutputStream(sys.stderr) as stderr:
        progress = progress_on(stderr, colour=wants_colour(environment()))
        stop_signals = StopSignals(progress.note)
        with stop_signals.signals(), logging_to(progress.note):
            try:
                rehearsed = anyio.run(_play, act, progress, stop_signals)
            finally:
                progress.close()
                stderr.drain(READER_SECONDS)
    return INTERRUPTED if rehearsed is None else 0


async def _play(act: DemoAct, progress: Progress, stop_signals: StopSignals) -> Rehearsed | None:
    """Return the result of the demo, or None if it was stopped first."""
    feed = act.feed()
    feed.listen(progress.hear)
    with anyio.CancelScope() as scope, stop_signals.stops(scope):
        async with rehearsal(act.folder, feed, resumes=act.resumes, fast=act.fast) as show:
            return await show.play(_Onlooker(progress, fast=act.fast))
    return None


class _Onlooker:
    """The person at the terminal, if there is one. Sees every question and may answer with a key and Enter."""

    def __init__(self, progress: Progress, *, fast: bool) -> None:
        self._progress, self._fast = progress, fast

    @property
    def patience_seconds(self) -> float:
        """How long to wait for an answer. Zero for a fast demo if nobody can type."""
        if self._fast:
            return FAST_PATIENCE_SECONDS if self._there else 0.0
        return PATIENCE_SECONDS if self._there else FAST_PATIENCE_SECONDS

    @property
    def _there(self) -> bool:
        """Whether a person can type. A background process that reads the terminal is stopped."""
        return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()

    async def ask(self, question: Question, stays: Callable[[], None]) -> Answer:
        """Show a question and return the typed answer. Waits forever if none is typed."""
        item = question_item(question)
        self._progress.note(f"\n{item.asker} {exact(item.asks)}")
        self._progress.put(detail_lines(item))
        if not self._there:
            await anyio.sleep_forever()
        keys = "y (yes), a (always) or n (no)" if question.rule else "y (yes) or n (no)"
        self._progress.note(
            f"Type {keys}, then Enter. After {self.patience_seconds:.0f} seconds the script answers for you."
        )
        return await self._typed(stays)

    def told(self, question: Question, answer: Answer, by_person: bool) -> None:
        """Show the answer."""
        who = "you answered:" if by_person else "nobody answered, so the script answers for the user:"
        self._progress.note(f"{who} {answer}\n")

    async def _typed(self, stays: Callable[[], None]) -> Answer:
        number = sys.stdin.fileno()
        while True:
            await anyio.wait_readable(number)
            typed = os.read(number, 1024).decode(errors="replace")
            if not typed:
                # End of input: nobody will ever answer.
                await anyio.sleep_forever()
            stays()
            if answer := _ANSWERS.get(typed.strip().lower()):
                return answer
