"""Whether a teammate is started, ended, parked or let go, as an ordered table of rules like `decide`.

A teammate that fails is restarted a few times within a minute. Then it is parked on the roster until the user or the
lead writes to it. If its records were cut or changed, it is parked at once and only the user can restart it. If it
neither obeys nor answers a shutdown request, it is ended, and its leaving is recorded in its name.
"""

import math
from collections.abc import Callable, Mapping, Set
from dataclasses import field, replace
from typing import TypeAlias, assert_never

from deskmate.core.agent.inbox import Inbox, lets_continue
from deskmate.core.team.members import Member
from deskmate.core.values import frozen

RESTARTS = 3
RESTART_SECONDS = 60.0
# Hearing the request takes at most 150 seconds, answering 30 more, ending what runs 5.
SHUTDOWN_SECONDS = 185.0
# A process starts within a second, with twenty others in many, and may wait 15 seconds for an earlier one to end.
START_SECONDS = 120.0
# A longer pause between two looks counts as this long: if this process itself was suspended, nobody else is late.
LOOK_SECONDS = 10.0
RECORDS_CHANGED = "its records were cut or changed, and only the user can restart it"


@frozen
class Crashed:
    """The teammate's run ended with an error."""

    error: str


@frozen
class RecordsChanged:
    """The teammate found its records cut or changed. With the rest, it would do again what it has forgotten."""

    error: str


@frozen
class StartedLate:
    """The teammate was ended because it showed no status in time."""


@frozen
class Unplaced:
    """No other machine can run the teammate now."""

    error: str


Failure: TypeAlias = Crashed | RecordsChanged | StartedLate | Unplaced


@frozen
class Tries:
    """What happened to a teammate in this process. `starting`: for how long it has shown no status; None: it has.

    `crashes`: when it crashed, as far as that was within RESTART_SECONDS of the last one. `failure`: why the last run
    ended, if that is not dealt with yet. `given_up`: it is parked, and nobody runs it until a message lets it continue.

    This is in no log, on purpose. The limit keeps one process from restarting a teammate for ever. The end of that
    process ends this too, and a new process is a new try: on another day, after a repair, with another version. What
    must outlive the process is on the roster: that a teammate is parked, and that only the user may restart it.
    """

    running: bool = False
    starting: float | None = None
    crashes: tuple[float, ...] = ()
    failure: Failure | None = None
    given_up: bool = False


def started(tries: Tries) -> Tries:
    """Return the tries after the teammate was started."""
    return replace(tries, running=True, starting=0.0, failure=None, given_up=False)


def ended(tries: Tries, failure: Failure | None, now: float) -> Tries:
    """Return the tries after a run ended at a monotonic time."""
    crashes = tries.crashes
    if isinstance(failure, Crashed):
        crashes = (*(then for then in crashes if now - then < RESTART_SECONDS), now)
    return replace(tries, running=False, starting=None, failure=failure, crashes=crashes)


def looked(tries: Tries, elapsed: float, *, starting: bool) -> Tries:
    """Return the tries at the next look, some seconds after the last one."""
    waited = (tries.starting or 0.0) + min(elapsed, LOOK_SECONDS)
    return replace(tries, starting=waited if starting and tries.running else None)


GIVEN_UP = Tries(given_up=True)


@frozen
class Supervised:
    """All that `supervise` may see of one teammate. `here`: it has not left, and its team is still open.

    `refused`: the shutdown requests that it refused. `waited`: for how many seconds this process has known each
    shutdown request.
    """

    member: Member
    here: bool
    tries: Tries
    inbox: Inbox
    refused: Set[str] = frozenset()
    waited: Mapping[str, float] = field(default_factory=dict)

    @property
    def asked_to_stop(self) -> list[str]:
        """The shutdown requests that it has not refused, whether it heard them or not."""
        return [id_ for id_ in self.inbox.stops if id_ not in self.refused]

    @property
    def is_overdue(self) -> bool:
        """Whether the time for one of these requests is over."""
        return any(self.waited.get(id_, 0.0) >= SHUTDOWN_SECONDS for id_ in self.asked_to_stop)


