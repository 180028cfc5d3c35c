"""The radar of a running team: what it puts on the board, when, and what it does if git fails."""

from collections.abc import Collection, Mapping

import pytest

from deskmate.core.agent.entries import Call, Did, Said, Started
from deskmate.core.log.names import BOARD
from deskmate.core.radar.overlaps import Overlap, Pair, WorkInProgress
from deskmate.core.team.caps import Caps
from deskmate.core.team.roster_records import Joined
from deskmate.errors import ToolError
from deskmate.runtime.events import Feed
from deskmate.runtime.radar.conflict_radar import PAUSE_SECONDS, ConflictRadar
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_state import TeamState
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import FakeClock
from tests.runtime.team_process import until

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("radar")]
BOTH = Overlap(kind="edits", members=("ann", "bob"), files=("a.py",))


class PlainTrees:
    """Trees in which everything that was edited is new, and nothing is committed."""

    def __init__(self) -> None:
        self.looks = 0
        self.broken = False

    async def look(
        self, edited: Mapping[str, Collection[str]]
    ) -> tuple[list[WorkInProgress], Mapping[Pair, tuple[str, ...]]]:
        self.looks += 1
        if self.broken:
            raise ToolError("git merge-tree failed")
        return [WorkInProgress(name, edited=frozenset(files)) for name, files in edited.items()], {}


async def team(**isolation: str) -> TeamState:
    writer = LogWriter(MemoryStore(), FakeClock())
    roster = Roster(writer)
    team_state = TeamState(writer, roster, Board(writer, roster), Budget(writer, Caps(), roster=roster), Feed())
    await roster.found("main")
    for name, one in isolation.items():
        await roster.join(Joined(name=name, at=0.0, isolation=one), Caps())
        await (await Transcript.load(writer, name)).record(Started(name=name, roster=1))
    return team_state


async def edit(team_state: TeamState, name: str, path: str) -> None:
    transcript = await Transcript.load(team_state.writer, name)
    await transcript.record(Said(calls=(Call(tool="write_file", arguments={"path": path}),)))
    await transcript.record(Did(call=f"{name}:{transcript.memory.number}.0", text="", files={path: "f"}))


async def test_what_members_edit_is_compared_and_the_board_says_where_it_meets() -> None:
    team_state = await team(ann="own", bob="own")
    radar = ConflictRadar(team_state, PlainTrees())
    await edit(team_state, "ann", "a.py")
    await radar.look()
    assert team_state.board.state.overlaps == {}
    await edit(team_state, "bob", "a.py")
    await radar.look()
    assert team_state.board.state.overlaps == {BOTH: 1}


async def test_nothing_is_written_as_long_as_nothing_changes() -> None:
    team_state = await team(ann="own", bob="own")
    for name in ("ann", "bob"):
        await edit(team_state, name, "a.py")
    for _ in range(3):
        await ConflictRadar(team_state, PlainTrees()).look()
    assert (await team_state.board.refresh()).overlaps == {BOTH: 1}
    assert len(await team_state.writer.store.read(BOARD)) == 1


async def test_who_works_in_the_folder_of_the_user_is_not_looked_at() -> None:
    team_state, trees = await team(ann="own", bob="shared"), PlainTrees()
    for name in ("ann", "bob"):
        await edit(team_state, name, "a.py")
    await ConflictRadar(team_state, trees).look()
    assert team_state.board.state.overlaps == {}
    alone, unused = await team(bob="shared"), PlainTrees()
    await ConflictRadar(alone, unused).look()
    assert (trees.looks, unused.looks) == (1, 0)


async def test_what_met_is_over_when_one_of_them_leaves() -> None:
    team_state = await team(ann="own", bob="own")
    for name in ("ann", "bob"):
        await edit(team_state, name, "a.py")
    radar = ConflictRadar(team_state, PlainTrees())
    await radar.look()
    await team_state.roster.leave("bob", "done", heard=0)
    await radar.look()
    assert team_state.board.state.overlaps == {}


async def test_it_looks_after_each_change_and_once_more_at_the_end() -> None:
    team_state, trees = await team(ann="own", bob="own"), PlainTrees()
    clock = team_state.writer.clock
    assert isinstance(clock, FakeClock)
    async with task_group() as tasks:
        tasks.start_soon(ConflictRadar(team_state, trees).keep)
        await until(lambda: trees.looks == 1)
        await edit(team_state, "ann", "a.py")
        await until(lambda: clock.sleeping)
        clock.advance(PAUSE_SECONDS)
        await until(lambda: trees.looks == 2)
        await edit(team_state, "bob", "a.py")
        tasks.cancel_scope.cancel()
    assert (trees.looks, (await team_state.board.refresh()).overlaps) == (3, {BOTH: 1})


async def test_if_git_fails_the_board_stays_as_it_is_and_the_next_look_succeeds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    team_state, trees = await team(ann="own", bob="own"), PlainTrees()
    for name in ("ann", "bob"):
        await edit(team_state, name, "a.py")
    radar = ConflictRadar(team_state, trees)
    trees.broken = True
    await radar.look()
    await radar.look()
    assert len(caplog.records) == 1
    assert team_state.board.state.overlaps == {}
    trees.broken = False
    await radar.look()
    assert team_state.board.state.overlaps == {BOTH: 1}
