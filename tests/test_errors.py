"""An error says what happened and how to fix it, and keeps both wherever it goes."""

import copy
import pickle
from collections.abc import Callable

import pytest

from deskmate import errors
from deskmate.errors import (
    Conflict,
    DeskmateError,
    Held,
    ModelTrouble,
    NoResult,
    Problem,
    Refused,
    RunStopped,
    SeatLost,
    StoreUnavailable,
    SystemProblem,
    TeamRunning,
    hint_of,
)
from deskmate.faces.common.error_log import error_lines, error_text

FULL = [
    Refused("There is no team 'web'", "Run: deskmate teams"),
    Refused("There is no team 'web'"),
    Conflict("board", 3, 5),
    Held("lead", "process 7"),
    ModelTrouble("overloaded", 3.0, "Try again later."),
]


# Errors that are made from other facts.
MADE: dict[type[DeskmateError], Callable[[], DeskmateError]] = {
    Conflict: lambda: Conflict("board", 3, 5),
    Held: lambda: Held("lead", "process 7"),
    NoResult: lambda: NoResult("It broke", None, "Fix it."),
    RunStopped: lambda: RunStopped("It broke", None, "Fix it."),
    SeatLost: lambda: SeatLost("lead", "process 7"),
    TeamRunning: lambda: TeamRunning("web", "process 7"),
}


def facts(error: DeskmateError) -> tuple[object, ...]:
    return type(error), str(error), error.message, error.hint, error.args, vars(error)


@pytest.mark.parametrize(
    ("message", "hint", "text"),
    [
        ("There is no team 'web'", "Run: deskmate teams", "There is no team 'web'. Run: deskmate teams"),
        ("Nobody is here.", "Wait.", "Nobody is here. Wait."),
        ("Are you sure?", "Add --yes.", "Are you sure? Add --yes."),
        ("The disk is full", "", "The disk is full"),
    ],
)
def test_the_text_of_an_error_has_the_message_and_the_hint(message: str, hint: str, text: str) -> None:
    assert str(Refused(message, hint)) == str(Problem(message, hint)) == text


@pytest.mark.parametrize("error", FULL, ids=lambda error: type(error).__name__)
def test_a_copy_of_an_error_has_all_that_the_error_has(error: DeskmateError) -> None:
    assert facts(copy.copy(error)) == facts(error)
    assert facts(pickle.loads(pickle.dumps(error))) == facts(error)


def test_every_error_has_a_message_and_a_hint() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DeskmateError)]
    assert len(kinds) > 10
    for kind in kinds:
        error = MADE[kind]() if kind in MADE else kind("It broke", hint="Fix it.")
        assert (bool(error.message), bool(error.hint)) == (True, True)


def test_an_error_is_printed_with_its_hint_on_a_line_of_its_own() -> None:
    error = Refused("There is no \x1b[2Jteam", "Run: deskmate teams\nOr: deskmate run")
    assert error_lines(error) == ["There is no team", "Run: deskmate teams", "Or: deskmate run"]
    assert error_text(Refused("There is no team")) == "deskmate: There is no team"
    assert error_text(Problem("Others may read it", "Run: chmod"), before="warning: ").splitlines() == [
        "warning: Others may read it",
        "Run: chmod",
    ]


def test_what_the_system_refused_keeps_its_hint_or_gets_a_general_one() -> None:
    known = SystemProblem(24, "Too many open files", "Raise the limit.", "/w")
    assert (known.strerror, known.filename, hint_of(known)) == ("Too many open files", "/w", "Raise the limit.")
    assert StoreUnavailable.of("/w", known).hint == "Raise the limit."
    unknown = StoreUnavailable.of("/w", PermissionError(13, "Permission denied"))
    assert ("/w" in unknown.message, bool(unknown.hint)) == (True, True)
