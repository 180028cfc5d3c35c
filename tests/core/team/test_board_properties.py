"""What holds for every board, whatever was written to its stream, in whatever order, and whatever was lost.

Members decide on boards they looked at earlier. Some say what they had seen, so that the stream refuses them where
someone was faster; others write blindly, and the fold must sort it out.
"""

import re
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from deskmate.core.log.records import Damaged, Item, Record
from deskmate.core.team.board_fold import fold
from deskmate.core.team.board_rules import breach, refusal
from deskmate.core.team.tasks import (
    EMPTY,
    Assigned,
    BoardEvent,
    BoardLossAccepted,
    BoardState,
    Claimed,
    Completed,
    Created,
    Deleted,
    Released,
    Task,
    TaskEdited,
    TaskStatus,
    assigned,
    claimable,
    freed_by,
    in_progress_of,
    is_blocked,
)
from tests.core.team.board_builder import records

MEMBERS = ("lead", "user", "alice", "bob", "carol")
OPEN = (TaskStatus.PENDING, TaskStatus.IN_PROGRESS)


class Writer(NamedTuple):
    """Who writes, how many records it has not seen, and whether it cares."""

    name: str
    unseen: int
    blind: bool

    @property
    def says(self) -> dict[str, Any]:
        return {"by": self.name, "at": 0.0}


members = st.sampled_from(MEMBERS)
writers = st.builds(Writer, members, st.sampled_from([0, 0, 0, 1, 2, 5, 15]), st.booleans())
ids = st.integers(1, 8)
some_ids = st.frozensets(ids, max_size=2)


def has_circle(edges: dict[int, frozenset[int]]) -> bool:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError:
        return True
    return False


def edges_of(board: BoardState) -> dict[int, frozenset[int]]:
    return {task.id: task.blocked_by for task in board.tasks.values()}


