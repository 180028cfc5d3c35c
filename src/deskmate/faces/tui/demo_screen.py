"""The demo on a screen."""

import asyncio
import os
from collections.abc import Callable

import anyio

from deskmate.app.demo_team import SCENES, DemoAct, Rehearsal, Rehearsed, rehearsal
from deskmate.app.session import Answer, Session
from deskmate.core.team.open_questions import Question
from deskmate.faces.common.stop_signals import StopSignals
from deskmate.faces.tui.panels.members_panel import MemberChosen
from deskmate.faces.tui.screen_app import DeskmateApp
from deskmate.faces.tui.tui_start import noting, run_screen

# Longer than without a screen: a person must find and read a question before pressing a key.
PATIENCE_SECONDS = 15.0
FAST_PATIENCE_SECONDS = 3.0
# By then the conversation that was chosen is shown, and a note goes to its end.
_READ_SECONDS = 0.4
INTRODUCTION = """\
A team moves a small library service from REST to GraphQL. In the middle, the demo kills it with kill -9.
The words of the models are scripted, and everything else is real.
Look around while they work: Tab goes to the next member.
"""
CONTINUED = (
    "kill -9 ended process {killed} in the middle of a test run. This is process {pid}: the same team continues."
)
OVER = "That was the demo. The application's own tests, run once more, {verdict}."


def open_show(act: DemoAct) -> Rehearsed | None:
    """Play an act on a screen until the person leaves. Return its result, or None if it was not over yet."""
    show = _Show(act)
    stop_signals = StopSignals(show.note)
    with stop_signals.signals():
        anyio.run(show.play, stop_signals)
    return show.rehearsed


class _Show:
    """An act being watched. `rehearsed`: its result, once it is over."""

    def __init__(self, act: DemoAct) -> None:
        self._act = act
        self._screen: DeskmateApp | None = None
        self._is_continued = False
        self.rehearsed: Rehearsed | None = None

    async def play(self, stop_signals: StopSignals) -> None:
        """Show the team until the person leaves or a signal stops it."""
        act, feed = self._act, self._act.feed()
        with anyio.CancelScope() as scope, stop_signals.stops(scope):
            async with (
                rehearsal(act.folder, feed, resumes=act.resumes, fast=act.fast, says=self._direct) as rehearsed,
                anyio.create_task_group() as tasks,
            ):
                self._screen = screen = DeskmateApp(rehearsed.session, feed)
                if not act.resumes:
                    self.note(INTRODUCTION)
                tasks.start_soon(self._perform, rehearsed, screen)
                with noting(screen.note):
                    await run_screen(screen, stop_signals)
                tasks.cancel_scope.cancel()

    def _direct(self, member: str, words: str) -> None:
        """Show a member that begins to say something worth seeing. Say once that the team was resumed."""
        screen = self._screen
        if screen is None or not screen.is_running:
            return
        if words in SCENES:
            screen.screen_stack[0].post_message(MemberChosen(member))
        if self._act.resumes and not self._is_continued:
            self._is_continued = True
            words = CONTINUED.format(killed=self._act.killed, pid=os.getpid())
            asyncio.get_running_loop().call_later(_READ_SECONDS, self.note, words)

    async def _perform(self, rehearsal: Rehearsal, screen: DeskmateApp) -> None:
        self.rehearsed = await rehearsal.play(_Onlooker(screen, rehearsal.session, fast=self._act.fast))
        screen.end_show(OVER.format(verdict="pass" if self.rehearsed.passed else "fail"))

    def note(self, words: str) -> None:
        """Show a message of the program, if there is a screen."""
        if self._screen is not None:
            self._screen.note(words)


class _Onlooker:
    """The person at the screen, who may answer there."""

    def __init__(self, screen: DeskmateApp, session: Session, *, fast: bool) -> None:
        self._screen, self._session = screen, session
        self.patience_seconds = FAST_PATIENCE_SECONDS if fast else PATIENCE_SECONDS

    async def ask(self, question: Question, stays: Callable[[], None]) -> Answer:
        """Say how much time there is. The answer is given on the screen, and this only waits for it."""
        self._screen.note(
            f"{question.member} has a question. "
            f"If you press no key for {self.patience_seconds:.0f} seconds, the script answers."
        )
        await self._screen.touched()
        stays()
        while question in self._session.questions:
            await self._session.looked()
        return "yes"

    def told(self, question: Question, answer: Answer, by_person: bool) -> None:
        """Show the script's answer."""
        self._screen.note(f"Nobody answered, so the script answers for the user: {answer}")
