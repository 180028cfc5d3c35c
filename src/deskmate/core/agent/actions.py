"""The things an agent can do next."""

from typing import TypeAlias

from deskmate.core.agent.entries import WorkMode
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.handshakes import PlanVerdict
from deskmate.core.team.status import IDLE, Resting
from deskmate.core.values import frozen


@frozen
class Stop:
    """Leave for good."""

    reason: str
    agreed: bool


@frozen
class Act:
    """Run these calls, together."""

    calls: tuple[str, ...]


@frozen
class Settle:
    """Give these calls a result without running them."""

    calls: tuple[str, ...]
    text: str
    ok: bool = False


@frozen
class Ask:
    """Ask a person to allow a call. `rule`: the rule that would allow all calls like it, if there is one."""

    call: str
    reason: str
    rule: str | None = None


@frozen
class Agree:
    """Agree to a shutdown without a model turn."""

    request_id: str


@frozen
class Park:
    """Stop until a message or other caps let the agent continue, and show why."""

    reason: str


@frozen
class Compact:
    """Make room in the context."""


@frozen
class Think:
    """Call the model."""


@frozen
class Notice:
    """Record news: tasks that are no longer mine, a changed work mode, or else the team's news.

    `closed`: plans of mine that nobody has to answer any more. `away`: I work in this team now, or (empty) at home.
    `team`: the news is of this team of mine, in which I do not work now.
    """

    lost: tuple[int, ...] = ()
    work_mode: WorkMode | None = None
    closed: tuple[str, ...] = ()
    away: str | None = None
    team: str | None = None


@frozen
class Permit:
    """Work in this mode from now on, because of this answer to my plan."""

    mode: Mode
    verdict: PlanVerdict


@frozen
class Take:
    """Make this task mine, or record it if it is mine already."""

    task: int


@frozen
class Reread:
    """Record what somebody else changed in the task I work on."""

    task: int


@frozen
class Nudge:
    """Remind me of a task in progress, or (0) to submit my plan."""

    task: int


@frozen
class Report:
    """Tell the lead that I rest on a task in progress, or (0) tell the approver that I submitted no plan."""

    task: int


@frozen
class Rest:
    """Wait until something changes, with this status."""

    status: Resting = IDLE


@frozen
class CheckGoal:
    """Check whether my goal is met, and continue if it is not."""


@frozen
class EndRun:
    """End an unattended run, with the status in which the agent rests."""

    status: Resting


@frozen
class RemindOfCommands:
    """Remind me of the commands that I have in the background."""


@frozen
class RemindOfTeam:
    """Remind me that my team is quiet and has not left, as of these records of roster and board.

    `home`: the roster record of my home, if I work elsewhere.
    """

    roster: int
    board: int
    home: int | None = None


@frozen
class Dismiss:
    """Record that these teammates are dismissed in my name. Those of my home have its name, if I work elsewhere."""

    members: tuple[str, ...]


@frozen
class SeeOff:
    """Ask the dismissed teammates to stop, and wait until they have left."""


@frozen
class RunHooks:
    """Run the hooks of an event for each of the things that it is about.

    `spent`: hooks have made me continue too often in a row, so they are not run. Those in charge are told instead.
    """

    event: str
    about: tuple[str, ...]
    spent: bool = False


Duty: TypeAlias = (
    Agree | Ask | Notice | Nudge | Permit | Report | Reread | Take | RemindOfCommands | RemindOfTeam | Dismiss | SeeOff
)
Action: TypeAlias = Stop | Act | Settle | Park | Compact | Think | Duty | Rest | EndRun | CheckGoal | RunHooks
