"""A host: offers to run teammates of all teams of its space, and says what it runs.

It keeps a seat as long as it lives. The calls of leads tell it which rosters to look at.
"""

import os
import platform
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from functools import partial

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from deskmate.app.hosts.host_registry import HostRegistry
from deskmate.app.hosts.host_slots import Slots
from deskmate.app.hosts.hosted_team import HostedTeam, HostSetup
from deskmate.core.hosts.host_fold import TeamCall
from deskmate.core.hosts.host_records import (
    HostCame,
    HostDraining,
    HostLeft,
    HostLoaded,
    TeamDropped,
)
from deskmate.core.log.names import HOSTS
from deskmate.core.values import frozen
from deskmate.errors import DeskmateError, Held, Refused, SeatLost, StoreError, StoreUnavailable
from deskmate.ports import Clock, Seat
from deskmate.runtime.perform.agent_work import Bell
from deskmate.runtime.task_groups import first_of, task_group
from deskmate.stores.engines.engine import TeamStore

# The seat of a host that was killed is free within this time.
NAME_SECONDS = 15.0
AGAIN_SECONDS, LOAD_SECONDS = 2.0, 30.0
# A smaller change of the load is not recorded.
_LOAD_STEP = 0.25


@frozen
class HostOffer:
    """What a host offers, under which name."""

    name: str
    labels: tuple[str, ...]
    slots: int


class HostWorker:
    """Runs teammates on this machine until `draining` is set and nobody runs here any more."""

    def __init__(self, setup: HostSetup, offer: HostOffer, tell: Callable[[str], None], clock: Clock) -> None:
        self._setup, self._offer, self._tell, self._clock = setup, offer, tell, clock
        self.draining, self._served = anyio.Event(), False

    async def keep(self) -> None:
        """Return once this host has drained. Raises Refused if its name is taken, SeatLost if that happens later.

        If the store cannot be reached any more, everything here ends, and begins again once it can.
        """
        while True:
            try:
                return await self._serve()
            except StoreUnavailable as error:
                if not self._served or self.draining.is_set():
                    raise
                self._tell(f"host {self._offer.name} ended everything, and tries again: {error}")
                await first_of(partial(self._clock.sleep, AGAIN_SECONDS), self.draining.wait)

    async def _serve(self) -> None:
        setup, name = self._setup, self._offer.name
        store = await to_thread.run_sync(partial(setup.engine.hosts, create=True))
        assert store is not None, "the engine is a server's"
        with closing(store):
            async with self._seat(store):
                registry = HostRegistry(setup.engine, store, self._clock)
                await registry.record(
                    HostCame(
                        name=name,
                        labels=self._offer.labels,
                        slots=self._offer.slots,
                        machine=platform.node()[:64],
                        at=self._clock.timestamp(),
                    )
                )
                self._served = True
                self._tell(f"host {name} offers {self._offer.slots} slots")
                try:
                    await self._run(registry)
                finally:
                    with anyio.CancelScope(shield=True), suppress(StoreError):
                        await registry.record(HostLeft(name=name, at=self._clock.timestamp()))

    @asynccontextmanager
    async def _seat(self, store: TeamStore) -> AsyncIterator[Seat]:
        """Hold the seat of this host. One that was killed a moment ago may still have it."""
        note = f"process {os.getpid()} on {platform.node()}"
        async with AsyncExitStack() as stack:
            held, until = None, self._clock.monotonic() + NAME_SECONDS
            while held is None:
                try:
                    held = await stack.enter_async_context(store.hold(self._offer.name, note))
                except SeatLost:
                    raise
                except Held as error:
                    if self._clock.monotonic() >= until or self.draining.is_set():
                        raise Refused(
                            f"The host name '{self._offer.name}' is taken by {error.note}",
                            "Choose another with --name, or end that host.",
                        ) from error
                    await first_of(partial(self._clock.sleep, 1.0), self.draining.wait)
            yield held

    async def _run(self, registry: HostRegistry) -> None:
        slots = Slots(self._offer.name, self._offer.slots, registry, self._tell)
        teams: dict[str, tuple[HostedTeam, anyio.CancelScope]] = {}
        moved = Bell()
        async with task_group() as tasks:
            tasks.start_soon(self._tell_load, registry)
            tasks.start_soon(self._drain, registry)
            while not (self.draining.is_set() and not teams):
                moved.renew()
                for team, call in (await registry.refresh()).calls.items():
                    self._match(team, call, teams, slots, registry, tasks, moved)
                number = registry.state.number
                waits = [moved.wait] if self.draining.is_set() else [moved.wait, self.draining.wait]
                await first_of(partial(registry.store.changed, {HOSTS: number}), *waits)
            tasks.cancel_scope.cancel()

    def _match(
        self,
        team: str,
        call: TeamCall,
        teams: dict[str, tuple[HostedTeam, anyio.CancelScope]],
        slots: Slots,
        registry: HostRegistry,
        tasks: TaskGroup,
        moved: Bell,
    ) -> None:
        """Look at the roster of a team that has called. If its lead was started again, everybody is, too."""
        if team in teams:
            if teams[team][0].call.number != call.number:
                teams[team][1].cancel()
        elif not self.draining.is_set():
            hosted = HostedTeam(self._setup, self._offer.name, team, call, slots, self.draining)
            scope = anyio.CancelScope()
            teams[team] = hosted, scope

            async def keep() -> None:
                with scope:
                    await self._keep_team(team, hosted)
                del teams[team]
                last = (await registry.refresh()).calls.get(team)
                if not self.draining.is_set() and last is not None and last.number == call.number:
                    at = self._clock.timestamp()
                    await registry.record(TeamDropped(name=self._offer.name, team=team, at=at))
                moved.ring()

            tasks.start_soon(keep)

    async def _keep_team(self, team: str, hosted: HostedTeam) -> None:
        """Run the teammates of a team. What is wrong with one team, such as damaged records, ends no other."""
        try:
            await hosted.keep()
        except (StoreUnavailable, SeatLost):
            raise
        except (DeskmateError, ValueError) as error:
            self._tell(f"host {self._offer.name} runs nobody of team {team}: {error}")
            # The lead calls again at once, if it is there.
            await self._clock.sleep(AGAIN_SECONDS)

    async def _drain(self, registry: HostRegistry) -> None:
        await self.draining.wait()
        await registry.record(HostDraining(name=self._offer.name, at=self._clock.timestamp()))

    async def _tell_load(self, registry: HostRegistry) -> None:
        told: float | None = None
        while True:
            load = round(os.getloadavg()[0] / (os.cpu_count() or 1), 2)
            if told is None or abs(load - told) >= _LOAD_STEP:
                told = load
                await registry.record(HostLoaded(name=self._offer.name, load=load, at=self._clock.timestamp()))
            await self._clock.sleep(LOAD_SECONDS)
