"""From arguments to exit code.

The session runs in the event loop of the screen. What ends one ends the other.
"""

import asyncio
import gc
import os
import select
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial

import anyio

from deskmate import app
from deskmate.app import Feed, RunRequest
from deskmate.app.sessions.team_session import TeamSession
from deskmate.faces.common.chat.input_history import InputHistory
from deskmate.faces.common.chat.user_alerts import UserAlerts
from deskmate.faces.common.error_log import error_text, logging_to
from deskmate.faces.common.exit_codes import INTERRUPTED
from deskmate.faces.common.run_start import (
    attached_note,
    next_request,
    open_session,
    parting,
    picked_request,
    stop_reason,
)
from deskmate.faces.common.stop_signals import StopSignals
from deskmate.faces.common.text_tables import note, warn
from deskmate.faces.tui.screen_app import DeskmateApp

# Short enough that output that can no longer be written does not fill its buffer.
_HANG_UP_SECONDS = 0.2
# By number: while there is a screen, Textual replaces those of `sys`.
_STDIN, _STDOUT, _STDERR = 0, 1, 2


def open_screen(request: RunRequest, *, attaches: bool = False) -> int:
    """Open the requested team on a screen and return the exit code. Raises DeskmateError.

    `attaches`: another process runs the team.
    """
    app.seclude()
    app.raise_open_files(app.environment())
    while True:
        visit = _Visit(request, attaches=attaches)
        stop_signals = StopSignals(visit.note)
        with stop_signals.signals():
            anyio.run(visit.play, stop_signals)
        if visit.parting:
            note(visit.parting)
        if not visit.left:
            warn("interrupted")
            return INTERRUPTED
        if visit.picks:
            request, attaches = picked_request(request, visit.team, attaches=attaches)
        elif visit.next_words is not None:
            request, attaches = next_request(request, visit.next_words), False
        else:
            return 0


class _Visit:
    """A person at a team's screen. `parting`: what to print at the end. `left`: whether the person ended it.

    `team`: the name that continues this, if the team is kept.
    """

    def __init__(self, request: RunRequest, *, attaches: bool) -> None:
        self._request, self._attaches = request, attaches
        self._screen: DeskmateApp | None = None
        self.parting, self.left = "", False
        self.team: str | None = None

    async def play(self, stop_signals: StopSignals) -> None:
        """Show the team until the person leaves or a signal stops it."""
        feed = Feed()
        session: TeamSession | None = None
        try:
            with anyio.CancelScope() as scope, stop_signals.stops(scope):
                async with open_session(self._request, feed, attaches=self._attaches) as session:
                    await self._show(session, feed, stop_signals)
                    self.left = True
        finally:
            # Only now is it known whether the team is kept.
            if session:
                self.parting = parting(self._request, session, attaches=self._attaches, reason=stop_reason(session))
                self.team = session.home if session.kept else None

    async def _show(self, session: TeamSession, feed: Feed, stop_signals: StopSignals) -> None:
        history = _Typed(self.note)
        theme, typed = self._request.settings.theme, self._request.typed
        self._screen = screen = DeskmateApp(
            session, feed, before=history.before, keep=history.keep, theme=theme, typed=typed
        )
        if self._attaches:
            self.note(attached_note(session))
        for warning in self._request.settings.warnings:
            self.note(error_text(warning, before="warning: "))
        alerts = UserAlerts(session, self._control, self.note, app.environment())
        session.listen(alerts.look)
        session.listen(partial(screen.talk.answers.merges.look, self.note))
        alerts.look()
        with noting(screen.note), closing(alerts):
            await run_screen(screen, stop_signals)

    def _control(self, sequence: str) -> None:
        """Send the terminal a control sequence that draws nothing."""
        if self._screen is not None and self._screen.is_running:
            self._screen.control_terminal(sequence)
            return
        # The terminal may no longer exist.
        with suppress(OSError):
            os.write(_STDOUT, sequence.encode())

    @property
    def next_words(self) -> str | None:
        """After /clear, what to say first to the next team, if anything. None if no team follows."""
        return self._screen.next_words if self._screen else None

    @property
    def picks(self) -> bool:
        """Whether the person wants to choose the team that follows."""
        return self._screen is not None and self._screen.picks

    def note(self, words: str) -> None:
        """Show a message of the program, on the screen once there is one."""
        if self._screen is None:
            note(words)
        else:
            self._screen.note(words)


class _Typed:
    """The input history. An error in storing it is reported once and has no other effect."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._history, self._tell, self._told = InputHistory.of_user(app.environment()), tell, False
        self.before: list[str] = []
        with self._telling():
            self.before = self._history.read()

    def keep(self, text: str) -> None:
        """Store a text."""
        with self._telling():
            self._history.add(text)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not self._told:
                self._tell(f"The input history cannot be saved: {error}")
            self._told = True


@contextmanager
def noting(tell: Callable[[str], None]) -> Iterator[None]:
    """Report log messages from any thread in this event loop: nothing else may write to the terminal."""
    loop = asyncio.get_running_loop()

    def pass_on(words: str) -> None:
        loop.call_soon_threadsafe(tell, words)

    with logging_to(pass_on):
        yield


async def run_screen(screen: DeskmateApp, stop_signals: StopSignals) -> None:
    """Run a screen to its end and raise what went wrong on it. If its terminal goes away, stop the run.

    If cancelled, it restores the terminal before the cancellation continues.
    """
    # Everything loaded so far stays, and looking through it for garbage would stop the screen for a tenth of a second.
    gc.freeze()
    running = asyncio.create_task(screen.run_async())
    watching = asyncio.create_task(_heed_hang_up(stop_signals))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        screen.exit()
        with anyio.CancelScope(shield=True):
            await running
        raise
    finally:
        watching.cancel()
        _leave_a_terminal_that_is_gone()
    if screen.trouble is not None:
        raise screen.trouble


async def _heed_hang_up(stop_signals: StopSignals) -> None:
    """Stop the run when the terminal is gone. If SIGHUP is ignored, nothing else reports that."""
    gone = False
    while not gone:
        await asyncio.sleep(_HANG_UP_SECONDS)
        gone = _leave_a_terminal_that_is_gone()
    stop_signals.pull()


def _leave_a_terminal_that_is_gone() -> bool:
    """Return whether the terminal is gone. If it is, send further output to /dev/null, so writing raises no error."""
    terminal = select.poll()
    # A hang-up is always reported, even with no events requested.
    terminal.register(_STDIN, 0)
    if not terminal.poll(0):
        return False
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), _STDOUT)
        os.dup2(nowhere.fileno(), _STDERR)
    return True
