"""The conversation.

`Talk` in `faces.common.chat.chat_lines` carries out what is typed.
"""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Protocol

import anyio

from deskmate import app
from deskmate.app import Feed, RunRequest
from deskmate.app.session_events import Turns
from deskmate.app.sessions.team_session import TeamSession
from deskmate.core.log.names import LEAD
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.status import Parked
from deskmate.faces.cli.plain.conversation_lines import Letters, Teller
from deskmate.faces.cli.plain.piped_texts import PipedTexts, first_piped, next_piped
from deskmate.faces.common.chat.chat_commands import COMMANDS
from deskmate.faces.common.chat.chat_lines import NO_ACTIONS, FaceActions, Feedback, Talk
from deskmate.faces.common.chat.completions import FileList
from deskmate.faces.common.chat.input_history import InputHistory
from deskmate.faces.common.chat.question_text import subject_line
from deskmate.faces.common.chat.user_alerts import UserAlerts
from deskmate.faces.common.command_start import at_terminal
from deskmate.faces.common.commands.command_list import CommandList
from deskmate.faces.common.error_log import error_text, logging_to
from deskmate.faces.common.exit_codes import INTERRUPTED, UNUSABLE
from deskmate.faces.common.interrupt_key import TWICE_SECONDS, InterruptKey
from deskmate.faces.common.items.question_items import question_item
from deskmate.faces.common.listings import sandbox_of
from deskmate.faces.common.output_stream import PATIENCE_SECONDS, OutputStream
from deskmate.faces.common.progress_lines import Progress, progress_on
from deskmate.faces.common.run_start import attached_note, next_request, open_session, parting, picked_request
from deskmate.faces.common.terminal_text import one_line

if TYPE_CHECKING:
    from deskmate.faces.cli.plain.keyboard import Keyboard

UNFINISHED = 1
_ANSWERS = ("/yes", "/always", "/no")


def carry_out(request: RunRequest, *, attaches: bool = False) -> int:
    """Talk until the user leaves or the input ends, and return the exit code. Raises DeskmateError.

    `attaches`: another process runs the team. That needs a terminal.
    """
    app.seclude()
    app.raise_open_files(app.environment())
    return _at_keyboard(request, attaches) if attaches or at_terminal() else _in_a_pipe(request)


def _at_keyboard(request: RunRequest, attaches: bool) -> int:
    # Imported here because it is slow, and a pipe does not need it.
    from deskmate.faces.cli.plain.keyboard import Keyboard

    commands = {name: command.about for name, command in COMMANDS.items()}
    with Keyboard(sys.stdout, commands, colour=request.settings.colour) as keyboard:

        def cells() -> int:
            return keyboard.size[0]

        progress = Progress(keyboard, terminal=False, colour=request.settings.colour, cells=cells)
        actions = FaceActions(copy=keyboard.copy, edit=keyboard.edit, picks=True)
        while True:
            teller = Teller(progress, progress.note, streams=True)
            interrupt_key = InterruptKey(progress.note, keyboard.restore)
            conversation = _Conversation(request, progress, teller, interrupt_key, actions, attaches=attaches)
            code = conversation.carry_out(partial(conversation.type, keyboard), cells)
            if conversation.picks:
                keyboard.drain(None)
                request, attaches = picked_request(request, conversation.team, attaches=attaches)
            elif conversation.next_words is not None:
                request, attaches = next_request(request, conversation.next_words), False
            else:
                return code


