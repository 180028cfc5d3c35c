"""What is new in a team since a page was last told, as events.

Each event has only what changed. Members, tasks, letters and items of a transcript have keys, and a later one with the
same key replaces the earlier one. So an event that is told twice changes nothing, and a page that lost its connection
asks for what came after the last entry that it has.
"""

from collections.abc import AsyncIterator
from typing import Any

from deskmate.faces.web.live.shared_team import SharedTeam
from deskmate.faces.web.live.transcripts import ITEMS_AT_ONCE, MemberWords, shown_items


class TeamChanges:
    """Tells a page what changed in a team, each time it is asked. `watches`: whose transcript is told too."""

    def __init__(self, team: SharedTeam, watches: str, after: int) -> None:
        self._team, self._after = team, after
        self._version, self._is_first = 0, after == 0
        self._words = MemberWords(watches)

    async def next(self) -> tuple[int, dict[str, Any]]:
        """Return the number of the last entry of the watched member, and what has changed."""
        version = self._team.version
        changes = self._team.since(self._version)
        self._version = version
        transcript = await self._transcript()
        if transcript:
            changes["transcript"] = transcript
        return self._words.last, changes

    async def _transcript(self) -> dict[str, Any]:
        words = self._words
        if words.name not in self._team.disk.roster.members:
            return {}
        news = await words.news(self._team.disk)
        self._team.note_read(words.name, words.last)
        items = {key: (number, item) for key, (number, item) in news.items() if number > self._after}
        if not items:
            return {}
        most = ITEMS_AT_ONCE if self._is_first else len(items)
        self._is_first = False
        last = dict(list(items.items())[-most:])
        return {"member": words.name, "items": shown_items(last), "before": len(items) - len(last)}

    async def wait(self) -> None:
        """Return once something may have changed."""
        await self._team.wait(self._version)


async def team_events(team: SharedTeam, watches: str, after: int) -> AsyncIterator[tuple[int, dict[str, Any]]]:
    """Yield what has changed, first everything. Never ends. `after`: the last entry that is known already."""
    changes = TeamChanges(team, watches, after)
    while True:
        number, change = await changes.next()
        # Also if nothing has changed, so that a connection that nobody reads any more is noticed.
        yield number, change
        await changes.wait()
