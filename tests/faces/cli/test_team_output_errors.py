"""Commands that look, where something is amiss: what was typed, the files of a team, or who reads."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faces.disk_teams import LOOKS, OpenTeam, at, in_team, obeyed, played, put_aside, spoil
from tests.faces.fake_app import Env, environment


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["teams", "main"], "There is no command 'main'."),
        (["board", "nope"], "There is no team 'nope'"),
        (["board", "../main"], "There is no team '../main'"),
        (["board", "ad", "x"], "Did you mean 'add'?"),
        (["board", "main", "other"], "There is no command 'main'"),
        (["board", "--xml"], "No such option"),
        (["inbox", "zed"], "'zed' was never on team 'main'"),
        (["inbox", "alice", "nope"], "There is no team 'nope'"),
        (
            ["tail", "alise"],
            "Did you mean 'alice'?",
        ),
        (["tail", "user"], "deskmate inbox user"),
        (["tail", "../../x"], "was never on team 'main'"),
        (["tail", "zed\x1b[2J"], "was never on team 'main'"),
        (["tail", "alice", "-n", "0"], "-n"),
        (["cost", "nope"], "There is no team 'nope'"),
        (["boar"], "Did you mean 'board'?"),
    ],
)
def test_wrong_arguments_are_a_sentence_and_exit_code_2(place: Path, env: Env, args: list[str], said: str) -> None:
    ended = at(place, *args, env=env)
    assert (ended.code, ended.stdout) == (2, "")
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert obeyed(ended.stderr) == []


def test_who_has_left_is_named_with_those_who_are_here(place: Path, env: Env) -> None:
    async def leave(hands: OpenTeam) -> None:
        await hands.roster.leave("bob", "done", heard=0)

    in_team(place, leave)
    ended = at(place, "tail", "bop", env=env)
    said = "'bop' was never on team 'main'\nDid you mean 'bob'? On the team: lead, alice, user. Left before: bob."
    assert (ended.code, ended.stderr) == (2, f"deskmate: {said}\n")


@pytest.mark.parametrize("look", LOOKS)
def test_in_an_empty_folder_each_says_that_there_is_no_team(tmp_path: Path, env: Env, look: list[str]) -> None:
    ended = at(tmp_path, *look, env=env)
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr == f'deskmate: There is no team in {tmp_path} yet\nTo start one, run: deskmate run "GOAL"\n'


def test_what_is_left_of_a_damaged_board_is_shown_with_what_is_damaged(place: Path, env: Env) -> None:
    spoil(place / ".tasks/main/board.jsonl", 2)
    for args in (["board"], ["board", "--json"], ["teams"]):
        ended = at(place, *args, env=env)
        assert ended.code == 3
        assert "read the API" in ended.stdout or "stopped" in ended.stdout
        assert f"{place}/.tasks/main/board.jsonl" in ended.stderr
        assert "until you accept" in ended.stderr
        assert obeyed(ended.stdout + ended.stderr) == []


def test_a_last_line_that_is_cut_off_is_told(place: Path, env: Env) -> None:
    file = place / ".tasks/main/board.jsonl"
    file.write_bytes(file.read_bytes() + b'{"type":"task_cre')
    ended = at(place, "board", env=env)
    assert (ended.code, len(ended.stdout.splitlines())) == (3, 4)
    assert ended.stderr.startswith(f"deskmate: damaged: {file}: ")


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("missing", [".tasks", ".tasks/main", ".teams/main/roster.jsonl", ".teams/main/spend.jsonl"])
def test_whatever_is_missing_no_look_ends_in_a_traceback(place: Path, env: Env, look: list[str], missing: str) -> None:
    with put_aside(place / missing):
        ended = at(place, *look, env=env)
    assert ended.code in (0, 2, 3)
    assert "Traceback" not in ended.stderr
    assert "an error in Deskmate itself" not in ended.stderr
    assert ended.stdout or ended.stderr


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", ["roster.jsonl", "alice_transcript.jsonl", "alice_inbox.jsonl", "lead.seat"])
def test_a_folder_in_the_place_of_a_file_is_told(place: Path, env: Env, look: list[str], name: str) -> None:
    with played(place):
        pass
    with put_aside(place / ".teams/main" / name):
        (place / ".teams/main" / name).mkdir()
        ended = at(place, *look, env=env)
        (place / ".teams/main" / name).rmdir()
    assert ended.code in (0, 3)
    assert "an error in Deskmate itself" not in ended.stderr
    assert ended.code == 0 or f"{name} is not a regular file" in ended.stderr


def test_a_member_of_a_damaged_roster_is_still_found_by_its_files(place: Path, env: Env) -> None:
    spoil(place / ".teams/main/roster.jsonl", 1)
    ended = at(place, "tail", "alice", env=env)
    assert (ended.code, ended.stdout.splitlines()[0]) == (3, "[alice@main] began: You know APIs.")
    assert "roster.jsonl" in ended.stderr


def test_a_workspace_whose_teams_are_a_file_cannot_be_used(tmp_path: Path, env: Env) -> None:
    (tmp_path / ".teams").write_text("x")
    ended = at(tmp_path, "teams", env=env)
    assert (ended.code, ended.stdout) == (3, "")
    assert f"{tmp_path}/.teams: " in ended.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_a_sentence(place: Path, env: Env) -> None:
    (place / ".teams").chmod(0)
    try:
        assert {at(place, *look, env=env).code for look in LOOKS} == {3}
    finally:
        (place / ".teams").chmod(0o700)


def test_a_reader_that_closes_the_output_has_seen_enough(place: Path, tmp_path: Path) -> None:
    words = f"{shlex.quote(sys.executable)} -m deskmate -C {place} board; echo $? >&2"
    ended = subprocess.run(
        ["sh", "-c", f"{{ {words}; }} | true"],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(tmp_path),
        check=False,
    )
    assert ended.stderr == "0\n"
