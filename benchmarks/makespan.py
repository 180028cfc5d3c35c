"""How near does a team come to the shortest time in which its work can be done? A random graph of tasks, many hands."""

import heapq
import random
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from benchmarks.mates import COUNTED, Mates, Noting, at_once, mates
from benchmarks.measure import Size, alone, times
from benchmarks.report import Answer, Column, Table, Target, at_most
from deskmate.core.log.names import LEAD
from deskmate.core.prompt.prompts import CallBlock, Prompt, Reply, ResultBlock, TextBlock
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import TaskStatus
from deskmate.runtime.streams.board import Board

RATIO = 1.02
MOST_BLOCKERS = 2
# The task that all others wait for, so that everyone may begin at one instant.
START = 1
_TASK = re.compile(r"#(\d+)")


# -- what could be --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Work:
    """A task: what it waits for, and the seconds of its two model calls: one completes it, one says so."""

    blockers: frozenset[int]
    completing: float
    saying: float


Graph = Mapping[int, Work]


def graph(count: int, seconds: tuple[float, float], seed: int) -> Graph:
    """Return that many tasks, each waiting for none to a few of those before it."""
    rng = random.Random(seed)
    tasks: dict[int, Work] = {}
    for task in range(START + 1, START + 1 + count):
        blockers = rng.sample(sorted(tasks), min(len(tasks), rng.randint(0, MOST_BLOCKERS)))
        tasks[task] = Work(frozenset(blockers), rng.uniform(*seconds), rng.uniform(*seconds))
    return tasks


def ideal(tasks: Graph, hands: int) -> float:
    """Return when the last call ends if whoever is free takes the lowest task that is, and nothing else takes time."""
    waits = {task: set(work.blockers) for task, work in tasks.items()}
    # Those freed, by when: a hand is none of the tasks.
    coming: list[tuple[float, int]] = [(0.0, 0)] * hands
    ready = [task for task, blockers in waits.items() if not blockers]
    free, end = 0, 0.0
    while coming:
        now, what = heapq.heappop(coming)
        free += what == 0
        for task in _freed(waits, what):
            heapq.heappush(ready, task)
        # All that is of one instant before anybody chooses.
        while free and ready and not (coming and coming[0][0] == now):
            work = tasks[task := heapq.heappop(ready)]
            free, end = free - 1, max(end, now + work.completing + work.saying)
            heapq.heappush(coming, (now + work.completing, task))
            heapq.heappush(coming, (now + work.completing + work.saying, 0))
    return end


def _freed(waits: dict[int, set[int]], done: int) -> Iterable[int]:
    for task, blockers in waits.items():
        if done in blockers:
            blockers.remove(done)
            if not blockers:
                yield task


def bound(tasks: Graph, hands: int) -> float:
    """Return what no order of the tasks can pass below: the longest chain, or all the work shared out evenly."""
    begins: dict[int, float] = {}
    for task, work in tasks.items():
        begins[task] = max((begins[blocker] + tasks[blocker].completing for blocker in work.blockers), default=0.0)
    chain = max(begins[task] + work.completing + work.saying for task, work in tasks.items())
    return max(chain, sum(work.completing + work.saying for work in tasks.values()) / hands)


# -- what is --------------------------------------------------------------------------------------


class Hands:
    """The model of all the hands: it completes the task it is told of, then says so; each takes its time."""

    def __init__(self, tasks: Graph) -> None:
        self._tasks, self._open = tasks, len(tasks)
        self._limiter = anyio.CapacityLimiter(len(tasks))
        self.ended = 0
        self.done = anyio.Event()

    async def answer(self, prompt: Prompt) -> Reply:
        """Complete a task, or say that it is; once the last of all is said, `done` is set."""
        blocks = prompt.passages[-1].blocks
        results = [block.text for block in blocks if isinstance(block, ResultBlock)]
        task = _task_in(results or [block.text for block in blocks if isinstance(block, TextBlock)])
        if task is None:
            # Its first prompt: asked once before, nothing is loaded for the first time while it is measured.
            return await at_once(prompt)
        work = self._tasks[task]
        # In a thread: the loop rounds what it sleeps up to whole milliseconds.
        seconds = work.saying if results else work.completing
        await anyio.to_thread.run_sync(time.sleep, seconds, limiter=self._limiter)
        if results:
            self._open -= 1
            if not self._open:
                self.ended = time.monotonic_ns()
                self.done.set()
            return Reply((TextBlock("Done."),), usage=COUNTED)
        call = CallBlock(f"call_{task}", "TaskUpdate", {"taskId": str(task), "status": TaskStatus.COMPLETED})
        return Reply((call,), usage=COUNTED)


