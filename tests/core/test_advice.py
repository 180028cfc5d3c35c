"""What parallel work can be worth, as rules over values."""

import random
from itertools import combinations

import pytest

from deskmate.core.advice import (
    PaidCall,
    PlannedTask,
    WorkedTask,
    board_advice,
    critical_path,
    member_times,
    named_files,
    solo_estimate,
    spawn_advice,
    width,
)


def graph(**edges: str) -> dict[int, frozenset[int]]:
    """Return what blocks each task: `graph(t1="", t2="1")`."""
    return {int(name[1:]): frozenset(map(int, blockers.split())) for name, blockers in edges.items()}


CHAIN = graph(t1="", t2="1", t3="2")
DIAMOND = graph(t1="", t2="1", t3="1", t4="2 3")


@pytest.mark.parametrize(
    ("edges", "most"), [({}, 0), (CHAIN, 1), (DIAMOND, 2), (graph(t1="", t2="", t3="", t4="1"), 3)]
)
def test_the_width_is_how_many_tasks_need_not_wait_for_each_other(edges: dict[int, frozenset[int]], most: int) -> None:
    assert width(edges) == most


@pytest.mark.parametrize("seed", range(40))
def test_the_width_is_the_largest_set_of_tasks_of_which_none_waits_for_another(seed: int) -> None:
    rng = random.Random(seed)
    edges = {id_: frozenset(one for one in range(1, id_) if rng.random() < 0.3) for id_ in range(1, 8)}
    before = dict(edges)
    for id_ in edges:
        before[id_] = frozenset(edges[id_].union(*(before[one] for one in edges[id_])))
    free = (
        len(some)
        for size in range(1, 8)
        for some in combinations(edges, size)
        if not any(one in before[other] or other in before[one] for one, other in combinations(some, 2))
    )
    assert width(edges) == max(free)


@pytest.mark.parametrize(
    ("edges", "teammates", "advises"),
    [
        (CHAIN, 1, False),
        (CHAIN, 2, True),
        (DIAMOND, 2, False),
        (DIAMOND, 3, True),
        ({}, 9, False),
        (graph(t1=""), 9, False),
    ],
)
def test_a_lead_is_told_only_if_more_teammates_are_there_than_can_work(
    edges: dict[int, frozenset[int]], teammates: int, advises: bool
) -> None:
    text = spawn_advice(edges, teammates)
    assert bool(text) is advises
    assert len(text) < 200


def planned(edges: dict[int, frozenset[int]], *texts: str) -> list[PlannedTask]:
    words = [*texts, *[""] * len(edges)]
    return [PlannedTask(id_, text, blockers) for (id_, blockers), text in zip(edges.items(), words, strict=False)]


@pytest.mark.behaviour("advice")
@pytest.mark.parametrize(
    ("edges", "teammates", "says"),
    [
        ({}, 0, ""),
        (graph(t1=""), 0, ""),
        (CHAIN, 0, "wait for each other"),
        (CHAIN, 1, ""),
        (DIAMOND, 0, "At most 2 of the 4 open tasks can be worked on at the same time."),
        (DIAMOND, 1, "At most 2 of the 4 open tasks can be worked on at the same time, and you have 1 teammate."),
        (DIAMOND, 2, ""),
    ],
)
def test_a_lead_with_fewer_teammates_than_work_is_told_what_the_board_allows(
    edges: dict[int, frozenset[int]], teammates: int, says: str
) -> None:
    text = board_advice(planned(edges), teammates)
    assert (text == says) if not says else (says in text)


@pytest.mark.behaviour("advice")
def test_tasks_that_name_the_same_file_are_told_unless_one_waits_for_the_other() -> None:
    texts = ("Change `src/app.py`.", "Fix ./src/app.py, and see https://a.example/b.html", "Test src/app.py")
    text = board_advice(planned(graph(t1="", t2="", t3="1 2"), *texts), 0)
    assert "#1 and #2 both name src/app.py" in text
    assert "#3 " not in text
    many = board_advice(planned(graph(t1="", t2="", t3="", t4=""), *["a/b.py " + "x/y" * 900] * 4), 3)
    assert (many.count("both name"), len(many) < 300) == (2, True)


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("Edit src/app.py and README.md.", {"src/app.py", "README.md"}),
        ("Use Node.js, e.g. version 20.1, and example.com/docs", set()),
        ("See `docs/größe.md`.", {"docs/größe.md"}),
        ("x" * 200 + ".py", set()),
    ],
)
def test_a_file_is_named_by_its_folder_or_its_end(text: str, files: set[str]) -> None:
    assert named_files(text) == files


@pytest.mark.behaviour("advice")
def test_what_teammates_cost_so_far_is_told_only_if_all_of_it_is_known() -> None:
    two = planned(graph(t1="", t2=""))
    assert "$0.15 for each task" in board_advice(two, 1, [0.1, 0.2])
    assert "$" not in board_advice(two, 1, [0.1, None])
    assert "$" not in board_advice(two, 1, [])


def task(id_: int, seconds: float, *blocked_by: int) -> WorkedTask:
    return WorkedTask(id_, f"task {id_}", "ann", seconds, frozenset(blocked_by))


def test_the_critical_path_is_the_chain_that_took_longest() -> None:
    tasks = [task(1, 60), task(2, 5, 1), task(3, 50, 1), task(4, 10, 2, 3), task(5, 100)]
    assert [one.id for one in critical_path(tasks)] == [1, 3, 4]
    assert critical_path([]) == []


def test_the_time_of_a_member_is_split_by_what_it_did() -> None:
    statuses = [(0.0, "working"), (10.0, "permission"), (15.0, "working"), (20.0, "idle")]
    times = member_times("ann", statuses, 50.0)
    assert (times.worked, times.waited, times.idle) == (15.0, {"permission": 5.0}, 30.0)


def test_one_agent_costs_less_by_what_coordination_cost_and_at_most_more_by_what_it_carries() -> None:
    calls = [PaidCall("lead", 100, 1.0), PaidCall("ann", 200, 2.0), PaidCall("lead", 100, 1.0)]
    calls += [
        PaidCall("ann", 300, 3.0),
        PaidCall("bob", 200, 2.0),
        PaidCall("bob", 200, 2.0),
        PaidCall("lead", 100, 1.0),
    ]
    estimate = solo_estimate(calls, "lead", 60.0)
    assert estimate is not None
    assert (estimate.least, estimate.most, estimate.seconds) == (
        2.0 + 3.0 + 2.0,
        2.0 + 9.0 + 2 * 300 * 12.0 / 1200,
        60.0,
    )


def test_without_teammates_or_prices_there_is_no_estimate() -> None:
    assert solo_estimate([PaidCall("lead", 1, 1.0)], "lead", 0.0) is None
    assert solo_estimate([PaidCall("lead", 1, 1.0), PaidCall("ann", 1, None)], "lead", 0.0) is None
