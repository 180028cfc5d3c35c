"""Turns: whether the lead has answered what was said to it, and whether anybody is still at work.

`plain` waits for that where the next words come from a pipe. The feed tells all that the lead does, as it does it; of
the others the session knows, as it last looked.
"""

import time
from collections.abc import Callable

import anyio
import anyio.to_thread

from deskmate.app import Changed, Entry, Happening, Recorded
from deskmate.app.listening import look_at_inbox
from deskmate.app.looking import SeenMember
from deskmate.app.session import Session

LEAD, USER = "lead", "user"
# Who rested may have left words for the lead, which is woken by them a little later.
LULL_SECONDS = 3.0
_PERMISSION = ("waiting", "permission")


class Turns:
    """The turns of a session's team. It must listen to the feed from the moment the session is open."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._status = _status(self._lead)
        self._rests, self._since = _is_rest(*self._status), 0.0
        self._news = anyio.Event()

    def hear(self, happening: Happening) -> None:
        """Take in what happened."""
        match happening:
            case Recorded(member, _, entry) if member == LEAD:
                if _is_word_of_user(entry):
                    self._rests = False
                elif entry.type == "parked":
                    # One that was parked before is not seen to change.
                    self._rests = True
            case Changed(member, word, detail) if member == LEAD:
                self._rests = _is_rest(word, detail)
                if self._status != (word, detail):
                    self._status, self._since = (word, detail), time.time()
        self.look()

    def look(self) -> None:
        """Let whoever waits look again."""
        self._news.set()
        self._news = anyio.Event()

    async def answered(self) -> None:
        """Return once the lead has heard all that was said to it, and rests or waits for a word of the user."""
        await self._heard()
        await self._until(lambda: self._settled or _status(self._lead) == _PERMISSION)

    async def asked(self) -> None:
        """Return once a question is open, or nobody is at work who could ask one."""
        await self._heard()
        await self._until(lambda: bool(self._session.questions) or not self._at_work)

    async def over(self) -> None:
        """Return once nobody is at work any more, but for those who wait to be permitted something."""
        await self._heard()
        while True:
            await self._until(lambda: not self._at_work)
            if not any(member.word != "left" for member in self._session.members if member.name != LEAD):
                return
            with anyio.move_on_after(LULL_SECONDS) as lull:
                await self._until(lambda: self._at_work)
            if lull.cancelled_caught:
                return

    @property
    def _settled(self) -> bool:
        """Whether the lead rests, and the session has seen that too."""
        return self._rests and self._lead.since >= self._since

    @property
    def _at_work(self) -> bool:
        if not self._settled:
            return True
        waiting = {member.name for member in self._session.members if _status(member) == _PERMISSION}
        return bool(set(self._session.busy) - waiting)

    @property
    def _lead(self) -> SeenMember:
        return next(member for member in self._session.members if member.name == LEAD)

    async def _heard(self) -> None:
        session = self._session
        while True:
            news = self._news
            inbox = await anyio.to_thread.run_sync(look_at_inbox, session.workspace, session.team, LEAD)
            if not any(letter.sender == USER and letter.heard is False for letter in inbox.letters):
                return
            await news.wait()

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await self._news.wait()


def _status(member: SeenMember) -> tuple[str, str]:
    return member.word, member.detail


def _is_rest(word: str, detail: str) -> bool:
    return word in ("idle", "parked") or (word == "waiting" and detail in ("permission", "plan"))


def _is_word_of_user(entry: Entry) -> bool:
    return entry.type == "heard" and any(
        body.get("sender") == USER and body.get("type") == "message" for body in entry.mail
    )
