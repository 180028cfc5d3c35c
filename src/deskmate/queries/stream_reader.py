"""The streams of a team, damaged or not.

Everything readable is returned, whether the team runs or not. Each damage is reported as a sentence. `team_view` and
`member_view` make views of it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import LEAD, ROSTER, SHARED, USER, log, mail
from deskmate.core.log.records import Damaged, Item, Json, Record
from deskmate.core.team.members import EMPTY, RosterState
from deskmate.core.team.messages import Broadcast, Plain, read_envelope
from deskmate.core.team.roster_fold import fold
from deskmate.errors import StoreError, StoreUnavailable
from deskmate.stores.engines.engine import Damage
from deskmate.stores.jsonl_store import TEAMS
from deskmate.trust.chosen_engine import engine_at
from deskmate.trust.folders import known_team, latest_team, workspace_of

# The user's first message is among the first of the lead's mailbox.
_MOST_LINES = 50
_TITLE_CHARS = 60
# At most this many damaged records of each stream are reported one by one.
MOST_TOLD = 20


@contextmanager
def telling(workspace: Path) -> Iterator[None]:
    """Turn an OSError into StoreUnavailable, which says where it happened and what to do."""
    try:
        yield
    except OSError as error:
        raise StoreUnavailable.of(error.filename or workspace, error) from error


def workspace_at(folder: Path | None) -> Path:
    """Return the given folder, or the workspace that the current folder belongs to. Raises StoreError."""
    place = workspace_of(folder)
    with telling(place):
        # Try to list it: an unreadable folder must not count as one without teams.
        if os.path.lexists(place / TEAMS):
            os.listdir(place / TEAMS)
    return place


def teams_at(folder: Path | None) -> list[str]:
    """Return the names of the teams of a workspace in alphabetical order. Raises StoreError."""
    place = workspace_at(folder)
    with telling(place):
        return engine_at(place).teams()


def team_at(workspace: Path, name: str | None) -> str:
    """Return the named team, or the one last written to. Raises Refused."""
    with telling(workspace):
        return latest_team(workspace) if name is None else known_team(workspace, name)


def reading_of(folder: Path | None, team: str | None) -> "Reading":
    """Return the team that is meant, ready to be read. Raises Refused or StoreError."""
    place = workspace_at(folder)
    return Reading(place, team_at(place, team))


def colours_of(roster: RosterState) -> dict[str, str]:
    """Return each member's colour, which is the same on every screen."""
    return {member.name: member.colour for member in roster.members.values() if member.colour}


def title_at(workspace: Path, team: str) -> str:
    """Return the title of a team: its description, or the user's first words, or an empty string."""
    try:
        engine = engine_at(workspace)
        begun = engine.founding(team)
        if begun and begun.description:
            return _title_of(begun.description)
        return next(filter(None, map(_title_in, engine.first_records(team, mail(LEAD), _MOST_LINES))), "")
    except (OSError, StoreError):
        # The code that reads the streams themselves reports what is wrong.
        return ""


def _title_in(record: Json) -> str:
    """Return the title from a record of mail, or an empty string if it has no words of the user."""
    envelope = read_envelope(record)
    if isinstance(envelope, Foreign) or envelope.sender != USER:
        return ""
    # Imported here because listing teams needs nothing else of it.
    from deskmate.core.prompt.user_frames import parted

    return _title_of(parted(envelope.message.content)[0]) if isinstance(envelope.message, Plain | Broadcast) else ""


def _title_of(message: str) -> str:
    """Return the first words of a message on one line, at most _TITLE_CHARS characters; empty for a blank one."""
    words = " ".join(message.split())
    if len(words) <= _TITLE_CHARS:
        return words
    cut = words[:_TITLE_CHARS]
    # Cut at the end of a word, if one ends late enough.
    end = cut.rfind(" ")
    return f"{cut[:end] if end > _TITLE_CHARS // 2 else cut[:-1]}…"


class Reading:
    """One team as it is in its store."""

    def __init__(self, workspace: Path, team: str) -> None:
        self.workspace, self.team = workspace, team
        self._notes: dict[Damage, None] = {}
        self._look = engine_at(workspace).look(team, self.note)

    @property
    def damage(self) -> tuple[str, ...]:
        """What could not be read so far, one sentence each. If a stream has many damaged records, their count."""
        return tuple(damage.words for damage in self._notes)

    @property
    def notes(self) -> tuple[Damage, ...]:
        """The same as `damage`, with the kind of each."""
        return tuple(self._notes)

    def items(self, stream: str) -> list[Item]:
        """Return what can be read of a stream, nothing if it does not exist. Notes the rest as damage."""
        return self._noted(self._look.items(stream))

    def roster(self) -> RosterState:
        """Return the roster, as far as it can be read."""
        roster = fold(EMPTY, self.items(ROSTER))
        if not roster.team and not self.damage:
            self.note(f"{self.place(ROSTER)} is empty or missing, so nobody knows who is on the team")
        return roster

    def where(self, stream: str, roster: RosterState) -> "Reading":
        """Return the team that has a stream. The lead's transcript and the user's mail are in its first team."""
        if not roster.home or stream not in (log(LEAD), mail(USER)):
            return self
        home = Reading(self.workspace, roster.home)
        # Report damage there together with damage here.
        home._notes = self._notes
        return home

    def has_streams_of(self, member: str) -> bool:
        """Return whether there is a mailbox or a transcript of a member here."""
        return self._look.has_streams_of(member)

    def streams(self) -> list[str]:
        """Return the streams of the team: those that a team has once, and the others that are there."""
        return [*SHARED, *self._look.member_streams()]

    def seats(self) -> list[str]:
        """Return the members whose seat is or was held."""
        return self._look.seats()

    def holder(self, member: str = LEAD) -> str | None:
        """Return the note of the process that holds a member's seat, or None if it is free.

        Raises OSError or StoreError if that cannot be found out.
        """
        return self._look.holder(member)

    def place(self, stream: str) -> str:
        """Return where a stream is, for messages."""
        return self._look.place(stream)

    def ends_before(self, stream: str) -> int:
        """Return the number of a record that was written but is missing at the end of a stream, 0 if none is known.

        Raises StoreError if the stream cannot be read.
        """
        with telling(self.workspace):
            return self._look.ends_before(stream)

    def _noted(self, items: list[Item]) -> list[Item]:
        # A torn line with another after it was an append that was never confirmed.
        accepted = {item.body["number"] for item in items if isinstance(item, Record) and _accepts(item)}
        found = [item for item in items if isinstance(item, Damaged) and item.kind == "lost"]
        lost = [item for item in found if item.number not in accepted]
        for item in lost[:MOST_TOLD]:
            self.note(f"{item.where}: {item.reason}")
        if len(lost) > MOST_TOLD:
            file = lost[0].where.rpartition(":")[0]
            self.note(f"{file}: {len(lost) - MOST_TOLD:,} more records of it cannot be read", "more")
        return items

    def note(self, words: str, kind: Literal["other", "torn", "short", "more"] = "other") -> None:
        """Add a sentence about what cannot be read, unless it is there already."""
        self._notes[Damage(words, kind)] = None


def _accepts(item: Record) -> bool:
    """Return whether a record says that the user accepted a loss. Only roster and board have such records."""
    return item.body.get("type") == "accepted" and isinstance(item.body.get("number"), int)
