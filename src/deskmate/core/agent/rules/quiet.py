"""Whether a team has nothing left to do.

`decide` asks this before it wakes a lead. The runtime asks whether mail lets a parked member go on.
"""

from collections.abc import Iterable
from typing import assert_never

from deskmate.core.agent.view import View
from deskmate.core.log.names import IN_CHARGE, USER
from deskmate.core.log.records import Item
from deskmate.core.team.members import Member
from deskmate.core.team.messages import Envelope, calls_for_action, envelope_in
from deskmate.core.team.status import Idle, Left, Parked, Waiting, Working
from deskmate.core.team.tasks import Task, assigned, in_progress_of, next_claimable


def quiet(view: View) -> bool:
    """Tell whether the team is at rest: every teammate has started, has heard its mail, and can begin nothing."""
    here = [member for member in view.roster.teammates if member.here]
    return bool(here) and all(_settled(view, member) for member in here)


def acts_on(member: Member, number: int, envelope: Envelope) -> bool:
    """Tell whether a resting teammate will act on the message with this number in its mailbox.

    A parked teammate acts only on a message that lets it go on.
    """
    if number <= member.heard:
        return False
    if isinstance(member.status, Parked):
        return lets_go_on(member, number, envelope)
    return calls_for_action(envelope.message)


def lets_go_on(parked: Member, number: int, envelope: Envelope) -> bool:
    """Tell whether the message with this number in its mailbox lets a parked member go on."""
    asked = number > parked.known and calls_for_action(envelope.message)
    return asked and envelope.sender in ({USER} if parked.only_user else IN_CHARGE)


def has_word(parked: Member, items: Iterable[Item]) -> bool:
    """Tell whether one of these items of its mailbox lets a parked member go on."""
    found = ((item.number, envelope_in(item)) for item in items)
    return any(envelope and lets_go_on(parked, number, envelope) for number, envelope in found)


def _settled(view: View, member: Member) -> bool:
    # For a member that is starting, the roster shows what it did before. What it will do now is not known yet.
    if member.name in view.starting | view.unheard:
        return False
    match member.status:
        case Parked() | Waiting("plan"):
            return True
        case Idle():
            rests = member.held or view.roster.plans(member.name)
            return rests or not (next_task(view, member) or _began(view, member))
        case Working() | Waiting() | Left():
            return False
        case unreachable:
            assert_never(unreachable)


def _began(view: View, member: Member) -> bool:
    """Tell whether a teammate took a task since it went idle. The board shows that before the roster does."""
    return any((task.id, task.epoch) not in member.rests_on for task in in_progress_of(view.board, member.name))


def next_task(view: View, member: Member) -> Task | None:
    """Return what a free teammate takes next: its own task that it was not told of, else the lowest that fits."""
    mine = in_progress_of(view.board, member.name)
    if mine:
        untold = [task for task in mine if member.name == view.me.name and task.id not in view.memory.tasks]
        return untold[0] if untold else None
    if view.board.damaged or view.roster.damaged:
        return None
    if queued := assigned(view.board, member.name):
        return queued[0]
    return next_claimable(view.board, name=member.name, role=member.role, reads_only=not member.takes_any_task)
