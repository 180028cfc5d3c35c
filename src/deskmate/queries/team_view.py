"""Who is on a team, its board, its cost.

This only reads files, so the team need not run.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Self

from deskmate.core.log.names import BOARD, LEAD, ROSTER, SPEND
from deskmate.core.log.records import Record
from deskmate.core.policy.permissions import Mode, PermissionRule
from deskmate.core.team import board_fold, members, roster_fold, spending, tasks
from deskmate.core.team.members import Member, RosterState
from deskmate.core.team.spending import Sum
from deskmate.core.team.status import Parked, Waiting, Working
from deskmate.core.team.tasks import BoardState, TaskStatus
from deskmate.core.values import frozen
from deskmate.errors import StoreError
from deskmate.queries.stream_reader import Reading, colours_of, reading_of, team_at, telling, title_at, workspace_at
from deskmate.stores.engines.engine import teams_from
from deskmate.trust.chosen_engine import engine_at

_COLOURING = frozenset({"team_founded", "member_joined"})


@frozen
class SeenTeam:
    """A team at a glance. `live`: whether a process runs it, None if unknown. `holder`: which process.

    `title`: the first words of the user. `begun`: whether anything was ever said or done in it. `away`: the open team
    that its lead created from here and works in. `sandbox`: how far commands are confined, empty if it never ran.
    `written`: when a record was last added, 0 for never.
    """

    name: str
    description: str
    home: str | None
    live: bool | None
    holder: str
    sandbox: str
    members: tuple[Member, ...]
    open_tasks: int
    done_tasks: int
    spent: Sum
    written: float
    damage: tuple[str, ...]
    title: str = ""
    begun: bool = True
    away: str | None = None

    @property
    def state(self) -> str:
        """What the team does, in a word or two. A team without a process does nothing, whatever its records say."""
        # The status of a lead that works elsewhere is in its other team.
        asks = any(member.waits_for_user for member in self.members if not (self.away and member.name == LEAD))
        lead = next((member.status for member in self.members if member.name == LEAD), None)
        if self.live is None:
            return "unknown"
        if not self.live:
            return "stopped" if self.begun else "empty"
        if asks:
            return "asks you"
        if self.away:
            return f"lead in {self.away}"
        if any(isinstance(member.status, Working) for member in self.members):
            return "working"
        return "parked" if isinstance(lead, Parked) else "idle"

    @property
    def pid(self) -> int | None:
        """The id of the process that runs it, if known."""
        _, _, number = self.holder.partition("process ")
        return int(number) if number.isdecimal() and number.isascii() else None

    def is_current(self, member: Member) -> bool:
        """Return whether a member's status is what it does now, not what it did when the team last ran."""
        away = self.away is not None and member.name == LEAD
        return not away and (bool(self.live) or not isinstance(member.status, Working | Waiting))


@frozen
class Permitted:
    """What is permitted: the mode of the team, the modes of members that have another, the rules.

    `own`: rules of the user's settings, which apply in every team. `sandbox`: how far commands are confined.
    `planning`: who is in plan mode. `delegates`: the lead leaves the work itself to its teammates.
    """

    mode: Mode
    modes: dict[str, Mode]
    rules: tuple[str, ...]
    own: tuple[str, ...]
    sandbox: str
    planning: tuple[str, ...] = ()
    delegates: bool = False

    @classmethod
    def of(cls, roster: RosterState, own: Iterable[PermissionRule]) -> Self:
        """Return what is permitted now. `own`: the rules of the user's settings."""
        rules, of_user = (tuple(f"{one.effect} {one}" for one in some) for some in (roster.rules, own))
        planning = tuple(name for name, member in roster.members.items() if member.here and roster.plans(name))
        return cls(roster.mode, dict(roster.modes), rules, of_user, roster.sandbox, planning, roster.delegate)


@frozen
class SeenBoard:
    """A team's board. `colours`: the members' colours."""

    team: str
    board: BoardState
    colours: dict[str, str]
    damage: tuple[str, ...]


@frozen
class SeenCost:
    """What a team's model calls cost, by member and model. `put_away`: the cost of teams that its lead closed."""

    team: str
    rows: tuple[tuple[str, str, Sum], ...]
    total: Sum
    put_away: Sum
    damage: tuple[str, ...]


@frozen
class SeenPolicy:
    """What a team's own records permit: its mode, the modes of members that have another, and the rules."""

    workspace: Path
    team: str
    home: str | None
    members: tuple[str, ...]
    mode: str
    modes: dict[str, str]
    rules: tuple[str, ...]
    damage: tuple[str, ...]


def look_at_teams(folder: Path | None) -> tuple[SeenTeam, ...]:
    """Return the teams of a workspace, the last written first. Raises Refused if there is none."""
    place = workspace_at(folder)
    with telling(place):
        engine = engine_at(place)
        names = [*engine.teams(), *engine.strays()] or [team_at(place, None)]
        found = [_team(Reading(place, name)) for name in names]
    away = {team.home: team.name for team in found}
    return tuple(replace(team, away=away.get(team.name)) for team in sorted(found, key=lambda team: -team.written))


