"""A cap that is reached in a conversation: it is named, shown, and raised where one types."""

from pathlib import Path

import pytest

from deskmate.faces.common.chat.budget_command import with_way_on
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import member_of, step
from tests.faces.chat_program import chat_program

CAPPED = "lead cannot continue: budget: "
RAISE = ". To raise it here: /budget tokens NUMBER"


BOB = Use("Task", {"name": "bob", "role": "help", "prompt": "Look around."})


def echo(asked: Asked) -> Say:
    return Say(f"I heard: {asked.texts[-1][-40:]}")


def test_words_to_a_lead_that_reached_a_cap_are_answered_with_the_reason(tmp_path: Path) -> None:
    with chat_program(tmp_path, echo) as place:
        end = place.piped("first\nsecond\n/resume lead\n", "--plain", "--max-tokens", "1")
    told = [line for line in (end.stdout + end.stderr).splitlines() if CAPPED in line]
    assert len(told) == 2
    assert all("of 1 tokens are used" in line and line.endswith(RAISE) for line in told)


def test_a_cap_that_is_raised_lets_the_lead_answer(tmp_path: Path) -> None:
    with chat_program(tmp_path, echo) as place:
        end = place.piped("first\nsecond\n/budget tokens 1,000,000\n/budget\n", "--plain", "--max-tokens", "1")
    shown = end.stdout + end.stderr
    assert "I heard: second" in shown
    assert "of 1,000,000" in shown
    assert "money: $0" in shown


def looks(asked: Asked) -> Say:
    return Say("I look.", [Use("glob", {"pattern": "*"})]) if step(asked) == 0 else Say("Done.")


def test_the_line_of_a_parked_agent_names_what_raises_its_cap_where_it_is_read(tmp_path: Path) -> None:
    with chat_program(tmp_path, looks) as place:
        ran = place.piped("", "run", "look", "--max-steps", "1").stderr.splitlines()
        talked = place.piped("look\n", "--plain", "--max-steps", "1").stderr.splitlines()
    reason = "budget: 1 step in one turn (--max-steps)"
    assert f"deskmate: stopped: {reason}\nTo continue, run: deskmate resume main --max-steps NUMBER" == "\n".join(
        ran[-2:]
    )
    assert f"[lead@main-2] stopped: {reason}. To raise it here: /budget steps NUMBER" in talked


@pytest.mark.parametrize("why", ["a:b denied access (401): no. Check A.", "a:b was not found (404): no. Check it."])
def test_a_wrong_key_or_model_names_the_next_step_in_the_conversation(why: str) -> None:
    told = with_way_on(why, "ada")
    assert told.startswith(why)
    assert "/model NAME" in told
    assert "/resume ada" in told


def has_a_teammate(asked: Asked) -> Say:
    if member_of(asked) == "bob":
        return Say("I looked around.")
    return Say("", [BOB]) if step(asked) == 0 else Say("I wait for bob.")


@pytest.mark.parametrize("launcher", ["inline", "process"])
def test_a_cap_that_is_raised_lets_teammates_go_on_wherever_they_run(tmp_path: Path, launcher: str) -> None:
    with chat_program(tmp_path, has_a_teammate) as place:
        typed = "get help\n/budget tokens 1,000,000\n"
        place.piped(typed, "--plain", "--max-tokens", "1", "--launcher", launcher)
        said = (place.folder / ".teams/main/bob_transcript.jsonl").read_text()
    assert "I looked around." in said


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("/budget patience 5", "There is no limit 'patience'\nLimits: money, tokens, time, steps, members"),
        ("/budget money lots", "'lots' is not a number above 0\nWrite it as in: /budget money 5"),
        ("/budget money 0", "'0' is not a number above 0\nWrite it as in: /budget money 5"),
        ("/budget money", "Usage: /budget [LIMIT NUMBER]"),
    ],
)
def test_what_is_no_cap_is_refused(tmp_path: Path, typed: str, said: str) -> None:
    with chat_program(tmp_path, echo) as place:
        end = place.piped(f"{typed}\n", "--plain")
    assert said in end.stdout + end.stderr
