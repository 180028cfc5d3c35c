"""Whether anything has happened in a team since a reader last looked, and waiting for it.

A cursor has the number of the last record of each stream that was seen, and whether a process ran the team:
`r12.b3.u1.l40.p1`. It is computed from the disk alone, so it is good for any reader, also after a restart.
"""

import re
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import anyio
from anyio import to_thread

from deskmate.core.log.names import BOARD, LEAD, ROSTER, USER, log, mail
from deskmate.core.values import frozen
from deskmate.errors import BadInput, StoreCorrupt
from deskmate.ports import Store
from deskmate.queries.stream_reader import Reading, reading_of, telling
from deskmate.trust.folders import open_store

# The streams that a cursor counts, by letter: members and their status, tasks, mail to the user, the lead's transcript.
_STREAMS = {"r": ROSTER, "b": BOARD, "u": mail(USER), "l": log(LEAD)}
_WORDS = {"r": "members", "b": "board", "u": "mail", "l": "lead", "p": "process"}
_CURSOR = re.compile(r"r(\d{1,15})\.b(\d{1,15})\.u(\d{1,15})\.l(\d{1,15})\.p([01])", re.ASCII)
# Nothing is written if the process that runs a team is killed, so its seat is checked this often.
_SEAT_SECONDS = 2.0
# Changes within this time are read together.
_BREATH_SECONDS = 0.3


@frozen
class SeenNews:
    """What is new since a cursor. `changed`: members, board, mail, lead, process, as far as they changed.

    `cursor`: for the next look. `live`: whether a process runs the team.
    """

    team: str
    cursor: str
    changed: tuple[str, ...]
    live: bool


async def follow_news(
    folder: Path | None, team: str | None, cursor: str | None, seconds: float
) -> AsyncIterator[SeenNews]:
    """Yield what is known so far, again and again, until there is news since the cursor or the time is up.

    The last one counts. Without a cursor, everything is news. Raises BadInput for something that is not a cursor.
    """
    since = None if cursor is None else _read(cursor)
    reading = reading_of(folder, team)
    deadline = time.monotonic() + seconds
    with telling(reading.workspace), open_store(reading.workspace, reading.team) as store:
        while True:
            seen = await _look(reading, store, since or {})
            changed = _changed(since or {}, seen)
            yield SeenNews(reading.team, _written(seen), changed, bool(seen["p"]))
            left = deadline - time.monotonic()
            if changed or left <= 0:
                return
            with anyio.move_on_after(min(left, _SEAT_SECONDS)):
                await store.changed({stream: seen[letter] for letter, stream in _STREAMS.items()})
                await anyio.sleep(_BREATH_SECONDS)


def _read(cursor: str) -> dict[str, int]:
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise BadInput(f"{ascii(cursor)[:80]} is not a cursor", "Use the cursor of an earlier answer, or none.")
    return dict(zip(_WORDS, map(int, found.groups()), strict=True))


def _written(numbers: Mapping[str, int]) -> str:
    return ".".join(f"{letter}{number}" for letter, number in numbers.items())


async def _look(reading: Reading, store: Store, since: Mapping[str, int]) -> dict[str, int]:
    # First the process: what it wrote before it ended is read then.
    live = await to_thread.run_sync(reading.holder) is not None
    last = {letter: await _last_of(store, stream, since.get(letter, 0)) for letter, stream in _STREAMS.items()}
    return {**last, "p": int(live)}


async def _last_of(store: Store, stream: str, after: int) -> int:
    """Return the number of the last record of a stream. `after`: one that was there, if the cursor is of this team."""
    try:
        items = await store.read(stream, after, sync=False)
    except StoreCorrupt:
        # The stream ends before that record.
        after, items = 0, await store.read(stream, 0, sync=False)
    return items[-1].number if items else after


def _changed(since: Mapping[str, int], last: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(_WORDS[letter] for letter, number in last.items() if number != since.get(letter))