def look_at_team(folder: Path | None, team: str | None) -> SeenTeam:
    """Return one team, without a look at the others of its workspace. Raises Refused if there is none of that name."""
    reading = reading_of(folder, team)
    with telling(reading.workspace):
        found = _team(reading)
        return replace(found, away=next(iter(teams_from(engine_at(reading.workspace), reading.team)), None))


def look_at_policy(folder: Path | None, team: str) -> SeenPolicy:
    """Return what a team's records permit. Raises Refused if there is no team of that name."""
    reading = reading_of(folder, team)
    roster = reading.roster()
    return SeenPolicy(
        workspace=reading.workspace,
        team=reading.team,
        home=roster.home,
        members=tuple(roster.members),
        mode=roster.mode.value,
        modes={name: mode.value for name, mode in roster.modes.items()},
        rules=tuple(f"{rule.effect} {rule}" for rule in roster.rules),
        damage=reading.damage,
    )


def look_at_board(folder: Path | None, team: str | None) -> SeenBoard:
    """Return a team's board. Reads neither transcripts nor mail."""
    return _seen_board(reading_of(folder, team))


def look_at_boards(folder: Path | None, team: str | None) -> tuple[SeenBoard, ...]:
    """Return a team's board. Without a name, also that of the other team of the same lead, if there are tasks on it.

    The team that the lead works in comes first.
    """
    reading = reading_of(folder, team)
    if team is not None:
        return (_seen_board(reading),)
    with telling(reading.workspace):
        seen = [_seen_board(Reading(reading.workspace, name)) for name in teams_of_lead(reading)]
    return tuple(one for one in seen if one.board.current or one.team == reading.team)


def teams_of_lead(reading: Reading) -> tuple[str, ...]:
    """Return the open teams of a team's lead. The one that it works in comes first, its first team last."""
    engine = engine_at(reading.workspace)
    begun = engine.founding(reading.team)
    home = (begun and begun.home) or reading.team
    return (*teams_from(engine, home), home) if home in engine.teams() else (reading.team,)


def _seen_board(reading: Reading) -> SeenBoard:
    board = _board(reading)
    # Most records of a roster are statuses, which change no colour.
    roster = [
        item for item in reading.items(ROSTER) if isinstance(item, Record) and item.body.get("type") in _COLOURING
    ]
    colours = colours_of(roster_fold.fold(members.EMPTY, roster))
    return SeenBoard(reading.team, board, colours, reading.damage)


def look_at_cost(folder: Path | None, team: str | None) -> SeenCost:
    """Return what a team cost. Subagents count towards the member that started them."""
    reading = reading_of(folder, team)
    sums: dict[tuple[str, str], Sum] = {}
    total = Sum()
    for item in reading.items(SPEND):
        spent = spending.read_spent(item.body) if isinstance(item, Record) else None
        if isinstance(spent, spending.Spent):
            key = spent.member.partition(":")[0], spent.model
            sums[key] = sums.get(key, Sum()).plus(spent)
            total = total.plus(spent)
    put_away = _put_away(reading)
    rows = tuple((member, model, one) for (member, model), one in sorted(sums.items()))
    return SeenCost(reading.team, rows, total, put_away, reading.damage)


def _put_away(reading: Reading) -> Sum:
    try:
        return engine_at(reading.workspace).spent_in_archive(reading.team).team
    except (OSError, StoreError) as error:
        reading.note(f"Cannot tell what archived teams cost: {error}")
        return Sum()


def _team(reading: Reading) -> SeenTeam:
    roster = reading.roster()
    board, engine = _board(reading), engine_at(reading.workspace)
    live, holder = _live(reading)
    spent = spending.fold(spending.EMPTY, reading.items(SPEND))
    return SeenTeam(
        name=reading.team,
        description=roster.description,
        home=roster.home,
        live=live,
        holder=holder,
        sandbox=roster.sandbox,
        members=tuple(roster.members.values()),
        open_tasks=sum(task.is_open for task in board.tasks.values()),
        done_tasks=sum(task.status is TaskStatus.COMPLETED for task in board.tasks.values()),
        spent=spent.team,
        written=engine.written(reading.team),
        damage=reading.damage,
        title=title_at(reading.workspace, reading.team),
        begun=engine.has_begun(reading.team),
    )


def _board(reading: Reading) -> BoardState:
    board = board_fold.fold(tasks.EMPTY, reading.items(BOARD))
    if board.damaged:
        reading.note(
            "Nobody can take tasks from this board until you accept the loss of the unreadable records. "
            f"To see them, run: deskmate doctor {reading.team}"
        )
    return board


def _live(reading: Reading) -> tuple[bool | None, str]:
    try:
        holder = reading.holder()
    except (OSError, StoreError) as error:
        reading.note(f"Cannot tell whether team '{reading.team}' is running: {error}")
        return None, ""
    return holder is not None, holder or ""
