"""Readable copies of roster and board: right, private, whole at every instant, and never missed for long."""

import json
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deskmate.core.log.records import Record
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.team import board_fold, members, roster_fold, roster_records
from deskmate.core.team.roster_records import Joined, MemberIdle, MemberLeft, MemberWaiting, TeamFounded
from deskmate.core.team.tasks import (
    EMPTY,
    BoardEvent,
    BoardState,
    Claimed,
    Completed,
    Created,
    Deleted,
    Receipt,
    Released,
)
from deskmate.fs.disk_calls import Files
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.stores.projections import Projections, config, task_file

READS = 20_000

ROSTER_EVENTS: tuple[roster_records.Event, ...] = (
    TeamFounded(team="team", description="REST to GraphQL", at=10.0),
    Joined(name="alice", role="backend", at=11.0),
    Joined(name="bob", agent_type=AgentType.EXPLORE, at=12.0),
    Joined(name="carol", role="tëster", at=13.0),
    MemberIdle(name="alice", at=14.0),
    MemberWaiting(name="bob", on="plan", at=15.0),
    MemberLeft(name="carol", reason="done", at=16.0),
)
RECEIPT = Receipt(command="make test", workspace="/w", commit="c0ffee", exit=0, output="7 passed")
BOARD_EVENTS: tuple[BoardEvent, ...] = (
    Created(by="lead", at=20.0, task=1, subject="schéma", description="Write it.", active_form="writing"),
    Created(
        by="lead", at=21.0, task=2, subject="resolvers", blocked_by=frozenset({1}), role="backend", verify="make test"
    ),
    Created(by="lead", at=22.0, task=3, subject="dropped"),
    Claimed(by="alice", at=23.0, task=1, epoch=0),
    Released(by="alice", at=24.0, task=1, epoch=1, note="half way"),
    Completed(by="lead", at=25.0, task=1, epoch=2),
    Completed(by="lead", at=26.0, task=2, epoch=0, receipt=RECEIPT),
    Deleted(by="lead", at=27.0, task=3),
)


def roster_of(*events: roster_records.Event) -> members.RosterState:
    return roster_fold.fold(members.EMPTY, [Record(number, event.body()) for number, event in enumerate(events, 1)])


def board_of(*events: BoardEvent) -> BoardState:
    return board_fold.fold(EMPTY, [Record(number, event.body()) for number, event in enumerate(events, 1)])


ROSTER, BOARD = roster_of(*ROSTER_EVENTS), board_of(*BOARD_EVENTS)


class Died(Exception):
    """The machine stopped here."""


class Dying(Files):
    """A machine that stops at one of the writing calls, having written half of what it was to write."""

    def __init__(self) -> None:
        self.left = 0

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Died

    def open(self, name: str, flags: int, folder: int) -> int:
        if flags & os.O_CREAT:
            self._count()
        return super().open(name, flags, folder)

    def write(self, fd: int, data: bytes) -> int:
        if self.left == 1:
            super().write(fd, data[: len(data) // 2])
        self._count()
        return super().write(fd, data)

    def rename(self, old: str, new: str, folder: int) -> None:
        self._count()
        super().rename(old, new, folder)


@pytest.fixture
def files() -> Dying:
    return Dying()


@pytest.fixture
def store(tmp_path: Path, files: Dying) -> Iterator[JsonlStore]:
    with closing(JsonlStore.open(tmp_path, "team", create=True, files=files)) as store:
        yield store


@pytest.fixture
def projections(store: JsonlStore) -> Projections:
    return store.projections()


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    return tmp_path / ".teams" / "team" / "config.json"


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return tmp_path / ".tasks" / "team"


def shown(path: Path) -> object:
    return json.loads(path.read_bytes())


# -- what they hold -------------------------------------------------------------------------------


@pytest.mark.behaviour("config")
def test_the_config_shows_the_team_and_all_who_were_ever_on_it(projections: Projections, config_file: Path) -> None:
    projections.write(ROSTER, BOARD)
    who = [
        ("lead", "general-purpose", "lead", "", "idle", True),
        ("alice", "general-purpose", "backend", "cyan", "idle", True),
        ("bob", "Explore", "", "yellow", "waiting(plan)", True),
        ("carol", "general-purpose", "tëster", "magenta", "left(done)", False),
    ]
    assert shown(config_file) == {
        "name": "team",
        "description": "REST to GraphQL",
        "created_at": 10.0,
        "lead_agent_id": "lead@team",
        "members": [
            {
                "name": name,
                "agent_id": f"{name}@team",
                "agent_type": agent_type,
                "role": role,
                "color": colour,
                "status": status,
                "is_active": here,
            }
            for name, agent_type, role, colour, status, here in who
        ],
        "roster": 7,
    }
    assert "tëster" in config_file.read_text()


def test_a_task_shows_all_its_fields(projections: Projections, tasks: Path) -> None:
    projections.write(ROSTER, BOARD)
    nothing: dict[str, Any] = {
        "owner": None,
        "epoch": 0,
        "blockedBy": [],
        "blocks": [],
        "role": None,
        "verify": None,
        "notes": [],
    }
    bare = {**nothing, "description": "", "activeForm": "", "receipt": None}
    assert [shown(tasks / f"{task}.json") for task in (1, 2, 3)] == [
        {
            **bare,
            "id": 1,
            "subject": "schéma",
            "description": "Write it.",
            "activeForm": "writing",
            "status": "completed",
            "epoch": 2,
            "blocks": [2],
            "created": 20.0,
            "updated": 25.0,
            "notes": ["half way"],
        },
        {
            **bare,
            "id": 2,
            "subject": "resolvers",
            "status": "completed",
            "blockedBy": [1],
            "role": "backend",
            "verify": "make test",
            "created": 21.0,
            "updated": 26.0,
            "receipt": RECEIPT.model_dump(),
        },
        {**bare, "id": 3, "subject": "dropped", "status": "deleted", "created": 22.0, "updated": 27.0},
    ]


def test_they_are_private(projections: Projections, config_file: Path, tasks: Path) -> None:
    before = os.umask(0)
    try:
        projections.write(ROSTER, BOARD)
    finally:
        os.umask(before)
    for path in (config_file, *tasks.glob("*.json")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_odd_text_does_not_stop_them(projections: Projections, tasks: Path) -> None:
    odd = Created(by="lead", at=0.0, task=1, subject="a\ud800b \u2028 \x00 🙂")
    projections.write(ROSTER, board_of(odd))
    assert shown(tasks / "1.json")["subject"] == "a?b \u2028 \x00 🙂"  # type: ignore[index]


# -- brought up to date ---------------------------------------------------------------------------


@pytest.mark.behaviour("config")
@pytest.mark.parametrize("length", range(1, len(ROSTER_EVENTS) + 1))
def test_every_join_status_and_leaving_shows(projections: Projections, config_file: Path, length: int) -> None:
    projections.write(roster_of(*ROSTER_EVENTS[: length - 1]), board_of())
    roster = roster_of(*ROSTER_EVENTS[:length])
    projections.write(roster, board_of())
    assert shown(config_file) == json.loads(json.dumps(config(roster)))


def _delete(path: Path) -> None:
    path.unlink()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:40])


def _scribble(path: Path) -> None:
    path.write_bytes(b"x" * path.stat().st_size)


def _replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"{}\n")
    other.rename(path)


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


