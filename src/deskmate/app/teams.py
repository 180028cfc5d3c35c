"""The teams of one lead: its first team, and one that it creates. Opened, closed, found again.

Each team has its own `TeamState`. Only the disk says which team the lead works in: the one that is not archived and
whose roster begins with the name of its first team (its home). So after a kill at any point, the next process finds
one of two states, or finishes the move.
"""

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeAlias

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from deskmate.core.log.names import LEAD, mail, new_name
from deskmate.core.team.roster_records import MemberWorking, PolicySet
from deskmate.core.team.status import Parked
from deskmate.core.values import frozen
from deskmate.errors import Held, Refused, StoreError, StoreUnavailable, UnsafeFolder
from deskmate.ports import Launcher
from deskmate.runtime.events import TeamStarted
from deskmate.runtime.running_team import Keeper, RunningTeam
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.team_state import TeamState
from deskmate.stores.engines.engine import TeamStore
from deskmate.stores.named_team_store import NamedTeamStore
from deskmate.trust.chosen_engine import engine_at
from deskmate.trust.team_signature import Signing

Launchers: TypeAlias = Callable[[TeamState], Mapping[str, Launcher]]
Keepers: TypeAlias = Callable[[TeamState], Sequence[Keeper]]


@frozen
class _Named:
    """The team that the lead created. `seat`: the lead's there. `running`: None as long as teams are not run here."""

    team_state: TeamState
    store: TeamStore
    seat: AsyncExitStack
    running: RunningTeam | None = None


