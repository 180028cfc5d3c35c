"""Whether anything has happened in a team since a reader last looked, and waiting for it.

A cursor has the number of the last record of each stream that was seen, and whether a process ran the team:
`r12.b3.u1.l40.p1`. If the lead has another team, its roster and board follow: `r12.b3.u1.l40.p1.web.r2.b0`. It is
computed from the disk alone, so it is good for any reader, also after a restart.
"""

import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from dataclasses import field
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from deskmate.core.log.names import BOARD, LEAD, ROSTER, USER, log, mail
from deskmate.core.values import frozen
from deskmate.errors import BadInput, StoreCorrupt
from deskmate.ports import Store
from deskmate.queries.stream_reader import Reading, reading_of, telling
from deskmate.queries.team_view import teams_of_lead
from deskmate.runtime.task_groups import first_of
from deskmate.trust.folders import open_store

# The streams that a cursor counts, by letter: members and their status, tasks, mail to the user, the lead's transcript.
_STREAMS = {"r": ROSTER, "b": BOARD, "u": mail(USER), "l": log(LEAD)}
_WORDS = {"r": "members", "b": "board", "u": "mail", "l": "lead", "p": "process"}
_CURSOR = re.compile(
    r"r(\d{1,15})\.b(\d{1,15})\.u(\d{1,15})\.l(\d{1,15})\.p([01])(?:\.([a-z0-9_-]+)\.r(\d{1,15})\.b(\d{1,15}))?",
    re.ASCII,
)
# The streams of the other team that count. Mail to the user and the lead's transcript are the same in both.
_OF_OTHER = ("r", "b")
# Nothing is written if the process that runs a team is killed, so its seat is checked this often.
_SEAT_SECONDS = 2.0
# Changes within this time are read together.
_BREATH_SECONDS = 0.3


@frozen
class SeenNews:
    """What is new since a cursor. `changed`: members, board, mail, lead, process, as far as they changed.

    `cursor`: for the next look. `live`: whether a process runs the team. `other`: the other team of the same lead. Its
    members and board count too.
    """

    team: str
    cursor: str
    changed: tuple[str, ...]
    live: bool
    other: str = ""


@frozen
class _Look:
    """The number of the last record of each stream, by its letter. `other`: the other team of the same lead."""

    numbers: Mapping[str, int]
    other: str = ""
    others: Mapping[str, int] = field(default_factory=dict)

    @property
    def cursor(self) -> str:
        """What a reader passes the next time."""
        rest = [self.other, *_parts(self.others)] if self.other else []
        return ".".join([*_parts(self.numbers), *rest])

    def changed_since(self, since: "_Look | None") -> tuple[str, ...]:
        """Return what has changed, in words. Without an earlier look, everything."""
        if since is None:
            return tuple(_WORDS.values())
        letters = {letter for letter, number in self.numbers.items() if number != since.numbers[letter]}
        for letter in _OF_OTHER:
            if (self.other, self.others.get(letter)) != (since.other, since.others.get(letter)):
                letters.add(letter)
        return tuple(word for letter, word in _WORDS.items() if letter in letters)


def _parts(numbers: Mapping[str, int]) -> list[str]:
    return [f"{letter}{number}" for letter, number in numbers.items()]


async def follow_news(
    folder: Path | None, team: str | None, cursor: str | None, seconds: float
) -> AsyncIterator[SeenNews]:
    """Yield what is known so far, again and again, until there is news since the cursor or the time is up.

    The last one counts. Without a cursor, everything is news. Raises BadInput for something that is not a cursor.
    """
    since = None if cursor is None else _read(cursor)
    reading = reading_of(folder, team)
    deadline = time.monotonic() + seconds
    with telling(reading.workspace), ExitStack() as stack:
        store = stack.enter_context(open_store(reading.workspace, reading.team))
        opened: dict[str, Store] = {}
        while True:
            teams = await to_thread.run_sync(teams_of_lead, reading)
            other = next((name for name in teams if name != reading.team), "")
            if other and other not in opened:
                opened[other] = stack.enter_context(open_store(reading.workspace, other))
            seen = await _look(reading, store, other, opened.get(other), since)
            changed = seen.changed_since(since)
            yield SeenNews(reading.team, seen.cursor, changed, bool(seen.numbers["p"]), other)
            left = deadline - time.monotonic()
            if changed or left <= 0:
                return
            with anyio.move_on_after(min(left, _SEAT_SECONDS)):
                await _wait(store, seen, opened.get(other))
                await anyio.sleep(_BREATH_SECONDS)


async def _wait(store: Store, seen: _Look, other: Store | None) -> None:
    """Return once one of the streams has changed."""
    waits = [partial(store.changed, {stream: seen.numbers[letter] for letter, stream in _STREAMS.items()})]
    if other:
        waits.append(partial(other.changed, {_STREAMS[letter]: seen.others[letter] for letter in _OF_OTHER}))
    await first_of(*waits)


def _read(cursor: str) -> _Look:
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise BadInput(f"{ascii(cursor)[:80]} is not a cursor", "Use the cursor of an earlier answer, or none.")
    *numbers, other, roster, board = found.groups()
    others = dict(zip(_OF_OTHER, (int(roster), int(board)), strict=True)) if other else {}
    return _Look(dict(zip(_WORDS, map(int, numbers), strict=True)), other or "", others)


async def _look(reading: Reading, store: Store, other: str, beside: Store | None, since: _Look | None) -> _Look:
    # First the process: what it wrote before it ended is read then.
    live = await to_thread.run_sync(reading.holder) is not None
    before = since.numbers if since else {}
    last = {letter: await _last_of(store, stream, before.get(letter, 0)) for letter, stream in _STREAMS.items()}
    numbers = {**last, "p": int(live)}
    if beside is None:
        return _Look(numbers)
    before = since.others if since and since.other == other else {}
    others = {letter: await _last_of(beside, _STREAMS[letter], before.get(letter, 0)) for letter in _OF_OTHER}
    return _Look(numbers, other, others)


async def _last_of(store: Store, stream: str, after: int) -> int:
    """Return the number of the last record of a stream. `after`: one that was there, if the cursor is of this team."""
    try:
        items = await store.read(stream, after, sync=False)
    except StoreCorrupt:
        # The stream ends before that record.
        after, items = 0, await store.read(stream, 0, sync=False)
    return items[-1].number if items else after
