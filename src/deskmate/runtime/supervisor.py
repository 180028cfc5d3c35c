"""Keeps one teammate running until it has left.

A teammate that fails is restarted a few times within a minute. Then it is parked on the roster until the user or the
lead writes to it. If its records were cut or changed, it is parked at once and only the user can restart it. If it
neither obeys nor answers a shutdown request, it is ended, and its leaving is recorded in its name.
"""

import logging
from collections.abc import Iterable

import anyio

from deskmate.core.agent.rules.quiet import has_word
from deskmate.core.log.names import IN_CHARGE, mail
from deskmate.core.log.records import Item
from deskmate.core.team.members import Member
from deskmate.core.team.messages import Envelope, ShutdownRequest, ShutdownResponse, envelope_in
from deskmate.core.team.roster_records import MemberParked, MemberWorking
from deskmate.core.team.status import Left, Parked
from deskmate.core.values import frozen
from deskmate.errors import Conflict, StoreCorrupt, StoreError
from deskmate.ports import Launcher
from deskmate.runtime.departure import give_back, leave
from deskmate.runtime.events import Changed
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_state import TeamState

RESTARTS = 3
RESTART_SECONDS = 60.0
# Hearing the request takes at most 150 seconds, answering 30 more, ending what runs 5.
SHUTDOWN_SECONDS = 185.0
# A process starts within a second, with twenty others in many, and may wait 15 seconds for an earlier one to end.
START_SECONDS = 120.0
_START_LOOKS = 12
RECORDS_CHANGED = "its records were cut or changed, and only the user can restart it"
_LOG = logging.getLogger(__name__)


@frozen
class _Failure:
    """Why a teammate no longer runs. `only_user`: only the user may restart it."""

    reason: str
    only_user: bool = False


