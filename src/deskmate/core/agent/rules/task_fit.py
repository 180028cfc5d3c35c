"""Which members can take a task by themselves."""

from collections.abc import Iterable

from deskmate.core.prompt.task_lines import ids, listed, one_line, quoted
from deskmate.core.team.members import Member, RosterState
from deskmate.core.team.tasks import BoardState, Task, TaskStatus, fits


def untaken_text(roster: RosterState, task: Task) -> str:
    """Return a sentence on why nobody on the team takes a free task; empty if somebody does, or it has an owner.

    A team without teammates takes nothing yet, so then only a missing role is reported.
    """
    here = _here(roster)
    if task.owner or task.status is not TaskStatus.PENDING or any(_fits(task, member) for member in here):
        return ""
    if task.role:
        roles = listed(list(dict.fromkeys(quoted(one_line(member.role)) for member in _teammates(here) if member.role)))
        return f"Nobody here has the role {quoted(one_line(task.role))}. Roles here: {roles or 'none'}."
    if not _teammates(here):
        return ""
    return "No teammate takes it automatically, because every teammate is read-only. Give it an owner or a role."


def orphans_text(roster: RosterState, board: BoardState, since: int, creators: Iterable[str]) -> str:
    """Return which free tasks of these creators have no taker, because the fitting members left after a record."""
    gone = [member for member in roster.teammates if not member.here and member.status_in > since]
    if not gone:
        return ""
    here, makers = _here(roster), frozenset(creators)
    orphans = [
        task
        for task in board.tasks.values()
        if task.status is TaskStatus.PENDING and task.owner is None and task.role and task.created_by in makers
        if any(_fits(task, member) for member in gone) and not any(_fits(task, member) for member in here)
    ]
    if not orphans:
        return ""
    roles = listed(list(dict.fromkeys(quoted(one_line(task.role or "")) for task in orphans)))
    return f"Nobody on the team has the role {roles} any more, so nobody can take {ids(task.id for task in orphans)}."


def _here(roster: RosterState) -> list[Member]:
    return [member for member in roster.members.values() if member.here]


def _teammates(members: list[Member]) -> list[Member]:
    return [member for member in members if member.joined]


def _fits(task: Task, member: Member) -> bool:
    return fits(task, name=member.name, role=member.role, reads_only=not member.takes_any_task)
