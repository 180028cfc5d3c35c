"""The team a lead creates: opened, closed, found again.

Only the disk says which team the lead works in: the one that is not archived and whose roster begins with the name of
its first team (its home). So after a kill at any point, the next process finds one of two states, or finishes the move.
"""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from types import TracebackType
from typing import Self

import anyio
from anyio import to_thread

from deskmate.core.log.names import LEAD, mail, new_name
from deskmate.core.team.members import RosterState as Members
from deskmate.core.team.roster_records import MemberWorking, PolicySet
from deskmate.core.team.spending import Spending
from deskmate.core.team.status import Parked
from deskmate.errors import Held, Refused, StoreError, StoreUnavailable, UnsafeFolder
from deskmate.runtime.events import TeamStarted
from deskmate.runtime.streams.readable_copies import ReadableCopies
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.team_players import TeamPlayers
from deskmate.runtime.team_state import TeamState
from deskmate.stores.archive import archive, finish_archiving, spent_in_archive
from deskmate.stores.joint_store import JointStore
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.stores.removal import remove_team
from deskmate.trust.team_signature import Signing


class Teams:
    """The teams of one lead. The process holds its seat in the first team. `team_state`: of the team it works in.

    `signing`: shows whether a team is this user's own. `players`: runs the teammates, once that is started. `kept`:
    whether the first team still exists.
    """

    def __init__(
        self, signing: Signing, home: str, store: JsonlStore, joint: JointStore, team_state: TeamState
    ) -> None:
        self.home, self.team_state = home, team_state
        self._signing, self._workspace = signing, signing.workspace
        self.mirror = ReadableCopies(team_state, store.projections().write)
        self._store, self._joint = store, joint
        self._opened, self._turn = AsyncExitStack(), anyio.Lock()
        self.players: TeamPlayers | None = None
        self.kept = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.aclose()

    async def found(self, name: str, description: str) -> None:
        """Create a team and move there. Raises Refused if a team of that name exists.

        A folder without a roster, left by a killed process, is reused.
        """
        new_name(name, "team")
        if self.players:
            # Members that have just left may still return mail and tasks in the current team.
            await self.players.gone()
        async with self._moving():
            try:
                await to_thread.run_sync(finish_archiving, self._workspace)
                # An earlier try may have created the team and failed after that. Then only move there.
                founded = await to_thread.run_sync(self._signing.team_from, self.home)
                await self._go(name, create=founded != name, description=description)
            except (StoreUnavailable, UnsafeFolder) as error:
                raise Refused(f"Team '{name}' could not be created: {error.message}", error.hint) from error
            await self.team_state.roster.status(MemberWorking(name=LEAD, at=self._now()))

    async def reopen(self) -> bool:
        """Move to the team where the lead last worked. Return whether that is not its first team."""
        name = self._signing.team_from(self.home)
        if name is not None:
            await self._go(name)
        return name is not None

    async def close(self) -> str:
        """Archive the team, which all teammates have left, and go back to the first team. Return the archive folder."""
        name = self.team_state.roster.state.team
        # Whatever ends a teammate's process then cleans up in the folder that is about to be moved.
        if self.players:
            await self.players.gone()
        async with self._moving():
            await self.mirror.show()
            async with self.mirror.turn:
                try:
                    place = await to_thread.run_sync(archive, self._workspace, name, self._now())
                except (StoreUnavailable, UnsafeFolder) as error:
                    raise Refused(f"Team '{name}' could not be archived: {error.message}", error.hint) from error
                state = await Roster(self.team_state.writer.into(self._store)).refresh()
                spent = await to_thread.run_sync(spent_in_archive, self._workspace, self.home)
                self._joint.leave()
                self._turn_to(state, spent, self._store)
                await self._opened.aclose()
        return str(place.relative_to(self._workspace))

    async def drop_unused(self) -> None:
        """Remove the first team if it is unused: nothing was said there, or the model failed and never answered.

        Sets `kept` to False if it was removed. It is kept if the disk fails.
        """
        with suppress(StoreError):
            if await self._is_unused():
                # Pending writes cannot be synced after the files are gone.
                await to_thread.run_sync(self._store.settle)
                await to_thread.run_sync(remove_team, self._workspace, self.home)
                self.kept = False

    async def _is_unused(self) -> bool:
        team_state = self.team_state
        lead = (await team_state.roster.refresh()).members[LEAD]
        if (await team_state.budget.refresh()).team.calls or (await team_state.board.refresh()).number:
            return False
        failed = isinstance(lead.status, Parked) and not team_state.budget.over(LEAD, 0)
        return failed or not await team_state.writer.store.read(mail(LEAD))

    async def permit(self, policy: PolicySet) -> None:
        """Record what the user permits in the lead's current team, and in its first team.

        A policy for a teammate applies to the current team only.
        """
        async with self._turn:
            # The first team first: after a kill in between, the lead never returns to more than was last permitted.
            if self.team_state.roster.state.away and policy.member in (None, LEAD):
                await permit(Roster(self.team_state.writer.into(self._store)), policy)
            await permit(self.team_state.roster, policy)

    @asynccontextmanager
    async def _moving(self) -> AsyncIterator[None]:
        """Block changes of the policy meanwhile, because it is copied to the other team."""
        async with self._turn:
            # Not cancellable: the next process would have to repair half a move.
            with anyio.CancelScope(shield=True):
                yield

    async def _go(self, name: str, *, create: bool = False, description: str = "") -> None:
        async with AsyncExitStack() as stack:
            store = await to_thread.run_sync(lambda: JsonlStore.open(self._workspace, name, create=create))
            stack.callback(store.close)
            roster, seat = Roster(self.team_state.writer.into(store)), store.hold(LEAD, f"process {os.getpid()}")
            try:
                await stack.enter_async_context(seat)
                if create:
                    await to_thread.run_sync(self._signing.claim, name)
                    await roster.found(name, description, home=self.home)
            except (Held, Refused) as error:
                if not create:
                    raise
                raise Refused(f"There is already a team '{name}'", "Choose another name.") from error
            await self._settle_in(store, roster)
            self._opened = stack.pop_all()

    async def _settle_in(self, store: JsonlStore, roster: Roster) -> None:
        state = await roster.refresh()
        if state.number == 1:
            # The team was just created, so copy the policy of the first team.
            state = await roster.permit(await self._policy())
        spent = await self.team_state.budget.refresh()
        await self.mirror.show()
        self._joint.enter(store)
        self._turn_to(state, spent, store)

    async def _policy(self) -> PolicySet:
        home = await self.team_state.roster.refresh()
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

    def _turn_to(self, roster: Members, elsewhere: Spending, store: JsonlStore) -> None:
        """Switch to another team without awaiting, so nobody sees the roster of one team and the board of another."""
        team_state = self.team_state
        team_state.roster.begin_again(roster)
        team_state.board.begin_again()
        team_state.budget.begin_again(elsewhere)
        self.mirror.begin_again(store.projections().write)
        team_state.feed.tell(TeamStarted(roster.team))

    def _now(self) -> float:
        return self.team_state.writer.clock.timestamp()


async def permit(roster: Roster, policy: PolicySet) -> None:
    """Record what is permitted. A mode for the team also replaces the wider modes of its members."""
    state = await roster.permit(policy)
    mode, own = policy.mode, {} if policy.member else state.modes
    for name in [name for name, wider in own.items() if mode and wider.wider_than(mode)]:
        await roster.permit(PolicySet(by=policy.by, member=name, mode=mode, at=policy.at))
