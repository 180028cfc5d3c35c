"""Whether a team, or an agent, has nothing left to do.

`decide` asks this before it wakes a lead, `end_of_run` before it dismisses a team, and a session before it ends a turn.
"""

from typing import assert_never

from deskmate.core.agent.memory import Memory
from deskmate.core.agent.notices import unnoticed_words
from deskmate.core.agent.view import View
from deskmate.core.team.handshakes import plans_among
from deskmate.core.team.members import Member, RosterState, is_planning
from deskmate.core.team.status import Idle, Left, Parked, Waiting, Working
from deskmate.core.team.tasks import Task, assigned, in_progress_of, next_claimable


def quiet(view: View) -> bool:
    """Tell whether the team is at rest: every teammate has started, has heard its mail, and can begin nothing."""
    here = [member for member in view.roster.teammates if member.here]
    return bool(here) and all(_settled(view, member) for member in here)


def all_quiet(view: View) -> bool:
    """Tell whether every team of a lead that has teammates is quiet."""
    return all(quiet(team) for team in view.teams if team.company)


def turn_is_over(view: View) -> bool:
    """Tell whether nobody will do anything by itself after a lead that saw this has come to rest.

    Members that wait for a person's permission do nothing before they are answered.
    """
    return all(map(_waits_for_people, view.teams))


def _waits_for_people(view: View) -> bool:
    here = [member for member in view.roster.teammates if member.here]
    # The lead is told of words after a moment, unless the team is quiet before.
    return not unnoticed_words(view.roster, view.memory.noticed[0]) and all(
        _settled(view, member) or (member.status == Waiting("permission") and member.name not in _stirring(view))
        for member in here
    )


def is_at_rest(memory: Memory, roster: RosterState, caps: str) -> bool:
    """Tell whether an agent that has heard all its mail has nothing left to do by itself, under these caps."""
    # A parked agent continues by itself when the caps change.
    if memory.interrupted or (memory.parked is not None and memory.parked.caps == caps):
        return True
    if plans_among(memory.requests.values()) and not is_planning(roster, memory.name, owes_plan=memory.owes_plan):
        # It waits for an answer to its plan, which nobody has to give any more. It is about to take that in.
        return False
    return not (memory.owed or memory.demanded or memory.calls or memory.background or memory.focus is not None)


def _settled(view: View, member: Member) -> bool:
    if member.name in _stirring(view):
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


def _stirring(view: View) -> frozenset[str]:
    """Return the teammates that will do what the roster does not show yet: they are starting, or have mail."""
    return view.starting | view.unheard


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
