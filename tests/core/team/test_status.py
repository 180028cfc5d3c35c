"""What a member is doing, and the words that files and programs read for it."""

from typing import get_args

import pytest

from deskmate.core.team.status import (
    Idle,
    Left,
    Parked,
    Status,
    StatusWord,
    Waiting,
    WaitsOn,
    Working,
    status_detail,
    status_of,
    status_word,
)

WRITTEN: list[tuple[Status, str, str]] = [
    (Working(), "working", ""),
    (Idle(), "idle", ""),
    *((Waiting(on), "waiting", on) for on in get_args(WaitsOn)),
    (Parked("budget: 5 USD"), "parked", "budget: 5 USD"),
    (Parked(""), "parked", ""),
    (Left(), "left", ""),
    (Left("agreed to a shutdown request"), "left", "agreed to a shutdown request"),
]


@pytest.mark.parametrize(("status", "word", "detail"), WRITTEN)
def test_a_status_is_written_as_a_word_and_a_detail_and_read_again(status: Status, word: str, detail: str) -> None:
    assert (status_word(status), status_detail(status)) == (word, detail)
    assert status_of(word, detail) == status


def test_the_table_has_every_word() -> None:
    assert {word for _, word, _ in WRITTEN} == {*get_args(StatusWord)}


def test_who_agreed_to_leave_is_read_with_that() -> None:
    assert status_of("left", "asked", agreed=True) == Left("asked", agreed=True)


@pytest.mark.parametrize(
    ("word", "detail"), [("", ""), ("Idle", ""), ("asleep", ""), ("waiting", ""), ("waiting", "tea")]
)
def test_other_words_are_no_status(word: str, detail: str) -> None:
    assert status_of(word, detail) is None
