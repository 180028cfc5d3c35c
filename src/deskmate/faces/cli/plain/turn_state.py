"""Whether the lead has answered, and who is still working.

The plain chat waits for this before it takes the next piped line. The session knows at once what the lead still has
to do. About other members it knows what it saw at the last look.
"""

from collections.abc import Awaitable, Callable

import anyio

from deskmate.app import LEAD, TeamEvent
from deskmate.app.session import Session
from deskmate.faces.common.listings import sender_of

# A member that went idle may have written to the lead, which wakes a little later.
LULL_SECONDS = 3.0


class Turns:
    """The turns of a session's team. `hear` and `look` make waiters check again."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._news = anyio.Event()

    def hear(self, event: TeamEvent) -> None:
        """Make waiters check again after an event."""
        self.look()

    def look(self) -> None:
        """Make waiters check again."""
        self._news.set()
        self._news = anyio.Event()

    async def answered(self) -> None:
        """Return when the lead has read everything and is idle or waits for the user."""
        await self._until(self._lead_waits)

    async def asked(self) -> None:
        """Return when a question is open, or nobody is working who could ask one."""

        async def holds() -> bool:
            still = await self._is_still()
            return still or bool(self._session.questions)

        await self._until(holds)

    async def over(self) -> None:
        """Return when nobody is working, except members that wait for permission."""

        async def goes_on() -> bool:
            return not await self._is_still()

        while True:
            await self._until(self._is_still)
            if not any(member.word != "left" for member in self._session.members if member.name != LEAD):
                return
            with anyio.move_on_after(LULL_SECONDS) as lull:
                await self._until(goes_on)
            if lull.cancelled_caught:
                return

    async def _is_still(self) -> bool:
        return await self._lead_waits() and not set(self._session.busy) - self._asking - {LEAD}

    async def _lead_waits(self) -> bool:
        rests = await self._session.lead_rests()
        return rests or LEAD in self._asking

    @property
    def _asking(self) -> set[str]:
        """Members that wait for permission, or whose subagent does. A member that handed in a plan keeps working."""
        return {sender_of(one.member) for one in self._session.questions if one.shake != "plan"}

    async def _until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        while True:
            news = self._news
            if await holds():
                return
            await news.wait()
