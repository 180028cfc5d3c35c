"""Whether the lead has answered, and who is still working.

`plain` waits for that where the next words come from a pipe. What the lead owes the session knows at once; of the
others it knows what it saw when it last looked.
"""

from collections.abc import Awaitable, Callable

import anyio

from deskmate.app import LEAD, TeamEvent
from deskmate.app.session import Session
from deskmate.faces.common.listings import sender_of

# Who rested may have left words for the lead, which is woken by them a little later.
LULL_SECONDS = 3.0


class Turns:
    """The turns of a session's team. `hear` and `look` tell it when to look again."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._news = anyio.Event()

    def hear(self, event: TeamEvent) -> None:
        """Let whoever waits look again: something happened."""
        self.look()

    def look(self) -> None:
        """Let whoever waits look again."""
        self._news.set()
        self._news = anyio.Event()

    async def answered(self) -> None:
        """Return once the lead has heard all that was said to it, and rests or waits for a word of the user."""
        await self._until(self._lead_waits)

    async def asked(self) -> None:
        """Return once a question is open, or nobody is at work who could ask one."""

        async def holds() -> bool:
            still = await self._is_still()
            return still or bool(self._session.questions)

        await self._until(holds)

    async def over(self) -> None:
        """Return once nobody is at work any more, but for those who wait to be permitted something."""

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
        """Those who wait to be permitted something, or sent a subagent that does. Who handed in a plan goes on."""
        return {sender_of(one.member) for one in self._session.questions if one.shake != "plan"}

    async def _until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        while True:
            news = self._news
            if await holds():
                return
            await news.wait()
