"""What of a team cannot be read, and what that stops."""

from collections.abc import Iterator, Sequence, Set
from pathlib import Path

from deskmate.core.agent import inbox
from deskmate.core.checks import Check
from deskmate.core.log.names import BOARD, LEAD, ROSTER, log, mail
from deskmate.core.log.records import Damaged, Item
from deskmate.core.team import board_fold, members, roster_fold, tasks
from deskmate.core.values import frozen
from deskmate.errors import Refused, StoreError
from deskmate.queries.stream_reader import MOST_TOLD, Reading, reading_of, team_at, telling
from deskmate.stores.engines.engine import Damage
from deskmate.trust.chosen_engine import engine_at

_UNFOUNDED = "its first record is lost, so the team cannot continue"
_CUT = "the transcript was cut or changed, so its member is stopped until you accept the loss"
_SHARED = (ROSTER, BOARD)
_BEGIN = 'Restore roster.jsonl from a copy, or start another team with: deskmate run "GOAL"'


@frozen
class Lost:
    """A lost record. `accepted`: whether the user accepted the loss. `stops`: whether it stops work until then.

    A lost record of roster or board stops all members from taking tasks. The lost end of a transcript stops its member.
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


@frozen
class CheckedTeam:
    """A team. `founded`: whether its first record can be read. Without it, nobody can continue the team.

    `seats`: by member, which process runs it now, None if that is unknown. `damage`: what else cannot be read, one
    sentence each.
    """

    name: str
    founded: bool
    seats: dict[str, str | None]
    lost: tuple[Lost, ...]
    damage: tuple[Damage, ...]

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of the team."""
        return (self._playing(), *self._strays(), *self._damages(), *self._losses(), *self._stopped())

    def _playing(self) -> Check:
        whole = "" if self.lost or self.damage else ", all of it can be read"
        if LEAD not in self.seats:
            return Check("team", "ok", f"{self.name}: not running{whole}")
        if (holder := self.seats[LEAD]) is None:
            return Check("team", "warn", f"{self.name}: cannot tell whether it is running")
        others = ", ".join(name for name in self.seats if name != LEAD)
        return Check("team", "ok", f"{self.name}: running ({holder}){others and f', with {others}'}{whole}")

    def _strays(self) -> Iterator[Check]:
        for name, holder in self.seats.items():
            if LEAD not in self.seats and holder is not None:
                words = f"{self.name}: {holder} runs '{name}', but nothing runs the lead"
                yield Check("team", "warn", words, "It should end by itself. If it still runs in a minute, stop it.")

    def _damages(self) -> Iterator[Check]:
        for one in self.damage:
            # A cut last line was never confirmed to its writer, and the next writer marks it as torn.
            yield Check("team", "warn" if one.kind == "torn" else "bad", f"{self.name}: {one.words}")

    def _losses(self) -> Iterator[Check]:
        rows = [self._loss(one) for one in self.lost]
        yield from rows[:MOST_TOLD]
        if len(rows) > MOST_TOLD:
            worst = max((row.state for row in rows[MOST_TOLD:]), key=("ok", "warn", "bad").index)
            yield Check(
                "team", worst, f"{self.name}: {len(rows) - MOST_TOLD} more records are lost", "To see all, add --json."
            )

    def _loss(self, one: Lost) -> Check:
        if one.accepted:
            return Check("team", "ok", f"{self.name}: {one}, and that was accepted")
        if one.stops:
            # For roster and board, `_stopped` adds one line that says what to do about all losses.
            return Check("team", "bad", f"{self.name}: {one}", "" if one.stream in _SHARED else self._accept)
        return Check("team", "warn", f"{self.name}: {one}", "Restore the file from a copy if you have one.")

    def _stopped(self) -> Iterator[Check]:
        stopping = [one for one in self.lost if one.stops and one.stream in _SHARED]
        if self.lost and not self.founded:
            yield Check("team", "bad", f"{self.name}: {_UNFOUNDED}", _BEGIN)
        elif stopping:
            streams = " and ".join(dict.fromkeys(one.stream for one in stopping))
            yield Check(
                "team",
                "bad",
                f"{self.name}: nobody can take tasks, because records of {streams} are lost",
                self._accept,
            )

    @property
    def _accept(self) -> str:
        return f"Restore the file from a copy, or accept the loss with: deskmate doctor {self.name} --accept"


