"""The things an agent can do next."""

from dataclasses import dataclass

from deskmate.core.agent.entries import WorkMode
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.handshakes import PlanVerdict
from deskmate.core.team.status import IDLE, Resting


@dataclass(frozen=True, slots=True)
class Stop:
    """Leave for good."""

    reason: str
    agreed: bool


@dataclass(frozen=True, slots=True)
class Act:
    """Run these calls, together."""

    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Settle:
    """Give these calls a result without running them."""

    calls: tuple[str, ...]
    text: str
    ok: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask a person to allow a call. `rule`: the rule that would allow all calls like it, if there is one."""

    call: str
    reason: str
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Agree:
    """Agree to a shutdown without a model turn."""

    request_id: str


@dataclass(frozen=True, slots=True)
class Park:
    """Stop until a message or other caps let the agent go on, and show why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Compact:
    """Make room in the context."""


@dataclass(frozen=True, slots=True)
class Think:
    """Call the model."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Record news: tasks that are no longer mine, a changed work mode, or else the team's news.

    `closed`: plans of mine that nobody has to answer any more. `away`: I work in this team now, or (empty) at home.
    """

    lost: tuple[int, ...] = ()
    work_mode: WorkMode | None = None
    closed: tuple[str, ...] = ()
    away: str | None = None


@dataclass(frozen=True, slots=True)
class Permit:
    """Work in this mode from now on, because of this answer to my plan."""

    mode: Mode
    verdict: PlanVerdict


@dataclass(frozen=True, slots=True)
class Take:
    """Make this task mine, or record it if it is mine already."""

    task: int


@dataclass(frozen=True, slots=True)
class Reread:
    """Record what somebody else changed in the task I work on."""

    task: int


@dataclass(frozen=True, slots=True)
class Nudge:
    """Remind me of a task in progress, or (0) to hand in my plan."""

    task: int


@dataclass(frozen=True, slots=True)
class Report:
    """Tell the lead that I rest on a task in progress, or (0) tell the approver that I handed in no plan."""

    task: int


@dataclass(frozen=True, slots=True)
class Rest:
    """Wait until something changes, with this status."""

    status: Resting = IDLE


Action = (
    Stop | Act | Settle | Ask | Agree | Park | Compact | Think | Notice | Permit | Take | Reread | Nudge | Report | Rest
)
