"""schedule add, list and rm, and daemon: what they print, and what they refuse."""

import json
from pathlib import Path

import pytest

from deskmate.core.log.names import SCHEDULE
from deskmate.core.log.records import Record
from tests.faces.disk_teams import OpenTeam, at, founded, in_team
from tests.faces.fake_app import Env


async def kinds(opened: OpenTeam) -> list[str]:
    items = await opened.writer.store.read(SCHEDULE)
    return [str(item.body["type"]) for item in items if isinstance(item, Record)]


@pytest.fixture
def env(tmp_path: Path) -> Env:
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "TZ": "Europe/Berlin"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return founded(tmp_path / "work")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()


@pytest.mark.behaviour("schedules")
def test_what_is_added_is_listed_with_its_next_time_until_it_is_removed(place: Path, env: Env) -> None:
    added = at(place, "schedule", "add", "10m", "Is the build green?", env=env)
    assert (added.code, added.stdout.startswith("added: 1 (every 10m, by user): Is the build green? (next 20")) == (
        0,
        True,
    )
    assert "deskmate daemon" in added.stdout
    at(place, "schedule", "add", "0 9 * * 1-5", "-", "--once", "--task", "Report", env=env, stdin="all of it\n")
    listed = at(place, "schedule", "list", env=env)
    assert "2 (once: 0 9 * * 1-5 Europe/Berlin, by user): task: Report (next " in listed.stdout
    removed = at(place, "schedule", "rm", "1", env=env)
    assert removed.stdout == "deleted: 1 (every 10m, by user): Is the build green? (over)\n"
    found = json.loads(at(place, "schedule", "list", "--json", env=env).stdout)
    assert [(one["id"], one["task"], one["content"]) for one in found["schedules"]] == [(2, "Report", "all of it\n")]
    assert in_team(place, kinds) == ["schedule_created", "schedule_created", "schedule_deleted"]
    every = at(place, "schedule", "list", "--all", env=env)
    assert "(over)" in every.stdout.splitlines()[0]


@pytest.mark.parametrize(
    "words",
    [
        ("add", "10 minutes", "x"),
        ("add", "* * * *", "x"),
        ("add", "5s", "x"),
        ("add", "10m", " "),
        ("add", "10m", "x", "--zone", "Berlin"),
        ("add", "10m", "x", "--team", "nobody"),
        ("rm", "7"),
        ("rm", "one"),
        ("lits",),
    ],
)
def test_what_cannot_be_is_refused_with_a_way_on_and_records_nothing(
    words: tuple[str, ...], place: Path, env: Env
) -> None:
    ended = at(place, "schedule", *words, env=env)
    assert ended.code != 0
    assert ended.stderr
    assert "Traceback" not in ended.stderr
    assert in_team(place, kinds) == []


def test_control_characters_of_a_schedule_are_not_obeyed(place: Path, env: Env) -> None:
    at(place, "schedule", "add", "10m", "\x1b[31mred\x1b[0m\nnext line", env=env)
    listed = at(place, "schedule", "list", env=env).stdout
    assert "\x1b" not in listed
    assert len([line for line in listed.splitlines() if "by user" in line]) == 1


def test_the_daemon_says_at_once_that_there_is_no_model(place: Path, env: Env) -> None:
    ended = at(place, "daemon", "--model", "openai:none", env={**env, "OPENAI_API_KEY": None})
    assert ended.code != 0
    assert "OPENAI_API_KEY" in ended.stderr
