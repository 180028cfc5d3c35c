"""Processes killed at any instant: nothing is lost, nothing is done twice."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from deskmate.core.team.members import Member
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.errors import TaskRefused
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.system_clock import SystemClock
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing import kill_runs
from deskmate.testing.servers import storm_place
from deskmate.testing.servers.storm_place import StormPlace

SOAK = bool(os.environ.get("DESKMATE_SOAK"))
MESSAGES, MAIL_KILLS = (20_000, 1_000) if SOAK else (4_800, 250)
TASKS, CLAIM_KILLS = (1_000, 150) if SOAK else (300, 50)
ZOMBIES = 1_000 if SOAK else 100


def storm(folder: Path, *args: str) -> dict[str, object]:
    """Run a storm in a process of its own (it forks) and return its toll."""
    command = [sys.executable, "-m", "deskmate.testing.kill_runs", *args, "--folder", str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert ended.stdout, ended.stderr
    toll: dict[str, object] = json.loads(ended.stdout)
    print(toll)
    return toll


def verdict(toll: dict[str, object]) -> dict[str, object]:
    return {key: toll[key] for key in ("done", "lost", "doubled", "inverted", "violations", "examples")}


CLEAN = {"lost": 0, "doubled": 0, "inverted": 0, "violations": 0, "examples": []}


@pytest.mark.behaviour("M1", "M2", "M3")
def test_thousands_of_messages_and_hundreds_of_kills_lose_double_and_invert_nothing(tmp_path: Path) -> None:
    toll = storm(tmp_path, "mail", "--messages", str(MESSAGES), "--kills", str(MAIL_KILLS))
    assert verdict(toll) == {"done": MESSAGES, **CLEAN}
    assert int(str(toll["kills"])) >= MAIL_KILLS


@pytest.mark.behaviour("B1")
def test_sixteen_claimers_killed_at_random_do_every_task_once(tmp_path: Path) -> None:
    toll = storm(tmp_path, "claims", "--tasks", str(TASKS), "--processes", "16", "--kills", str(CLAIM_KILLS))
    assert verdict(toll) == {"done": TASKS, **CLEAN}
    assert int(str(toll["kills"])) >= CLAIM_KILLS


def test_a_storm_sees_what_was_lost_doubled_or_inverted(tmp_path: Path) -> None:
    """The toll is read from the files: taken out, put in twice or swapped there, it must say so."""
    words = (
        "import sys; from pathlib import Path; from deskmate.testing.kill_runs import mail_storm\n"
        "print(mail_storm(Path(sys.argv[1]), messages=60, kills=3, senders=2, hearers=1, seed=1).clean)"
    )
    command = [sys.executable, "-c", words, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "True", ended.stderr
    path = tmp_path / ".teams/storm/h0_transcript.jsonl"
    whole = path.read_bytes()
    entries = list(storm_place.raw_records(path))
    heard = [letter for entry in entries for letter in entry["mail"]]
    by_one = [letter for letter in heard if letter["sender"] == "s0"]

    def toll_of(letters: list[dict[str, object]]) -> tuple[int, int, int]:
        path.write_bytes(b"".join(_line({"type": "heard", "mail": [letter]}) for letter in letters))
        toll = kill_runs.mail_toll(StormPlace(tmp_path), ["h0"], 60, kills=0, seconds=0)
        assert not toll.clean
        return toll.lost, toll.doubled, toll.inverted

    assert toll_of([*heard[:7], *heard[8:]])[0] == 1
    assert toll_of([*heard, heard[3]])[1] == 1
    assert toll_of([by_one[1], by_one[0], *[letter for letter in heard if letter not in by_one[:2]]])[2] >= 1
    path.write_bytes(whole)
    assert kill_runs.mail_toll(StormPlace(tmp_path), ["h0"], 60, kills=0, seconds=0).clean


def _line(body: dict[str, object]) -> bytes:
    import zlib

    head = json.dumps(body).encode()[:-1] + b',"n":1'
    return head + b',"crc":"%08x"}\n' % zlib.crc32(head)


@pytest.mark.behaviour("B2")
@pytest.mark.anyio
async def test_a_stopped_owner_that_wakes_up_later_writes_nothing(tmp_path: Path) -> None:
    """The owner is frozen with its task in hand; the lead gives the task to another; then the owner thaws."""
    writer = LogWriter(JsonlStore.open(tmp_path, "team", create=True), SystemClock())
    roster = Roster(writer)
    board = Board(writer, roster)
    await roster.found("team")
    for name in ("zombie", "other"):
        await roster.join(Joined(name=name, at=0))
    other = roster.state.members["other"]
    child = subprocess.Popen(
        [sys.executable, __file__, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        refused = 0
        for _ in range(ZOMBIES):
            task = await board.create("lead", NewTask("work"))
            _tell(child, str(task.id))
            assert child.stdout.readline() == f"claimed {task.id} 1\n"
            os.kill(child.pid, signal.SIGSTOP)
            _tell(child, "complete" if refused % 2 else "release")
            await board.refresh()
            await board.release("lead", task.id, 1, note="it froze")
            mine = await board.claim(other, task.id)
            os.kill(child.pid, signal.SIGCONT)
            assert child.stdout.readline().startswith("refused"), task.id
            refused += 1
            after = (await board.refresh()).tasks[task.id]
            assert (after.owner, after.epoch, after.status) == ("other", mine.epoch, mine.status)
            await board.complete("other", task.id, mine.epoch)
        assert refused == ZOMBIES
    finally:
        child.kill()
        child.wait()
        child.stdin.close()
        child.stdout.close()


def _tell(child: "subprocess.Popen[str]", words: str) -> None:
    assert child.stdin is not None
    child.stdin.write(words + "\n")
    child.stdin.flush()


async def _be_a_zombie(folder: Path) -> None:
    """Claim what is named, then do with it what is said, having noticed nothing in between."""
    writer = LogWriter(JsonlStore.open(folder, "team"), SystemClock())
    roster = Roster(writer)
    board = Board(writer, roster)
    me: Member = (await roster.refresh()).members["zombie"]
    for words in sys.stdin:
        task = await board.claim(me, int(words))
        print("claimed", task.id, task.epoch, flush=True)
        deed = board.complete if next(sys.stdin).strip() == "complete" else board.release
        try:
            await deed("zombie", task.id, task.epoch)
            print("accepted", flush=True)
        except TaskRefused as error:
            print("refused:", error, flush=True)


if __name__ == "__main__":
    anyio.run(_be_a_zombie, Path(sys.argv[1]))
