"""What each member is doing now: its longest call, else what its model does, and nothing once it rests."""

import pytest

from deskmate.app import Changed, Printed, Recorded, Streamed
from deskmate.core.agent.entries import Began, Call, Did, Said
from deskmate.core.prompt.prompts import TextDelta, ThinkingDelta
from deskmate.core.team.status import Idle
from deskmate.faces.common.items.transcript_items import CallItem, CallState
from deskmate.faces.tui.member_activity import Activity, Deed

pytestmark = pytest.mark.behaviour("tui")
TESTS = Call(tool="bash", arguments={"command": "pytest -q"})


class Scene:
    """Bob at work, and the time."""

    def __init__(self) -> None:
        self.time = 100.0
        self.activity = Activity(lambda: self.time)

    def runs_tests(self) -> None:
        self.activity.hear(Recorded("bob", 2, Said(calls=(TESTS,))))
        self.activity.hear(Recorded("bob", 3, Began(calls=("bob:2.0",))))


def test_a_member_is_shown_with_its_call_and_since_when() -> None:
    scene = Scene()
    scene.runs_tests()
    assert scene.activity.of("bob") == Deed("bash pytest -q", 100.0)
    scene.activity.hear(Recorded("bob", 4, Did(call="bob:2.0", text="ok")))
    assert scene.activity.of("bob") is None


def test_a_model_that_thinks_or_writes_is_shown_from_its_first_word_on() -> None:
    scene = Scene()
    scene.activity.hear(Streamed("bob", ThinkingDelta("hm")))
    scene.time = 105.0
    scene.activity.hear(Streamed("bob", ThinkingDelta("so")))
    assert scene.activity.of("bob") == Deed("thinking", 100.0)
    scene.activity.hear(Streamed("bob", TextDelta("I")))
    assert scene.activity.of("bob") == Deed("writing", 105.0)


def test_a_member_that_rests_does_nothing() -> None:
    scene = Scene()
    scene.runs_tests()
    assert scene.activity.has_clock
    scene.activity.hear(Changed("bob", Idle()))
    assert (scene.activity.of("bob"), scene.activity.has_clock) == (None, False)


def test_a_call_that_runs_has_a_clock_and_what_it_printed_and_others_stay_as_they_are() -> None:
    scene, item = Scene(), CallItem("bob:2.0", "bash", TESTS.arguments, CallState.RUNNING)
    assert scene.activity.with_clock("bob", item) is item
    scene.runs_tests()
    scene.activity.hear(Printed("bob", "bob:2.0", "12 passed"))
    scene.time = 142.7
    shown = scene.activity.with_clock("bob", item)
    assert isinstance(shown, CallItem)
    assert (shown.seconds, shown.text) == (42, "12 passed")


def test_what_a_call_printed_that_nobody_knows_is_dropped() -> None:
    scene = Scene()
    scene.activity.hear(Recorded("bob", 9, Began(calls=("bob:8.0",))))
    scene.activity.hear(Printed("bob", "bob:8.0", "x"))
    assert scene.activity.of("bob") is None
