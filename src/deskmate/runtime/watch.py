"""The watch: what an agent must learn of its mail while something of its own runs.

Mail is heard between two steps. Here it is only looked at: for faces, which show that it waits, and for the little
that cuts what runs.
"""

from collections.abc import Callable
from typing import NoReturn

from anyio.abc import TaskGroup

from deskmate.core.messages import Envelope, Interrupt, ShutdownRequest, read_envelope
from deskmate.core.names import IN_CHARGE, USER, mail
from deskmate.core.records import Item, Record
from deskmate.runtime.feed import Arrived
from deskmate.runtime.office import Office

# How long a shutdown request may lie unheard before it cuts what runs.
UNHEARD_SECONDS = 150.0


class Watch:
    """Watches one member's mailbox. `cut` is called with the number of what is to cut what runs."""

    def __init__(self, office: Office, name: str, cut: Callable[[int], None], tasks: TaskGroup) -> None:
        self._office, self._name, self._cut, self._tasks = office, name, cut, tasks

    async def keep(self, seen: int) -> NoReturn:
        """Watch for what comes after a number, for as long as this runs."""
        box, store = mail(self._name), self._office.pen.store
        while True:
            await store.changed({box: seen})
            items = await store.read(box, seen)
            for item in items:
                self._look_at(item)
            seen = items[-1].number if items else seen

    def _look_at(self, item: Item) -> None:
        envelope = envelope_in(item)
        if envelope is None:
            return
        self._office.feed.tell(Arrived(self._name, envelope.sender, envelope.message.type))
        match envelope.message:
            case Interrupt() if envelope.sender == USER:
                self._cut(item.number)
            case ShutdownRequest() if envelope.sender in IN_CHARGE:
                self._tasks.start_soon(self._cut_late, item.number)

    async def _cut_late(self, number: int) -> None:
        await self._office.pen.clock.sleep(UNHEARD_SECONDS)
        self._cut(number)


def envelope_in(item: Item) -> Envelope | None:
    """Return the envelope in an item of mail, if it holds one."""
    envelope = read_envelope(item.body) if isinstance(item, Record) else None
    return envelope if isinstance(envelope, Envelope) else None