def check_teams(workspace: Path, team: str | None) -> tuple[CheckedTeam, ...]:
    """Check every team of a workspace, or only the named one. Raises Refused if there is no team of that name."""
    with telling(workspace):
        engine = engine_at(workspace)
        names = engine.teams() if team is None else [team_at(workspace, team)]
        strays = engine.strays() if team is None else []
    found = (_checked(Reading(workspace, name)) for name in names)
    return (*found, *(_stray(Reading(workspace, name)) for name in strays))


def lost_of(folder: Path | None, team: str | None) -> tuple[str, tuple[Lost, ...]]:
    """Return the team that is meant and the losses that the user may accept.

    Raises Refused if there are none, or if accepting them would not help.
    """
    reading = reading_of(folder, team)
    founded = reading.roster().team
    found = [one for stream in _SHARED for one in _lost(stream, reading.items(stream)) if one.stops]
    found += _cut_transcripts(reading)
    if not found and (cut := next((one for one in reading.notes if one.kind == "short"), None)):
        raise Refused(cut.words, "You can accept the loss after the next record is added to the file.")
    if not found:
        raise Refused(f"Team '{reading.team}' has no losses to accept")
    if not founded:
        raise Refused(f"Team '{reading.team}': {_UNFOUNDED}, even if you accept the loss", _BEGIN)
    return reading.team, tuple(found)


def _cut_transcripts(reading: Reading) -> list[Lost]:
    """Return the lost ends of transcripts that stop their members. A lead's transcript is in its first team."""
    roster, found = reading.roster(), list[Lost]()
    for member in roster.members.values():
        if member.here and not (member.name == LEAD and roster.home) and not _let_go_on(reading, member):
            number = _ends_before(reading, log(member.name))
            if number or member.only_user:
                stream = log(member.name)
                found.append(Lost(stream, number, reading.place(stream), _CUT, accepted=False, stops=True))
    return found


def _let_go_on(reading: Reading, member: members.Member) -> bool:
    """Return whether the user has written to a stopped teammate. It continues when the team is resumed."""
    stopped = member.name != LEAD and member.only_user
    return stopped and inbox.lets_continue(member, inbox.fold(inbox.EMPTY, reading.items(mail(member.name))))


def _ends_before(reading: Reading, stream: str) -> int:
    try:
        return reading.ends_before(stream)
    except StoreError as error:
        # One unreadable transcript must not keep the user from accepting other losses.
        reading.note(str(error))
        return 0


def _checked(reading: Reading) -> CheckedTeam:
    roster = reading.roster()
    # Include the streams of members without files: somebody may have removed them.
    theirs = (kind(name) for name in roster.members for kind in (mail, log))
    streams = dict.fromkeys([*reading.streams(), *theirs])
    lost = [one for stream in streams for one in _lost(stream, reading.items(stream))] + _cut_transcripts(reading)
    seats = _seats(reading)
    told_already = {f"{one.where}: {one.reason}" for one in lost}
    damage = tuple(one for one in reading.notes if one.words not in told_already and one.kind != "more")
    return CheckedTeam(reading.team, bool(roster.team), seats, tuple(lost), damage)


def _stray(reading: Reading) -> CheckedTeam:
    """Return the check of a file or link that has the name of a team but is not a team folder."""
    reading.items(ROSTER)
    return CheckedTeam(reading.team, founded=False, seats={}, lost=(), damage=reading.notes)


def _lost(stream: str, items: Sequence[Item]) -> Iterator[Lost]:
    waiting = _not_accepted(stream, items)
    for item in items:
        if isinstance(item, Damaged) and item.kind == "lost":
            accepted = waiting is not None and item.number not in waiting
            stops = stream in _SHARED and not accepted
            yield Lost(stream, item.number, item.where, item.reason, accepted, stops)


def _not_accepted(stream: str, items: Sequence[Item]) -> Set[int] | None:
    """Return the numbers that stop work, or None if nothing in this stream can."""
    if stream == ROSTER:
        return roster_fold.fold(members.EMPTY, items).damaged
    return board_fold.fold(tasks.EMPTY, items).damaged if stream == BOARD else None


def _seats(reading: Reading) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    # Always check the lead, and first: if its seat cannot be checked, that is reported.
    for member in dict.fromkeys([LEAD, *reading.seats()]):
        try:
            if (holder := reading.holder(member)) is not None:
                found[member] = holder
        except (OSError, StoreError) as error:
            reading.note(f"Cannot tell whether a process runs '{member}': {error}")
            found[member] = None
    return found
