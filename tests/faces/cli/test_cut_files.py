"""Files that were emptied, cut or removed: what was in them is missed, and a team at work is never wronged."""

import os
import re
import shutil
import threading
from pathlib import Path

import anyio
import pytest

from deskmate import JsonlStore
from deskmate.core.team.roster_records import MemberWaiting
from deskmate.core.team.task_fields import NewTask
from deskmate.queries.stream_reader import Reading
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.system_clock import SystemClock
from tests.faces.disk_teams import OpenTeam, at, files, in_team, worked
from tests.faces.fake_app import Env

ROSTER, BOARD = ".teams/main/roster.jsonl", ".tasks/main/board.jsonl"
STREAMS = {
    BOARD: ["board"],
    ROSTER: ["teams"],
    ".teams/main/spend.jsonl": ["cost"],
    ".teams/main/alice_inbox.jsonl": ["inbox", "alice"],
    ".teams/main/alice_transcript.jsonl": ["tail", "alice"],
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A team whose files have a mark each: two of one slot would share it, and the last to write be remembered."""
    for number in range(50):
        folder = tmp_path / f"work{number}"
        folder.mkdir()
        slots = [file.stat().st_ino % 128 for file in worked(folder).glob(".teams/main/*.jsonl")]
        if len(set(slots)) == len(slots):
            return folder
    raise AssertionError("inodes are not given by chance")


def numbers(file: Path) -> int:
    return len(file.read_bytes().splitlines())


def show(folder: Path) -> None:
    """Write the readable copies."""

    async def write(hands: OpenTeam) -> None:
        store = hands.writer.store
        assert isinstance(store, JsonlStore)
        store.projections().write(await hands.roster.refresh(), await hands.board.refresh())

    in_team(folder, write)


@pytest.mark.parametrize("kept", [0, 1])
@pytest.mark.parametrize("name", list(STREAMS))
def test_a_file_that_was_emptied_or_cut_between_two_lines_is_damaged(
    place: Path, env: Env, name: str, kept: int
) -> None:
    file, last = place / name, numbers(place / name)
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:kept]))
    words = f"{file} ends before record {last}, which was written"
    ended = at(place, *STREAMS[name], env=env)
    assert (ended.code, words in ended.stderr) == (3, True)
    ended = at(place, "doctor", env=env)
    assert (ended.code, f"main: {words}" in ended.stdout, "all of it can be read" in ended.stdout) == (1, True, False)


@pytest.mark.parametrize("name", list(STREAMS))
def test_a_file_that_was_removed_is_missed(place: Path, env: Env, name: str) -> None:
    last = numbers(place / name)
    (place / name).unlink()
    ended = at(place, "doctor", env=env)
    assert (ended.code, f"ends before record {last}, which was written" in ended.stdout) == (1, True)


def test_a_cut_file_is_missed_in_a_copy_of_the_folder_too(place: Path, env: Env) -> None:
    shutil.copytree(place, place.with_name("copy"))
    copy = place.with_name("copy")
    assert at(copy, "doctor", env=env).code == 0
    (copy / BOARD).write_bytes(b"")
    assert at(copy, "board", env=env).code == 3


def test_a_file_that_was_begun_anew_owes_nothing_to_the_one_before(place: Path, env: Env) -> None:
    file = place / ".teams/main/alice_inbox.jsonl"
    aside = file.rename(file.with_name("aside"))
    assert at(place, "send", "alice", "hello", env=env).code == 0
    assert (file.stat().st_ino != aside.stat().st_ino, at(place, "doctor", env=env).code) == (True, 0)


def test_without_its_lock_file_a_board_is_missed_by_the_files_of_its_tasks_and_a_roster_by_its_copy(
    place: Path, env: Env
) -> None:
    show(place)
    last = numbers(place / ROSTER)
    for top in (".teams", ".tasks"):
        (place / top / "main/.lock").unlink()
    assert at(place, "doctor", env=env).code == 0
    for name in (BOARD, ROSTER):
        (place / name).write_bytes((place / name).read_bytes().splitlines(keepends=True)[0])
    ended = at(place, "doctor", env=env)
    assert ended.code == 1
    task = "has no record of task #3"
    assert f"{place / BOARD} {task}" in ended.stdout
    assert f"{place / ROSTER} ends before record {last}, which was written" in ended.stdout


def test_the_copy_of_another_roster_shows_nothing(place: Path, env: Env) -> None:
    show(place)
    copy = place / ".teams/main/config.json"
    copy.write_text(re.sub('"roster": [0-9]+', '"roster": 99', copy.read_text()))
    assert at(place, "teams", env=env).code == 3
    copy.write_text(copy.read_text().replace('"name": "main"', '"name": "other"'))
    assert at(place, "teams", env=env).code == 0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"id": "9"}', '{"id": 8}', "[" * 100_000])
def test_what_somebody_else_put_beside_a_board_shows_nothing(place: Path, env: Env, text: str) -> None:
    (place / ".tasks/main/9.json").write_text(text)
    (place / ".teams/main/config.json").write_text(text)
    assert at(place, "doctor", env=env).code == 0


def test_a_last_line_that_lacks_only_its_line_end_is_not_lost(place: Path, env: Env) -> None:
    (place / BOARD).write_bytes((place / BOARD).read_bytes()[:-1])
    ended = at(place, "doctor", env=env)
    assert (ended.code, "which was written" in ended.stdout) == (0, False)


def test_a_last_line_that_is_cut_off_and_was_written_is_bad(place: Path, env: Env) -> None:
    last = numbers(place / BOARD)
    (place / BOARD).write_bytes((place / BOARD).read_bytes()[:-20])
    ended = at(place, "doctor", env=env)
    assert (ended.code, f"ends before record {last}, which was written" in ended.stdout) == (1, True)


def test_what_is_missing_at_the_end_can_be_accepted_once_something_stands_behind_it(place: Path, env: Env) -> None:
    show(place)
    (place / BOARD).write_bytes((place / BOARD).read_bytes().splitlines(keepends=True)[0])
    ended = at(place, "doctor", "--accept", "--yes", env=env)
    assert (ended.code, "after the next record is added" in ended.stderr) == (2, True)
    assert at(place, "board", "add", "more", env=env).code == 0
    assert at(place, "doctor", "--accept", "--yes", env=env).code == 0
    assert at(place, "doctor", env=env).code == 0


def test_looking_makes_no_lock_file(place: Path, env: Env) -> None:
    (place / ".tasks/main/.lock").unlink()
    before = files(place), os.listdir(place / ".tasks/main")
    assert at(place, "board", env=env).code == 0
    assert (files(place), os.listdir(place / ".tasks/main")) == before


def test_a_team_at_work_is_never_taken_for_cut(place: Path) -> None:
    done, failed = threading.Event(), list[BaseException]()

    def write(sync: bool) -> None:
        try:
            anyio.run(work, place, sync)
        except BaseException as error:
            failed.append(error)
        finally:
            done.set()

    writers = [threading.Thread(target=write, args=(sync,)) for sync in (True, False)]
    for writer in writers:
        writer.start()
    looks = 0
    while not done.is_set() or looks < 20:
        reading = Reading(place, "main")
        for stream in reading.streams():
            reading.items(stream)
        looks += 1
        assert [words for words in reading.damage if "is cut off" not in words] == []
    for writer in writers:
        writer.join()
    assert failed == []


async def work(folder: Path, sync: bool) -> None:
    """Write to every kind of stream, and as the lead the readable copies behind it."""
    store = JsonlStore.open(folder, "main")
    try:
        writer = LogWriter(store, SystemClock())
        roster = Roster(writer)
        await roster.refresh()
        board = Board(writer, roster)
        for number in range(60):
            await board.create("lead", NewTask(f"more {number}"))
            await roster.status(MemberWaiting(name="bob", on="permission", at=float(number)))
            await store.append("mail/alice", {"type": "odd", "run": f"writer {sync}", "ord": number}, sync=sync)
            # Only who holds the lead's seat does.
            if sync:
                store.projections().write(await roster.refresh(), await board.refresh())
    finally:
        store.close()
