"""How an unattended run ends.

`decide` says when an agent rests. In such a run, `end_of_run` then says what comes next. A lead that rests while its
own background commands run is reminded of them once. Then they are stopped. A lead that rests while its team is quiet
is reminded each time the team becomes quiet. Then all teammates are dismissed in its name, `decide` sees them off, and
the lead gives a final answer. All of this is in its transcript, so a restart continues at the same step.

Each rule returns a step or None. **The order of RULES is the policy.** A rule that returns the rest itself says: wait.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from deskmate.core.agent.actions import Dismiss, EndRun, Park, RemindOfCommands, RemindOfTeam, Rest
from deskmate.core.agent.rules.quiet import all_quiet
from deskmate.core.agent.teams.addresses import addressed
from deskmate.core.agent.view import View
from deskmate.core.log.names import is_command
from deskmate.core.policy.tool_table import AgentKind
from deskmate.core.team.members import Member
from deskmate.core.team.status import Parked, Waiting
from deskmate.core.values import frozen

# How long a run waits after its time limit for its teammates to record what was cut.
LAST_SECONDS = 10.0

RunStep: TypeAlias = EndRun | Rest | Park | RemindOfCommands | RemindOfTeam | Dismiss


@frozen
class Pause:
    """An agent that rests, and what it sees. `seconds_left`: until the time limit of the run; negative after it."""

    view: View
    rest: Rest
    seconds_left: float

    @property
    def company(self) -> list[Member]:
        """The teammates of a lead that have not left. Those of its home have its name, if it works elsewhere."""
        home = self.view.home
        return [*self.view.company, *(replace(home, roster=addressed(home.roster)).company if home else ())]

    @property
    def is_final(self) -> bool:
        """Whether nothing but a person could let the agent continue. Only the user could approve a plan of the lead."""
        view, status = self.view, self.rest.status
        planned = status == Waiting("plan") and view.me.kind is AgentKind.LEAD and not view.roster.attended
        return planned or isinstance(status, Parked) or view.memory.interrupted


def end_of_run(view: View, rest: Rest, seconds_left: float) -> RunStep:
    """Return what follows when an agent of an unattended run rests. The rest itself means: wait."""
    pause = Pause(view, rest, seconds_left)
    return next(step for rule in RULES if (step := rule(pause)) is not None)


def _record_cuts(pause: Pause) -> RunStep | None:
    """Wait a little for teammates that still record what the time limit cut."""
    records = pause.view.time_is_up and pause.seconds_left > -LAST_SECONDS and not all_quiet(pause.view)
    return pause.rest if pause.is_final and pause.company and records else None


def _over(pause: Pause) -> RunStep | None:
    return EndRun(pause.rest.status) if pause.is_final else None


def _out_of_time(pause: Pause) -> RunStep | None:
    return _time_is_up(pause) if pause.company and pause.view.time_is_up else None


def _team_works(pause: Pause) -> RunStep | None:
    return pause.rest if not all_quiet(pause.view) else None


def _awaits(pause: Pause) -> RunStep | None:
    """Wait for what ends by itself: an answer, a provider, subagents in the background. Commands may never end."""
    status, background = pause.rest.status, pause.view.memory.background
    if not isinstance(status, Waiting) or (status.on == "background" and all(map(is_command, background))):
        return None
    # It may take longer than the run may.
    return _time_is_up(pause) if pause.view.time_is_up else pause.rest


def _remind_of_commands(pause: Pause) -> RunStep | None:
    """Remind an agent of its commands, unless it is over a limit: it cannot call its model, so it could not answer."""
    view = pause.view
    waits = isinstance(pause.rest.status, Waiting) and not view.memory.background <= view.memory.reminded_of
    return RemindOfCommands() if waits and not view.over else None


def _alone(pause: Pause) -> RunStep | None:
    return None if pause.company else EndRun(pause.rest.status)


def _remind_of_team(pause: Pause) -> RunStep | None:
    """Remind a lead of its quiet team, if a teammate worked or left since the last time.

    Interrupted teammates do not count, and no other status does: a teammate that was restarted, or could not be, shows
    one without having worked.
    """
    view = pause.view
    home = view.home.roster.number if view.home else None
    is_new = any(map(_has_moved, view.teams))
    return RemindOfTeam(view.roster.number, view.board.number, home) if is_new else None


def _has_moved(team: View) -> bool:
    """Tell whether a teammate of a team worked or left since its lead was reminded, or it was never reminded."""
    reminded = team.memory.reminded
    if reminded is None:
        return bool(team.company)
    return any(
        max(member.worked_in, 0 if member.here else member.status_in) > reminded and not member.held
        for member in team.roster.teammates
    )


def _dismiss(pause: Pause) -> RunStep:
    return Dismiss(tuple(member.name for member in pause.company))


def _time_is_up(pause: Pause) -> Park:
    return Park(pause.view.over or "the time is up")


RULES: tuple[Callable[[Pause], RunStep | None], ...] = (
    _record_cuts,
    _over,
    _out_of_time,
    _team_works,
    _awaits,
    _remind_of_commands,
    _alone,
    _remind_of_team,
    _dismiss,
)
