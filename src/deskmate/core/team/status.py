"""What a member is doing: a closed set of values, the same for rules, records, events and screens.

`roster_records` has the records that tell a status. A face matches by class and ends with `assert_never`, so a new
status cannot be forgotten.
"""

from typing import Literal, TypeAlias, assert_never, get_args

from deskmate.core.values import frozen

WaitsOn: TypeAlias = Literal["permission", "plan", "retry", "background"]
StatusWord: TypeAlias = Literal["working", "idle", "waiting", "parked", "left"]


@frozen
class Working:
    """It is in a turn."""


@frozen
class Idle:
    """It has nothing to do."""


@frozen
class Waiting:
    """It waits for something outside: a person's answer, a provider, its own background work."""

    on: WaitsOn


@frozen
class Parked:
    """It cannot continue until somebody lets it."""

    reason: str


@frozen
class Left:
    """It left for good. `agreed`: it was asked to leave and agreed."""

    reason: str = ""
    agreed: bool = False


WORKING = Working()
IDLE = Idle()
Resting: TypeAlias = Idle | Waiting | Parked
Status: TypeAlias = Working | Resting | Left


def status_word(status: Status) -> StatusWord:
    """Return the one word that files, JSON output and screens use for a status."""
    match status:
        case Working():
            return "working"
        case Idle():
            return "idle"
        case Waiting():
            return "waiting"
        case Parked():
            return "parked"
        case Left():
            return "left"
        case unreachable:
            assert_never(unreachable)


def status_detail(status: Status) -> str:
    """Return what a status waits for, or why a member is parked or left; empty for the others."""
    match status:
        case Working() | Idle():
            return ""
        case Waiting(on=on):
            return on
        case Parked(reason=reason) | Left(reason=reason):
            return reason
        case unreachable:
            assert_never(unreachable)


def status_of(word: str, detail: str = "", *, agreed: bool = False) -> Status | None:
    """Return the status that was written with this word and detail; None if there is none."""
    match word:
        case "working":
            return Working()
        case "idle":
            return Idle()
        case "waiting":
            return next((Waiting(on) for on in get_args(WaitsOn) if on == detail), None)
        case "parked":
            return Parked(detail)
        case "left":
            return Left(detail, agreed)
        case _:
            return None
