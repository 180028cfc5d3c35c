"""Reading a team's files: damage is told within bounds, at a cost that grows with the file and not with its square."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

from deskmate.core.log.records import encode
from deskmate.queries.damage import check_teams
from deskmate.queries.member_view import look_at_inbox, look_at_transcript
from deskmate.queries.stream_reader import Reading
from deskmate.queries.team_view import look_at_board, look_at_cost, look_at_teams
from deskmate.stores.line_format import seal

FILES = {
    "board": ".tasks/main/board.jsonl",
    "roster": ".teams/main/roster.jsonl",
    "spend": ".teams/main/spend.jsonl",
    "inbox": ".teams/main/alice_inbox.jsonl",
    "transcript": ".teams/main/alice_transcript.jsonl",
}
LOOKS: dict[str, Callable[[Path], object]] = {
    "board": lambda place: look_at_board(place, "main").damage,
    "cost": lambda place: look_at_cost(place, "main").damage,
    "doctor": lambda place: check_teams(place, "main")[0].checks,
    "inbox": lambda place: look_at_inbox(place, "main", "alice").damage,
    "tail": lambda place: look_at_transcript(place, "main", "alice").damage,
    "teams": lambda place: look_at_teams(place)[0].damage,
}


def team(place: Path, file: str, garbage: bytes, lines: int) -> Path:
    """Make a team whose file, one of FILES, ends with so many lines of garbage."""
    for top in (".teams", ".tasks"):
        (place / top / "main").mkdir(parents=True, mode=0o700)
    events = (
        {"type": "team_founded", "team": "main", "at": 1.0},
        {"type": "member_joined", "name": "alice", "at": 1.0},
    )
    stamped = (encode({**event, "run": "r", "ord": number}) for number, event in enumerate(events, 1))
    (place / FILES["roster"]).write_bytes(b"".join(seal(body, number) for number, body in enumerate(stamped, 1)))
    with (place / FILES[file]).open("ab") as opened:
        opened.write(garbage * lines)
    return place


def calls(work: Callable[[], object]) -> int:
    """Return how many calls some work makes, of Python's functions and of those in C."""
    made = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return made


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("look", LOOKS)
def test_twice_the_damage_costs_at_most_twice_as_much(tmp_path: Path, look: str, file: str) -> None:
    once, twice, both = (team(tmp_path / str(lines), file, b"{}\n", lines) for lines in (0, 300, 600))
    LOOKS[look](once)
    empty, less, more = (calls(partial(LOOKS[look], place)) for place in (once, twice, both))
    assert more - empty <= 2.1 * max(0, less - empty) + 100


@pytest.mark.parametrize("garbage", [b"{}\n", b"\n", b"\xff\xfe\n", b'{"n":1,"crc":"00000000"}\n'])
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("look", LOOKS)
def test_of_much_damage_the_first_twenty_are_told_and_the_rest_counted(
    tmp_path: Path, look: str, file: str, garbage: bytes
) -> None:
    found = LOOKS[look](team(tmp_path, file, garbage, 1000))
    assert isinstance(found, tuple)
    assert len(found) <= 24
    told = [words for words in map(str, found) if "more records" in words]
    assert [words for words in told if "980" in words] == told


@pytest.mark.parametrize("copy", [".teams/main/config.json", ".tasks/main/1.json"])
def test_a_copy_without_end_is_not_read_to_its_end(tmp_path: Path, copy: str) -> None:
    place = team(tmp_path, "board", b"", 0)
    with (place / copy).open("wb") as file:
        file.truncate(2**40)
    assert look_at_teams(place)[0].damage == ()


class Words(str):
    """A text that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Words.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_a_note_is_not_compared_with_all_before_it(tmp_path: Path) -> None:
    reading, Words.compared = Reading(tmp_path, "main"), 0
    for number in [*range(1000), *range(1000)]:
        reading.note(Words(f"record {number}"))
    assert len(reading.damage) == 1000
    assert Words.compared <= 2000
