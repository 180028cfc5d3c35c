"""A new team with the conversation of another one, up to just before a message of the user.

The lead's transcript and the mail that it had heard are copied, with the same numbers. Nothing else is copied: the
new team has no teammates and no tasks, and has spent nothing. The lead is told so in one notice. The roster is
written last, so that after a kill there is no team that has only part of the conversation.
"""

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from anyio import to_thread

from deskmate.app.rewind.rewinding import Rewinder
from deskmate.config import Settings
from deskmate.core.agent.entries import Noticed
from deskmate.core.agent.memory import EMPTY, Memory, remember
from deskmate.core.agent.notices import forked_text
from deskmate.core.agent.open_calls import INTERRUPTED
from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import LEAD, log, mail, new_name
from deskmate.core.log.records import Item, Json, Record
from deskmate.core.values import frozen
from deskmate.errors import Held, Refused, StoreUnavailable
from deskmate.queries.member_view import entries_in
from deskmate.queries.stream_reader import Reading
from deskmate.queries.user_messages import user_words
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.system_clock import SystemClock
from deskmate.stores.engines.engine import TeamStore
from deskmate.stores.jsonl_store import TEAMS
from deskmate.trust.chosen_engine import engine_at
from deskmate.trust.folders import free_team
from deskmate.trust.known_secrets import redaction_of
from deskmate.trust.team_signature import Signing

_BLOBS = "blobs"


@frozen
class Forked:
    """A new team. `words`: the message of the user that comes next in the old one."""

    team: str
    source: str
    words: str


@frozen
class _Past:
    """A conversation up to a point."""

    log: tuple[Record, ...]
    mail: tuple[Record, ...]
    memory: Memory
    words: str


async def fork(rewinder: Rewinder, number: int, settings: Settings, name: str | None = None) -> Forked:
    """Make a new team from the conversation before a checkpoint. The old team stays as it is.

    `name`: by default the first free one of NAME-2, NAME-3, … Raises Refused if that is not possible.
    """
    place, source = rewinder.place, rewinder.team
    point = await rewinder.point(number)
    if point.entry is None:
        raise Refused(f"Point {number} has files, but no conversation", "Choose one with a message.")
    past = await to_thread.run_sync(_past, place, source, point.entry)
    team = new_name(name, "team") if name else free_team(place, first=source)
    with closing(engine_at(place).open(team, create=True)) as store:
        try:
            async with store.hold(LEAD, f"process {os.getpid()}, which creates it"):
                Signing(settings.state, place).claim(team)
                await _write(store, place, source, team, past, settings)
        except Held as error:
            raise _taken(team) from error
    return Forked(team, source, past.words)


def _past(place: Path, team: str, entry: int) -> _Past:
    reading = Reading(place, team)
    items = reading.items(log(LEAD))
    records = _whole([item for item in items if item.number < entry], team)
    memory = EMPTY
    for number, one in entries_in(records):
        memory = remember(memory, number, one)
    if memory.away:
        raise Refused(
            f"At that point the lead worked in team '{memory.away}', which cannot be copied", "Choose another point."
        )
    heard = memory.cursors.get(mail(LEAD), 0)
    letters = _whole([item for item in reading.items(mail(LEAD)) if item.number <= heard], team)
    words = next((user_words(one) for number, one in entries_in(items) if number == entry), "")
    return _Past(records, letters, memory, words)


def _whole(items: Sequence[Item], team: str) -> tuple[Record, ...]:
    """Return records if none is missing. Raises Refused otherwise, because their copies would have other numbers."""
    records = tuple(item for item in items if isinstance(item, Record))
    if [record.number for record in records] != list(range(1, len(items) + 1)):
        raise Refused(f"Records of team '{team}' are damaged, so it cannot be copied", f"See: deskmate doctor {team}")
    return records


async def _write(store: TeamStore, place: Path, source: str, team: str, past: _Past, settings: Settings) -> None:
    writer = LogWriter(store, SystemClock(), redaction_of(settings))
    roster = Roster(writer)
    if (await roster.refresh()).team:
        raise _taken(team)
    await to_thread.run_sync(_copy_blobs, place, source, team)
    if past.mail:
        await store.append(mail(LEAD), *(record.body for record in past.mail))
    await store.append(log(LEAD), *(_moved(record.body, source, team) for record in past.log))
    ends = [Result(INTERRUPTED, ok=False).did(call) for call in past.memory.calls]
    # `away` says that what the lead knew of members, tasks and requests does not apply here.
    notice = Noticed(text=forked_text(team, source), roster=1, board=0, away="")
    await writer.append(log(LEAD), *(entry.body() for entry in (*ends, notice)))
    await roster.found_fork(team, source, len(past.log))


def _taken(team: str) -> Refused:
    return Refused(f"There is already a team '{team}'", "Choose another name with --team.")


def _moved(body: Json, source: str, team: str) -> Json:
    """Return a record of a transcript as the new team has it: with its own name, and paths of its own blobs."""
    text = json.dumps(body).replace(f"{TEAMS}/{source}/{_BLOBS}/", f"{TEAMS}/{team}/{_BLOBS}/")
    moved: dict[str, object] = json.loads(text)
    made_of = moved.get("made_of")
    return {**moved, "made_of": {**made_of, "team": team}} if isinstance(made_of, dict) and made_of else moved


def _copy_blobs(place: Path, source: str, team: str) -> None:
    """Copy what the lead keeps outside its conversation."""
    old, new = (place / TEAMS / name / _BLOBS for name in (source, team))
    try:
        for file in sorted(old.glob(f"{LEAD}-*")) if old.is_dir() else ():
            new.mkdir(mode=0o700, exist_ok=True)
            shutil.copyfile(file, new / file.name, follow_symlinks=False)
    except OSError as error:
        raise StoreUnavailable.of(new, error) from error
