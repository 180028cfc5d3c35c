"""What a run prints is the whole answer, however many turns and pieces it came in."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import hears, member_of, step
from tests.faces.chat_program import chat_program

BOB = Use("Task", {"name": "bob", "role": "help", "prompt": "Look around."})
STOP = Use("SendMessage", {"type": "shutdown_request", "recipient": "bob", "content": "Thank you."})
BROKEN = Use("write_file", raw='{"path": "mul.sh", "content": "echo')
LIST = Use("glob", {"pattern": "*"})


def steps(*says: Say) -> Callable[[Asked], Say]:
    """Return a script that says these texts, one for each request."""
    return lambda asked: says[step(asked)]


def reports_first(asked: Asked) -> Say:
    """Report and ask the teammate to stop in one turn; say one more line when it has left."""
    if member_of(asked) == "bob":
        return Say("I looked.")
    if step(asked) == 0:
        return Say("I get help.", [BOB])
    if hears(asked, "bob left"):
        return Say("All teammates have left.")
    if hears(asked, "I looked"):
        return Say("", [STOP])
    return Say("FINAL REPORT" if asked.results and step(asked) > 2 else "I wait for bob.")


def sends_a_subagent(asked: Asked) -> Say:
    """Send a subagent whose answer comes in pieces, and repeat what it answered."""
    if "Count to four" in asked.system or hears(asked, "Count to four"):
        return Say("One, two,", end="length")
    if hears(asked, "was cut here because it was too long"):
        return Say(" three, four.")
    if asked.results:
        return Say(f"It said: {asked.results[0].text}")
    return Say("", [Use("Task", {"prompt": "Count to four.", "description": "count"})])


STORIES = {
    "a report, then news": (reports_first, "I wait for bob.\n\nFINAL REPORT\n\nAll teammates have left."),
    "pieces": (steps(Say("PART ONE and ", end="length"), Say("PART TWO")), "PART ONE and PART TWO"),
    "cut in a call": (steps(Say("Hm.", [BROKEN], end="length"), Say("mul.sh is right.")), "Hm.\n\nmul.sh is right."),
    "words with the last call": (steps(Say("I look."), Say("")), "I look."),
    "words with the last calls": (steps(Say("I look.", [LIST]), Say("All is well.", [LIST]), Say("")), "All is well."),
    "a subagent": (sends_a_subagent, "It said: One, two, three, four."),
}


@pytest.mark.parametrize("launcher", ["inline", "process"])
@pytest.mark.parametrize("story", STORIES)
def test_a_run_prints_the_whole_answer(tmp_path: Path, story: str, launcher: str) -> None:
    script, answer = STORIES[story]
    with chat_program(tmp_path, script) as place:
        end = place.piped("", "run", "go", "--launcher", launcher)
        assert end.stdout == f"{answer}\n"
        # What is printed again is the same.
        assert json.loads(place.piped("", "resume", "--output", "json").stdout)["text"] == answer


def test_programs_read_the_whole_answer(tmp_path: Path) -> None:
    script, answer = STORIES["pieces"]
    with chat_program(tmp_path, script) as place:
        lines = place.piped("", "run", "go", "--output", "stream-json").stdout.splitlines()
    assert json.loads(lines[-1])["text"] == answer
