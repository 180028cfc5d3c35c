"""Which work meets, as a table and as properties."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.radar.overlaps import BRANCH, MOST_FILES, Overlap, Pair, WorkInProgress, overlaps_of

A, B = "a.py", "b.py"


def work(member: str, committed: str = "", edited: str = "", moved: str = "") -> WorkInProgress:
    return WorkInProgress(member, frozenset(committed.split()), frozenset(edited.split()), frozenset(moved.split()))


@pytest.mark.parametrize(
    ("works", "conflicts", "found"),
    [
        pytest.param([work("ann", A), work("bob", A)], {}, [], id="commits that merge do not meet"),
        pytest.param(
            [work("ann", A), work("bob", A)],
            {("ann", "bob"): (A,)},
            [("conflict", "ann bob", A)],
            id="commits conflict",
        ),
        pytest.param(
            [work("bob", edited=A), work("ann", edited=A)], {}, [("edits", "ann bob", A)], id="both edit a file"
        ),
        pytest.param(
            [work("ann", A), work("bob", edited=A)], {}, [("edits", "ann bob", A)], id="one edits what one committed"
        ),
        pytest.param([work("ann", edited=A), work("bob", edited=B)], {}, [], id="each edits another file"),
        pytest.param(
            [work("ann", A, edited=f"{A} {B}"), work("bob", A, edited=B)],
            {("ann", "bob"): (A,)},
            [("conflict", "ann bob", A), ("edits", "ann bob", B)],
            id="a file that conflicts is named once",
        ),
        pytest.param([work("ann", A, moved=B)], {}, [], id="the branch moved elsewhere"),
        pytest.param([work("ann", A, moved=A)], {}, [("moved", "ann", A)], id="the branch moved under a commit"),
        pytest.param([work("ann", edited=A, moved=A)], {}, [("moved", "ann", A)], id="the branch moved under an edit"),
        pytest.param(
            [work("ann", A, moved=A)], {("ann", BRANCH): (A,)}, [("conflict", "ann", A)], id="the branch conflicts"
        ),
    ],
)
def test_where_work_meets(
    works: list[WorkInProgress], conflicts: Mapping[Pair, tuple[str, ...]], found: list[tuple[str, str, str]]
) -> None:
    told = [(one.kind, " ".join(one.members), " ".join(one.files)) for one in overlaps_of(works, conflicts)]
    assert told == found


FILES = st.frozensets(st.sampled_from([f"f{number}" for number in range(30)]))
WORKS = st.lists(
    st.builds(WorkInProgress, st.sampled_from("abcdef"), FILES, FILES, FILES),
    unique_by=lambda work: work.member,
)


@given(WORKS, st.randoms(use_true_random=False))
def test_the_order_in_which_members_are_seen_does_not_matter(works: list[WorkInProgress], chance: object) -> None:
    shuffled = sorted(works, key=lambda work: hash((work.member, repr(chance))))
    assert overlaps_of(works, {}) == overlaps_of(shuffled, {})


@given(WORKS)
def test_everybody_named_changes_every_file_named(works: list[WorkInProgress]) -> None:
    by_name = {work.member: work for work in works}
    for overlap in overlaps_of(works, {}):
        assert 0 < len(overlap.files) <= MOST_FILES
        for name in overlap.members:
            assert {*overlap.files} <= by_name[name].files


@given(WORKS)
def test_nobody_is_warned_whose_files_are_its_own(works: list[WorkInProgress]) -> None:
    apart = [
        WorkInProgress(
            work.member,
            frozenset(f"{work.member}/{name}" for name in work.committed),
            frozenset(f"{work.member}/{name}" for name in work.edited),
        )
        for work in works
    ]
    assert overlaps_of(apart, {}) == ()


def test_an_overlap_is_the_same_after_it_was_written_and_read() -> None:
    overlap = Overlap(kind="edits", members=("ann", "bob"), files=(A,))
    again = Overlap.model_validate(overlap.model_dump(mode="json"))
    assert {again: 1} == {overlap: 1}
