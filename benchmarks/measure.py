"""Processes that start together, and what their times come to.

Every question stands on this. The parent forks before any event loop or thread exists in it, so that all
designs run from the same imported code; it only waits, and whatever it started is gone when it returns.
"""

import math
import multiprocessing
import signal
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

T = TypeVar("T")

LIMIT_SECONDS = 90.0
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    passes: int = 2  # over all designs, so that a slow moment of the machine does not fall on one of them
    seconds: float = 2.0  # of sending, in each pass
    writers: tuple[int, ...] = (1, 8)
    histories: tuple[int, int] = (100, 100_000)
    samples: int = 400
    idle_seconds: float = 5.0
    mailboxes: tuple[int, ...] = (1, 1_000)
    wakes: int = 150
    workers: int = 8
    tasks: int = 200
    rounds: int = 5
    starts: int = 15
    runs: int = 30  # of each agent runtime, in each pass
    installs: bool = True  # peers that are not there yet
    conversations: tuple[int, ...] = (10, 100, 1_000, 5_000)
    steps: int = 20
    resting: tuple[int, ...] = (1, 100)
    deliveries: int = 200
    leavers: int = 40
    spawns: int = 40
    processes: int = 8
    crowd: tuple[int, int] = (100, 1_000)
    hundreds: tuple[int, ...] = (100, 250, 1_000)  # teammates of one team
    hosts: int = 4
    crowd_seconds: float = 60.0
    graph: int = 200
    large_team: tuple[int, int] = (1_000, 100_000)  # its tasks and its records
    paged_team: tuple[int, int, int] = (500, 10_000, 50_000)  # its tasks, its records, and those that follow
    tree_files: int = 50_000
    merged_files: int = 2_000
    merges: int = 40
    # By the seconds that a model call takes: how many teammates share the work.
    speeds: Mapping[tuple[float, float], tuple[int, ...]] = field(
        default_factory=lambda: {(0.02, 0.05): (1, 2, 4, 8, 16, 32), (0.2, 0.5): (8, 16, 32)}
    )


QUICK = Size(
    passes=1,
    seconds=0.3,
    histories=(100, 2_000),
    samples=30,
    idle_seconds=0.5,
    mailboxes=(1, 50),
    wakes=15,
    tasks=40,
    rounds=1,
    starts=2,
    runs=3,
    installs=False,
    conversations=(10, 100),
    steps=3,
    resting=(1, 5),
    deliveries=10,
    leavers=3,
    spawns=3,
    processes=2,
    crowd=(5, 20),
    hundreds=(8,),
    hosts=2,
    crowd_seconds=20.0,
    graph=20,
    large_team=(20, 2_000),
    paged_team=(20, 1_000, 200),
    tree_files=500,
    merged_files=100,
    merges=4,
    speeds={(0.02, 0.05): (1, 4)},
)


class RunFailed(Exception):
    """A measured process raised, died or did not end in time."""


class Gate:
    """Where the processes of one run meet: they begin together, and a reader sees the last writer leave."""

    def __init__(self, parties: int, writers: int) -> None:
        self._here = _FORK.Barrier(parties, self._set_start)
        self._start = _FORK.Value("q", 0)
        self._writers = _FORK.Value("i", writers)

    def _set_start(self) -> None:
        # A barrier lets its waiters out one by one; a short run would be over before the last is out.
        self._start.value = time.perf_counter_ns() + 30_000_000

    def begin(self) -> int:
        """Wait until everybody is here; return the common start once it has come."""
        self._here.wait(LIMIT_SECONDS)
        start = int(self._start.value)
        time.sleep(max(0, start - time.perf_counter_ns()) / 1e9)
        return start

    def leave(self) -> None:
        """Say that this writer is done."""
        with self._writers.get_lock():
            self._writers.value -= 1

    @property
    def writing(self) -> bool:
        """Tell whether any writer has still to leave."""
        with self._writers.get_lock():
            return bool(self._writers.value)


def side_by_side(jobs: Sequence[Callable[[], object]], limit_seconds: float = LIMIT_SECONDS) -> list[Any]:
    """Run each job in a process of its own; return their results in the order of the jobs.

    Raises RunFailed as soon as one fails, or at the time limit; the others are killed then.
    """
    started = [_start(job) for job in jobs]
    try:
        results = _collect([pipe for _, pipe in started], limit_seconds)
        for process, _ in started:
            process.join(1)
        return results
    finally:
        for process, pipe in started:
            process.kill()
            process.join()
            pipe.close()


def alone(job: Callable[[], T], limit_seconds: float = LIMIT_SECONDS) -> T:
    """Run one job in a process of its own; return its result."""
    result: T = side_by_side([job], limit_seconds)[0]
    return result


def _start(job: Callable[[], object]) -> tuple[multiprocessing.process.BaseProcess, Connection]:
    ours, theirs = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_run, args=(job, theirs))
    process.start()
    # Only the child may hold the writing end, or its death would not be seen as an end of file.
    theirs.close()
    return process, ours


def _run(job: Callable[[], object], pipe: Connection) -> None:
    # Ctrl-C reaches the whole group; the parent alone answers it, by killing what it started.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        pipe.send((job(), None))
    except Exception:
        pipe.send((None, traceback.format_exc()))


def _collect(pipes: Sequence[Connection], limit_seconds: float) -> list[Any]:
    deadline = time.monotonic() + limit_seconds
    results: dict[Connection, Any] = {}
    while len(results) < len(pipes):
        ready = wait([pipe for pipe in pipes if pipe not in results], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise RunFailed(f"not done after {limit_seconds:.0f} s; try a smaller run with --quick")
        for pipe in ready:
            assert isinstance(pipe, Connection)
            results[pipe] = _received(pipe)
    return [results[pipe] for pipe in pipes]


def _received(pipe: Connection) -> Any:
    try:
        result, failure = pipe.recv()
    except EOFError as error:
        raise RunFailed("a measured process died without a result") from error
    if failure:
        raise RunFailed(f"a measured process failed:\n{failure}")
    return result


def percentile(nanoseconds: Sequence[int], share: float) -> float:
    """Return the smallest time that at least this share of them does not pass, in milliseconds; 0 of none."""
    ranked = sorted(nanoseconds)
    if not ranked:
        return 0.0
    return ranked[math.ceil(len(ranked) * share) - 1] / 1e6


def in_words(synced: bool) -> str:
    """Return how a progress line calls it."""
    return "synced" if synced else "not synced"


def times(figure: float, limit: float) -> float | None:
    """Return how many times `limit` the figure is, or None where there is nothing to compare with."""
    return figure / limit if limit else None
