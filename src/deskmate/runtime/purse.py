"""The purse: what a team has spent, live, across all its processes, and whether a cap is reached."""

import anyio

from deskmate.core import spending
from deskmate.core.names import SPEND
from deskmate.core.prompts import Reply
from deskmate.core.spending import EMPTY, Caps, Spending, Spent
from deskmate.runtime.streams import Folded, Pen


class Purse:
    """Spend and count. Shared by the agents of one process."""

    def __init__(self, pen: Pen, caps: Caps) -> None:
        self._pen, self.caps = pen, caps
        self._folded = Folded(pen.store, SPEND, EMPTY, spending.fold, sync=False)

    @property
    def state(self) -> Spending:
        """What was spent, as last read."""
        return self._folded.state

    async def refresh(self) -> Spending:
        """Read what is new and return what was spent."""
        return await self._folded.refresh()

    async def spend(self, member: str, reply: Reply) -> None:
        """Record what a reply came to: paid for, whatever becomes of it and of who asked."""
        with anyio.CancelScope(shield=True):
            spent = Spent.of(member, reply, self._pen.clock.timestamp())
            self._folded.follow(await self._pen.append(SPEND, spent.body(), sync=False))

    def over(self, steps: int) -> str | None:
        """Return which cap is reached by the team, or by an agent that is so many steps into its turn."""
        return spending.over(self.caps, self.state, steps)