class Supervisor:
    """Keeps one teammate running."""

    def __init__(self, team_state: TeamState, name: str, launcher: Launcher) -> None:
        self._team_state, self._name, self._launcher = team_state, name, launcher
        self._team = team_state.roster.state.team
        self._scope = anyio.CancelScope()
        self._overdue, self._late = "", False
        # At once: before the teammate runs, the lead must not take its status on the roster as current.
        if not self._member.only_user:
            team_state.starting.begin(name)

    async def keep(self) -> None:
        """Return once the teammate has left."""
        async with task_group() as tasks:
            tasks.start_soon(self._watch)
            if self._member.only_user:
                # An earlier process parked it. Resuming the team is not a message to this member.
                await self._await_word()
            while self._is_here:
                failure = None if self._overdue else await self._play()
                if failure and self._is_here:
                    await self._park(failure)
                    await self._await_word()
                if self._overdue:
                    await self._dismiss(self._overdue)
                await self._team_state.roster.refresh()
            tasks.cancel_scope.cancel()
        self._team_state.starting.end(self._name)

    @property
    def _member(self) -> Member:
        return self._team_state.roster.state.members[self._name]

    @property
    def _is_here(self) -> bool:
        # If the team was closed while this teammate ended, nobody is here.
        roster = self._team_state.roster.state
        return roster.team == self._team and roster.here(self._name)

    # -- playing ----------------------------------------------------------------------------------

    async def _play(self) -> _Failure | None:
        """Run the teammate until it leaves or is ended. Return why it cannot run, or None."""
        clock, failures = self._team_state.writer.clock, list[float]()
        while True:
            try:
                with anyio.CancelScope() as self._scope:
                    await self._launch()
                return _Failure(f"it did not start within {START_SECONDS:.0f} s") if self._late else None
            except (StoreCorrupt, Conflict) as error:
                # With only the rest of its records, it would hear and do again what it has forgotten.
                _LOG.exception("%s failed", self._name)
                return _Failure(f"{RECORDS_CHANGED}: {error!s:.300}", only_user=True)
            except StoreError:
                # An unreachable store stops the whole team.
                raise
            except Exception as error:
                _LOG.exception("%s failed", self._name)
                now = clock.monotonic()
                failures = [*(then for then in failures if now - then < RESTART_SECONDS), now]
                if len(failures) > RESTARTS:
                    said = f"{type(error).__name__}: {error!s:.300}"
                    return _Failure(f"failed {len(failures)} times within a minute, the last time with {said}")

    async def _launch(self) -> None:
        """Run the teammate once. End it if it shows no status in time."""
        self._late = False
        self._team_state.starting.begin(self._name)
        async with task_group() as tasks:
            tasks.start_soon(self._expect_status)
            await self._launcher.play(self._name)
            tasks.cancel_scope.cancel()

    async def _expect_status(self) -> None:
        starting = self._team_state.starting
        if self._name not in starting.names:
            return
        async with task_group() as tasks:
            tasks.start_soon(self._give_up_late)
            while self._name in starting.names:
                await starting.changed(starting.names)
            tasks.cancel_scope.cancel()

    async def _give_up_late(self) -> None:
        # In parts: if this process itself is suspended, that must not count as the whole wait.
        for _ in range(_START_LOOKS):
            await self._team_state.writer.clock.sleep(START_SECONDS / _START_LOOKS)
        self._late = True
        self._scope.cancel()

    async def _park(self, failure: _Failure) -> None:
        team_state, name, reason = self._team_state, self._name, failure.reason
        letters = await team_state.writer.store.read(mail(name))
        before = (await team_state.roster.refresh()).members[name]
        if before.only_user and not failure.only_user:
            # It failed before it could record that its records were cut. The user must still decide about that.
            reason = f"{RECORDS_CHANGED}; {reason}"
        parked = MemberParked(
            name=name,
            reason=reason,
            heard=before.heard,
            # It failed despite all earlier messages. Only a later one starts it again.
            known=letters[-1].number if letters else None,
            only_user=failure.only_user or before.only_user or None,
            at=team_state.writer.clock.timestamp(),
        )
        # Tasks first: a reader who sees that it is parked finds them free.
        await team_state.board.give_back(name, note=f"{name} was parked: {reason}")
        await team_state.roster.status(parked)
        team_state.feed.tell(Changed(name, Parked(reason)))

    async def _await_word(self) -> None:
        """Return once a parked member gets a message that restarts it, or is asked to stop."""
        box, store, last = mail(self._name), self._team_state.writer.store, 0
        parked = (await self._team_state.roster.refresh()).members[self._name]
        while True:
            items = await store.read(box, last)
            # Whether heard or not: a member that died before it could answer will not answer.
            if await self._wanted_gone(items):
                self._overdue = self._overdue or "forced: asked to shut down while it could not run"
                return
            if has_word(parked, items):
                break
            last = items[-1].number if items else last
            await store.changed({box: last})
        # Show it at once: a team is not quiet while a member restarts. If only the user could restart it, the agent
        # itself looks at that.
        if not parked.only_user:
            at = self._team_state.writer.clock.timestamp()
            await self._team_state.roster.status(MemberWorking(name=self._name, at=at))

    async def _wanted_gone(self, items: Iterable[Item]) -> bool:
        """Return whether these items have a shutdown request that the member has not refused."""
        for item in items:
            match _word(envelope_in(item)):
                case Envelope(sender=asker, message=ShutdownRequest(request_id=request_id)):
                    if not await self._refused(asker, request_id):
                        return True
        return False

    # -- stopping ---------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Start the deadline of every shutdown request."""
        box, store, seen = mail(self._name), self._team_state.writer.store, 0
        async with task_group() as tasks:
            while self._is_here:
                items = await store.read(box, seen)
                for item in items:
                    word = _word(envelope_in(item))
                    if word and isinstance(word.message, ShutdownRequest):
                        tasks.start_soon(self._end_in_time, word.sender, word.message.request_id)
                seen = items[-1].number if items else seen
                await store.changed({box: seen})

    async def _end_in_time(self, asker: str, request_id: str) -> None:
        await self._team_state.writer.clock.sleep(SHUTDOWN_SECONDS)
        if not await self._refused(asker, request_id):
            self._overdue = f"forced: still running {SHUTDOWN_SECONDS:.0f} s after a shutdown request"
            self._scope.cancel()

    async def _refused(self, asker: str, request_id: str) -> bool:
        for item in await self._team_state.writer.store.read(mail(asker)):
            match envelope_in(item):
                case Envelope(sender=self._name, message=ShutdownResponse(request_id=id_, approve=False)):
                    if id_ == request_id:
                        return True
        return False

    async def _dismiss(self, reason: str) -> None:
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


def _word(envelope: Envelope | None) -> Envelope | None:
    return envelope if envelope and envelope.sender in IN_CHARGE else None