@frozen
class Launch:
    """Start the teammate."""


@frozen
class Cut:
    """End what runs the teammate."""

    failure: Failure | None = None


@frozen
class GiveUp:
    """Park the teammate on the roster. `only_user`: only the user may restart it."""

    reason: str
    only_user: bool


@frozen
class Revive:
    """Let a parked teammate continue. `shows`: show at once that it works, because a team is not quiet meanwhile."""

    shows: bool


@frozen
class LetGo:
    """Record in the teammate's name that it leaves."""

    reason: str


@frozen
class Await:
    """Wait for mail or for the end of the run, at most this long."""

    seconds: float


@frozen
class Finish:
    """Stop supervising this teammate."""


Deed: TypeAlias = Launch | Cut | GiveUp | Revive | LetGo | Await | Finish


def supervise(seen: Supervised) -> Deed:
    """Return what is done about a teammate next."""
    return next(deed for rule in RULES if (deed := rule(seen)) is not None)


def _gone(seen: Supervised) -> Deed | None:
    """Let a teammate that has left return its mail and tasks. Its run ends by itself."""
    if seen.here:
        return None
    return Await(math.inf) if seen.tries.running else Finish()


def _overdue(seen: Supervised) -> Deed | None:
    if not seen.is_overdue:
        return None
    reason = f"forced: still running {SHUTDOWN_SECONDS:.0f} s after a shutdown request"
    return Cut() if seen.tries.running else LetGo(reason)


def _stranded(seen: Supervised) -> Deed | None:
    """Let a teammate that nobody runs leave at once. If it died before it could answer, it will not answer."""
    stranded = seen.tries.given_up and seen.asked_to_stop
    return LetGo("forced: asked to shut down while it could not run") if stranded else None


def _late(seen: Supervised) -> Deed | None:
    starting = seen.tries.starting
    return Cut(StartedLate()) if starting is not None and starting >= START_SECONDS else None


def _runs(seen: Supervised) -> Deed | None:
    if not seen.tries.running:
        return None
    stops = [SHUTDOWN_SECONDS - seen.waited.get(id_, 0.0) for id_ in seen.asked_to_stop]
    start = [] if seen.tries.starting is None else [min(LOOK_SECONDS, START_SECONDS - seen.tries.starting)]
    return Await(min([*stops, *start], default=math.inf))


def _failed(seen: Supervised) -> Deed | None:
    match seen.tries.failure:
        case RecordsChanged(error=error):
            return GiveUp(f"{RECORDS_CHANGED}: {error}", only_user=True)
        case StartedLate():
            return _give_up(seen, f"it did not start within {START_SECONDS:.0f} s")
        case Unplaced(error=error):
            return _give_up(seen, error)
        case Crashed(error=error):
            times = len(seen.tries.crashes)
            reason = f"failed {times} times within a minute, the last time with {error}"
            return _give_up(seen, reason) if times > RESTARTS else None
        case None:
            return None
        case unreachable:
            assert_never(unreachable)


def _give_up(seen: Supervised, reason: str) -> GiveUp:
    if not seen.member.only_user:
        return GiveUp(reason, only_user=False)
    # It failed before it could record that its records were cut. The user must still decide about that.
    return GiveUp(f"{RECORDS_CHANGED}; {reason}", only_user=True)


def _parked(seen: Supervised) -> Deed | None:
    """Restart a parked teammate when a message lets it continue. If its records were cut, it shows its own status."""
    if not seen.tries.given_up:
        return None
    return Revive(shows=not seen.member.only_user) if lets_continue(seen.member, seen.inbox) else Await(math.inf)


def _launch(seen: Supervised) -> Deed:
    return Launch()


RULES: tuple[Callable[[Supervised], Deed | None], ...] = (
    _gone,
    _overdue,
    _stranded,
    _late,
    _runs,
    _failed,
    _parked,
    _launch,
)
