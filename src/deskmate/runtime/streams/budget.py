"""What a team has spent, and whether a limit is reached.

An agent asks it before each model call. `call_slots` limits how many calls run at once.
"""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from deskmate.core.log.names import SPEND
from deskmate.core.prompt.prompts import Reply
from deskmate.core.team import spending
from deskmate.core.team.caps import Caps
from deskmate.core.team.spending import EMPTY, Spending, Spent
from deskmate.errors import ModelError
from deskmate.runtime.streams.call_slots import CallSlots
from deskmate.runtime.streams.log_writer import Folded, LogWriter
from deskmate.runtime.streams.roster import Roster


class Budget:
    """What is spent, and the caps on it. Shared by the agents of one process.

    `elsewhere`: what the lead's closed teams have spent, which counts too. `seconds`: how long the run took before
    this. `roster`: has the caps that the user has set since, for all processes of the team.
    """

    def __init__(
        self,
        writer: LogWriter,
        caps: Caps,
        elsewhere: Spending = EMPTY,
        seconds: float = 0.0,
        roster: Roster | None = None,
    ) -> None:
        self._writer, self._caps, self._roster = writer, caps, roster
        self.elsewhere = elsewhere
        self._folded = Folded(writer.store, SPEND, EMPTY, spending.fold, sync=False)
        self._beside: Budget | None = None
        self._slots = self._slots_of(caps)
        self._began = writer.clock.monotonic() - seconds

    def limit(self, caps: Caps) -> None:
        """Use other caps from now on. Call it before any agent runs."""
        self._caps, self._slots = caps, self._slots_of(caps)

    def _slots_of(self, caps: Caps) -> CallSlots | None:
        return CallSlots(self._writer.store, caps.calls) if caps.calls else None

    @property
    def caps(self) -> Caps:
        """The caps, with those on the roster as last read."""
        set_ = self._roster.state.caps if self._roster else None
        return set_.over(self._caps) if set_ else self._caps

    @property
    def state(self) -> Spending:
        """What was spent, as last read."""
        beside = spending.together(self._beside._folded.state, self.elsewhere) if self._beside else self.elsewhere
        return spending.together(self._folded.state, beside)

    async def refresh(self) -> Spending:
        """Read what is new and return what was spent."""
        await self._folded.refresh()
        if self._beside:
            await self._beside._folded.refresh()
        return self.state

    def beside(self, writer: LogWriter, roster: Roster) -> "Budget":
        """Return the budget of another team of the same run: the same caps and clock. It counts this one too."""
        other = Budget(writer, self._caps, self.elsewhere, self.seconds, roster)
        other.count(self)
        return other

    def count(self, beside: "Budget | None") -> None:
        """Count what another team of the same run spends from now on, or (None) only what is spent here."""
        self._beside = beside

    async def spend(self, member: str, reply: Reply) -> None:
        """Record what a reply cost. This is not cancelled with the caller, because the reply is paid for."""
        with anyio.CancelScope(shield=True):
            spent = Spent.of(member, reply, self._writer.clock.timestamp())
            await self._folded.append(self._writer, spent.body(), sync=False)

    def over(self, member: str, steps: int) -> str | None:
        """Return which cap a member or subagent has reached, or None. `steps`: how many its turn has so far."""
        return spending.over(self.caps, self.state, member, steps, self.seconds)

    @property
    def seconds(self) -> float:
        """How long the run has taken."""
        return self._writer.clock.monotonic() - self._began

    @property
    def seconds_left(self) -> float:
        """How long the run may still take. Infinite if nothing limits it."""
        return math.inf if self.caps.seconds is None else self.caps.seconds - self.seconds

    @property
    def time_is_up(self) -> bool:
        """Whether the run has taken as long as it may."""
        return self.seconds_left <= 0

    @asynccontextmanager
    async def slot(self, member: str) -> AsyncIterator[None]:
        """Wait until a member may call its model, and keep the slot while the context is open.

        Raises ModelError if another cap was reached while it waited.
        """
        if self._slots is None:
            yield
            return
        async with self._slots.one(note=member):
            await self.refresh()
            if why := self.over(member, steps=0):
                raise ModelError(why)
            yield
