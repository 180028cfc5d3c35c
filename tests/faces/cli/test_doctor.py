"""The doctor: what it finds of machine, settings, workspace and teams, and what it advises."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deskmate.core.checks import Check
from deskmate.core.team.task_fields import NewTask
from deskmate.errors import SystemProblem
from deskmate.fs.disk_calls import Files
from deskmate.fs.private_folder import PrivateFolder
from deskmate.queries.health import check_file_watch, check_space, check_workspace
from deskmate.stores.file_watch import Changed
from tests.faces.disk_teams import OpenTeam, at, files, founded, in_team, played, put_aside, spoil
from tests.faces.fake_app import Ended, Env, environment

WHOLE = "main: not running, all of it can be read"

ROSTER, BOARD = ".teams/main/roster.jsonl", ".tasks/main/board.jsonl"
UNREADABLE = "not a record, or its checksum is wrong"


def rows(ended: Ended) -> dict[str, list[tuple[str, str]]]:
    """Return what was printed by what it is about: states and words."""
    found: dict[str, list[tuple[str, str]]] = {}
    # What to do is on its own line, below the words.
    for line in re.sub(r"\n {8,}", ". ", ended.stdout).splitlines():
        found.setdefault(line[6:17].strip(), []).append((line[:4].strip(), line[17:].strip()))
    return found


def checks(folder: Path, env: Env, *args: str) -> dict[str, Check]:
    """Return what is checked beside the teams; the last of each."""
    return {
        one["what"]: Check(**one) for one in json.loads(at(folder, "doctor", *args, "--json", env=env).stdout)["checks"]
    }


# -- all is well ------------------------------------------------------------------------------------


def test_each_thing_is_a_line_that_begins_with_how_it_is(place: Path, env: Env) -> None:
    ended = at(place, "doctor", env=env)
    assert (ended.code, ended.stderr) == (0, "")
    found = rows(ended)
    assert list(found) == [
        *("python", "deskmate", "git", "ripgrep", "terminal UI", "settings", "model", "sandbox"),
        *("workspace", "file system", "locks", "file watch", "disk", "trust", "team"),
    ]
    assert found["python"][0][1].startswith(sys.version.split()[0])
    assert found["workspace"] == [("ok", f"{place}, which has .teams")]
    assert found["team"] == [("ok", WHOLE)]
    assert {state for lines in found.values() for state, _ in lines} <= {"ok", "warn"}


def test_programs_get_one_object(place: Path, env: Env) -> None:
    found = json.loads(at(place, "doctor", "--json", env=env).stdout)
    assert {tuple(one) for one in found["checks"]} == {("what", "state", "words", "next")}
    check = {"what": "team", "state": "ok", "words": "main: not running, all of it can be read", "next": ""}
    assert found["teams"] == [
        {"name": "main", "founded": True, "seats": {}, "lost": [], "damage": [], "checks": [check]}
    ]


def test_a_workspace_without_teams_is_looked_at_and_left_as_it_was(tmp_path: Path, env: Env) -> None:
    (tmp_path / "empty").mkdir()
    ended = at(tmp_path / "empty", "doctor", env=env)
    assert (ended.code, ended.stderr, list((tmp_path / "empty").iterdir())) == (0, "", [])
    assert rows(ended)["workspace"][0][1].endswith("No teams yet")
    assert not {"locks", "file watch", "team"} & rows(ended).keys()


def test_looking_leaves_a_team_as_it_was(place: Path, env: Env) -> None:
    before = files(place), sorted(path.name for path in (place / ".teams").iterdir())
    at(place, "doctor", env=env)
    assert (files(place), sorted(path.name for path in (place / ".teams").iterdir())) == before


def test_nobody_needs_a_home_or_a_path(place: Path, env: Env) -> None:
    ended = at(place, "doctor", env={**env, "HOME": None, "PATH": str(place)})
    assert (ended.code, ended.stderr) == (0, "")
    assert [rows(ended)[what][0][0] for what in ("git", "ripgrep")] == ["warn"] * 2
    assert rows(ended)["git"][0][1].endswith("Install git.")


def test_a_program_that_does_not_run_counts_as_missing_and_one_that_runs_tells_its_version(
    tmp_path: Path, env: Env
) -> None:
    for name, words in {"git": "echo git 1; exit 3", "rg": "echo ripgrep 14"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{words}\n")
        (tmp_path / name).chmod(0o700)
    found = checks(tmp_path, {**env, "PATH": str(tmp_path)})
    assert found["git"].state == "warn"
    assert found["ripgrep"] == Check("ripgrep", "ok", "ripgrep 14")


def test_how_commands_are_confined_is_told(tmp_path: Path, env: Env) -> None:
    settings = tmp_path / "home/.config/deskmate/settings.toml"
    settings.parent.mkdir(parents=True)
    work = tmp_path / "work"
    work.mkdir()
    env = {**env, "HOME": str(tmp_path / "home")}
    found = checks(work, env)["sandbox"]
    assert (found.state, found.words.partition(". But")[0]) == (
        "ok",
        "bubblewrap: commands can write only in the workspace, and have no network",
    )
    assert "contains your home folder, so Deskmate asks" in checks(tmp_path, env)["sandbox"].words
    settings.write_text("sandbox = false\n")
    found = checks(work, env)["sandbox"]
    assert (found.state, found.words.startswith("none: switched off by --no-sandbox or in the settings")) == (
        "warn",
        True,
    )


# -- settings ---------------------------------------------------------------------------------------


def test_without_a_key_the_next_steps_are_told(tmp_path: Path, env: Env) -> None:
    ended = at(tmp_path, "doctor", env={**env, "ANTHROPIC_API_KEY": None})
    assert ended.code == 1
    ((state, words),) = rows(ended)["model"]
    assert (state, "Set ANTHROPIC_API_KEY" in words, words.endswith("deskmate demo")) == ("bad", True, True)


def test_the_model_that_would_be_asked_is_told_and_no_key(tmp_path: Path, env: Env) -> None:
    ended = at(tmp_path, "doctor", env={**env, "ANTHROPIC_API_KEY": "sk-very-secret"})
    assert rows(ended)["model"][0][1].startswith("anthropic:claude-sonnet-5-5, a key is set")
    assert "secret" not in ended.stdout + ended.stderr
    wanted = {**env, "ANTHROPIC_API_KEY": None, "DESKMATE_MODEL": "claude-x"}
    assert checks(tmp_path, wanted)["model"].words == "There is no API key for anthropic:claude-x"
    own = {**env, "ANTHROPIC_API_KEY": None, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "DESKMATE_MODEL": "openai:x"}
    assert checks(tmp_path, own)["model"].words.startswith("openai:x at http://127.0.0.1:9/v1, no key")


@pytest.mark.parametrize(
    ("text", "what", "state", "words", "step"),
    [
        ("model = ", "settings", "bad", "{file} is not valid TOML: Invalid value (at end of document)", "Correct"),
        ("modell = 'x'", "settings", "bad", "'modell' in {file} is not a setting", "Did you mean 'model'?"),
        (
            "[openai]\nkey = 'k-1'",
            "settings",
            "warn",
            "{file} contains an API key, and other users can read it",
            "Run: chmod 600 {file}",
        ),
        ("model = 'x'", "model", "bad", "The model 'x' does not begin with a known provider", "Write PROVIDER:x"),
        ("fallback_model = 'gpt-5'", "fallback", "bad", "There is no API key for openai:gpt-5", "Set OPENAI_API_KEY"),
    ],
)
def test_what_is_wrong_with_the_settings_is_told_with_what_to_do(
    tmp_path: Path, env: Env, text: str, what: str, state: str, words: str, step: str
) -> None:
    file = tmp_path / ".config/deskmate/settings.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    file.chmod(0o644)
    found = checks(tmp_path, env)[what]
    assert (found.state, found.words) == (state, words.format(file=file))
    assert found.next.startswith(step.format(file=file))
    assert at(tmp_path, "doctor", env=env).code == (1 if state == "bad" else 0)


# -- the workspace ----------------------------------------------------------------------------------


def test_teams_that_are_a_file_make_a_workspace_unusable_and_the_rest_is_shown(tmp_path: Path, env: Env) -> None:
    (tmp_path / ".teams").write_text("x")
    for args in ([], ["main"]):
        ended = at(tmp_path, "doctor", *args, env=env)
        assert (ended.code, ended.stderr) == (3, "")
        assert rows(ended)["workspace"] == [
            ("bad", f"Cannot use {tmp_path}/.teams: Not a directory. Fix that, then try again.")
        ]
        assert rows(ended)["python"][0][0] == "ok"


def test_teams_behind_a_link_make_a_workspace_unusable(tmp_path: Path, env: Env) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".teams").symlink_to("elsewhere")
    ended = at(tmp_path, "doctor", env=env)
    assert (ended.code, ended.stderr) == (3, "")
    assert "is not a folder, but a link or a file" in ended.stdout


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    words = f'cd "{gone}" && rmdir "{gone}" && exec "{sys.executable}" -m deskmate doctor'
    env = environment(tmp_path, ANTHROPIC_API_KEY="sk-test")
    ended = subprocess.run(["sh", "-c", words], capture_output=True, text=True, timeout=60, env=env, check=False)
    assert (ended.returncode, ended.stderr) == (3, "")
    assert "Cannot use the current folder: No such file or directory" in ended.stdout


@pytest.mark.parametrize(
    ("free", "state", "words"),
    [
        (10**9, "ok", "1.0 GB free"),
        (10**9 - 1, "warn", "999 MB free"),
        (50 * 10**6, "warn", "50 MB free"),
        (50 * 10**6 - 1, "bad", "49 MB free"),
        (0, "bad", "0 MB free"),
    ],
)
def test_little_space_is_a_warning_and_hardly_any_is_bad(free: int, state: str, words: str) -> None:
    found = check_space(free)
    assert (found.state, found.words, bool(found.next)) == (state, words, state != "ok")


@pytest.mark.parametrize(
    ("kind", "option", "states", "usable"),
    [
        ("ext4", "rw", {"file system": "ok"}, True),
        ("nfs4", "rw", {"file system": "warn"}, True),
        ("fuse.sshfs", "rw", {"file system": "warn"}, True),
        ("nfs4", "nolock", {"file system": "warn", "locks": "bad"}, False),
    ],
)
def test_a_disk_of_another_machine_is_a_warning_and_one_whose_locks_others_do_not_see_is_unusable(
    tmp_path: Path, kind: str, option: str, states: dict[str, str], usable: bool
) -> None:
    (tmp_path / "mountinfo").write_text(
        f"25 1 8:1 / / rw - ext4 /dev/sda1 rw\n36 25 0:32 / {tmp_path} rw - {kind} x rw,{option}\n"
    )
    found = check_workspace(tmp_path, tmp_path / "mountinfo")
    assert (found.place, found.usable) == (tmp_path, usable)
    assert {check.what: check.state for check in found.checks if check.what in ("file system", "locks")} == states


class Deaf:
    """A watch that the system allows nothing."""

    def add(self, folder: PrivateFolder, name: str) -> None:
        raise SystemProblem(24, "inotify: Too many open files", "Raise fs.inotify.max_user_instances.")

    async def wait(self) -> list[Changed]:
        return []

    def close(self) -> None:
        pass


def test_a_system_that_tells_of_no_changes_is_a_warning(place: Path) -> None:
    folder = PrivateFolder.of(place, (".teams",), Files(), create=False)
    found = check_file_watch(folder, Deaf)
    assert (found.state, found.next) == ("warn", "Raise fs.inotify.max_user_instances.")
    assert found.words.startswith("inotify: Too many open files. ")
    folder.close()


# -- teams ------------------------------------------------------------------------------------------


def test_who_plays_a_team_is_told(place: Path, env: Env) -> None:
    with played(place):
        assert rows(at(place, "doctor", env=env))["team"] == [
            ("ok", "main: running (process 7), all of it can be read")
        ]


def test_a_teammate_that_is_played_without_a_lead_is_a_warning(place: Path, env: Env) -> None:
    async def look(hands: OpenTeam) -> Ended:
        async with hands.writer.store.hold("alice", "process 8"):
            return at(place, "doctor", env=env)

    first, (state, words) = rows(in_team(place, look))["team"]
    assert first == ("ok", WHOLE)
    assert (state, words.partition(".")[0]) == ("warn", "main: process 8 runs 'alice', but nothing runs the lead")


def test_one_team_is_looked_at_where_one_is_named(place: Path, env: Env) -> None:
    founded(place, "other")
    assert [words for _, words in rows(at(place, "doctor", "other", env=env))["team"]] == [
        WHOLE.replace("main", "other")
    ]
    assert len(rows(at(place, "doctor", env=env))["team"]) == 2


@pytest.mark.parametrize(("file", "line", "stream", "number"), [(ROSTER, 1, "roster", 2), (BOARD, 2, "board", 3)])
def test_a_lost_record_that_stops_the_work_is_bad_with_its_place_and_what_to_do(
    place: Path, env: Env, file: str, line: int, stream: str, number: int
) -> None:
    spoil(place / file, line)
    ended = at(place, "doctor", env=env)
    assert ended.code == 1
    advice = "Restore the file from a copy, or accept the loss with: deskmate doctor main --accept"
    assert rows(ended)["team"] == [
        ("ok", "main: not running"),
        ("bad", f"main: record {number} of {stream} is lost ({place / file}:{number}: {UNREADABLE})"),
        ("bad", f"main: nobody can take tasks, because records of {stream} are lost. {advice}"),
    ]
    (team,) = json.loads(at(place, "doctor", "--json", env=env).stdout)["teams"]
    assert team["lost"] == [
        {
            "stream": stream,
            "number": number,
            "where": f"{place / file}:{number}",
            "reason": UNREADABLE,
            "accepted": False,
            "stops": True,
        }
    ]


def test_a_team_whose_founding_is_lost_is_bad_and_nothing_is_there_to_accept(place: Path, env: Env) -> None:
    spoil(place / ROSTER, 0)
    ended = at(place, "doctor", env=env)
    assert ended.code == 1
    lost = "its first record is lost, so the team cannot continue"
    advice = 'Restore roster.jsonl from a copy, or start another team with: deskmate run "GOAL"'
    assert rows(ended)["team"][2:] == [("bad", f"main: {lost}. {advice}")]
    ended = at(place, "doctor", "--accept", "--yes", env=env)
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr == f"deskmate: Team 'main': {lost}, even if you accept the loss\n{advice}\n"


@pytest.mark.parametrize("name", ["alice_inbox", "alice_transcript", "spend", "subagents/alice-3.0_transcript"])
def test_a_lost_record_that_stops_nobody_is_a_warning(place: Path, env: Env, name: str) -> None:
    file = place / f".teams/main/{name}.jsonl"
    if not file.exists():
        file.parent.mkdir(mode=0o700)
        file.write_bytes((place / ".teams/main/alice_transcript.jsonl").read_bytes())
    spoil(file, 1)
    ended = at(place, "doctor", env=env)
    assert ended.code == 0
    ((state, words),) = rows(ended)["team"][1:]
    assert (state, f"{file}:2: {UNREADABLE}" in words) == ("warn", True)


def test_of_many_lost_records_the_first_are_shown_and_the_rest_counted(place: Path, env: Env) -> None:
    with (place / ".teams/main/spend.jsonl").open("ab") as file:
        file.write(b"nothing\n" * 30)
    found = rows(at(place, "doctor", env=env))["team"]
    assert (len(found), found[-1]) == (22, ("warn", "main: 10 more records are lost. To see all, add --json."))


def test_a_last_line_that_is_cut_off_is_a_warning(place: Path, env: Env) -> None:
    (place / BOARD).write_bytes((place / BOARD).read_bytes() + b'{"type":"task_cre')
    ended = at(place, "doctor", env=env)
    assert ended.code == 0
    assert rows(ended)["team"][1] == ("warn", f"main: {place / BOARD}: its last line is cut off and ignored")


def test_what_was_torn_and_marked_by_the_next_writer_is_well(place: Path, env: Env) -> None:
    async def add(hands: OpenTeam) -> None:
        await hands.board.create("lead", NewTask("one more"))

    (place / BOARD).write_bytes((place / BOARD).read_bytes() + b'{"type":"task_cre')
    in_team(place, add)
    assert rows(at(place, "doctor", env=env))["team"] == [("ok", WHOLE)]


@pytest.mark.parametrize("missing", [".tasks", ".tasks/main", ".teams/main/roster.jsonl"])
def test_what_is_missing_of_a_team_is_bad(place: Path, env: Env, missing: str) -> None:
    with put_aside(place / missing):
        ended = at(place, "doctor", env=env)
    assert (ended.code, ended.stderr) == (1, "")
    assert any(state == "bad" and "missing" in words for state, words in rows(ended)["team"])


def test_a_file_in_the_place_of_a_folder_is_bad(place: Path, env: Env) -> None:
    (place / ".teams/main/subagents").write_text("x")
    ended = at(place, "doctor", env=env)
    assert (ended.code, ended.stderr) == (1, "")
    words = f"main: Cannot use {place}/.teams/main/subagents: Not a directory. Fix that, then try again."
    assert rows(ended)["team"][1:] == [("bad", words)]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize(("name", "mode", "code"), [(".teams", 0, 3), (".teams", 0o500, 3), (".teams/main", 0, 1)])
def test_what_may_not_be_read_or_written_is_bad(place: Path, env: Env, name: str, mode: int, code: int) -> None:
    (place / name).chmod(mode)
    try:
        ended = at(place, "doctor", env=env)
    finally:
        (place / name).chmod(0o700)
    assert (ended.code, ended.stderr, "Permission denied" in ended.stdout) == (code, "", True)
    assert ("not running" in ended.stdout) == (mode == 0o500)


@pytest.mark.parametrize("name", ["roster.jsonl", "alice_inbox.jsonl", "lead.seat", ".lock"])
def test_a_folder_in_the_place_of_a_file_is_bad(place: Path, env: Env, name: str) -> None:
    with played(place):
        pass
    with put_aside(place / ".teams/main" / name):
        (place / ".teams/main" / name).mkdir()
        ended = at(place, "doctor", env=env)
        (place / ".teams/main" / name).rmdir()
    assert (ended.code, ended.stderr) == (1, "")
    assert f"{name} is not a regular file" in ended.stdout
    assert ("main: not running" in ended.stdout) == (name not in ("lead.seat", ".lock"))
