"""A team on a server, for people who look at it."""

from deskmate.core.log.names import LEAD, SHARED, log, mail
from deskmate.core.log.records import Item
from deskmate.errors import StoreError
from deskmate.stores.engines.engine import DamageNote
from deskmate.stores.engines.loop_thread import LoopThread
from deskmate.stores.engines.server_backend import Backend, ServerTeam


class ServerLook:
    """The streams of one team on a server. `place`: what messages call it."""

    def __init__(
        self, thread: LoopThread, backend: Backend, team: ServerTeam | None, place: str, note: DamageNote
    ) -> None:
        self._thread, self._backend, self._team, self._place, self._note = thread, backend, team, place, note

    def items(self, stream: str) -> list[Item]:
        """Return what can be read of a stream. Notes the rest."""
        if self._team is None:
            self._note(f"{self._place} is not there any more")
            return []
        try:
            return list(self._thread.call(self._backend.read(self._team, stream, 0, sync=False)))
        except StoreError as error:
            self._note(str(error))
            return []

    def place(self, stream: str) -> str:
        """Return the name of a stream with the address of its server."""
        return f"{stream} ({self._place})"

    def has_streams_of(self, member: str) -> bool:
        """Return whether there is a mailbox or a transcript of a member."""
        return not {mail(member), log(member)}.isdisjoint(self._streams())

    def member_streams(self) -> list[str]:
        """Return the streams of members and subagents, and those with chunks of code."""
        return [stream for stream in self._streams() if stream not in SHARED]

    def seats(self) -> list[str]:
        """Return the members whose seat is or was held."""
        return [seat for seat in self._holders() if "/" not in seat]

    def holder(self, member: str = LEAD) -> str | None:
        """Return the note of the process that holds a member's seat, or None if it is free."""
        return self._holders(member).get(member)

    def ends_before(self, stream: str) -> int:
        """Return 0: nothing but the server itself says how long a stream was."""
        return 0

    def _streams(self) -> list[str]:
        return [] if self._team is None else list(self._thread.call(self._backend.ends(self._team)))

    def _holders(self, only: str | None = None) -> dict[str, str | None]:
        return {} if self._team is None else self._thread.call(self._backend.holders(self._team, only))
