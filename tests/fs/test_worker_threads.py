"""Threads that everything in a process shares, from any event loop."""

import threading
from functools import partial

import anyio
import pytest

from deskmate.fs.worker_threads import on_shared_thread

pytestmark = pytest.mark.anyio


def failing() -> None:
    raise LookupError("not there")


async def test_shared_threads_return_results_and_raise_errors() -> None:
    assert await on_shared_thread(threading.current_thread) is not threading.main_thread()
    with pytest.raises(LookupError, match="not there"):
        await on_shared_thread(failing)


def test_event_loops_in_several_threads_use_them_together() -> None:
    results: list[int] = []

    async def many() -> None:
        results.extend([await on_shared_thread(partial(abs, -number)) for number in range(50)])

    threads = [threading.Thread(target=anyio.run, args=(many,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted([*range(50)] * 4)
