"""How far somebody has read each stream."""

from collections.abc import Sequence

from deskmate.core.log.records import Item
from deskmate.runtime.team_state import TeamState


class ReadPositions:
    """How far one reader has read. Streams of another team have the same names and are read from the beginning."""

    def __init__(self, team_state: TeamState) -> None:
        self._team_state = team_state
        self._turn = team_state.roster.turn
        self._read: dict[str, int] = {}

    @property
    def since(self) -> dict[str, int]:
        """How far each stream was read."""
        return dict(self._read)

    def turned(self) -> bool:
        """Return whether the team has changed since the last call. If so, start at the beginning of its streams."""
        turn, self._turn = self._turn, self._team_state.roster.turn
        if turn == self._turn:
            return False
        self._read = {}
        return True

    async def of(self, stream: str, behind: int = 0) -> Sequence[Item]:
        """Return what is new in a stream. The first read of a stream starts after record `behind`."""
        # The lead may have moved to another team between two reads. Then read nothing until `turned` is called.
        if self._team_state.roster.turn != self._turn:
            return ()
        after = self._read.get(stream, behind)
        items = await self._team_state.writer.store.read(stream, after, sync=False)
        self._read[stream] = items[-1].number if items else after
        return items
