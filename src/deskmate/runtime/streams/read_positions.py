"""How far somebody has read each stream."""

from collections.abc import Sequence

from deskmate.core.log.records import Item
from deskmate.ports import Store


class ReadPositions:
    """How far one reader has read the streams of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[str, int] = {}

    @property
    def since(self) -> dict[str, int]:
        """How far each stream was read."""
        return dict(self._read)

    async def of(self, stream: str, behind: int = 0) -> Sequence[Item]:
        """Return what is new in a stream. The first read of a stream starts after record `behind`."""
        after = self._read.get(stream, behind)
        items = await self._store.read(stream, after, sync=False)
        self._read[stream] = items[-1].number if items else after
        return items
