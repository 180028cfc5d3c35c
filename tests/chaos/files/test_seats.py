"""One holder of a seat at a time, freed by the kernel the moment that holder is gone (S1)."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import anyio
import pytest

from deskmate.errors import Held
from deskmate.stores.jsonl_store import JsonlStore
from tests.chaos import TIMES

RACES = 50 * TIMES
ENOUGH_SECONDS = 60
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a process that takes the lead's seat; end it with the test."""
    with ExitStack() as stack:

        def start(note: str, how: str = "hold") -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("seat_process.py")), str(tmp_path), note, how],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start


@pytest.fixture
def store(tmp_path: Path) -> Iterator[JsonlStore]:
    store = JsonlStore.open(tmp_path, "team", create=True)
    yield store
    store.close()


def told(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout
    return process.stdout.readline().split()


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()


@pytest.mark.behaviour("S1")
def test_of_eight_that_start_at_once_one_sits_and_the_others_are_told_who(tmp_path: Path) -> None:
    program = Path(__file__).with_name("seat_race_process.py")
    ran = subprocess.run(
        [sys.executable, str(program), str(tmp_path), str(RACES)], check=True, stdout=subprocess.PIPE, text=True
    )
    races = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(races) == RACES
    for race in races:
        winners = [note for outcome, note in race if outcome == "held"]
        assert len(winners) == 1, race
        assert [note for outcome, note in race if outcome == "refused"] == winners * 7, race


@pytest.mark.anyio
@pytest.mark.behaviour("S1")
async def test_the_seat_of_a_killed_holder_is_free_at_once(start: Start, store: JsonlStore) -> None:
    for note in ("first", "second", "third"):
        holder = start(note)
        assert told(holder) == ["held", "0"]
        with pytest.raises(Held) as refused:
            async with store.hold("lead", "me"):
                pass
        assert refused.value.note == note
        assert told(start("late")) == ["refused", note]
        kill(holder)
        async with store.hold("lead", "me") as seat:
            assert seat.name == "lead"


@pytest.mark.anyio
@pytest.mark.behaviour("S1")
async def test_a_stopped_holder_keeps_its_seat(start: Start, store: JsonlStore) -> None:
    holder = start("asleep")
    assert told(holder) == ["held", "0"]
    holder.send_signal(signal.SIGSTOP)
    with pytest.raises(Held):
        async with store.hold("lead", "me"):
            pass
    kill(holder)


@pytest.mark.anyio
@pytest.mark.behaviour("S1")
async def test_whoever_stands_in_line_gets_the_seat_when_its_holder_dies(start: Start, store: JsonlStore) -> None:
    holder = start("first")
    assert told(holder) == ["held", "0"]
    in_line = start("second", "wait")
    with anyio.fail_after(ENOUGH_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(sit_down, store)
            await anyio.wait_all_tasks_blocked()
            kill(holder)
            assert await anyio.to_thread.run_sync(told, in_line) == ["held", "0"]
            kill(in_line)


async def sit_down(store: JsonlStore) -> None:
    async with store.hold("lead", "me", wait=True):
        pass


@pytest.mark.anyio
@pytest.mark.behaviour("S1")
@pytest.mark.parametrize("how", ["fork", "spawn"])
async def test_a_child_of_the_holder_does_not_keep_its_seat(start: Start, store: JsonlStore, how: str) -> None:
    holder = start("parent", how)
    outcome, child = told(holder)
    assert outcome == "held"
    try:
        kill(holder)
        os.kill(int(child), 0)
        async with store.hold("lead", "me"):
            pass
    finally:
        with suppress(ProcessLookupError):
            os.kill(int(child), signal.SIGKILL)


@pytest.mark.anyio
@pytest.mark.behaviour("S1")
async def test_whoever_leaves_the_line_can_end_and_the_line_moves_on(start: Start, store: JsonlStore) -> None:
    holder = start("first")
    assert told(holder) == ["held", "0"]
    leaver = start("leaver", "cancel")
    assert told(leaver) == ["left"]
    assert leaver.wait(ENOUGH_SECONDS) == 0
    with anyio.fail_after(ENOUGH_SECONDS):
        async with anyio.create_task_group() as group:
            with anyio.CancelScope() as left:
                group.start_soon(sit_down, store)
                with pytest.raises(Held):
                    async with store.hold("lead", "me"):
                        pass
                left.cancel()
            group.start_soon(sit_down, store)
            await anyio.wait_all_tasks_blocked()
            kill(holder)
    assert told(start("next")) == ["held", "0"]
