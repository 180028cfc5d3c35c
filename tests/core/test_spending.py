"""What model calls came to: a record for each, summed for the team and for each member, held against the caps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.prompts import Reply, Usage
from deskmate.core.records import Damaged, Item, Record
from deskmate.core.spending import EMPTY, Caps, Spending, Spent, Sum, fold, over, read_spent

REPLY = Reply((), usage=Usage(100, 20, 30, 4), model="openai:gpt-5", cost=0.5)


def spent(number: int, member: str = "alice", cost: float | None = 0.5) -> Record:
    body = Spent(member=member, model="m", input=10, output=2, cache_read=3, cache_write=1, cost=cost, at=7.0).body()
    return Record(number, body)


def test_a_reply_becomes_a_record_with_all_its_counts() -> None:
    assert Spent.of("alice", REPLY, 7.0) == Spent(
        member="alice",
        model="openai:gpt-5",
        input=100,
        output=20,
        cache_read=30,
        cache_write=4,
        cost=0.5,
        at=7.0,
    )
    assert read_spent(Spent.of("alice", REPLY, 7.0).body()) == Spent.of("alice", REPLY, 7.0)


@pytest.mark.behaviour("budget")
def test_calls_are_summed_for_the_team_and_for_each_member() -> None:
    spending = fold(EMPTY, [spent(1), spent(2, "bob"), spent(3)])
    assert spending == Spending(
        team=Sum(3, Usage(30, 6, 9, 3), 1.5),
        members={"alice": Sum(2, Usage(20, 4, 6, 2), 1.0), "bob": Sum(1, Usage(10, 2, 3, 1), 0.5)},
        number=3,
    )


@pytest.mark.behaviour("budget")
def test_a_call_whose_price_is_not_known_is_counted_and_said_to_be_so() -> None:
    assert fold(EMPTY, [spent(1, cost=None), spent(2)]).team == Sum(2, Usage(20, 4, 6, 2), 0.5, unpriced=1)


def test_what_cannot_be_read_counts_nothing_and_is_not_looked_at_again() -> None:
    items: list[Item] = [
        Record(1, {"type": "refund", "member": "alice"}),
        Record(2, {"type": "spent", "member": 7}),
        Damaged(3, "lost", "spend.jsonl:3", "no JSON"),
        spent(4),
    ]
    assert fold(EMPTY, items) == Spending(
        Sum(1, Usage(10, 2, 3, 1), 0.5), {"alice": Sum(1, Usage(10, 2, 3, 1), 0.5)}, 4
    )


@given(st.lists(st.tuples(st.sampled_from(["alice", "bob"]), st.none() | st.integers(0, 100))), st.integers(0, 20))
def test_what_came_on_top_of_an_earlier_sum_is_the_sum_of_what_came_since(
    calls: list[tuple[str, int | None]], cut: int
) -> None:
    items = [spent(number, member, cost) for number, (member, cost) in enumerate(calls, 1)]
    before, after = fold(EMPTY, items[:cut]).team, fold(EMPTY, items).team
    assert after.minus(before) == fold(EMPTY, items[cut:]).team


@pytest.mark.behaviour("budget", "S2")
@pytest.mark.parametrize(
    ("caps", "cost", "steps", "words"),
    [
        (Caps(), 1e9, 199, []),
        (Caps(cost=2.0), 1.99, 0, []),
        (Caps(cost=2.0), 2.0, 0, ["budget: $2.00 of $2.00 is spent", "--max-cost"]),
        (Caps(cost=2.0), 2.5, 500, ["budget: $2.50 of $2.00 is spent", "--max-cost"]),
        (Caps(steps=3), 0.0, 2, []),
        (Caps(steps=3), 0.0, 3, ["budget: 3 steps in one turn", "--max-steps"]),
    ],
)
def test_a_cap_is_reached_where_it_is_met_in_words_that_name_the_flag(
    caps: Caps, cost: float, steps: int, words: list[str]
) -> None:
    reason = over(caps, Spending(team=Sum(cost=cost)), steps)
    assert (reason is None) == (not words)
    assert [word for word in words if word not in (reason or "")] == []


def test_caps_that_differ_read_differently() -> None:
    assert len({str(caps) for caps in (Caps(), Caps(cost=1.0), Caps(cost=1.5), Caps(steps=1))}) == 4