def _in_a_pipe(request: RunRequest) -> int:
    with OutputStream(sys.stderr) as stderr:
        progress = progress_on(stderr, colour=request.settings.colour)
        if sys.stdin.isatty():
            progress.note("Type one message per line. /help lists commands, /quit leaves")
        # Start nothing if there is nothing to say.
        first = None if request.goal else request.typed or first_piped()
        interrupt_key = InterruptKey(progress.note)
        with OutputStream(sys.stdout, alarm=interrupt_key.pull) as stdout:
            # On a terminal both streams write to the same place, so only one is used.
            one_place = os.isatty(stdout.number) and os.isatty(stderr.number)
            words = progress.note if one_place else lambda text: stdout.put(f"{text}\n")
            texts = PipedTexts()
            while True:
                teller = Teller(progress, words, streams=one_place)
                conversation = _Conversation(request, progress, teller, interrupt_key)
                code = conversation.carry_out(partial(conversation.read, texts, first), lambda: None)
                # Start no other team if there is nothing more to say.
                if conversation.next_words is None or not (first := conversation.next_words or next_piped()):
                    break
                request = next_request(request, "")
            stdout.drain(PATIENCE_SECONDS if code == INTERRUPTED else None)
            if stdout.failure:
                progress.note(f"deskmate: cannot write to stdout: {stdout.failure}")
                return UNUSABLE
            return code