@pytest.mark.behaviour("config")
@pytest.mark.parametrize("damage", [_delete, _empty, _cut, _scribble, _replace, _link])
def test_what_was_deleted_or_damaged_is_written_again(
    projections: Projections, config_file: Path, tasks: Path, damage: Callable[[Path], None]
) -> None:
    projections.write(ROSTER, BOARD)
    before = {path: path.read_bytes() for path in (config_file, tasks / "2.json")}
    for path in before:
        damage(path)
    projections.write(ROSTER, BOARD)
    assert {path: path.read_bytes() for path in before} == before
    assert not config_file.is_symlink()


def test_what_did_not_change_is_not_written_again(projections: Projections, files: Dying) -> None:
    projections.write(ROSTER, BOARD)
    files.left = 1
    projections.write(ROSTER, BOARD)
    with pytest.raises(Died):
        projections.write(roster_of(*ROSTER_EVENTS[:-1]), BOARD)


def test_another_writer_finds_what_is_damaged_too(
    projections: Projections, store: JsonlStore, config_file: Path
) -> None:
    projections.write(ROSTER, BOARD)
    config_file.write_bytes(b"{}")
    store.projections().write(ROSTER, BOARD)
    assert shown(config_file) == json.loads(json.dumps(config(ROSTER)))


# -- whole at every instant -----------------------------------------------------------------------


@pytest.mark.behaviour("B7")
def test_a_writer_that_dies_at_any_call_leaves_whole_files_and_the_next_one_goes_on(
    store: JsonlStore, files: Dying, config_file: Path, tasks: Path
) -> None:
    old, new = (roster_of(*ROSTER_EVENTS[:-1]), board_of(*BOARD_EVENTS[:-2])), (ROSTER, BOARD)
    died = 0
    while True:
        files.left = 0
        store.projections().write(*old)
        files.left = died + 1
        try:
            store.projections().write(*new)
        except Died:
            died += 1
        else:
            break
        assert shown(config_file) in [json.loads(json.dumps(config(roster))) for roster, _ in (old, new)]
        for task in (1, 2, 3):
            either = [json.loads(json.dumps(task_file(board, board.tasks[task]))) for _, board in (old, new)]
            assert shown(tasks / f"{task}.json") in either
    assert died == 3 * 3


@pytest.mark.behaviour("B7")
def test_a_reader_never_sees_a_torn_file_while_a_writer_writes(
    projections: Projections, config_file: Path, tasks: Path
) -> None:
    """Both copies change their length with every write, so that a torn one could not pass."""
    states = [(roster_of(*ROSTER_EVENTS[:length]), board_of(*BOARD_EVENTS[:length])) for length in range(1, 7)]
    whole: list[set[str]] = [
        {json.dumps(config(roster)) for roster, _ in states},
        {json.dumps(task_file(board, board.tasks[1])) for _, board in states},
    ]
    projections.write(*states[0])
    torn: list[str] = []
    seen: list[set[str]] = [set(), set()]

    def read_all() -> None:
        for index in range(READS):
            which = index % 2
            path = (config_file, tasks / "1.json")[which]
            try:
                seen[which].add(json.dumps(json.loads(path.read_bytes())))
            except (ValueError, OSError) as error:
                torn.append(repr(error))

    reader = threading.Thread(target=read_all)
    reader.start()
    writes = 0
    while reader.is_alive():
        projections.write(*states[writes % len(states)])
        writes += 1
    reader.join()
    assert torn == []
    assert [one <= other for one, other in zip(seen, whole, strict=True)] == [True, True]
    assert min(map(len, seen)) > 1
