"""The checker of what is told about work that meets, on planted mistakes."""

import pytest

from deskmate.core.agent.entries import Noticed
from deskmate.core.log.names import LEAD
from deskmate.core.log.records import Record
from deskmate.core.radar.overlap_texts import overlap_news
from deskmate.core.radar.overlaps import Overlap
from deskmate.core.team.roster_records import Joined, TeamFounded
from deskmate.core.team.tasks import OverlapsSeen
from deskmate.testing.knowledge.overlap_facts import false_overlaps, overlaps_told_twice
from deskmate.testing.knowledge.truth import TeamHistory

pytestmark = pytest.mark.behaviour("radar")
MEETS = (
    Overlap(kind="edits", members=("ann", "bob"), files=("a.py",)),
    Overlap(kind="conflict", members=("ann", "bob"), files=("b.py",)),
    Overlap(kind="conflict", members=("ann",), files=("c.py",)),
    Overlap(kind="moved", members=("ann",), files=("d.py",)),
)
TEAM = [TeamFounded(team="main", at=0), Joined(name="ann", at=0), Joined(name="bob", at=0)]
SEEN = [OverlapsSeen(by=LEAD, at=0, overlaps=overlaps) for overlaps in (MEETS, (), MEETS)]
HISTORY = TeamHistory(
    [Record(number, event.body()) for number, event in enumerate(TEAM, 1)],
    [Record(number, event.body()) for number, event in enumerate(SEEN, 1)],
)


def told(board: int, *, runs: bool = True) -> Noticed:
    """Return what the product tells of all that meets at the first record, as if it was told at another."""
    lines = overlap_news(HISTORY.board_at(1), HISTORY.roster_at(3), 0, "ann", runs=runs)
    assert len(lines) == len(MEETS)
    return Noticed(text="\n".join(lines), roster=3, board=board)


@pytest.mark.parametrize("runs", [True, False])
def test_what_the_product_tells_is_recognised_and_true(runs: bool) -> None:
    assert list(false_overlaps(told(1, runs=runs), HISTORY, "ann")) == []
    assert len(list(false_overlaps(told(2, runs=runs), HISTORY, "ann"))) == len(MEETS)


def test_what_is_repeated_without_a_change_is_found() -> None:
    assert len(list(overlaps_told_twice(told(1), told(1), HISTORY, "ann"))) == len(MEETS)
    assert list(overlaps_told_twice(told(1), told(3), HISTORY, "ann")) == []
