"""The team: the agents that run are kept equal to the members that have not left.

Spawning is a record on the roster; here it becomes a running agent, in this process. One that fails is started again, a
few times in a minute, and then parked where everybody sees it. The lead itself is played by who opened the team.
"""

import logging
from collections.abc import Callable

from anyio.abc import TaskGroup

from deskmate.core.entries import Started
from deskmate.core.members import Member, Parked
from deskmate.core.names import ROSTER
from deskmate.errors import StoreError
from deskmate.runtime.agent import Agent, Kit
from deskmate.runtime.office import Office

RESTARTS = 3
RESTART_SECONDS = 60.0
_LOG = logging.getLogger(__name__)
Hire = Callable[[Member], tuple[Kit, Started]]


class Team:
    """Runs every teammate as a task of this process."""

    def __init__(self, office: Office, hire: Hire, tasks: TaskGroup) -> None:
        self._office, self._hire, self._tasks = office, hire, tasks
        self._running: set[str] = set()

    async def keep(self) -> None:
        """Start whoever has joined and is not running, for as long as this runs."""
        roster, store = self._office.roster, self._office.pen.store
        while True:
            for member in (await roster.refresh()).teammates:
                if member.here and member.name not in self._running:
                    self._running.add(member.name)
                    self._tasks.start_soon(self._play, member.name)
            await store.changed({ROSTER: roster.state.number})

    async def _play(self, name: str) -> None:
        """Play a teammate until it leaves; park it where it fails again and again."""
        clock, failures = self._office.pen.clock, list[float]()
        async with self._office.pen.store.hold(name, "the process of the lead", wait=True):
            while True:
                try:
                    await self._turns(name)
                    return
                except StoreError:
                    raise
                except Exception as error:
                    _LOG.exception("%s failed and is started again", name)
                    now = clock.monotonic()
                    failures = [*(then for then in failures if now - then < RESTART_SECONDS), now]
                    if len(failures) > RESTARTS:
                        await self._park(name, error)
                        return

    async def _turns(self, name: str) -> None:
        kit, started = self._hire(self._office.roster.state.members[name])
        agent = await Agent.seat(self._office, started, kit)
        await agent.play()

    async def _park(self, name: str, error: Exception) -> None:
        reason = f"failed {RESTARTS + 1} times within a minute, at last with {type(error).__name__}: {error!s:.300}"
        await self._office.roster.status(Parked(name=name, reason=reason, at=self._office.pen.clock.timestamp()))
        await self._office.board.give_back(name, note=f"{name} was parked: {reason}")
