"""The supervisor: one teammate is kept at its desk until it has left, whatever becomes of who plays it.

One that fails is started again, a few times in a minute, and then parked where everybody sees it, until user or lead
writes to it. One that was asked to stop and does neither that nor answer is ended, and leaves in its own name.
"""

import logging
from collections.abc import Iterable

import anyio

from deskmate.core.members import Parked, Working
from deskmate.core.messages import Envelope, ShutdownRequest, ShutdownResponse, envelope_in
from deskmate.core.names import IN_CHARGE, mail
from deskmate.core.records import Item
from deskmate.errors import StoreCorrupt, StoreError
from deskmate.ports import Launcher
from deskmate.runtime.feed import Changed
from deskmate.runtime.groups import task_group
from deskmate.runtime.leaving import leave
from deskmate.runtime.office import Office
from deskmate.runtime.transcript import Transcript

RESTARTS = 3
RESTART_SECONDS = 60.0
# Hearing takes at most 150 seconds, answering 30 more, ending what ran 5.
SHUTDOWN_SECONDS = 185.0
_LOG = logging.getLogger(__name__)


class Supervisor:
    """Has one teammate played."""

    def __init__(self, office: Office, name: str, launcher: Launcher) -> None:
        self._office, self._name, self._launcher = office, name, launcher
        self._team = office.roster.state.team
        self._scope = anyio.CancelScope()
        self._overdue = ""

    async def keep(self) -> None:
        """Return once the teammate has left."""
        async with task_group() as tasks:
            tasks.start_soon(self._watch)
            while self._is_here:
                if (failure := await self._play()) and self._is_here:
                    await self._park(failure)
                    await self._await_word()
                if self._overdue:
                    await self._dismiss(self._overdue)
                await self._office.roster.refresh()
            tasks.cancel_scope.cancel()

    @property
    def _is_here(self) -> bool:
        # A team that was closed while this one ended has nobody here.
        roster = self._office.roster.state
        return roster.team == self._team and roster.here(self._name)

    # -- playing ----------------------------------------------------------------------------------

    async def _play(self) -> str:
        """Have it played until it leaves or is ended; return why it cannot be played, or nothing."""
        clock, failures = self._office.pen.clock, list[float]()
        while True:
            try:
                with anyio.CancelScope() as self._scope:
                    await self._launcher.play(self._name)
                return ""
            except Exception as error:
                # A store out of reach is everybody's trouble; a damaged transcript is its own.
                if isinstance(error, StoreError) and not isinstance(error, StoreCorrupt):
                    raise
                _LOG.exception("%s failed", self._name)
                now = clock.monotonic()
                failures = [*(then for then in failures if now - then < RESTART_SECONDS), now]
                if len(failures) > RESTARTS:
                    said = f"{type(error).__name__}: {error!s:.300}"
                    return f"failed {len(failures)} times within a minute, at last with {said}"

    async def _park(self, reason: str) -> None:
        office, name = self._office, self._name
        heard = (await office.roster.refresh()).members[name].status.heard
        await office.roster.status(Parked(name=name, reason=reason, heard=heard, at=office.pen.clock.timestamp()))
        await office.board.give_back(name, note=f"{name} was parked: {reason}")
        office.feed.tell(Changed(name, "parked", reason))

    async def _await_word(self) -> None:
        """Return once user or lead has something new to say to a member that nobody plays, or wants it to stop."""
        box, store = mail(self._name), self._office.pen.store
        items = await store.read(box)
        before = last = items[-1].number if items else 0
        while True:
            # Heard or not: who died before it could answer will not.
            if await self._wanted_gone(items):
                self._overdue = self._overdue or "forced: asked to stop while nobody could play it"
                return
            if any(item.number > before and _word(envelope_in(item)) for item in items):
                # Seen at once: a team is not quiet while one of it comes back.
                at = self._office.pen.clock.timestamp()
                await self._office.roster.status(Working(name=self._name, at=at))
                return
            await store.changed({box: last})
            items = await store.read(box, last)
            last = items[-1].number if items else last

    async def _wanted_gone(self, items: Iterable[Item]) -> bool:
        """Tell whether there is a shutdown request among these that the member has not refused."""
        for item in items:
            match _word(envelope_in(item)):
                case Envelope(sender=asker, message=ShutdownRequest(request_id=request_id)):
                    if not await self._refused(asker, request_id):
                        return True
        return False

    # -- stopping ---------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Give every shutdown request its time."""
        box, store, seen = mail(self._name), self._office.pen.store, 0
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
        await self._office.pen.clock.sleep(SHUTDOWN_SECONDS)
        if not await self._refused(asker, request_id):
            self._overdue = f"forced: no end {SHUTDOWN_SECONDS:.0f} s after a shutdown request"
            self._scope.cancel()

    async def _refused(self, asker: str, request_id: str) -> bool:
        for item in await self._office.pen.store.read(mail(asker)):
            match envelope_in(item):
                case Envelope(sender=self._name, message=ShutdownResponse(request_id=id_, approve=False)):
                    if id_ == request_id:
                        return True
        return False

    async def _dismiss(self, reason: str) -> None:
        """Let it leave in its own name, once nobody plays it."""
        office = self._office
        async with office.pen.store.hold(self._name, "the supervisor, to let it leave", wait=True):
            transcript = await Transcript.load(office.pen, self._name)
            await leave(transcript, office.pen, office.roster, office.board, reason=reason)
        office.feed.tell(Changed(self._name, "left", reason))


def _word(envelope: Envelope | None) -> Envelope | None:
    return envelope if envelope and envelope.sender in IN_CHARGE else None
