"""Plan mode as a user meets it at the command line: a plan is shown, answered in three ways, or printed by a run."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import hears, step
from tests.faces.chat_program import ChatProgram, chat_program

pytestmark = pytest.mark.behaviour("plan", "repl")
PLAN = "# Plan\n1. Write out.txt."
SHOWN = [
    "question 1: lead submits a plan",
    "    # Plan",
    "    1. Write out.txt.",
    "answer with y 1, a 1 (yes, and accept edits) or n 1 WORDS",
]


def lead(asked: Asked) -> Say:
    """Plan, plan better when told so, and write the file once that is approved."""
    if hears(asked, 'approve="no"'):
        return Say("I plan again.", [Use("ExitPlanMode", {"plan": "# A better plan"})])
    if hears(asked, 'approve="yes"'):
        return Say("I write it.", [Use("write_file", {"path": "out.txt", "content": "as planned"})])
    if step(asked) == 0:
        return Say("I have read enough.", [Use("ExitPlanMode", {"plan": PLAN})])
    if any("Submitted to user" in str(result) for result in asked.results):
        return Say("My plan is with you.")
    return Say("Done.")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[ChatProgram]:
    with chat_program(tmp_path, lead) as found:
        yield found


def test_a_plan_of_the_lead_is_shown_and_a_yes_lets_it_work_as_before(place: ChatProgram) -> None:
    end = place.piped("change it\n/yes\n/yes\n/mode\n", "--permission-mode", "plan")
    lines = end.stderr.splitlines()
    start = lines.index(SHOWN[0])
    assert lines[start : start + 4] == SHOWN
    # In mode default an edit is asked about, which was the second yes.
    assert "mode: default" in lines
    assert (place.folder / "out.txt").read_text() == "as planned"
    assert (end.code, end.stdout.splitlines()[-1]) == (0, "Done.")


def test_an_always_accepts_edits_as_well(place: ChatProgram) -> None:
    end = place.piped("change it\n/always\n/mode\n", "--permission-mode", "plan")
    assert "yes, and accept edits, to lead: a plan: # Plan 1. Write out.txt." in end.stderr
    assert "mode: acceptEdits" in end.stderr.splitlines()
    assert (place.folder / "out.txt").read_text() == "as planned"


def test_a_no_with_words_is_followed_by_another_plan(place: ChatProgram) -> None:
    end = place.piped("change it\n/no tests first\n", "--permission-mode", "plan")
    assert "    # A better plan" in end.stderr.splitlines()
    assert "deskmate: lead submits a plan: # A better plan, and nobody is here to answer" in end.stderr.splitlines()
    assert not (place.folder / "out.txt").exists()
    assert end.code == 1


def test_mode_says_who_plans_and_ends_it(place: ChatProgram) -> None:
    end = place.piped("change it\n/mode\n/mode default\n/mode\n", "--permission-mode", "plan")
    lines = end.stderr.splitlines()
    assert "in plan mode: lead" in lines
    assert "in plan mode: lead" not in lines[lines.index("mode: default") :]
    # Nobody has to answer the plan any more.
    assert end.code == 0


def test_the_plan_of_a_run_is_its_answer(place: ChatProgram) -> None:
    end = place.typed("run 'change it' --permission-mode plan")
    assert (end.code, end.stdout) == (0, f"{PLAN}\n")
    assert end.stderr.splitlines()[-1] == "To answer it, run: deskmate --team main"
    end = place.piped("/yes 1\n/yes 2\n", "--team", "main")
    assert (place.folder / "out.txt").read_text() == "as planned"


def test_a_run_says_in_json_that_it_ended_in_a_plan(place: ChatProgram) -> None:
    end = place.typed("run 'change it' --permission-mode plan --output json")
    result = json.loads(end.stdout)
    assert (end.code, result["end"], result["text"]) == (0, "planned", PLAN)


def test_the_lead_delegates_from_the_conversation_on_and_no_longer(place: ChatProgram) -> None:
    end = place.piped("/mode delegate\n/mode\n/mode delegate off\n/mode\n/mode delegate bob\n", "--plain")
    assert end.stderr.splitlines()[:7] == [
        "The lead now delegates: its teammates do the work. To end it: /delegate off",
        "mode: default",
        "commands: no sandbox",
        "the lead delegates",
        "The lead no longer delegates",
        "mode: default",
        "commands: no sandbox",
    ]
    assert "Usage: /delegate, or /delegate off" in end.stderr