class Histories(RuleBasedStateMachine):
    """One stream, five members that see it late, and damage."""

    def __init__(self) -> None:
        super().__init__()
        self.items: list[Item] = []
        self.board = EMPTY
        self.history = [EMPTY]
        self.highest = 0
        self.owners: dict[tuple[int, int], str | None] = {}
        self.written: list[BoardEvent] = []

    # -- what the members do ----------------------------------------------------------------------

    @initialize(count=st.integers(4, 8), owner=st.none() | members)
    def begin_with_some_tasks(self, count: int, owner: str | None) -> None:
        for task in range(1, count + 1):
            self.append(Created(by="lead", at=0.0, task=task, subject="s", owner=owner if task == 1 else None))

    @rule(who=writers, blocked_by=some_ids, owner=st.none() | members)
    def create(self, who: Writer, blocked_by: frozenset[int], owner: str | None) -> None:
        task = self.seen_by(who).next_id
        self.write(who, Created(**who.says, task=task, subject="s", blocked_by=blocked_by, owner=owner))

    @rule(who=writers, task=ids, other=ids, side=st.sampled_from(["add_blocked_by", "add_blocks"]))
    def add_an_edge(self, who: Writer, task: int, other: int, side: str) -> None:
        self.write(who, TaskEdited(**who.says, task=task, **dict[str, Any]({side: frozenset({other})})))

    @rule(who=writers, task=ids, add=some_ids, remove=some_ids, blocks=some_ids)
    def edit(self, who: Writer, task: int, add: frozenset[int], remove: frozenset[int], blocks: frozenset[int]) -> None:
        edges: dict[str, Any] = {"add_blocked_by": add, "remove_blocked_by": remove, "add_blocks": blocks}
        self.write(who, TaskEdited(**who.says, task=task, **edges))

    @rule(who=writers, task=ids)
    def claim(self, who: Writer, task: int) -> None:
        self.write(who, Claimed(**who.says, task=task, epoch=self.epoch_seen(who, task)))

    @rule(who=writers, task=ids, owner=members)
    def assign(self, who: Writer, task: int, owner: str) -> None:
        self.write(who, Assigned(**who.says, task=task, owner=owner, epoch=self.epoch_seen(who, task)))

    @rule(who=writers, task=ids)
    def release(self, who: Writer, task: int) -> None:
        self.write(who, Released(**who.says, task=task, epoch=self.epoch_seen(who, task)))

    @rule(who=writers, task=ids)
    def complete(self, who: Writer, task: int) -> None:
        self.write(who, Completed(**who.says, task=task, epoch=self.epoch_seen(who, task)))

    @rule(who=writers, task=ids)
    def delete(self, who: Writer, task: int) -> None:
        self.write(who, Deleted(**who.says, task=task))

    @rule(name=members, pick=st.integers(0, 5))
    def begin_a_task_that_is_offered(self, name: str, pick: int) -> None:
        ready = assigned(self.board, name) + claimable(self.board, name=name, role=None, reads_only=False)
        if ready and name not in self.board.working:
            task = ready[pick % len(ready)]
            claim = Claimed(by=name, at=0.0, task=task.id, epoch=task.epoch)
            assert refusal(self.board, claim) is None
            self.append(claim)

    @rule(name=members, done=st.booleans())
    def end_what_is_in_progress(self, name: str, done: bool) -> None:
        for task in in_progress_of(self.board, name):
            event = (Completed if done else Released)(by=name, at=0.0, task=task.id, epoch=task.epoch)
            assert refusal(self.board, event) is None
            self.append(event)

    @precondition(lambda self: any(task.epoch for task in self.board.tasks.values()))
    @rule(name=members, pick=st.integers(0, 7), age=st.integers(1, 4), data=st.data())
    def write_long_after_losing_a_task(self, name: str, pick: int, age: int, data: st.DataObject) -> None:
        moved = [task for task in self.board.tasks.values() if task.epoch]
        task = moved[pick % len(moved)]
        old: dict[str, Any] = {"by": name, "at": 0.0, "task": task.id, "epoch": max(0, task.epoch - age)}
        late: list[BoardEvent] = [Claimed(**old), Assigned(**old, owner="alice"), Released(**old), Completed(**old)]
        before = self.board.tasks
        for event in data.draw(st.permutations(late)):
            assert refusal(self.board, event) is not None
            self.append(event)
        assert self.board.tasks == before

    @precondition(lambda self: bool(self.board.causes))
    @rule(index=st.integers(0, 1000))
    def write_again_what_was_written(self, index: int) -> None:
        held = [event for event in self.written if event.cause in self.board.causes]
        before = self.board
        self.append(held[index % len(held)])
        assert self.board == replace(before, number=before.number + 1)

    @rule(kind=st.sampled_from(["torn", "lost", "gone"]))
    def damage_the_end_and_accept_it(self, kind: str) -> None:
        number = self.board.number + (3 if kind == "gone" else 1)
        self.take(Damaged(number, "torn" if kind == "torn" else "lost", "board.jsonl", "no record"))
        assert (number in self.board.damaged) is (kind != "torn")
        for lost in sorted(self.board.damaged):
            self.append(BoardLossAccepted(by="user", at=0.0, number=lost))
        assert self.board.damaged == frozenset()

    @precondition(lambda self: len(self.items) > 20 and not self.board.damaged)
    @rule(index=st.integers(0, 1000))
    def lose_a_record_in_the_middle(self, index: int) -> None:
        """Read all again without it, as everybody does after a restart."""
        at = index % len(self.items)
        lost = Damaged(self.items[at].number, "lost", "board.jsonl", "its checksum does not hold")
        items = [*self.items[:at], lost, *self.items[at + 1 :]]
        self.items, self.history, self.board = [], [EMPTY], EMPTY
        self.owners.clear()
        for item in items:
            self.take(item)

    def seen_by(self, who: Writer) -> BoardState:
        return self.history[max(0, len(self.history) - 1 - who.unseen)]

    def epoch_seen(self, who: Writer, task: int) -> int:
        seen = self.seen_by(who).tasks.get(task)
        return seen.epoch if seen else 0

    def write(self, who: Writer, event: BoardEvent) -> None:
        """Append what a member decided on what it last saw: blindly, or only if it saw all and may."""
        event = event.model_copy(update={"cause": f"{who.name}:{len(self.items) + 1}.0"})
        view, before = self.seen_by(who), self.board
        if who.blind:
            allowed = breach(before, event) is None
            self.append(event)
            assert (event.cause in self.board.causes) is allowed
            assert allowed or self.board.tasks == before.tasks
        elif view.number == before.number and refusal(view, event) is None:
            self.append(event)
            assert event.cause in self.board.causes

    # -- what each record does --------------------------------------------------------------------

    def append(self, event: BoardEvent) -> None:
        self.written.append(event)
        self.take(Record(self.board.number + 1, event.body()))

    def take(self, item: Item) -> None:
        before = self.board
        self.items.append(item)
        self.board = fold(before, [item])
        self.history.append(self.board)
        self.highest = max([self.highest, *self.board.tasks])
        assert self.board.number == item.number
        for task in self.board.tasks.values():
            self.compare(before.tasks.get(task.id), task, item, before)

    def compare(self, old: Task | None, new: Task, item: Item, before: BoardState) -> None:
        if old == new:
            return
        assert isinstance(item, Record)
        assert self.owners.setdefault((new.id, new.epoch), new.owner) == new.owner
        if old is None:
            assert new.id > max(before.tasks, default=0)
            assert new.epoch == 0
            return
        assert new.epoch - old.epoch == (new.owner != old.owner)
        assert old.status in OPEN or (new.blocked_by <= old.blocked_by and new.owner == old.owner)
        if "epoch" in item.body:
            assert item.body["epoch"] == old.epoch
        if new.status is TaskStatus.IN_PROGRESS and old.status is not TaskStatus.IN_PROGRESS:
            self.check_claim(old, new, item, before)

    def check_claim(self, old: Task, new: Task, item: Record, before: BoardState) -> None:
        assert old.status is TaskStatus.PENDING
        assert old.owner in (None, item.body["by"])
        assert new.owner == item.body["by"]
        assert all(before.tasks[id].status is TaskStatus.COMPLETED for id in old.blocked_by)
        assert not any(
            task.owner == new.owner and task.status is TaskStatus.IN_PROGRESS for task in before.tasks.values()
        )

    # -- what always holds ------------------------------------------------------------------------

    @invariant()
    def whoever_works_works_on_one_task_it_owns(self) -> None:
        tasks = self.board.tasks.values()
        working = [(task.owner, task.id) for task in tasks if task.status is TaskStatus.IN_PROGRESS]
        assert dict(working) == self.board.working
        assert len(working) == len(self.board.working)

    @invariant()
    def edges_lead_to_tasks_that_exist_and_never_in_a_circle(self) -> None:
        edges = edges_of(self.board)
        there = {task.id for task in self.board.tasks.values() if task.status is not TaskStatus.DELETED}
        assert all(id not in blocked_by and blocked_by <= there for id, blocked_by in edges.items())
        assert not has_circle(edges)

    @invariant()
    def numbers_grow_and_the_next_one_was_never_used_even_if_its_record_is_lost(self) -> None:
        assert list(self.board.tasks) == sorted(self.board.tasks)
        assert self.board.next_id > self.highest

    @invariant()
    def what_the_end_of_a_task_frees_is_what_it_alone_blocks(self) -> None:
        for id, task in self.board.tasks.items():
            if task.status in OPEN:
                done = replace(self.board, tasks={**self.board.tasks, id: replace(task, status=TaskStatus.COMPLETED)})
                freed = [
                    other
                    for other in self.board.tasks.values()
                    if other.id != id and is_blocked(self.board, other) and not is_blocked(done, other)
                ]
                assert freed_by(self.board, id) == freed

    def teardown(self) -> None:
        whole = fold(EMPTY, self.items)
        assert whole == self.board
        for cut, then in enumerate(self.history):
            assert fold(EMPTY, self.items[:cut]) == then
            assert fold(then, self.items[cut:]) == whole


