"""Goals as values: rounds, what ends them, and what counts as a change."""

import pytest

from deskmate.core.goals import (
    MOST_ROUNDS,
    TOLD_CHARACTERS,
    Goal,
    GoalRound,
    goal_set_text,
    is_open,
    judged_met,
    output_mark,
    remembered,
    round_of,
    round_text,
)

SET = GoalRound(until="make test")


def played(*marks: str) -> list[Goal]:
    """Return a goal after each of these results, as a transcript remembers it. `met` meets it."""
    goal, states = remembered(None, SET), list[Goal]()
    for mark in marks:
        assert goal is not None
        assert is_open(goal)
        goal = remembered(goal, round_of(goal, mark, met=mark == "met"))
        assert goal is not None
        states.append(goal)
    return states


def test_a_goal_is_checked_until_it_is_met() -> None:
    goal = played("2 failed", "1 failed", "met")[-1]
    assert (goal.round, goal.met, is_open(goal)) == (3, True, False)
    assert goal.summary == "the goal is met after 3 rounds"


@pytest.mark.parametrize(
    "marks",
    [
        # The same again and again: the third round without change is the last.
        ("a", "a", "a"),
        ("a", "b", "b", "b"),
        # Back and forth between two results is no change either.
        ("a", "b", "a", "b"),
        ("a", "b", "c", "a", "c"),
    ],
)
def test_three_rounds_that_bring_nothing_new_end_it(marks: tuple[str, ...]) -> None:
    *before, last = played(*marks)
    assert all(map(is_open, before))
    assert (is_open(last), last.met, last.round) == (False, False, len(marks))
    assert last.ended == "3 rounds without change"


def test_a_round_with_something_new_counts_from_the_start() -> None:
    assert is_open(played("a", "a", "b", "b", "c", "c", "d")[-1])


def test_even_endless_progress_ends() -> None:
    assert played(*map(str, range(MOST_ROUNDS)))[-1].ended == f"{MOST_ROUNDS} rounds"


def test_a_new_goal_begins_again_and_an_empty_one_ends_it() -> None:
    goal = played("a", "a")[-1]
    again = remembered(goal, GoalRound(until="make lint", judge=True))
    assert again == Goal("make lint", judge=True)
    assert remembered(again, GoalRound(until="")) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2 failed in 0.31s", "2 failed in 1.2 s", True),
        ("at 12:04:33 <x at 0x7f0a>", "at 12:05:01 <x at 0x7f1b>", True),
        ("2 failed in 0.31s", "1 failed in 0.31s", False),
        ("a.py:12: error", "a.py:13: error", False),
    ],
)
def test_durations_and_addresses_are_no_change_but_numbers_are(one: str, other: str, same: bool) -> None:
    assert (output_mark(1, one) == output_mark(1, other)) is same
    assert output_mark(1, one) != output_mark(2, one)


@pytest.mark.parametrize(
    ("answer", "met"),
    [
        ("MET. All 12 tests pass.", True),
        ("**MET**", True),
        ("NOT MET: no tests ran.", False),
        ("The condition is MET.", False),
        ("METRICS are missing", False),
        ("", False),
    ],
)
def test_only_a_clear_yes_of_a_judge_counts(answer: str, met: bool) -> None:
    assert judged_met(answer) is met


def test_what_the_lead_is_told_is_bounded_and_says_what_to_do() -> None:
    text = round_text(GoalRound(until="make", round=2, mark="m"), "x" * 100_000)
    assert len(text) < TOLD_CHARACTERS + 200
    assert "Continue" in text
    assert "`make test`" in goal_set_text(SET)