class Teams:
    """The teams of one lead. The process holds its seat in the first team, called `home`.

    `signing`: shows whether a team is this user's own. `first`: the state of the first team. `kept`: whether the first
    team still exists.
    """

    def __init__(self, signing: Signing, home: str, store: TeamStore, first: TeamState) -> None:
        self.home, self.first, self.kept = home, first, True
        self._signing, self._engine, self._store = signing, engine_at(signing.workspace), store
        self._named: _Named | None = None
        self._old: list[TeamStore] = []
        self._lock, self._moved = anyio.Lock(), anyio.Event()
        self._tasks: TaskGroup | None = None
        self._launchers: Launchers = lambda team_state: {}
        self._keepers: Keepers = lambda team_state: ()

    @property
    def current(self) -> TeamState:
        """The team that the lead works in."""
        return self._named.team_state if self._named else self.first

    @property
    def open(self) -> tuple[TeamState, ...]:
        """The teams that run, the current one first."""
        return (self.current, self.first) if self._named else (self.first,)

    async def left(self, team_state: TeamState) -> None:
        """Return once the lead works in another team than this."""
        while self.current is team_state:
            await self._moved.wait()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._named:
            await self._named.seat.aclose()
            self._named.store.close()
        for store in self._old:
            store.close()

    async def play(self, tasks: TaskGroup, launchers: Launchers, keepers: Keepers) -> None:
        """Run the teammates and the keepers in these tasks from now on, also those of a team that is created later.

        Returns once present members are starting.
        """
        self._tasks, self._launchers, self._keepers = tasks, launchers, keepers
        await tasks.start(self._new_run(self.first, self._store).keep)
        if named := self._named:
            running = self._new_run(named.team_state, named.store)
            self._named = replace(named, running=running)
            await tasks.start(running.keep)

    def _new_run(self, team_state: TeamState, store: TeamStore) -> RunningTeam:
        write, keepers = store.projections().write, self._keepers(team_state)
        return RunningTeam(team_state, self._launchers(team_state), write, keepers)

    async def found(self, name: str, description: str) -> None:
        """Create a team and move there. Raises Refused if a team of that name exists.

        A folder without a roster, left by a killed process, is reused.
        """
        new_name(name, "team")
        async with self._moving():
            try:
                await to_thread.run_sync(self._engine.finish_archiving)
                # An earlier try may have created the team and failed after that. Then only move there.
                founded = await to_thread.run_sync(self._signing.team_from, self.home)
                await self._go(name, create=founded != name, description=description)
            except (StoreUnavailable, UnsafeFolder) as error:
                raise Refused(f"Team '{name}' could not be created: {error.message}", error.hint) from error
            await self.current.roster.status(MemberWorking(name=LEAD, at=self._now()))

    async def reopen(self) -> bool:
        """Move to the team where the lead last worked. Return whether that is not its first team."""
        name = self._signing.team_from(self.home)
        if name is not None:
            await self._go(name)
        return name is not None

    async def close(self) -> str:
        """Archive the team, which all teammates have left, and go back to the first team. Return its place there."""
        named = self._named
        assert named is not None, "only a team that the lead created is closed"
        name = named.team_state.roster.state.team
        if named.running:
            await named.running.gone()
        async with self._moving():
            if named.running:
                await named.running.end()
            try:
                place = await to_thread.run_sync(self._engine.archive, name, self._now())
            except (StoreUnavailable, UnsafeFolder) as error:
                self._named = self._start(named)
                raise Refused(f"Team '{name}' could not be archived: {error.message}", error.hint) from error
            self.first.budget.elsewhere = await to_thread.run_sync(self._engine.spent_in_archive, self.home)
            await self.first.roster.refresh()
            # The store stays open as long as this: a screen may be reading from it at this moment.
            self._old.append(named.store)
            self._move(None)
            await named.seat.aclose()
        return place

    async def drop_unused(self) -> None:
        """Remove the first team if it is unused: nothing was said there, or the model failed and never answered.

        Sets `kept` to False if it was removed. It is kept if the disk fails.
        """
        with suppress(StoreError):
            if await self._is_unused():
                # Pending writes cannot be synced after the files are gone.
                await to_thread.run_sync(self._store.settle)
                await to_thread.run_sync(self._engine.remove, self.home)
                self.kept = False

    async def _is_unused(self) -> bool:
        first = self.first
        lead = (await first.roster.refresh()).members[LEAD]
        if (await first.budget.refresh()).team.calls or (await first.board.refresh()).number:
            return False
        failed = isinstance(lead.status, Parked) and not first.budget.over(LEAD, 0)
        return failed or not await first.writer.store.read(mail(LEAD))

    async def permit(self, policy: PolicySet, *, at_home: bool = False) -> None:
        """Record what the user permits in the lead's current team, and in its first team.

        A policy for a teammate applies to the current team only, or with `at_home` to the first team only.
        """
        async with self._lock:
            if at_home:
                await permit(self.first.roster, policy)
                return
            # The first team first: after a kill in between, the lead never returns to more than was last permitted.
            if self._named and policy.member in (None, LEAD):
                await permit(self.first.roster, policy)
            await permit(self.current.roster, policy)

    @asynccontextmanager
    async def _moving(self) -> AsyncIterator[None]:
        """Block changes of the policy meanwhile, because it is copied to the other team."""
        async with self._lock:
            # Not cancellable: the next process would have to repair half a move.
            with anyio.CancelScope(shield=True):
                yield

    async def _go(self, name: str, *, create: bool = False, description: str = "") -> None:
        async with AsyncExitStack() as opened, AsyncExitStack() as seat:
            store = await to_thread.run_sync(lambda: self._engine.open(name, create=create))
            opened.callback(store.close)
            # What was spent so far counts in the other team too.
            await self.first.budget.refresh()
            team_state = self.first.beside(NamedTeamStore(self._store, self.home, store))
            try:
                await seat.enter_async_context(store.hold(LEAD, f"process {os.getpid()}"))
                if create:
                    await to_thread.run_sync(self._signing.claim, name)
                    await team_state.roster.found(name, description, home=self.home)
            except (Held, Refused) as error:
                if not create:
                    raise
                raise Refused(f"There is already a team '{name}'", "Choose another name.") from error
            if (await team_state.roster.refresh()).number == 1:
                # The team was just created, so copy the policy of the first team.
                await team_state.roster.permit(await self._policy())
            opened.pop_all()
            self._move(self._start(_Named(team_state, store, seat.pop_all())))

    def _start(self, named: _Named) -> _Named:
        """Run a team, if teams are run here yet."""
        if self._tasks is None:
            return named
        running = self._new_run(named.team_state, named.store)
        self._tasks.start_soon(running.keep)
        return replace(named, running=running)

    def _move(self, named: _Named | None) -> None:
        """Let the lead work in a team of its own, or (None) in its first team."""
        self._named = named
        self.first.feed.away_from = self.home if named else ""
        self.first.budget.count(named.team_state.budget if named else None)
        self._moved.set()
        self._moved = anyio.Event()
        self.first.feed.tell(TeamStarted(self.current.roster.state.team))

    async def _policy(self) -> PolicySet:
        home = await self.first.roster.refresh()
        return PolicySet(
            by=LEAD,
            mode=home.mode_of(LEAD),
            add_rules=tuple(f"{rule.effect} {rule}" for rule in home.rules),
            attended=home.attended,
            delegate=home.delegate,
            sandbox=home.sandbox or None,
            caps=home.caps,
            at=self._now(),
        )

    def _now(self) -> float:
        return self.first.writer.clock.timestamp()


async def permit(roster: Roster, policy: PolicySet) -> None:
    """Record what is permitted. A mode for the team also replaces the wider modes of its members."""
    state = await roster.permit(policy)
    mode, own = policy.mode, {} if policy.member else state.modes
    for name in [name for name, wider in own.items() if mode and wider.wider_than(mode)]:
        await roster.permit(PolicySet(by=policy.by, member=name, mode=mode, at=policy.at))
