"""A member's mail and transcript."""

import difflib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from deskmate.core.agent.entries import Entry, read_entry
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import LEAD, USER, box, known_name, log, mail
from deskmate.core.log.records import Item, Json, Record
from deskmate.core.team.members import RosterState, who_is_here
from deskmate.core.team.messages import Envelope, read_envelope
from deskmate.core.values import frozen
from deskmate.errors import Refused, StoreCorrupt
from deskmate.queries.stream_reader import Reading, colours_of, reading_of, telling
from deskmate.trust.chosen_engine import engine_at

HEARD_SHOWN = 20


@frozen
class Letter:
    """A message in a mailbox. `heard`: None in the user's mailbox, which has no cursor."""

    number: int
    envelope: Envelope
    heard: bool | None = None


@frozen
class SeenInbox:
    """A member's mail in order: all unheard, and the last heard messages. `before`: how many more there are."""

    team: str
    member: str
    letters: tuple[Letter, ...]
    before: int
    colours: dict[str, str]
    damage: tuple[str, ...]


@frozen
class SeenTranscript:
    """A member's entries by number, and the number of the last record."""

    team: str
    member: str
    colour: str
    entries: tuple[tuple[int, Entry], ...]
    last: int
    damage: tuple[str, ...]


def look_at_inbox(folder: Path | None, team: str | None, name: str, last: int = HEARD_SHOWN) -> SeenInbox:
    """Return a member's mail. Raises Refused, with who is there, for a name that was never on the team.

    `last`: how many of the heard messages.
    """
    reading, roster, name = _member_of(folder, team, name)
    heard = None if name == USER else _heard(reading, roster, name)
    letters = list(_letters(reading.where(mail(name), roster), name, heard))
    known = [letter for letter in letters if letter.heard is not False]
    shown = [*known[-last:], *(letter for letter in letters if letter.heard is False)]
    return SeenInbox(
        team=reading.team,
        member=name,
        letters=tuple(sorted(shown, key=lambda letter: letter.number)),
        before=len(letters) - len(shown),
        colours=colours_of(roster),
        damage=reading.damage,
    )


def look_at_transcript(folder: Path | None, team: str | None, name: str) -> SeenTranscript:
    """Return a member's transcript. Raises Refused, with who is there, for a name that has none."""
    if name == USER:
        raise Refused("The user has no transcript", "To see what was written to you, run: deskmate inbox user")
    reading, roster, name = _member_of(folder, team, name)
    items = reading.where(log(name), roster).items(log(name))
    return SeenTranscript(
        team=reading.team,
        member=name,
        colour=colours_of(roster).get(name, ""),
        entries=tuple(entries_in(items)),
        last=items[-1].number if items else 0,
        damage=reading.damage,
    )


async def follow(folder: Path | None, seen: SeenTranscript) -> AsyncIterator[tuple[int, Entry]]:
    """Yield entries that are added to a transcript after those in `seen`, as they are written. Never ends."""
    reading, stream, last = reading_of(folder, seen.team), log(seen.member), seen.last
    there = reading.where(stream, reading.roster())
    with telling(there.workspace):
        store = engine_at(there.workspace).open(there.team)
    with closing(store):
        while True:
            items = await store.read(stream, last, sync=False)
            for found in entries_in(items):
                yield found
            last = items[-1].number if items else last
            await store.changed({stream: last})


def _member_of(folder: Path | None, team: str | None, name: str) -> tuple[Reading, RosterState, str]:
    """Return the team that is meant, its roster, and the name as the roster spells it.

    Raises Refused for a name that was never on the team, or StoreCorrupt.
    """
    reading = reading_of(folder, team)
    roster = reading.roster()
    name = roster.spelled(name)
    if name in roster.members or name == USER:
        return reading, roster, name
    if not reading.damage:
        raise Refused(f"'{name[:80]}' was never on team '{reading.team}'", _who_was_here(roster, name))
    # A damaged roster cannot tell who was never on it. Show what there is of this member.
    if not reading.has_streams_of(known_name(name)):
        raise StoreCorrupt(f"Cannot tell whether '{name}' is on team '{reading.team}': {reading.damage[0]}")
    return reading, roster, name


def _who_was_here(roster: RosterState, name: str) -> str:
    """Return who is or was on a team, beginning with the name that may have been meant."""
    if not roster.members:
        return "Nobody is on it."
    near = difflib.get_close_matches(name, [*roster.members, USER], n=1)
    left = [member.name for member in roster.members.values() if not member.here]
    meant = f"Did you mean '{near[0]}'? " if near else ""
    gone = f" Left before: {', '.join(left)}." if left else ""
    return f"{meant}{who_is_here(roster)}{gone}"


def _heard(reading: Reading, roster: RosterState, name: str) -> int:
    """Return up to which number a member has heard its mailbox, according to its transcript."""
    cursor, own = 0, box(name, roster.away)
    for item in reading.where(log(name), roster).items(log(name)):
        body: Json = item.body if isinstance(item, Record) else {}
        match body:
            case {"type": "heard", "box": name_, "after": int(after), "upto": int(upto)} if name_ == own:
                # If the entry before it was lost, the mail between is heard again.
                cursor = max(cursor, upto) if after <= cursor else cursor
            case {"type": "noticed", "away": str(away)} if own not in (mail(LEAD), box(LEAD, away)):
                # The lead moved to another team. A later team of this name counts from the beginning.
                cursor = 0 if name == LEAD else cursor
    return cursor


def _letters(reading: Reading, name: str, heard: int | None) -> Iterator[Letter]:
    for item in reading.items(mail(name)):
        envelope = read_envelope(item.body) if isinstance(item, Record) else None
        if isinstance(envelope, Foreign):
            reading.note(f"Record {item.number} in the mailbox of '{name}' is not a message: {envelope.reason}")
        elif envelope is not None:
            yield Letter(item.number, envelope, None if heard is None else item.number <= heard)


def entries_in(items: Sequence[Item]) -> Iterator[tuple[int, Entry]]:
    """Yield the entries of a transcript with their numbers. Skips what cannot be read."""
    for item in items:
        entry = read_entry(item.body) if isinstance(item, Record) else None
        if entry is not None and not isinstance(entry, Foreign):
            yield item.number, entry
