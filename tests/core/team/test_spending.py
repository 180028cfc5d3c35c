"""What model calls came to: a record for each, summed for the team and for each member, held against the caps."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.log.records import Damaged, Item, Record
from deskmate.core.prompt.prompts import Reply, Usage
from deskmate.core.team.caps import Caps
from deskmate.core.team.spending import EMPTY, Spending, Spent, Sum, cap_in, crowded, fold, is_over, over, read_spent

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


@pytest.mark.behaviour("budget")
@pytest.mark.parametrize("field", ["input", "output", "cache_read", "cache_write", "cost"])
def test_a_record_that_gives_something_back_counts_nothing(field: str) -> None:
    for value in (-1, float("-inf"), float("nan")):
        assert fold(EMPTY, [spent(1), Record(2, {**spent(2).body, field: value})]).team == fold(EMPTY, [spent(1)]).team


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


SPENDING = Spending(
    team=Sum(7, Usage(1000, 200, 30, 4), 2.5),
    members={
        "alice": Sum(2, Usage(400, 100), 1.0),
        "alice:4.0": Sum(3, Usage(100, 0, 20, 4), 0.75),
        "alice-2": Sum(1, Usage(400, 50), 0.5),
        "bob": Sum(1, Usage(100, 50, 10), 0.25),
    },
)


@pytest.mark.behaviour("budget", "S2")
@pytest.mark.parametrize(
    ("caps", "said"),
    [
        (Caps(), None),
        (Caps(cost=2.51), None),
        (Caps(cost=2.5), "budget: $2.50 of $2.50 is spent (--max-cost)"),
        (Caps(cost=0.001), "budget: $2.50 of $0.001000 is spent (--max-cost)"),
        (Caps(tokens=1235), None),
        (Caps(tokens=1234), "budget: 1,234 of 1,234 tokens are used (--max-tokens)"),
        (Caps(seconds=60.5), None),
        (Caps(seconds=60.0), "budget: the time limit of 60 s is reached (--max-time)"),
        (Caps(steps=4), None),
        (Caps(steps=3), "budget: 3 steps in one turn (--max-steps)"),
        (Caps(member_cost=1.76), None),
        (
            Caps(member_cost=1.75),
            "budget: 'alice' has spent $1.75 of its $1.75 (max_member_cost)",
        ),
        (Caps(member_tokens=625), None),
        (
            Caps(member_tokens=624),
            "budget: 'alice' has used 624 of its 624 tokens (max_member_tokens)",
        ),
        # Who may join, and how many may call at once, parks nobody.
        (Caps(members=0, calls=1), None),
        # What holds for all is told before what holds for one.
        (Caps(cost=1.0, member_cost=1.0, steps=1), "budget: $2.50 of $1.00 is spent (--max-cost)"),
    ],
)
@pytest.mark.parametrize("member", ["alice", "alice:4.0", "alice:9.1"])
def test_a_cap_is_reached_where_it_is_met_in_words_that_say_what_raises_it(
    caps: Caps, said: str | None, member: str
) -> None:
    assert over(caps, SPENDING, member, 3, 60.0) == said


@pytest.mark.behaviour("budget")
def test_the_cap_of_a_member_is_not_reached_by_what_others_spend() -> None:
    caps = Caps(member_cost=0.3, member_tokens=500)
    assert [name for name in ("alice-2", "bob", "carol") if over(caps, SPENDING, name, 0, 0.0)] == ["alice-2"]


@pytest.mark.behaviour("budget")
@pytest.mark.parametrize(
    ("cap", "teammates", "said"),
    [
        (None, 1000, None),
        (2, 1, None),
        (0, 0, "budget: --max-members allows no teammates. Do the work yourself, or use subagents."),
        (1, 1, "budget: 1 teammate is here, and --max-members allows no more. Give the work to"),
        (2, 3, "budget: 3 teammates are here, and --max-members allows no more. Give the work to"),
    ],
)
def test_a_team_with_as_many_teammates_as_it_may_have_is_said_to_be_full(
    cap: int | None, teammates: int, said: str | None
) -> None:
    why = crowded(Caps(members=cap), teammates)
    assert why is None if said is None else (why or "").startswith(said)


def test_caps_that_differ_in_anything_read_differently() -> None:
    sets = [Caps(), Caps(cost=1.0), Caps(cost=1.5), *(Caps(**{cap.name: 7}) for cap in fields(Caps))]
    assert len({str(caps) for caps in sets}) == len(sets)


@pytest.mark.parametrize(
    ("caps", "cap"),
    [
        (Caps(cost=0.5), "--max-cost"),
        (Caps(tokens=1), "--max-tokens"),
        (Caps(seconds=1), "--max-time"),
        (Caps(steps=1), "--max-steps"),
        (Caps(member_cost=0.5), "max_member_cost"),
        (Caps(member_tokens=1), "max_member_tokens"),
    ],
)
def test_the_reason_of_a_parked_member_names_its_cap(caps: Caps, cap: str) -> None:
    reason = over(caps, fold(EMPTY, [spent(1)]), "alice", 1, 1.0)
    assert reason is not None
    assert (is_over(reason), cap_in(reason)) == (True, cap)


@pytest.mark.parametrize("reason", ["", "anthropic:x denied access (401): no (--max-cost)", "no budget: (--max-cost)"])
def test_another_reason_names_no_cap(reason: str) -> None:
    assert (is_over(reason), cap_in(reason)) == (False, None)
