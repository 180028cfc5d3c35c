"""Earlier parts of transcripts, at a time too, and a search in all of them."""

from bisect import bisect
from collections.abc import Iterator
from typing import Any

from deskmate.app.attach.team_on_disk import TeamOnDisk
from deskmate.core.log.names import log
from deskmate.faces.common.items.entry_items import EntryReader
from deskmate.faces.common.items.transcript_items import TranscriptItem
from deskmate.faces.web.live.entry_times import EntryTimes
from deskmate.faces.web.shown_json import Shown, entry_json
from deskmate.queries.member_view import entries_in

# A page gets so many items of a long conversation at once.
ITEMS_AT_ONCE = 200
_MOST_FOUND = 100
_EXCERPT_CHARS = 160


class MemberWords:
    """The transcript of one member as items."""

    def __init__(self, name: str) -> None:
        self.name, self.last = name, 0
        self._reader = EntryReader()

    async def news(self, team: TeamOnDisk) -> dict[str, tuple[int, TranscriptItem]]:
        """Return the items that are new or have changed, by key, with the number of the entry that made them so."""
        found: dict[str, tuple[int, TranscriptItem]] = {}
        for number, entry in await team.entries(self.name, self.last):
            for item in self._reader.read(self.name, number, entry):
                found[item.key] = number, item
            self.last = number
        return found


def shown_items(items: dict[str, tuple[int, TranscriptItem]]) -> list[Shown]:
    """Return items as JSON. `number`: the entry that made each as it is."""
    return [{**entry_json(item), "number": number} for number, item in items.values()]


async def earlier_items(team: TeamOnDisk, name: str, before: int) -> dict[str, Any]:
    """Return the last items that were complete before an entry, and how many there are before these."""
    items = await MemberWords(name).news(team) if name in team.roster.members else {}
    known = [(key, one) for key, one in items.items() if one[0] < before]
    last = dict(known[-ITEMS_AT_ONCE:])
    return {"items": shown_items(last), "before": len(known) - len(last)}


class TimedWords:
    """The items of a whole transcript, and when each appeared and last changed."""

    def __init__(self, since: dict[str, float], items: dict[str, tuple[float, TranscriptItem]]) -> None:
        self._since, self._items = since, items

    @classmethod
    async def read(cls, team: TeamOnDisk, times: EntryTimes, name: str) -> "TimedWords":
        """Read the transcript of a member. `times` must know the records of the team up to now."""
        records = await team.records(log(name)) if name in team.roster.members else ()
        at, reader = times.of(records), EntryReader()
        since, items = dict[str, float](), dict[str, tuple[float, TranscriptItem]]()
        for number, entry in entries_in(records):
            for item in reader.read(name, number, entry):
                since.setdefault(item.key, at[number])
                items[item.key] = at[number], item
        return cls(since, items)

    def shown(self, first: int = 0, last: int | None = None) -> list[Shown]:
        """Return items as JSON, with their times: `since` and `changed`."""
        part = list(self._items.items())[first:last]
        return [{**entry_json(item), "since": self._since[key], "changed": changed} for key, (changed, item) in part]

    def around(self, at: float) -> dict[str, Any]:
        """Return the items around a time, and from when until when these are enough. None: for ever."""
        times = list(self._since.values())
        place = bisect(times, at)
        first, last = max(0, place - ITEMS_AT_ONCE), place + ITEMS_AT_ONCE
        return {
            "items": self.shown(first, last),
            "from": times[first + ITEMS_AT_ONCE // 2] if first else None,
            "until": times[last - 1] if last < len(times) else None,
        }


async def found_items(team: TeamOnDisk, words: str) -> dict[str, Any]:
    """Return where all these words are in one item of a transcript, the latest of each member first."""
    wanted = words.lower().split()
    found: list[Shown] = []
    for name in team.roster.members:
        items = await MemberWords(name).news(team)
        for number, item in reversed(items.values()):
            text = "\n".join(_texts(entry_json(item)))
            if wanted and all(word in text.lower() for word in wanted):
                found.append({"member": name, "key": item.key, "number": number, "excerpt": _excerpt(text, wanted[0])})
            if len(found) > _MOST_FOUND:
                return {"found": found[:-1], "cut": True}
    return {"found": found, "cut": False}


def _texts(shown: Any) -> Iterator[str]:
    """Yield the texts of an item that a person sees."""
    match shown:
        case str():
            yield shown
        case list():
            # The first part of an element of Markdown is its tag.
            is_element = len(shown) == 3 and isinstance(shown[1], dict)
            for part in shown[2] if is_element else shown:
                yield from _texts(part)
        case dict():
            for key in ("title", "body", "details", "diff", "failure"):
                yield from _texts(shown.get(key))


def _excerpt(text: str, word: str) -> str:
    line = " ".join(text.split())
    place = max(0, line.lower().find(word) - _EXCERPT_CHARS // 3)
    cut = line[place : place + _EXCERPT_CHARS]
    return f"{'…' if place else ''}{cut}{'…' if place + _EXCERPT_CHARS < len(line) else ''}"