@pytest.mark.behaviour("B1", "B2", "B5", "claim", "task-deps")
class TestHistories(Histories.TestCase):  # type: ignore[valid-type, misc]
    settings = settings(stateful_step_count=80)


# -- large graphs -------------------------------------------------------------------------------------

NODES = 200


class Graph:
    """What a board's edges must be, kept by other means: a circle is whatever the standard library calls one."""

    def __init__(self) -> None:
        self.edges = {id: frozenset[int]() for id in range(1, NODES + 1)}

    def after(self, event: TaskEdited) -> dict[int, frozenset[int]]:
        edges = dict(self.edges)
        edges[event.task] = (edges[event.task] - event.remove_blocked_by) | event.add_blocked_by
        for id in event.add_blocks:
            edges[id] |= {event.task}
        return edges


def random_edit(random: Random) -> TaskEdited:
    def some(most: int) -> frozenset[int]:
        return frozenset(random.randint(1, NODES) for _ in range(random.randint(0, most)))

    return TaskEdited(
        by=random.choice(("lead", "user")),
        at=0.0,
        task=random.randint(1, NODES),
        add_blocked_by=some(2),
        remove_blocked_by=some(20),
        add_blocks=some(1),
    )


def shown_path(words: str) -> list[int]:
    return [int(id) for id in re.findall(r"#(\d+)", words.partition(":")[2].partition(";")[0])]


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "edits"), [(1, 4_000), (2, 4_000), pytest.param(3, 100_000, marks=pytest.mark.soak)])
@pytest.mark.behaviour("B5", "task-deps")
def test_thousands_of_edits_never_make_a_circle_and_none_is_refused_without_one(seed: int, edits: int) -> None:
    random, graph = Random(seed), Graph()
    board = fold(EMPTY, records(Created(by="lead", at=0.0, task=id, subject="s") for id in graph.edges))
    refused = 0
    for _ in range(edits):
        event = random_edit(random)
        wanted = graph.after(event)
        words = refusal(board, event)
        assert (words is not None) is has_circle(wanted)
        if words is None:
            graph.edges = wanted
        elif "cannot block itself" not in words:
            refused += 1
            check_path(shown_path(words), wanted, elided="…" in words)
        board = fold(board, records([event], board.number))
    assert edges_of(board) == graph.edges
    assert edits * 0.1 < refused < edits * 0.9


def check_path(path: list[int], edges: dict[int, frozenset[int]], *, elided: bool) -> None:
    """Check that a path shown is a circle of the edges; only its middle may be left out."""
    assert path[0] == path[-1]
    steps = [after in edges[before] for before, after in pairwise(path)]
    assert all(steps) or (elided and steps.count(False) == 1)
