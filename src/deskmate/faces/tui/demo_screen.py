"""The demo on a screen."""

from pathlib import Path

import anyio

from deskmate.app import Feed
from deskmate.app.demo_team import Rehearsal, Rehearsed, rehearsal
from deskmate.app.session import Answer
from deskmate.core.team.open_questions import Question
from deskmate.faces.common.stop_signals import StopSignals
from deskmate.faces.tui.screen_app import DeskmateApp
from deskmate.faces.tui.tui_start import noting, run_screen

# Longer than without a screen: a person must find and read a question before pressing a key.
PATIENCE_SECONDS = 10.0


def open_show(folder: Path, introduction: str, *, fast: bool) -> Rehearsed | None:
    """Play the demo on a screen until the person leaves. Return its result, or None if it was not over yet."""
    show = _Show(introduction)
    stop_signals = StopSignals(show.note)
    with stop_signals.signals():
        anyio.run(show.play, folder, fast, stop_signals)
    return show.rehearsed


class _Show:
    """The demo being watched. `rehearsed`: its result, once it is over."""

    def __init__(self, introduction: str) -> None:
        self._introduction = introduction
        self._screen: DeskmateApp | None = None
        self.rehearsed: Rehearsed | None = None

    async def play(self, folder: Path, fast: bool, stop_signals: StopSignals) -> None:
        """Show the team until the person leaves or a signal stops it."""
        feed = Feed()
        with anyio.CancelScope() as scope, stop_signals.stops(scope):
            async with rehearsal(folder, feed, fast=fast) as rehearsed, anyio.create_task_group() as tasks:
                self._screen = screen = DeskmateApp(rehearsed.session, feed)
                self.note(self._introduction)
                tasks.start_soon(self._perform, rehearsed, screen)
                with noting(screen.note):
                    await run_screen(screen, stop_signals)
                tasks.cancel_scope.cancel()

    async def _perform(self, rehearsal: Rehearsal, screen: DeskmateApp) -> None:
        self.rehearsed = await rehearsal.play(_Onlooker(screen))
        verdict = "pass" if self.rehearsed.passed else "fail"
        screen.end_show(f"The demo is over. The application's own tests, run once more, {verdict}.")

    def note(self, words: str) -> None:
        """Show a message of the program, if there is a screen."""
        if self._screen is not None:
            self._screen.note(words)


class _Onlooker:
    """The person at the screen, who may answer there."""

    patience_seconds = PATIENCE_SECONDS

    def __init__(self, screen: DeskmateApp) -> None:
        self._screen = screen

    async def ask(self, question: Question) -> Answer:
        """Say how much time there is. The answer is given on the screen, not through this method."""
        self._screen.note(f"{question.member} has a question. After {PATIENCE_SECONDS:.0f} seconds the script answers.")
        while True:
            await anyio.sleep_forever()

    def told(self, question: Question, answer: Answer, by_person: bool) -> None:
        """Show the script's answer."""
        self._screen.note(f"Nobody answered, so the script answers for the user: {answer}")
