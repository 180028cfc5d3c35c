"""What of a team cannot be read, and what that stops.

Faces above print it, `acting` beside accepts a loss, `checking` has machine and workspace; `reading` below reads.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from deskmate.core.log.names import BOARD, LEAD, ROSTER, log, mail
from deskmate.core.log.records import Damaged, Item
from deskmate.core.team import board_fold, members, roster_fold, tasks
from deskmate.core.team.quiet import has_word
from deskmate.errors import Refused, StoreError
from deskmate.queries.health import Check
from deskmate.queries.stream_reader import CUT, MORE, MOST_TOLD, Reading, reading_of, team_at, telling
from deskmate.queries.truncation import ENDS
from deskmate.stores.archive import strays_in, teams_in
from deskmate.stores.jsonl_store import SUFFIX, TEAMS

_UNFOUNDED = "the record that founded it is lost, so that nobody can go on with it"
_CUT = "the transcript was cut or changed; its member stays stopped until you accept the loss"
_SHARED = (ROSTER, BOARD)
_BEGIN = "put roster.jsonl back from a copy, or begin another team with: deskmate run"


@dataclass(frozen=True, slots=True)
class Lost:
    """A record that is lost. `accepted`: whether the user said so. `stops`: whether it stops anybody until then.

    A lost record of roster or board stops everybody from taking tasks, the lost end of a transcript stops its member.
    """

    stream: str
    number: int
    where: str
    reason: str
    accepted: bool
    stops: bool

    def __str__(self) -> str:
        what = f"record {self.number}" if self.number else "the end"
        return f"{what} of {self.stream} is lost ({self.where}: {self.reason})"


@dataclass(frozen=True, slots=True)
class CheckedTeam:
    """A team. `founded`: whether the record of that can be read; without it nobody goes on with the team.

    `seats`: by member, who sits for it now, None where that cannot be told. `damage`: what else cannot be read, a
    sentence each.
    """

    name: str
    founded: bool
    seats: dict[str, str | None]
    lost: tuple[Lost, ...]
    damage: tuple[str, ...]

    @property
    def checks(self) -> tuple[Check, ...]:
        """How the team is."""
        return (self._playing(), *self._strays(), *self._damages(), *self._losses(), *self._stopped())

    def _playing(self) -> Check:
        whole = "" if self.lost or self.damage else ", all of it can be read"
        if LEAD not in self.seats:
            return Check("team", "ok", f"{self.name}: not played{whole}")
        if (holder := self.seats[LEAD]) is None:
            return Check("team", "warn", f"{self.name}: whether it is played cannot be told")
        others = ", ".join(name for name in self.seats if name != LEAD)
        return Check("team", "ok", f"{self.name}: live ({holder}){others and f', with {others}'}{whole}")

    def _strays(self) -> Iterator[Check]:
        for name, holder in self.seats.items():
            if LEAD not in self.seats and holder is not None:
                words = f"{self.name}: {holder} plays '{name}', and nobody plays the lead"
                yield Check("team", "warn", words, "it ends by itself; if it is still there in a minute, end it")

    def _damages(self) -> Iterator[Check]:
        for words in self.damage:
            # Whoever wrote it was never told that it stands there, and the next to write marks it as torn.
            yield Check("team", "warn" if words.endswith(CUT) else "bad", f"{self.name}: {words}")

    def _losses(self) -> Iterator[Check]:
        rows = [self._loss(one) for one in self.lost]
        yield from rows[:MOST_TOLD]
        if len(rows) > MOST_TOLD:
            worst = max((row.state for row in rows[MOST_TOLD:]), key=("ok", "warn", "bad").index)
            yield Check(
                "team", worst, f"{self.name}: {len(rows) - MOST_TOLD} more records are lost", "see all with --json"
            )

    def _loss(self, one: Lost) -> Check:
        if one.accepted:
            return Check("team", "ok", f"{self.name}: {one}, and that was accepted")
        if one.stops:
            # Of roster and board one line for all of them says what to do.
            return Check("team", "bad", f"{self.name}: {one}", "" if one.stream in _SHARED else self._accept)
        return Check("team", "warn", f"{self.name}: {one}", "put the file back from a copy, if there is one")

    def _stopped(self) -> Iterator[Check]:
        stopping = [one for one in self.lost if one.stops and one.stream in _SHARED]
        if self.lost and not self.founded:
            yield Check("team", "bad", f"{self.name}: {_UNFOUNDED}", _BEGIN)
        elif stopping:
            streams = " and ".join(dict.fromkeys(one.stream for one in stopping))
            yield Check(
                "team",
                "bad",
                f"{self.name}: nobody takes tasks because of what is lost of {streams}",
                self._accept,
            )

    @property
    def _accept(self) -> str:
        return f"put the file back from a copy, or accept the loss with: deskmate doctor {self.name} --accept"


def check_teams(workspace: Path, team: str | None) -> tuple[CheckedTeam, ...]:
    """Check every team of a workspace, or the one that is named; raise Refused where there is none of that name."""
    with telling(workspace):
        names = teams_in(workspace) if team is None else [team_at(workspace, team)]
        strays = strays_in(workspace) if team is None else []
    found = (_checked(Reading(workspace, name)) for name in names)
    return (*found, *(_stray(Reading(workspace, name)) for name in strays))


def lost_of(folder: Path | None, team: str | None) -> tuple[str, tuple[Lost, ...]]:
    """Return the team that is meant and what of it a person may accept as lost.

    Raises Refused where that is nothing, or would not help.
    """
    reading = reading_of(folder, team)
    founded = reading.roster().team
    found = [one for stream in _SHARED for one in _lost(stream, reading.items(stream)) if one.stops]
    found += _cut_transcripts(reading)
    if not found and (cut := next((words for words in reading.damage if ENDS in words), None)):
        raise Refused(f"{cut}; what is missing there can be accepted once a record was added behind it")
    if not found:
        raise Refused(f"Team '{reading.team}' has no losses to accept.")
    if not founded:
        raise Refused(f"team '{reading.team}': {_UNFOUNDED}, accepted or not; {_BEGIN}")
    return reading.team, tuple(found)


def _cut_transcripts(reading: Reading) -> list[Lost]:
    """Return what is missing of transcripts, so that their members stay stopped. A lead's is at its home."""
    roster, found = reading.roster(), list[Lost]()
    where = reading.workspace / TEAMS / reading.team
    for member in roster.members.values():
        if member.here and not (member.name == LEAD and roster.home) and not _let_go_on(reading, member):
            number = _ends_before(reading, log(member.name))
            if number or member.status.only_user:
                file = f"{where / member.name}{SUFFIX['log']}"
                found.append(Lost(log(member.name), number, file, _CUT, accepted=False, stops=True))
    return found


