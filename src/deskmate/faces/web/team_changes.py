"""What is new in a team since it was last told, as events.

Each event has only what changed. Members, tasks, letters and items of a transcript have keys, and a later one with the
same key replaces the earlier one. So an event that is told twice changes nothing, and a page that lost its connection
asks for what came after the last entry that it has.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, TypeVar

import anyio

from deskmate.app.attach.team_on_disk import TeamOnDisk
from deskmate.faces.common.items.entry_items import EntryReader
from deskmate.faces.common.items.mail_items import mail_items
from deskmate.faces.common.items.question_items import question_item
from deskmate.faces.common.items.task_items import task_items
from deskmate.faces.common.items.transcript_items import CallItem, CallState
from deskmate.faces.web.shown_json import (
    entry_json,
    letter_json,
    members_json,
    question_json,
    summary_json,
    task_json,
)

T = TypeVar("T")

# A page that opens a long conversation gets its end first.
FIRST_ITEMS = 200
# Nothing is written if the process that runs a team is killed, so its seat is checked this often.
_SEAT_SECONDS = 3.0
_BREATH_SECONDS = 0.05


class MemberWords:
    """The transcript of one member as items, and what it does now."""

    def __init__(self, name: str) -> None:
        self.name, self.last = name, 0
        self._reader = EntryReader()
        self._running: dict[str, str] = {}

    async def news(self, team: TeamOnDisk) -> dict[str, dict[str, Any]]:
        """Return the items that are new or have changed, by key. `number`: the entry that made it so."""
        found: dict[str, dict[str, Any]] = {}
        for number, entry in await team.entries(self.name, self.last):
            for item in self._reader.read(self.name, number, entry):
                found[item.key] = {**entry_json(item), "number": number}
                if isinstance(item, CallItem):
                    self._note_call(item)
            self.last = number
        return found

    def _note_call(self, item: CallItem) -> None:
        if item.state is CallState.RUNNING:
            self._running[item.key] = item.title
        elif item.is_over:
            self._running.pop(item.key, None)

    @property
    def doing(self) -> str:
        """The call that has been running longest; empty if none does."""
        return next(iter(self._running.values()), "")


class _Kept(Generic[T]):
    """The JSON of items, made again only if an item has changed. Most never do."""

    def __init__(self, make: Callable[[T], dict[str, Any]]) -> None:
        self._make = make
        self._made: dict[object, tuple[T, dict[str, Any]]] = {}

    def of(self, key: object, item: T) -> dict[str, Any]:
        """Return the JSON of an item."""
        known = self._made.get(key)
        if known is None or known[0] != item:
            known = self._made[key] = item, self._make(item)
        return known[1]


class TeamChanges:
    """Tells what changed in a team, each time it is asked. `watches`: whose transcript is told too."""

    def __init__(self, team: TeamOnDisk, watches: str, after: int) -> None:
        self._team, self._watches, self._after = team, watches, after
        self._is_first = after == 0
        self._told: dict[str, dict[str, Any]] = {}
        self._words: dict[str, MemberWords] = {}
        self._tasks, self._letters = _Kept(task_json), _Kept(letter_json)

    async def next(self) -> tuple[int, dict[str, Any]]:
        """Return the number of the last entry of the watched member, and what has changed."""
        transcript = await self._transcript()
        parts = {
            "team": {"": self._summary()},
            "members": self._members(),
            "tasks": {str(item.task.id): self._tasks.of(item.task.id, item) for item in task_items(self._team.board)},
            "letters": {item.key: self._letters.of(item.key, item) for item in mail_items(self._team.letters)},
            "questions": {one.id: question_json(question_item(one)) for one in self._team.questions},
        }
        changes: dict[str, Any] = {} if self._told else {"whole": True}
        changes |= {name: change for name, part in parts.items() if (change := self._change(name, part))}
        if transcript:
            changes["transcript"] = transcript
        words = self._words.get(self._watches)
        return (words.last if words else 0), changes

    async def _transcript(self) -> dict[str, Any]:
        for name, member in self._team.roster.members.items():
            if member.here or name == self._watches:
                self._words.setdefault(name, MemberWords(name))
        watched: dict[str, dict[str, Any]] = {}
        for name, words in self._words.items():
            news = await words.news(self._team)
            if name == self._watches:
                watched = news
        items = [item for item in watched.values() if item["number"] > self._after]
        if not items:
            return {}
        most = FIRST_ITEMS if self._is_first else len(items)
        self._is_first = False
        return {"member": self._watches, "items": items[-most:], "before": max(0, len(items) - most)}

    def _members(self) -> dict[str, dict[str, Any]]:
        members = members_json(self._team.roster, self._team.board, self._team.spending)
        for name, one in members.items():
            words = self._words.get(name)
            one["doing"] = words.doing if words and one["state"] == "working" else ""
        return members

    def _summary(self) -> dict[str, Any]:
        team = self._team
        return {**summary_json(team.roster, team.board, team.spending.team), "running": team.running}

    def _change(self, name: str, part: dict[str, Any]) -> dict[str, Any]:
        """Return the values that differ from those told last, by key, and None for those that are gone."""
        told = self._told.get(name, {})
        self._told[name] = part
        gone = dict.fromkeys(key for key in told if key not in part)
        return {**gone, **{key: value for key, value in part.items() if told.get(key) != value}}

    async def wait(self) -> None:
        """Return once something may have changed."""
        logs = {name: words.last for name, words in self._words.items()}
        with anyio.move_on_after(_SEAT_SECONDS):
            await self._team.changed(logs)
            # Records that are written together are told together.
            await anyio.sleep(_BREATH_SECONDS)
        await self._team.look()


async def team_events(team: TeamOnDisk, watches: str, after: int) -> AsyncIterator[tuple[int, dict[str, Any]]]:
    """Yield what has changed, first everything. Never ends. `after`: the last entry that is known already."""
    changes = TeamChanges(team, watches, after)
    while True:
        number, change = await changes.next()
        # Also if nothing has changed, so that a connection that nobody reads any more is noticed.
        yield number, change
        await changes.wait()
