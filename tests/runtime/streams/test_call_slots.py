"""Slots: over all processes, no more are in use than there are, and every process that waits gets one."""

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import anyio
import pytest

from deskmate.ports import Store
from deskmate.runtime.streams.call_slots import CallSlots
from deskmate.stores.memory_store import MemoryStore
from tests.runtime.agent_harness import turns
from tests.runtime.conftest import Open
from tests.runtime.streams.slot_process import CALLS, MEMBERS, SLOTS
from tests.runtime.team_process import SOON, until

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("budget")]
Start = Callable[[str, str], subprocess.Popen[str]]


class Line:
    """Members that take slots, in the order they came; each keeps its slot until it is told to leave."""

    def __init__(self) -> None:
        self.inside: list[str] = []
        self._leave: dict[str, anyio.Event] = {}

    async def come(self, slots: CallSlots, name: str) -> None:
        leave = self._leave[name] = anyio.Event()
        async with slots.one(name):
            self.inside.append(name)
            await leave.wait()
            self.inside.remove(name)

    def leave(self, name: str) -> None:
        self._leave[name].set()


@asynccontextmanager
async def standing(slots: CallSlots, *names: str) -> AsyncIterator[Line]:
    line = Line()
    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(line.come, slots, name)
            await turns(1)
        with anyio.fail_after(SOON):
            yield line
        tasks.cancel_scope.cancel()


async def test_members_of_one_process_get_a_slot_in_the_order_they_came(open_store: Open) -> None:
    async with standing(CallSlots(open_store(), 2), *"abcd") as line:
        await until(lambda: len(line.inside) == 2)
        assert sorted(line.inside) == ["a", "b"]
        line.leave("b")
        await until(lambda: line.inside == ["a", "c"])
        line.leave("a")
        await until(lambda: line.inside == ["c", "d"])


async def test_what_another_process_does_not_use_is_free(open_store: Open) -> None:
    async with (
        standing(CallSlots(open_store(), 3), "a", "b") as theirs,
        standing(CallSlots(open_store(), 3), "c", "d") as ours,
    ):
        await until(lambda: len(theirs.inside + ours.inside) == 3)
        theirs.leave("a")
        theirs.leave("b")
        await until(lambda: sorted(ours.inside) == ["c", "d"])


async def test_who_leaves_the_line_takes_no_slot_away(open_store: Open) -> None:
    ours = CallSlots(open_store(), 1)
    async with standing(CallSlots(open_store(), 1), "a") as theirs:
        await until(lambda: theirs.inside == ["a"])
        async with standing(ours, "b", "c"):
            await turns()
        theirs.leave("a")
        await until(lambda: not theirs.inside)
    async with standing(ours, "d") as line:
        await until(lambda: line.inside == ["d"])


class Asked(MemoryStore):
    """A store that counts who asks it for a seat."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def hold(self, name: str, note: str, *, wait: bool = False) -> Any:
        self.asked += 1
        return super().hold(name, note, wait=wait)


async def test_a_thousand_in_line_ask_the_store_no_more_than_there_are_slots() -> None:
    store = Asked()
    async with standing(CallSlots(store, 8), *map(str, range(1000))) as line:
        await until(lambda: len(line.inside) == 8)
        assert store.asked == 8


# -- in real processes ------------------------------------------------------------------------------


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a process that takes slots; end it with the test."""
    with ExitStack() as stack:

        def start(how: str, note: str) -> subprocess.Popen[str]:
            program = [sys.executable, "-m", "tests.runtime.streams.slot_process", how, str(tmp_path), note]
            process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start


def told(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


async def test_two_processes_that_crowd_never_have_more_inside_than_there_are_slots(
    start: Start, tmp_path: Path
) -> None:
    crowds = [start("crowd", note) for note in "ab"]
    assert [told(process) for process in crowds] == ["ready", "ready"]
    for process in crowds:
        assert process.stdin
        print(file=process.stdin, flush=True)
    assert [process.wait(SOON) for process in crowds] == [0, 0]
    notes = (tmp_path / "notes").read_text().split()
    assert sorted(notes) == sorted([f"{way}{name}" for way in "+-" for name in "ab"] * MEMBERS * CALLS)
    assert max(accumulate(1 if note.startswith("+") else -1 for note in notes)) <= SLOTS


async def test_whoever_stands_in_line_gets_the_slot_of_a_process_that_is_killed(
    start: Start, open_on_disk: Callable[[], Store]
) -> None:
    holders = [start("hold", note) for note in "ab"]
    assert [told(process) for process in holders] == ["held", "held"]
    async with standing(CallSlots(open_on_disk(), SLOTS), "c") as line:
        await anyio.wait_all_tasks_blocked()
        assert line.inside == []
        for process in holders:
            process.kill()
        await until(lambda: line.inside == ["c"])
