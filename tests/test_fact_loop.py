"""The event loop of the tests: a test that waits for a fact is woken, whatever makes the fact true."""

import threading
import time
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from tests.fact_loop import wait_for

pytestmark = pytest.mark.anyio
SOON = 20


async def test_a_fact_that_holds_for_one_turn_only_is_seen() -> None:
    turn = 0

    async def play() -> None:
        nonlocal turn
        while turn < 100:
            await anyio.lowlevel.checkpoint()
            turn += 1

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(play)
            await wait_for(lambda: turn == 50)


async def test_a_fact_of_another_thread_is_seen_without_spinning(tmp_path: Path) -> None:
    path, looks = tmp_path / "fact", 0

    def fact() -> bool:
        nonlocal looks
        looks += 1
        return path.exists()

    def bring_about() -> None:
        time.sleep(0.1)
        path.touch()

    thread = threading.Thread(target=bring_about)
    with anyio.fail_after(SOON):
        thread.start()
        await wait_for(fact)
    thread.join()
    # A spinning loop would have looked thousands of times.
    assert looks < 200


async def test_a_fact_that_cannot_be_looked_at_raises_where_it_is_waited_for() -> None:
    looks = [False, False]
    with anyio.fail_after(SOON), pytest.raises(IndexError):
        await wait_for(looks.pop)


async def test_a_wait_that_is_given_up_is_looked_at_no_more() -> None:
    looks = 0

    def fact() -> bool:
        nonlocal looks
        looks += 1
        return False

    with anyio.move_on_after(0.01):
        await wait_for(fact)
    before = looks
    await anyio.sleep(0.01)
    assert looks == before
