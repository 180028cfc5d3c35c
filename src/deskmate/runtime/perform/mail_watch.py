"""Mail that arrives while something runs.

An agent hears mail between two steps. This only looks at it: faces show that mail waits, and some messages cut the
step that runs.
"""

from collections.abc import Callable, Mapping

import anyio

from deskmate.core.log.names import IN_CHARGE, USER
from deskmate.core.log.records import Item
from deskmate.core.team.messages import Interrupt, ShutdownRequest, envelope_in
from deskmate.runtime.events import Arrived
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.task_groups import PlayTasks
from deskmate.runtime.team_state import TeamState

# How long a shutdown request may stay unheard before it cuts the step that runs.
UNHEARD_SECONDS = 150.0


class MailWatch:
    """Watches the mail of one member. `cut` gets mailbox and number of a message that cuts the step that runs."""

    def __init__(
        self, team_state: TeamState, mailbox: Mailbox, cut: Callable[[str, int], None], tasks: PlayTasks
    ) -> None:
        self._team_state, self._mailbox, self._cut, self._tasks = team_state, mailbox, cut, tasks
        self._seen: dict[str, int] = {}
        self._scope: anyio.CancelScope | None = None

    async def keep(self, seen: Mapping[str, int]) -> None:
        """Watch for mail after these numbers, for as long as this runs or until `end`."""
        store, boxes = self._team_state.writer.store, self._mailbox.boxes
        self._seen = seen = {box: seen.get(box, 0) for box in boxes}
        with anyio.CancelScope() as self._scope:
            while True:
                await store.changed({stream: seen[box] for box, stream in boxes.items()})
                for box, stream in boxes.items():
                    for item in await store.read(stream, seen[box]):
                        self._look_at(box, item)
                        seen[box] = item.number

    def end(self) -> Mapping[str, int]:
        """Stop watching. Return how far each mailbox was seen."""
        assert self._scope is not None, "it watches from the first step on"
        self._scope.cancel()
        return self._seen

    def _look_at(self, box: str, item: Item) -> None:
        envelope = envelope_in(item)
        if envelope is None:
            return
        self._team_state.feed.tell(Arrived(self._mailbox.me, envelope.sender, envelope.message.type))
        match envelope.message:
            case Interrupt() if envelope.sender == USER:
                self._cut(box, item.number)
            case ShutdownRequest() if envelope.sender in IN_CHARGE:
                self._tasks.start_soon(self._cut_late, box, item.number)

    async def _cut_late(self, box: str, number: int) -> None:
        await self._team_state.writer.clock.sleep(UNHEARD_SECONDS)
        self._cut(box, number)