def _let_go_on(reading: Reading, member: members.Member) -> bool:
    """Tell whether the user has written to a stopped teammate: it goes on once the team is resumed."""
    stopped = member.name != LEAD and member.status.only_user
    return stopped and has_word(member, reading.items(mail(member.name)))


def _ends_before(reading: Reading, stream: str) -> int:
    try:
        return reading.ends_before(stream)
    except StoreError as error:
        # That one transcript cannot be read keeps nobody from accepting other losses.
        reading.note(str(error))
        return 0


def _checked(reading: Reading) -> CheckedTeam:
    roster = reading.roster()
    # Those of members too that have no file: somebody may have removed it.
    theirs = (kind(name) for name in roster.members for kind in (mail, log))
    streams = dict.fromkeys([*reading.streams(), *theirs])
    lost = [one for stream in streams for one in _lost(stream, reading.items(stream))] + _cut_transcripts(reading)
    seats = _seats(reading)
    told_already = {f"{one.where}: {one.reason}" for one in lost}
    others = (words for words in reading.damage if words not in told_already)
    damage = tuple(words for words in others if not words.endswith(MORE))
    return CheckedTeam(reading.team, bool(roster.team), seats, tuple(lost), damage)


def _stray(reading: Reading) -> CheckedTeam:
    """Return what bears the name of a team and is none: one look tells all there is to it."""
    reading.items(ROSTER)
    return CheckedTeam(reading.team, founded=False, seats={}, lost=(), damage=reading.damage)


def _lost(stream: str, items: Sequence[Item]) -> Iterator[Lost]:
    waiting = _not_accepted(stream, items)
    for item in items:
        if isinstance(item, Damaged) and item.kind == "lost":
            accepted = waiting is not None and item.number not in waiting
            stops = stream in _SHARED and not accepted
            yield Lost(stream, item.number, item.where, item.reason, accepted, stops)


def _not_accepted(stream: str, items: Sequence[Item]) -> Set[int] | None:
    """Return the numbers that stop the work, None where nothing in a stream does."""
    if stream == ROSTER:
        return roster_fold.fold(members.EMPTY, items).damaged
    return board_fold.fold(tasks.EMPTY, items).damaged if stream == BOARD else None


def _seats(reading: Reading) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    # The lead first and always: where its seat cannot be looked at, that is told.
    for member in dict.fromkeys([LEAD, *reading.seats()]):
        try:
            if (holder := reading.holder(member)) is not None:
                found[member] = holder
        except (OSError, StoreError) as error:
            reading.note(f"whether somebody plays '{member}' cannot be told: {error}")
            found[member] = None
    return found