def _task_in(texts: Iterable[str]) -> int | None:
    found = _TASK.search("\n".join(texts))
    return int(found[1]) if found else None


async def play(home: Path, tasks: Graph, hands: int, url: str | None = None) -> tuple[float, float]:
    """Return the seconds from when the tasks are free until the last word on the last, and those of the processor."""
    model = Hands(tasks)
    async with mates(home, model=Noting(model.answer), url=url) as team:
        await _lay_out(team.team_state.board, tasks)
        await _seat(team, hands)
        began, worked = time.monotonic_ns(), time.process_time()
        await team.team_state.board.complete(LEAD, START, team.team_state.board.state.tasks[START].epoch)
        await model.done.wait()
        return (model.ended - began) / 1e9, time.process_time() - worked


async def _lay_out(board: Board, tasks: Graph) -> None:
    await board.create(LEAD, NewTask("begin", owner=LEAD))
    for task, work in tasks.items():
        made = await board.create(LEAD, NewTask(f"part {task}", blocked_by=work.blockers or {START}))
        assert made.id == task


async def _seat(team: Mates, hands: int) -> None:
    names = [f"hand-{number}" for number in range(1, hands + 1)]
    for name in names:
        await team.join(name)
    await team.rested(names)


# -- the question ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figures:
    """What so many hands came to, in seconds, with a model of such speed."""

    speed: tuple[float, float]
    hands: int
    took: float
    worked: float
    ideal: float
    bound: float

    @property
    def ratio(self) -> float:
        """How many times the ideal it took."""
        return self.took / self.ideal


def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Have the same graph worked off by more and more teammates."""
    figures = []
    for speed, counts in size.speeds.items():
        tasks = graph(size.graph, speed, seed=size.graph)
        for hands in counts:
            say(f"makespan: {_hands(hands)}, {_speed(speed)} a call")
            home = folder / f"{hands}-{speed[0]}"
            home.mkdir()
            took, worked = alone(partial(anyio.run, play, home, tasks, hands))
            figures.append(Figures(speed, hands, took, worked, ideal(tasks, hands), bound(tasks, hands)))
    return Answer([_table(figures, size.graph)], _targets(figures))


def _hands(count: int) -> str:
    return f"{count} teammate{'s' * (count > 1)}"


def _speed(speed: tuple[float, float]) -> str:
    return f"{speed[0] * 1000:.0f} to {speed[1] * 1000:.0f} ms"


def _table(figures: list[Figures], count: int) -> Table:
    columns = [
        Column("model call"),
        Column("teammates", "{:,}"),
        Column("took s", "{:.3f}"),
        Column("ideal s", "{:.3f}"),
        Column("x ideal", "{:.3f}"),
        Column("x bound", "{:.3f}"),
        Column("CPU ms a task", "{:.1f}"),
    ]
    rows = [
        (
            *(_speed(one.speed), one.hands, one.took, one.ideal, one.ratio),
            times(one.took, one.bound),
            one.worked / count * 1000,
        )
        for one in figures
    ]
    notes = (
        "Two calls a task: one completes it, one says so. Ideal: whoever is free takes the lowest task that is, in no",
        "time, and all else takes none either. Bound: the longest chain, or all calls shared out evenly. All teammates",
        "share one process: it cannot take less time than its processor does for all tasks.",
    )
    return Table(f"Makespan: {count} tasks that wait for each other, by teammates that take them", columns, rows, notes)


def _targets(figures: list[Figures]) -> list[Target]:
    worst = {one.speed: one for one in sorted(figures, key=lambda one: one.ratio)}
    return [
        at_most(f"makespan, {_speed(speed)} a call: worst, {_hands(one.hands)}", one.ratio, RATIO, "x ideal")
        for speed, one in worst.items()
    ]
