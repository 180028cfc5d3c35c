"""Keeps one teammate running until it has left.

`core.agent.rules.supervise` decides what is done about it. This file looks, and carries that out.
"""

import logging
import math
from collections.abc import Awaitable, Callable
from typing import assert_never

import anyio
from anyio.abc import TaskGroup

from deskmate.core.agent.rules.supervise import (
    GIVEN_UP,
    Await,
    Crashed,
    Cut,
    Deed,
    Failure,
    Finish,
    GiveUp,
    Launch,
    LetGo,
    RecordsChanged,
    Revive,
    Supervised,
    Tries,
    Unplaced,
    ended,
    looked,
    started,
    supervise,
)
from deskmate.core.log.names import mail
from deskmate.core.team.roster_records import MemberParked, MemberWorking
from deskmate.core.team.status import Left, Parked
from deskmate.errors import Conflict, NoHostFits, StoreCorrupt, StoreError
from deskmate.ports import Launcher
from deskmate.runtime.departure import give_back, leave
from deskmate.runtime.events import Changed
from deskmate.runtime.perform.wait_times import WaitTimes
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.task_groups import first_of, task_group
from deskmate.runtime.team_state import TeamState

_LOG = logging.getLogger(__name__)


class Supervisor:
    """Keeps one teammate running."""

    def __init__(self, team_state: TeamState, name: str, launcher: Launcher) -> None:
        self._team_state, self._name, self._launcher = team_state, name, launcher
        self._clock = team_state.writer.clock
        self._member = team_state.roster.state.members[name]
        # If an earlier process parked it for the user alone, resuming the team is not a message to this member.
        self._tries = GIVEN_UP if self._member.only_user else Tries()
        self._waits = WaitTimes(self._clock)
        self._looked_at = self._clock.monotonic()
        self._scope, self._over = anyio.CancelScope(), anyio.Event()
        # At once: before the teammate runs, the lead must not take its status on the roster as current.
        if not self._member.only_user:
            team_state.starting.begin(name)

    async def keep(self) -> None:
        """Return once the teammate has left."""
        async with task_group() as tasks:
            while not isinstance(deed := supervise(seen := await self._look()), Finish):
                await self._do(deed, seen, tasks)
        self._team_state.starting.end(self._name)

    # -- looking ----------------------------------------------------------------------------------

    async def _look(self) -> Supervised:
        if not self._tries.running:
            await self._team_state.roster.refresh()
        inbox = await self._team_state.inboxes.refresh(self._name)
        askers = {asker: await self._team_state.inboxes.refresh(asker) for asker in {*inbox.stops.values()}}
        now = self._clock.monotonic()
        starting = self._name in self._team_state.starting.names
        self._tries = looked(self._tries, now - self._looked_at, starting=starting)
        self._looked_at = now
        self._member = self._team_state.roster.state.members[self._name]
        return Supervised(
            member=self._member,
            here=self._member.here,
            tries=self._tries,
            inbox=inbox,
            refused={id_ for id_, asker in inbox.stops.items() if (self._name, id_) in askers[asker].refusals},
            waited=self._waits.look(inbox.stops),
        )

    async def _news(self, seen: Supervised, seconds: float) -> None:
        """Return once something that was looked at may have changed, or after this time."""
        starting = self._team_state.starting
        names = starting.names
        is_old = seen.tries.running and (seen.tries.starting is not None) != (self._name in names)
        if seen.tries is not self._tries or is_old:
            return
        waits: list[Callable[[], Awaitable[object]]] = [
            lambda: self._team_state.writer.store.changed({mail(self._name): seen.inbox.number})
        ]
        if seen.tries.running:
            waits.append(self._over.wait)
        if seen.tries.starting is not None:
            waits.append(lambda: starting.changed(names))
        if seconds < math.inf:
            waits.append(lambda: self._clock.sleep(seconds))
        await first_of(*waits)

    # -- doing ------------------------------------------------------------------------------------

    async def _do(self, deed: Deed, seen: Supervised, tasks: TaskGroup) -> None:
        match deed:
            case Launch():
                self._tries = started(self._tries)
                self._scope, self._over = anyio.CancelScope(), anyio.Event()
                self._team_state.starting.begin(self._name)
                tasks.start_soon(self._run)
            case Cut(failure=failure):
                self._scope.cancel()
                await self._over.wait()
                if failure is not None:
                    self._tries = ended(self._tries, failure, self._clock.monotonic())
            case GiveUp():
                await self._give_up(deed)
                self._tries = GIVEN_UP
            case Revive(shows=shows):
                if shows:
                    at = self._clock.timestamp()
                    await self._team_state.roster.status(MemberWorking(name=self._name, at=at))
                self._tries = Tries()
            case LetGo(reason=reason):
                await self._let_go(reason)
            case Await(seconds=seconds):
                await self._news(seen, seconds)
            case Finish():
                raise AssertionError("the loop ends with it")
            case unreachable:
                assert_never(unreachable)

    async def _run(self) -> None:
        failure: Failure | None = None
        try:
            with self._scope:
                await self._launcher.play(self._name)
        except (StoreCorrupt, Conflict) as error:
            _LOG.exception("%s failed", self._name)
            failure = RecordsChanged(f"{error!s:.300}")
        except StoreError:
            # An unreachable store stops the whole team.
            raise
        except NoHostFits as error:
            failure = Unplaced(error.message)
        except Exception as error:
            _LOG.exception("%s failed", self._name)
            failure = Crashed(f"{type(error).__name__}: {error!s:.300}")
        self._tries = ended(self._tries, failure, self._clock.monotonic())
        self._over.set()

    async def _give_up(self, deed: GiveUp) -> None:
        team_state, name = self._team_state, self._name
        inbox = await team_state.inboxes.refresh(name)
        parked = MemberParked(
            name=name,
            reason=deed.reason,
            heard=self._member.heard,
            # It failed despite all earlier messages. Only a later one starts it again.
            known=inbox.number or None,
            only_user=deed.only_user or None,
            at=self._clock.timestamp(),
        )
        # Tasks first: a reader who sees that it is parked finds them free.
        await team_state.board.give_back(name, note=f"{name} was parked: {deed.reason}")
        await team_state.roster.status(parked)
        team_state.feed.tell(Changed(name, Parked(deed.reason)))

    async def _let_go(self, reason: str) -> None:
        """Record that the teammate leaves, once nothing runs it."""
        team_state = self._team_state
        async with team_state.writer.store.hold(self._name, "the supervisor, to let it leave", wait=True):
            if self._member.only_user:
                await team_state.board.give_back(self._name, note=f"{self._name} left: {reason}")
                # Its transcript no longer says how much mail it heard. The roster does.
                await team_state.roster.leave(self._name, reason, heard=self._member.heard)
                await give_back(self._name, team_state.writer, team_state.roster, team_state.board)
            else:
                transcript = await Transcript.load(team_state.writer, self._name)
                await leave(transcript, team_state.writer, team_state.roster, team_state.board, reason=reason)
        team_state.feed.tell(Changed(self._name, Left(reason)))
