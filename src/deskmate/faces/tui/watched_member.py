"""Whose transcript is shown.

Streaming from members that nobody watches costs nothing. Complete data is read from the session. The feed only makes
it live.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NoReturn

from deskmate.app import Printed, Recorded, Streamed, TeamEvent
from deskmate.app.parts.provider_models import window_of
from deskmate.app.sessions.team_session import TeamSession
from deskmate.core.agent.entries import Cleared, Compacted, Entry, Said
from deskmate.core.log.names import LEAD, USER
from deskmate.core.prompt.compaction import counted_tokens
from deskmate.core.prompt.user_frames import UserCommand
from deskmate.core.team.messages import Plain
from deskmate.errors import StoreError
from deskmate.faces.common.items.entry_items import ItemHistory
from deskmate.faces.common.items.mail_items import MailItem, mail_items
from deskmate.faces.common.items.transcript_items import CommandItem, NoticeItem, ShownItem
from deskmate.faces.common.text_tables import CleanLine
from deskmate.faces.tui.drawing.live_text import Live
from deskmate.faces.tui.member_activity import Activity

# Entries written within this time are read together.
_BREATH_SECONDS = 0.1
_PATIENCE_BREATHS = 20


class Watching:
    """The watched member. `activity`: what it is doing. `wake`: called when there is something to draw.

    `beside`: another one on the same screen. Both show the same notes of the program.
    """

    def __init__(
        self, session: TeamSession, activity: Activity, wake: Callable[[], None], beside: "Watching | None" = None
    ) -> None:
        self._session, self._activity, self._wake = session, activity, wake
        self._team = session.team
        # By team and name: in another team, the same name is another member.
        self._read: dict[tuple[str, str], ItemHistory] = beside._read if beside else {}
        self._tokens: dict[tuple[str, str], int] = beside._tokens if beside else {}
        self._live, self._is_read = Live(), False
        self.chosen = LEAD
        # The command of the user that runs: where it is shown, and its key.
        self._command: tuple[ItemHistory, str] | None = None
        self._commands = 0

    def choose(self, name: str) -> None:
        """Watch another member. `follow` must be started again."""
        self.chosen, self._live, self._is_read = name, Live(), False

    def hear(self, event: TeamEvent) -> None:
        """Take in an event. It neither waits nor raises."""
        match event:
            case Streamed(member, delta) if member == self.chosen:
                self._live.hear(delta)
                self._wake()
            case Recorded(member, number, Said() | Compacted()) if member == self.chosen:
                self._live.record(number)
            case Printed(member) if member == self.chosen:
                self._wake()

    async def follow(self) -> None:
        """Read the chosen member's transcript and everything added to it, as long as it exists.

        Raises StoreError if it cannot be read.
        """
        team = self._session.team
        try:
            await self._read_on()
        except StoreError:
            # The files of a closed team disappear a moment before the roster says so.
            for _ in range(0 if self.chosen == LEAD else _PATIENCE_BREATHS):
                if self._session.team != team:
                    return
                await asyncio.sleep(_BREATH_SECONDS)
            raise

    async def _read_on(self) -> NoReturn:
        name, live = self.chosen, self._live
        history = self._history(name)
        last = history.last
        while True:
            for number, entry in await self._session.entries(name, last):
                # Another one on this screen may have read it meanwhile.
                if number > history.last:
                    history.add(number, entry)
                self._count(name, entry)
                live.show(number, entry)
                last = number
            self._is_read = True
            self._wake()
            await self._session.changed(name, last)
            await asyncio.sleep(_BREATH_SECONDS)

    def _count(self, name: str, entry: Entry) -> None:
        match entry:
            case Said() if tokens := counted_tokens(entry):
                self._tokens[self._key(name)] = tokens
            case Compacted() | Cleared():
                # It is known again after the next answer.
                self._tokens.pop(self._key(name), None)

    @property
    def context_share(self) -> float | None:
        """How full the context of the watched member is, from 0 to 1; None as long as no model has counted it."""
        tokens = self._tokens.get(self._key(self.chosen))
        member = next((one for one in self._session.members if one.name == self.chosen), None)
        if tokens is None or member is None:
            return None
        model = (member.joined.model if member.joined else None) or self._session.model
        return min(1.0, tokens / window_of(model, self._session.settings))

    def note(self, lines: tuple[CleanLine, ...]) -> None:
        """Show a message of the program at the end of the chosen member's conversation."""
        self._history(self.chosen).note(lines)
        self._wake()

    def show_mail(self, mail: Iterable[MailItem]) -> None:
        """Show messages to the user at the end of the chosen member's conversation."""
        for item in mail:
            self._history(self.chosen).put(item)

    def show_command(self, ran: UserCommand) -> None:
        """Show a command of the user where it was begun: at its start, while it runs, and at its end."""
        if self._command is None:
            self._commands += 1
            self._command = (self._history(self.chosen), f"command/{self._commands}")
        history, key = self._command
        history.put(CommandItem(key, ran))
        self._activity.run(key, is_over=ran.status is not None)
        if ran.status is not None:
            self._command = None
        self._wake()

    @property
    def items(self) -> list[ShownItem]:
        """What to show: the transcript, live output, and messages of the user that were not heard yet."""
        read = self._history(self.chosen)
        if not self._is_read:
            # It is not known yet which messages were heard.
            return read.all
        sent = (
            letter
            for letter in self._session.letters
            if (letter.envelope.sender, letter.envelope.recipient) == (USER, self.chosen)
            and isinstance(letter.envelope.message, Plain)
        )
        unheard = mail_items(replace(letter, heard=False) for letter in sent if letter.envelope.id not in read.heard)
        told = [self._activity.with_clock(self.chosen, item) for item in read.all]
        return [*told, *self._live.items, *unheard] or [self._nothing]

    @property
    def _nothing(self) -> NoticeItem:
        words = "Type what you want the team to do, then press Enter. F1 shows all keys."
        return NoticeItem("nothing", words if self.chosen == LEAD else "Nothing has been said or done yet.")

    def keep_up(self) -> bool:
        """Note the current team. Return whether the watched member is no longer on it.

        In another team the same name is another member.
        """
        gone = self.chosen not in [member.name for member in self._session.members]
        if self._session.team != self._team:
            gone = gone or self.chosen != LEAD
            self._team = self._session.team
        return gone

    def _history(self, name: str) -> ItemHistory:
        return self._read.setdefault(self._key(name), ItemHistory(name))

    def _key(self, name: str) -> tuple[str, str]:
        # The lead is the same in every team.
        return ("" if name == LEAD else self._team), name
