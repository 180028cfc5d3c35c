"""Processes that start together, and what their times come to.

Every question stands on this. The parent forks before any event loop or thread exists in it, so that all designs
run from the same imported code; it only waits, and whatever it started is gone when it returns.
"""

import math
import multiprocessing
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import TypeVar

T = TypeVar("T")

LIMIT_SECONDS = 90.0
_FORK = multiprocessing.get_context("fork")


class RunFailed(Exception):
    """A measured process raised, died or did not end in time."""


class Gate:
    """Where the processes of one run meet: they begin together, and a reader sees when the last writer has left."""

    def __init__(self, parties: int, writers: int) -> None:
        self._start = _FORK.Barrier(parties)
        self._writers = _FORK.Value("i", writers)

    def begin(self) -> int:
        """Return the time once everybody is here."""
        self._start.wait(LIMIT_SECONDS)
        return time.perf_counter_ns()

    def leave(self) -> None:
        """Say that this writer is done."""
        with self._writers.get_lock():
            self._writers.value -= 1

    @property
    def writing(self) -> bool:
        """Tell whether any writer has still to leave."""
        with self._writers.get_lock():
            return self._writers.value > 0


def side_by_side(jobs: Sequence[Callable[[], T]]) -> list[T]:
    """Run each job in a process of its own; return their results in the order of the jobs.

    Raises RunFailed as soon as one fails, or at the time limit; the others are killed then.
    """
    started = [_start(job) for job in jobs]
    try:
        results = _collect([pipe for _, pipe in started])
        for process, _ in started:
            process.join(1)
        return results
    finally:
        for process, pipe in started:
            process.kill()
            process.join()
            pipe.close()


def alone(job: Callable[[], T]) -> T:
    """Run one job in a process of its own; return its result."""
    return side_by_side([job])[0]


def _start(job: Callable[[], T]) -> tuple[multiprocessing.process.BaseProcess, Connection]:
    ours, theirs = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_run, args=(job, theirs))
    process.start()
    # Only the child may hold the writing end, or its death would not be seen as an end of file.
    theirs.close()
    return process, ours


def _run(job: Callable[[], T], pipe: Connection) -> None:
    # Ctrl-C reaches the whole group; the parent alone answers it, by killing what it started.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        pipe.send((job(), None))
    except Exception:
        pipe.send((None, traceback.format_exc()))


def _collect(pipes: Sequence[Connection]) -> list[T]:
    deadline = time.monotonic() + LIMIT_SECONDS
    results: dict[Connection, T] = {}
    while len(results) < len(pipes):
        ready = wait([pipe for pipe in pipes if pipe not in results], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise RunFailed(f"not done after {LIMIT_SECONDS:.0f} s; try a smaller run with --quick")
        for pipe in ready:
            assert isinstance(pipe, Connection)
            results[pipe] = _received(pipe)
    return [results[pipe] for pipe in pipes]


def _received(pipe: Connection) -> T:
    try:
        result, failure = pipe.recv()
    except EOFError as error:
        raise RunFailed("a measured process died without a result") from error
    if failure:
        raise RunFailed(f"a measured process failed:\n{failure}")
    return result  # type: ignore[no-any-return]


def percentile(nanoseconds: Sequence[int], share: float) -> float:
    """Return the smallest time that at least this share of them does not pass, in milliseconds; 0 of none."""
    ranked = sorted(nanoseconds)
    if not ranked:
        return 0.0
    return ranked[math.ceil(len(ranked) * share) - 1] / 1e6


def times(figure: float, limit: float) -> float | None:
    """Return how many times `limit` the figure is, or None where there is nothing to compare with."""
    return figure / limit if limit else None
