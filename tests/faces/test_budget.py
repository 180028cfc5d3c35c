"""A cap that is reached in a conversation: it is named, shown, and raised where one types."""

from pathlib import Path

import pytest

from deskmate.testing.scripts import Asked, Say
from tests.faces.conversations import held

CAPPED = "lead cannot go on: budget: "
RAISE = ". To raise it here: /budget tokens NUMBER"


def echo(asked: Asked) -> Say:
    return Say(f"I heard: {asked.texts[-1][-40:]}")


def test_words_to_a_lead_that_reached_a_cap_are_answered_with_the_reason(tmp_path: Path) -> None:
    with held(tmp_path, echo) as place:
        end = place.piped("first\nsecond\n/resume lead\n", "--plain", "--max-tokens", "1")
    told = [line for line in (end.stdout + end.stderr).splitlines() if CAPPED in line]
    assert len(told) == 2
    assert all("of 1 tokens are used" in line and line.endswith(RAISE) for line in told)


def test_a_cap_that_is_raised_lets_the_lead_answer(tmp_path: Path) -> None:
    with held(tmp_path, echo) as place:
        end = place.piped("first\nsecond\n/budget tokens 1,000,000\n/budget\n", "--plain", "--max-tokens", "1")
    shown = end.stdout + end.stderr
    assert "I heard: second" in shown
    assert "of 1,000,000" in shown
    assert "money: $0" in shown


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("/budget patience 5", "there is no cap 'patience'; caps: money, tokens, time, steps, members"),
        ("/budget money lots", "'lots' is no number above 0; as in: /budget money 5"),
        ("/budget money 0", "'0' is no number above 0; as in: /budget money 5"),
        ("/budget money", "usage: /budget [CAP NUMBER]"),
    ],
)
def test_what_is_no_cap_is_refused(tmp_path: Path, typed: str, said: str) -> None:
    with held(tmp_path, echo) as place:
        end = place.piped(f"{typed}\n", "--plain")
    assert said in end.stdout + end.stderr
