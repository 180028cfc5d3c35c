"""A task outlives its owner, and an owner that lives keeps it: the kernel knows who lives, no clock does."""

import os
import random
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from deskmate.core.agent.actions import Rest, Take
from deskmate.core.agent.entries import Did, Said, Took
from deskmate.core.agent.memory import EMPTY, remember
from deskmate.core.agent.rules.decide import decide
from deskmate.core.agent.view import View
from deskmate.core.log.names import LEAD
from deskmate.core.log.records import Record
from deskmate.core.team import board_fold, members, roster_fold, roster_records
from deskmate.core.team.messages import Plain
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import EMPTY as NO_TASKS
from deskmate.core.team.tasks import BoardEvent, BoardState, Claimed, Completed, Created, TaskStatus
from deskmate.errors import Held
from deskmate.runtime.departure import leave
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.system_clock import SystemClock
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing import FakeClock
from deskmate.testing.fake_disk import LosingFiles

RUNS = 10_000 if os.environ.get("DESKMATE_SOAK") else 1_000


@pytest.mark.behaviour("B3")
@pytest.mark.anyio
async def test_a_dead_owners_task_is_free_again_and_a_frozen_one_keeps_it(tmp_path: Path) -> None:
    clock = FakeClock()
    store = JsonlStore.open(tmp_path, "team", create=True)
    writer = LogWriter(store, clock)
    roster = Roster(writer)
    board = Board(writer, roster)
    await roster.found("team")
    for name in ("alice", "bob"):
        await roster.join(Joined(name=name, at=0))
    task = await board.create("lead", NewTask("work"))
    owner = subprocess.Popen([sys.executable, __file__, str(tmp_path)], stdout=subprocess.PIPE)
    assert owner.stdout is not None
    assert owner.stdout.readline() == b"holds\n"

    os.kill(owner.pid, signal.SIGSTOP)
    clock.advance(3_600)
    with pytest.raises(Held, match="alice herself"):
        async with store.hold("alice", "a successor"):
            pass
    assert (await board.refresh()).tasks[task.id].owner == "alice"

    owner.kill()
    owner.wait()
    owner.stdout.close()
    async with store.hold("alice", "a successor"):
        assert (await board.refresh()).tasks[task.id].owner == "alice", "a restart keeps it"
        transcript = await Transcript.load(writer, "alice")
        await leave(transcript, writer, roster, board, reason="it died")
    freed = (await board.refresh()).tasks[task.id]
    assert (freed.owner, freed.epoch, freed.status) == (None, 2, TaskStatus.PENDING)
    assert "it died" in freed.notes[-1].text
    assert (await board.claim(roster.state.members["bob"], task.id)).owner == "bob"


@pytest.mark.behaviour("M1")
@pytest.mark.anyio
async def test_mail_is_heard_or_comes_back_though_the_power_fails_right_after_leaving(tmp_path: Path) -> None:
    for seed in range(40):
        folder = tmp_path / str(seed)
        folder.mkdir()
        files = LosingFiles(folder, random.Random(seed))
        with closing(JsonlStore.open(folder, "team", create=True, files=files)) as store:
            writer = LogWriter(store, FakeClock())
            roster = Roster(writer)
            await roster.found("team")
            await roster.join(Joined(name="bob", at=0))
            transcript = await Transcript.load(writer, "bob")
            await Mailbox("lead", writer, roster).send("bob", Plain(content="important"), id_="m1")
            await Mailbox("bob", writer, roster).hear(transcript)
            await leave(transcript, writer, roster, Board(writer, roster), reason="asked to", agreed=True)
            files = files.lose()
        with closing(JsonlStore.open(folder, "team", files=files)) as store:
            writer = LogWriter(store, FakeClock())
            transcript = await Transcript.load(writer, "bob")
            roster = Roster(writer)
            await leave(transcript, writer, roster, Board(writer, roster), reason="again")
            assert ("m1" in transcript.memory.ids) != bool(await store.read("mail/lead")), f"seed {seed}"


async def _own(folder: Path) -> None:
    store = JsonlStore.open(folder, "team")
    writer = LogWriter(store, SystemClock())
    async with store.hold("alice", "alice herself"):
        roster = Roster(writer)
        await Board(writer, roster).claim((await roster.refresh()).members["alice"], 1)
        print("holds", flush=True)
        await anyio.sleep_forever()


@pytest.mark.behaviour("B6")
def test_no_task_that_fits_someone_starves() -> None:
    """Three teammates take and finish what they can; what is left fits nobody or hangs on such."""
    left_over = 0
    for seed in range(RUNS):
        rng = random.Random(seed)
        roles = {"alice": "coder", "bob": "tester", "carol": ""}
        board = _random_board(rng, (None, None, "coder", "tester", "alice", "painter"))
        roster = _roster(roles)
        memories = {name: remember(EMPTY, 1, Said(text="ready")) for name in roles}
        for name in roles:
            memories[name] = remember(memories[name], 2, Said())
        moved = True
        while moved:
            moved = False
            for name in rng.sample(list(roles), 3):
                view = View(me=roster.members[name], memory=memories[name], board=board, roster=roster)
                match decide(view):
                    case Take(task=id_):
                        epoch = board.tasks[id_].epoch
                        board = _post(board, Claimed(by=name, at=0, task=id_, epoch=epoch))
                        board = _post(board, Completed(by=name, at=0, task=id_, epoch=epoch + 1))
                        for entry in (
                            Took(task=id_, epoch=epoch + 1, text=""),
                            Did(call="", text="", tasks={id_: None}),
                            Said(),
                        ):
                            memories[name] = remember(memories[name], memories[name].number + 1, entry)
                        moved = True
                    case action:
                        assert action == Rest(), f"seed {seed}"
        stuck = {task.id for task in board.tasks.values() if task.is_open}
        doomed = {task.id for task in board.tasks.values() if task.role == "painter"}
        for id_ in sorted(board.tasks):
            if board.tasks[id_].blocked_by & doomed:
                doomed.add(id_)
        assert stuck == doomed, f"seed {seed}"
        left_over += len(stuck)
    assert left_over > RUNS


def _random_board(rng: random.Random, roles: tuple[str | None, ...]) -> BoardState:
    board = NO_TASKS
    for id_ in range(1, rng.randint(2, 14)):
        blockers = frozenset(other for other in range(1, id_) if rng.random() < 0.2)
        board = _post(board, Created(by=LEAD, at=0, task=id_, subject="s", blocked_by=blockers, role=rng.choice(roles)))
    return board


def _post(board: BoardState, event: BoardEvent) -> BoardState:
    after = board_fold.fold(board, [Record(board.number + 1, event.body())])
    assert not after.skipped
    return after


def _roster(roles: dict[str, str]) -> members.RosterState:
    events = [
        roster_records.TeamFounded(team="t", at=0),
        *(Joined(name=name, role=role, at=0) for name, role in roles.items()),
    ]
    return roster_fold.fold(members.EMPTY, [Record(number, event.body()) for number, event in enumerate(events, 1)])


if __name__ == "__main__":
    anyio.run(_own, Path(sys.argv[1]))
