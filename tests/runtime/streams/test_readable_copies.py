"""Readable copies of roster and board, kept by the process that has the lead's seat: current within a second."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from deskmate.core.team.members import RosterState
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import BoardState
from deskmate.errors import StoreCorrupt
from deskmate.runtime.streams.readable_copies import PAUSE_SECONDS, ReadableCopies, Write
from deskmate.runtime.task_groups import task_group
from tests.runtime.agent_harness import AgentHarness, turns
from tests.runtime.team_process import SOON, until

pytestmark = pytest.mark.anyio
Shown = list[tuple[list[str], list[str]]]


def showing(shown: Shown) -> Write:
    """Return what writes down who is here and what there is to do."""

    def write(roster: RosterState, board: BoardState) -> None:
        names = [member.name for member in roster.members.values() if member.here]
        shown.append((names, [task.subject for task in board.tasks.values()]))

    return write


@asynccontextmanager
async def kept(harness: AgentHarness, mirror: ReadableCopies) -> AsyncIterator[None]:
    with anyio.fail_after(SOON):
        async with task_group() as tasks:
            tasks.start_soon(mirror.keep)
            yield
            tasks.cancel_scope.cancel()


async def pause(harness: AgentHarness) -> None:
    """Let the time between two copies pass."""
    await until(lambda: harness.clock.sleeping)
    harness.clock.advance(PAUSE_SECONDS)


@pytest.mark.behaviour("config")
async def test_what_changes_is_shown_within_a_second_and_not_more_than_once_in_one() -> None:
    harness = await AgentHarness.opened([])
    shown: Shown = []
    assert PAUSE_SECONDS < 1
    async with kept(harness, ReadableCopies(harness.team_state, showing(shown))):
        await until(lambda: shown)
        for name in ("alice", "bob"):
            await harness.team_state.roster.join(Joined(name=name, at=0.0))
        await harness.team_state.board.create("lead", NewTask("parse"))
        await until(lambda: harness.clock.sleeping)
        await turns()
        assert shown == [(["lead"], [])]
        await pause(harness)
        await until(lambda: len(shown) == 2)
        await pause(harness)
        await turns()
        await harness.team_state.roster.leave("alice", "done", heard=0)
        await until(lambda: len(shown) == 3)
    assert shown == [(["lead"], []), (["lead", "alice", "bob"], ["parse"]), (["lead", "bob"], ["parse"])]


@pytest.mark.behaviour("config")
async def test_the_last_change_is_shown_when_the_process_ends() -> None:
    harness = await AgentHarness.opened([])
    shown: Shown = []
    async with kept(harness, ReadableCopies(harness.team_state, showing(shown))):
        await until(lambda: shown)
        await harness.team_state.board.create("lead", NewTask("parse"))
    assert shown == [(["lead"], []), (["lead"], ["parse"])]


async def test_a_copy_that_cannot_be_written_is_said_and_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    harness = await AgentHarness.opened([])
    tried: list[int] = []

    def fail(roster: RosterState, board: BoardState) -> None:
        tried.append(roster.number)
        raise StoreCorrupt("config.json is not a regular file") if len(tried) == 1 else OSError(28, "No space left")

    with caplog.at_level(logging.WARNING):
        async with kept(harness, ReadableCopies(harness.team_state, fail)):
            await until(lambda: tried)
            await harness.team_state.board.create("lead", NewTask("parse"))
            await pause(harness)
            await until(lambda: len(tried) == 2)
    assert "not a regular file" in caplog.text
    assert "No space left" in caplog.text


@pytest.mark.parametrize("steps", range(8))
async def test_ended_at_any_step_it_has_shown_everything(steps: int) -> None:
    harness = await AgentHarness.opened([])
    await harness.team_state.board.create("lead", NewTask("parse"))
    shown: Shown = []
    with anyio.fail_after(SOON):
        async with task_group() as tasks:
            tasks.start_soon(ReadableCopies(harness.team_state, showing(shown)).keep)
            await turns(steps)
            tasks.cancel_scope.cancel()
    assert shown[-1:] == [(["lead"], ["parse"])]
