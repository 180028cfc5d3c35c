"""Who is on a team, its board, its cost.

This only reads files, so the team need not run.
"""

from dataclasses import replace
from pathlib import Path

from deskmate.core.log.names import BOARD, LEAD, ROSTER, SPEND
from deskmate.core.log.records import Record
from deskmate.core.policy.permissions import Mode
from deskmate.core.team import board_fold, members, roster_fold, spending, tasks
from deskmate.core.team.members import Member
from deskmate.core.team.spending import Sum
from deskmate.core.team.status import Left, Parked, Status, Waiting, Working
from deskmate.core.team.tasks import Receipt, TaskStatus
from deskmate.core.values import frozen
from deskmate.errors import StoreError
from deskmate.queries.stream_reader import Reading, colours_of, reading_of, team_at, telling, title_at, workspace_at
from deskmate.stores.archive import spent_in_archive, strays_in, teams_in
from deskmate.trust.folders import has_begun, written

_COLOURING = frozenset({"team_founded", "member_joined"})


@frozen
class SeenMember:
    """A member and its status, `since` when. `task`: what it has in progress. `words`: its last words before a rest."""

    name: str
    kind: str
    role: str
    colour: str
    status: Status
    since: float
    task: int | None
    spent: Sum
    words: str

    @property
    def here(self) -> bool:
        """Whether this member has not left."""
        return not isinstance(self.status, Left)

    @property
    def waits_for_user(self) -> bool:
        """Whether only the user can let it continue. The lead can also answer the plan of a teammate."""
        return self.status == Waiting("permission") or (self.name == LEAD and self.status == Waiting("plan"))


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
    members: tuple[SeenMember, ...]
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
        asks = any(member.waits_for_user for member in self.members)
        lead = next((member.status for member in self.members if member.name == LEAD), None)
        if self.live is None:
            return "unknown"
        if not self.live:
            return "stopped" if self.begun else "empty"
        if self.away:
            return f"lead in {self.away}"
        if asks:
            return "asks you"
        if any(isinstance(member.status, Working) for member in self.members):
            return "working"
        return "parked" if isinstance(lead, Parked) else "idle"

    @property
    def pid(self) -> int | None:
        """The id of the process that runs it, if known."""
        _, _, number = self.holder.partition("process ")
        return int(number) if number.isdecimal() and number.isascii() else None

    def is_current(self, member: SeenMember) -> bool:
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


@frozen
class SeenTask:
    """A task. `waits_for`: the tasks of `blocked_by` that are not completed.

    `noted_by`: who left each note. `edited_by`: everybody but its creator whose words it contains now.
    """

    id: int
    subject: str
    description: str
    status: str
    owner: str | None
    role: str | None
    blocked_by: tuple[int, ...]
    waits_for: tuple[int, ...]
    verify: str | None
    receipt: Receipt | None
    notes: tuple[str, ...]
    noted_by: tuple[str, ...]
    created: float
    updated: float
    created_by: str
    edited_by: tuple[str, ...]


@frozen
class SeenBoard:
    """A team's tasks by number, without deleted ones. `colours`: the members' colours."""

    team: str
    tasks: tuple[SeenTask, ...]
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
        names = [*teams_in(place), *strays_in(place)] or [team_at(place, None)]
        found = [_team(Reading(place, name)) for name in names]
    away = {team.home: team.name for team in found}
    return tuple(replace(team, away=away.get(team.name)) for team in sorted(found, key=lambda team: -team.written))


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
    reading = reading_of(folder, team)
    board = _board(reading)
    # Most records of a roster are statuses, which change no colour.
    roster = [
        item for item in reading.items(ROSTER) if isinstance(item, Record) and item.body.get("type") in _COLOURING
    ]
    colours = colours_of(roster_fold.fold(members.EMPTY, roster))
    return SeenBoard(reading.team, see_tasks(board), colours, reading.damage)


def see_tasks(board: tasks.BoardState) -> tuple[SeenTask, ...]:
    """Return the tasks of a board as they are shown, by number, without deleted ones."""
    return tuple(see_task(board, task) for task in board.tasks.values() if task.status is not TaskStatus.DELETED)


def see_task(board: tasks.BoardState, task: tasks.Task) -> SeenTask:
    """Return a task as it is shown."""
    return SeenTask(
        id=task.id,
        subject=task.subject,
        description=task.description,
        status=task.status.value,
        owner=task.owner,
        role=task.role,
        blocked_by=tuple(sorted(task.blocked_by)),
        waits_for=tuple(tasks.blockers(board, task)),
        verify=task.verify,
        receipt=task.receipt,
        notes=tuple(note.text for note in task.notes),
        noted_by=tuple(note.by for note in task.notes),
        created=task.created,
        updated=task.updated,
        created_by=task.created_by,
        edited_by=task.editors,
    )


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
        return spent_in_archive(reading.workspace, reading.team).team
    except (OSError, StoreError) as error:
        reading.note(f"Cannot tell what archived teams cost: {error}")
        return Sum()


def _team(reading: Reading) -> SeenTeam:
    roster = reading.roster()
    board = _board(reading)
    live, holder = _live(reading)
    spent = spending.fold(spending.EMPTY, reading.items(SPEND))
    return SeenTeam(
        name=reading.team,
        description=roster.description,
        home=roster.home,
        live=live,
        holder=holder,
        sandbox=roster.sandbox,
        members=tuple(see_member(member, board, spent) for member in roster.members.values()),
        open_tasks=sum(task.is_open for task in board.tasks.values()),
        done_tasks=sum(task.status is TaskStatus.COMPLETED for task in board.tasks.values()),
        spent=spent.team,
        written=written(reading.workspace, reading.team),
        damage=reading.damage,
        title=title_at(reading.workspace, reading.team),
        begun=has_begun(reading.workspace, reading.team),
    )


def _board(reading: Reading) -> tasks.BoardState:
    board = board_fold.fold(tasks.EMPTY, reading.items(BOARD))
    if board.damaged:
        reading.note(
            "Nobody takes tasks from this board until you accept the loss of the unreadable records. "
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


def see_member(member: Member, board: tasks.BoardState, spent: spending.Spending) -> SeenMember:
    """Return a member as it is shown."""
    return SeenMember(
        name=member.name,
        kind=member.kind.value,
        role=member.role,
        colour=member.colour,
        status=member.status,
        since=member.status_at,
        task=next((task.id for task in tasks.in_progress_of(board, member.name)), None),
        spent=_spent_by(member.name, spent),
        words=member.words,
    )


def _spent_by(name: str, spent: spending.Spending) -> Sum:
    """Return what a member and its subagents cost."""
    total = Sum()
    for who, one in spent.members.items():
        total = total.added(one) if who.partition(":")[0] == name else total
    return total
