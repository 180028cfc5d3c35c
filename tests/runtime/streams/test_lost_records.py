"""What a live board or roster holds is what anyone would read, also where the file lost something meanwhile."""

from contextlib import closing
from pathlib import Path

import pytest

from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.errors import TaskRefused
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing import FakeClock

pytestmark = pytest.mark.anyio


def a_board(store: JsonlStore) -> Board:
    writer = LogWriter(store, FakeClock())
    return Board(writer, Roster(writer))


def cut_last_line(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


@pytest.mark.behaviour("M5")
async def test_who_appends_behind_a_loss_knows_of_it_as_whoever_reads_it_does(tmp_path: Path) -> None:
    with closing(JsonlStore.open(tmp_path, "team", create=True)) as store:
        first = a_board(store)
        await first.create("lead", NewTask("kept"))
        await first.create("lead", NewTask("lost"))
        cut_last_line(tmp_path / ".tasks/team/board.jsonl")
        live = a_board(store)
        await live.create("lead", NewTask("after the loss"))
        assert live.state == await a_board(store).refresh()
        assert live.state.damaged
        roster = Roster(LogWriter(store, FakeClock()))
        await roster.found("team")
        bob = await roster.join(Joined(name="bob", at=0))
        with pytest.raises(TaskRefused, match="damaged"):
            await live.claim(bob, 1)


async def test_a_join_behind_a_loss_knows_of_it_too(tmp_path: Path) -> None:
    with closing(JsonlStore.open(tmp_path, "team", create=True)) as store:
        first = Roster(LogWriter(store, FakeClock()))
        await first.found("team")
        await first.join(Joined(name="ann", at=0))
        cut_last_line(tmp_path / ".teams/team/roster.jsonl")
        live = Roster(LogWriter(store, FakeClock()))
        await live.join(Joined(name="bob", at=0))
        assert live.state == await Roster(LogWriter(store, FakeClock())).refresh()
        assert live.state.damaged