class _Conversation:
    """One conversation, from opening the team to the summary on leaving.

    `next_words`: after /clear, what to say first to the next team, if anything. None if no team follows. `picks`: after
    /resume, the user chooses the team that follows. `team`: the name that continues this one, if it is kept.
    """

    def __init__(
        self,
        request: RunRequest,
        progress: Progress,
        teller: Teller,
        interrupt_key: InterruptKey,
        actions: FaceActions = NO_ACTIONS,
        *,
        attaches: bool = False,
    ) -> None:
        self._request, self._progress, self._teller, self._reins = request, progress, teller, interrupt_key
        self._actions, self._attaches = actions, attaches
        self.next_words: str | None = None
        self.picks = False
        self.team: str | None = None
        self._parting = ""
        self._pressed = -TWICE_SECONDS
        self._interrupting: asyncio.Task[None] | None = None

    def carry_out(self, body: "_Body", cells: Callable[[], int | None]) -> int:
        """Open the team, talk to it, and print the summary at the end. Return the exit code."""
        for warning in self._request.settings.warnings:
            self._progress.note(error_text(warning, before="deskmate: warning: "))
        with self._reins.signals(), logging_to(self._progress.note):
            try:
                return anyio.run(self._open, body, cells)
            finally:
                self._progress.close()
                if self._parting:
                    self._progress.note(self._parting)

    async def _open(self, body: "_Body", cells: Callable[[], int | None]) -> int:
        feed = Feed()
        feed.listen(self._teller.hear)
        session: TeamSession | None = None
        try:
            with anyio.CancelScope() as scope, self._reins.stops(scope):
                async with open_session(self._request, feed, attaches=self._attaches) as session:
                    talk = Talk(session, cells, self._actions)
                    self._reins.pressed = partial(self._press, session, talk)
                    return await body(session, talk, feed)
        finally:
            # Only now is it known whether the team is kept.
            if session:
                self._parting = parting(self._request, session, attaches=self._attaches)
                self.team = session.home if session.kept else None
        return INTERRUPTED

    # -- at a keyboard ----------------------------------------------------------------------------

    async def type(self, keyboard: "Keyboard", session: TeamSession, talk: Talk, feed: Feed) -> int:
        """Carry out what is typed until the user leaves."""
        mode, sandbox = session.permitted.mode.value, sandbox_of(session.permitted.sandbox)
        words = f"{session.model}, permission mode {mode}, {sandbox}, team {session.team}"
        self._progress.note(f"{words} (/help, /quit)")
        if self._attaches:
            self._progress.note(attached_note(session))
        history = InputHistory.of_user(app.environment())
        alerts = UserAlerts(session, keyboard.draw, self._progress.note, app.environment())
        files, custom = FileList(session.find), CommandList(session)
        with keyboard.open(self._past(history), partial(_here, session), files, custom) as prompt, closing(alerts):
            self._watch(session, talk, lambda: prompt.is_typing)
            session.listen(alerts.look)
            alerts.look()
            if self._request.typed:
                await self._do(talk, self._request.typed)
            while (text := await prompt.next()) is not None:
                if text.strip():
                    self._keep(history, text)
                if (await self._do(talk, text)).leaves:
                    break
        return 0

    def _past(self, history: InputHistory) -> list[str]:
        try:
            return history.read()
        except OSError as error:
            self._progress.note(f"deskmate: cannot read the input history: {error.strerror}")
            return []

    def _keep(self, history: InputHistory, text: str) -> None:
        try:
            history.add(text)
        except OSError as error:
            self._progress.note(f"deskmate: cannot save the input history: {error.strerror}")

    # -- in a pipe --------------------------------------------------------------------------------

    async def read(self, texts: PipedTexts, first: str | None, session: TeamSession, talk: Talk, feed: Feed) -> int:
        """Carry out piped lines, each after the one before is answered. Then wait until all work ends.

        `first`: the text that was already read.
        """
        turns = Turns(session)
        feed.listen(turns.hear)
        session.listen(turns.look)
        letters = self._watch(session, talk)
        text, refused = first or await texts.next(), False
        while text is not None:
            await (turns.asked() if text.partition(" ")[0] in _ANSWERS else turns.answered())
            # Show every question before it can be answered.
            letters.look()
            feedback = await self._do(talk, text)
            refused |= feedback.refused
            if feedback.leaves:
                return UNFINISHED if refused else 0
            text = await texts.next()
        await turns.over()
        letters.look()
        return self._end(session) or (UNFINISHED if refused else 0)

    def _end(self, session: TeamSession) -> int:
        """Report what could not be finished, now that nobody can answer. Return the exit code."""
        for question in session.questions:
            item = question_item(question)
            does = "submits" if question.shake is Shake.PLAN else "asks for"
            what = one_line(f"{item.asker} {does} {subject_line(item)}")
            self._progress.note(f"deskmate: {what}, and nobody is here to answer")
        lead = next(member for member in session.members if member.name == LEAD)
        if isinstance(lead.status, Parked) and lead.status.reason != self._teller.stops.get(LEAD):
            self._progress.note(f"deskmate: the lead is stopped: {one_line(lead.status.reason)}")
        return UNFINISHED if session.questions or isinstance(lead.status, Parked) else 0

    # -- both -------------------------------------------------------------------------------------

    def _watch(self, session: TeamSession, talk: Talk, is_typing: Callable[[], bool] = lambda: False) -> Letters:
        """Print mail and questions as they arrive."""
        letters = Letters(session, talk, self._progress, is_typing)
        session.listen(letters.look)
        session.listen(partial(talk.answers.merges.look, self._progress.note))
        letters.look()
        return letters

    async def _do(self, talk: Talk, text: str) -> Feedback:
        """Carry out a text and print the result."""
        feedback = await talk.carry_out(text)
        self._progress.put(feedback.lines)
        self.next_words, self.picks = feedback.next_words, feedback.picks
        return feedback

    def _press(self, session: TeamSession, talk: Talk) -> None:
        """Interrupt the lead, or leave if Ctrl-C was pressed just before."""
        before, self._pressed = self._pressed, time.monotonic()
        if self._pressed - before < TWICE_SECONDS:
            self._reins.pull()
        elif talk.commands.stop():
            self._progress.note("Your command was stopped. Press Ctrl-C again to leave")
        elif LEAD in session.busy:
            self._progress.note("The lead was interrupted. Press Ctrl-C again to leave")
            self._interrupting = asyncio.ensure_future(self._interrupt(talk))
        else:
            self._progress.note("Press Ctrl-C again to leave")

    async def _interrupt(self, talk: Talk) -> None:
        await self._do(talk, "/interrupt")


def _here(session: TeamSession) -> list[str]:
    return [member.name for member in session.members if member.here]


class _Body(Protocol):
    """What is done with an open session."""

    def __call__(self, session: TeamSession, talk: Talk, feed: Feed) -> Awaitable[int]:
        """Return the exit code."""
