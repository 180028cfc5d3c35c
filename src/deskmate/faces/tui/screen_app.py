"""What people do on the screen.

`tui_start` runs it. `team_screen` shows the team and passes on what is typed and answered.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, ClassVar

from textual import events
from textual.app import App, SuspendNotSupported
from textual.binding import Binding, BindingType

from deskmate.app import Feed, environment, wants_colour
from deskmate.app.sessions.team_session import TeamSession
from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.errors import DeskmateError, Refused
from deskmate.faces.common.chat.chat_lines import FaceActions, Talk
from deskmate.faces.common.chat.completions import begins_with_path
from deskmate.faces.common.chat.user_commands import command_in, note_in, without_sign
from deskmate.faces.common.commands.external_editor import edit_text
from deskmate.faces.common.error_log import error_text
from deskmate.faces.common.interrupt_key import TWICE_SECONDS
from deskmate.faces.common.mentions.image_paths import begins_with_image
from deskmate.faces.common.terminal_text import clean
from deskmate.faces.common.text_tables import Cell
from deskmate.faces.tui.clipboard import copy
from deskmate.faces.tui.draft.draft_input import Draft
from deskmate.faces.tui.questions.question_panel import QuestionsPanel
from deskmate.faces.tui.rewind_screen import DIFF, RewindScreen
from deskmate.faces.tui.team_screen import TeamScreen
from deskmate.faces.tui.terminal_keys import tell_alt_keys_apart
from deskmate.faces.tui.theme import NAMED_DARK, NAMED_LIGHT, THEMES, theme_for

_MODES = (Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.PLAN)


def addressed(text: str, to: str, workspace: Path) -> str:
    """Return text typed to a member in the form that `Talk` takes. `Talk` sends plain words to the lead."""
    said = without_sign(text)
    is_sign = text[0] in "/@" and not begins_with_path(text)
    is_command = is_sign or command_in(text) or note_in(text)
    if to == LEAD or (said == text and is_command and not begins_with_image(text, workspace)):
        return text
    return f"@{to} {said}"


class DeskmateApp(App[None]):
    """A session on a screen.

    `before`: what was typed in earlier sessions. `keep`: called with what is typed. `now`: returns the time. `theme`:
    as in the settings. `typed`: what to carry out first, as if it was typed. `next_words`: after /clear, what to say
    first to the next team, if anything. None if no team follows. `picks`: after /resume, the user chooses the team that
    follows.
    """

    CSS_PATH = "screen.tcss"
    TITLE = "deskmate"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,ctrl+q", "brake", "stop", priority=True),
        Binding("q,ctrl+d", "leave_show", "leave"),
        Binding("shift+tab", "next_mode", "mode", priority=True),
        Binding("ctrl+g", "edit", "editor", priority=True),
        Binding("ctrl+z", "suspend_process", "suspend", priority=True),
    ]

    def __init__(
        self,
        session: TeamSession,
        feed: Feed,
        *,
        before: Sequence[str] = (),
        keep: Callable[[str], None] = lambda text: None,
        now: Callable[[], float] = time.time,
        theme: str = "auto",
        typed: str = "",
    ) -> None:
        tell_alt_keys_apart()
        super().__init__(ansi_color=None if wants_colour(environment()) else True)
        self.ansi_theme_dark, self.ansi_theme_light = NAMED_DARK, NAMED_LIGHT
        for one in THEMES:
            self.register_theme(one)
        self.theme = theme_for(theme, environment())
        self._session, self._keep, self._now, self._typed = session, keep, now, typed
        self._team = TeamScreen(session, feed, before, now)
        watch = self._team.watching.show_command
        actions = FaceActions(self.copy_to_clipboard, self._choose_theme, self._edit_text, watch, picks=True)
        self.talk = Talk(session, self._team.cells, actions)
        self.next_words: str | None = None
        self.picks = False
        self._turn, self._touch = asyncio.Lock(), asyncio.Event()
        self._braked = self._cut_at = float("-inf")
        # Where Shift-Tab began and arrived since the last words of the user.
        self._cycled_from = Mode.DEFAULT
        self._cycled_to: Mode | None = None
        self._over = self._leaving = False
        # What was typed before the first picture. None after that.
        self._early: list[events.Event] | None = []
        self._unreadable: DeskmateError | None = None

    def get_default_screen(self) -> TeamScreen:
        """Return the only screen."""
        return self._team

    def on_load(self) -> None:
        """Undo Textual's change to the event loop: the agents running in it rely on tasks that start later."""
        asyncio.get_running_loop().set_task_factory(None)

    def on_mount(self) -> None:
        """Draw everything again when the terminal is back from an editor or the shell."""
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True), immediate=False)

    async def touched(self) -> None:
        """Return when the person presses a key or a button of the mouse the next time."""
        self._touch.clear()
        await self._touch.wait()

    # -- what is typed and answered ---------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Decide who gets what is typed or pasted before it waits in a queue. Before the first picture, keep it."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            if self._early is not None:
                self._early.append(event)
                return
            if self._team.is_mounted and self._team.is_current:
                self._team.direct(event)
        if isinstance(event, events.Key | events.MouseDown | events.Paste):
            self._touch.set()
        await super().on_event(event)

    def on_ready(self) -> None:
        """Take in what was typed before and while the screen started."""
        if self._typed:
            self._do(self._carry_out(self._typed))
        early, self._early = self._early or [], None
        for event in early:
            self.post_message(event)

    def on_draft_sent(self, message: Draft.Sent) -> None:
        """Carry out what was typed. Plain words go to the member that was watched when they were sent."""
        self._keep(message.text)
        self._cycled_to = None
        carried_out = self._carry_out(addressed(message.text, message.to, self._session.workspace))
        if command_in(message.text):
            # It may take long, and what is typed meanwhile must not wait for it.
            self.run_worker(carried_out, group="commands")
        else:
            self._do(carried_out)

    async def _carry_out(self, text: str) -> None:
        feedback = await self.talk.carry_out(text)
        if feedback.lines:
            self._team.watching.note(feedback.lines)
        if feedback.leaves:
            self.next_words, self.picks = feedback.next_words, feedback.picks
            self.exit()

    def _choose_theme(self, name: str) -> list[str]:
        names = ("auto", *(one.name for one in THEMES))
        if name:
            if name not in names:
                raise Refused(f"There is no theme '{name[:80]}'", f"Themes: {', '.join(names)}")
            self.theme = theme_for(name, environment())
        set_ = f"To keep it, set theme in {self._session.settings.file}"
        return [f"theme: {self.theme}. Themes: {', '.join(names)}", set_]

    def on_questions_panel_answered(self, message: QuestionsPanel.Answered) -> None:
        """Answer a question."""
        self._do(self._session.answer(message.question, message.answer, message.words))

    def on_questions_panel_seen(self, message: QuestionsPanel.Seen) -> None:
        """Make an answer without a number refer to the question that was seen."""
        self.talk.answers.shown(message.question)

    def action_next_mode(self) -> None:
        """Switch to the next permission mode: default, accept edits, plan."""
        mode = self._session.permitted.mode
        if mode is not self._cycled_to:
            # Modes that are only passed on the way to plan mode do not count as the mode before it.
            self._cycled_from = mode if mode in (Mode.DEFAULT, Mode.ACCEPT_EDITS) else Mode.DEFAULT
        following = _MODES[(_MODES.index(mode) + 1) % len(_MODES)] if mode in _MODES else _MODES[0]
        self._cycled_to = following
        before = self._cycled_from if following is Mode.PLAN else None
        self._do(self._session.set_mode(following, before_plan=before))

    def action_edit(self) -> None:
        """Write in the user's editor. The team continues meanwhile, and the screen waits."""
        self.run_worker(self._edit(), group="editor", exclusive=True)

    async def _edit(self) -> None:
        draft = self._team.query_one(Draft)
        try:
            draft.replace_all(clean(await self._edit_text(draft.whole)))
        except DeskmateError as error:
            self.note(error_text(error, before=""))

    async def _edit_text(self, text: str) -> str:
        try:
            # Drawing would spoil what the editor shows.
            with self.batch_update(), self.suspend():
                return await edit_text(text, environment())
        except SuspendNotSupported as error:
            raise Refused("The editor needs a terminal") from error

    def _do(self, deed: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in turn, without blocking the screen. Errors are shown as a note."""

        async def do() -> None:
            async with self._turn:
                try:
                    await deed
                except DeskmateError as error:
                    self.note(error_text(error, before=""))

        self.run_worker(do(), group="deeds")

    def note(self, words: str) -> None:
        """Show a message of the program in the conversation."""
        self._team.watching.note(tuple((Cell(line),) for line in clean(words).splitlines()))

    def control_terminal(self, sequence: str) -> None:
        """Send the terminal a control sequence that draws nothing, such as a bell. Safe to call from any thread."""
        if self._driver is not None:
            self._driver.write(sequence)

    # -- stopping ---------------------------------------------------------------------------------

    def action_brake(self) -> None:
        """Copy the selection, or drop the draft, or interrupt the watched member: the first that applies.

        The second time, or after the demo has ended, leave.
        """
        if selected := self._team.get_selected_text():
            copy(self, selected)
            self._team.clear_selection()
            return
        if self._team.drop_draft() or self.talk.commands.stop():
            return
        now = self._now()
        if self._over or now - self._braked < TWICE_SECONDS:
            self._leave()
            return
        self._braked = now
        name = self._team.watching.chosen
        busy = ", ".join(self._session.busy)
        if not self._interrupt():
            self.note(f"{name} is not working{f'. Busy: {busy}' if busy else ''}")
        self.notify("Press Ctrl-C again to leave", timeout=TWICE_SECONDS)

    def on_team_screen_cut(self) -> None:
        """Stop the user's own command, or interrupt the watched member, if it is busy.

        The second time in a row, offer the points to go back to.
        """
        is_second, self._cut_at = self._now() - self._cut_at < TWICE_SECONDS, self._now()
        if self.talk.commands.stop():
            return
        if is_second:
            # Only a pair of presses counts: the next one is a first one again.
            self._cut_at = float("-inf")
            self._do(self._offer_points())
        else:
            self._interrupt()

    async def _offer_points(self) -> None:
        """Let the person choose a point to go back to."""
        points = await self._session.rewinder().points()
        self.push_screen(RewindScreen(points, time.time()), self._take_command)

    def _take_command(self, command: str | None) -> None:
        """Show what changed since a point, or write the command that restores its files."""
        if command and command.endswith(DIFF):
            self.run_worker(self._carry_out(command), group="commands")
        elif command:
            self._team.query_one(Draft).paste(command)

    def _interrupt(self) -> bool:
        name = self._team.watching.chosen
        if name not in self._session.busy:
            return False
        self._do(self._session.interrupt(name))
        self.note(f"{name} was interrupted. It waits until you write to it")
        return True

    def on_draft_ended(self) -> None:
        """Leave."""
        self._leave()

    def _leave(self) -> None:
        """Leave when running actions are done. If called again, leave at once."""
        if self._leaving:
            self.exit()
        self._leaving = True
        self._do(self._end())

    async def _end(self) -> None:
        self.exit()

    def end_show(self, words: str) -> None:
        """Say that the demo is over. A half-typed draft can still be finished, nothing else typed, and `q` leaves."""
        self._over = True
        is_typing = self._team.end_typing()
        self.note(f"{words}\n{'Send or clear what you typed, then press' if is_typing else 'Press'} q to leave.")

    def action_leave_show(self) -> None:
        """Leave a demo that is over."""
        if self._over:
            self._leave()

    # -- what goes wrong --------------------------------------------------------------------------

    @property
    def trouble(self) -> Exception | None:
        """The error that ended the app, if any."""
        return self._unreadable or self._exception

    def on_team_screen_unreadable(self, message: TeamScreen.Unreadable) -> None:
        """Exit: an unreadable transcript must not look like an empty one."""
        self._unreadable = message.error
        self.exit()

    def _fatal_error(self) -> None:
        # Textual would print the values of all variables.
        self._close_messages_no_wait()
