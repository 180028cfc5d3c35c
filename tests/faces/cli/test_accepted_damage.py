"""The doctor at work: losses that a person accepts, what a terminal shows, and what it is never told."""

import fcntl
import json
import os
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Set
from pathlib import Path

import anyio
import pytest

from deskmate.app.user_actions import GO_ON_CUT, accept
from deskmate.core.team.messages import Plain
from deskmate.core.team.roster_records import Joined, MemberParked
from deskmate.core.team.task_fields import NewTask
from deskmate.errors import Refused
from deskmate.queries.damage import lost_of
from tests.chaos.files.naughty_strings import NAUGHTY
from tests.faces.disk_teams import OpenTeam, at, files, first_mail, founded, in_team, obeyed, played, sign, spoil
from tests.faces.fake_app import Ended, Env, environment

ROSTER, BOARD = ".teams/main/roster.jsonl", ".tasks/main/board.jsonl"
UNREADABLE = "not a record, or its checksum is wrong"
FREE = "Accepted. Team main can continue."


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A team of which a record of roster and one of board are lost, and a task that somebody could take."""

    async def work(hands: OpenTeam) -> None:
        for subject in ("one", "two", "three"):
            await hands.board.create("lead", NewTask(subject))

    folder = tmp_path / "work"
    folder.mkdir()
    founded(folder, "main", "alice", "bob")
    in_team(folder, work)
    spoil(folder / ROSTER, 2)
    spoil(folder / BOARD, 1)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    sign(folder, {"HOME": str(tmp_path)})
    return folder


def lost(folder: Path) -> list[str]:
    return [
        "team main: 2 lost",
        f"  record 3 of roster is lost ({folder / ROSTER}:3: {UNREADABLE})",
        f"  record 2 of board is lost ({folder / BOARD}:2: {UNREADABLE})",
    ]


def taken(folder: Path) -> list[int]:
    """Return what alice takes of the board, and give it back."""

    async def take(hands: OpenTeam) -> list[int]:
        found = await hands.board.claim_next(hands.roster.state.members["alice"])
        await hands.board.give_back("alice", note="")
        return [found.id] if found else []

    return in_team(folder, take)


def damaged(folder: Path) -> tuple[Set[int], Set[int]]:
    async def look(hands: OpenTeam) -> tuple[Set[int], Set[int]]:
        return (await hands.roster.refresh()).damaged, (await hands.board.refresh()).damaged

    return in_team(folder, look)


# -- accepting --------------------------------------------------------------------------------------


@pytest.mark.parametrize("args", [["main"], []])
def test_once_a_loss_is_accepted_tasks_are_taken_again(place: Path, env: Env, args: list[str]) -> None:
    assert (taken(place), damaged(place)) == ([], (frozenset({3}), frozenset({2})))
    ended = at(place, "doctor", *args, "--accept", "--yes", env=env)
    assert (ended.code, ended.stderr, ended.stdout.splitlines()) == (0, "", [*lost(place), FREE])
    assert (taken(place), damaged(place)) == ([1], (frozenset(), frozenset()))


def test_what_was_accepted_is_well_and_said_to_be_so(place: Path, env: Env) -> None:
    assert at(place, "doctor", env=env).code == 1
    at(place, "doctor", "--accept", "--yes", env=env)
    ended = at(place, "doctor", env=env)
    assert ended.code == 0
    assert [line[17:].strip() for line in ended.stdout.splitlines() if line[6:].startswith("team")] == [
        "main: not running",
        f"main: record 3 of roster is lost ({place / ROSTER}:3: {UNREADABLE}), and that was accepted",
        f"main: record 2 of board is lost ({place / BOARD}:2: {UNREADABLE}), and that was accepted",
    ]
    (team,) = json.loads(at(place, "doctor", "--json", env=env).stdout)["teams"]
    assert [one["accepted"] for one in team["lost"]] == [True, True]


def test_a_loss_is_accepted_by_the_user_and_only_once(place: Path, env: Env) -> None:
    at(place, "doctor", "--accept", "--yes", env=env)
    for file, number in ((ROSTER, 3), (BOARD, 2)):
        last = json.loads((place / file).read_bytes().splitlines()[-1])
        assert (last["type"], last["by"], last["number"]) == ("accepted", "user", number)
    before = files(place)
    ended = at(place, "doctor", "--accept", "--yes", env=env)
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr == "deskmate: Team 'main' has no losses to accept\n"
    assert files(place) == before


def test_it_works_while_the_team_is_played_and_whoever_plays_hears_of_it(place: Path, env: Env) -> None:
    async def play(hands: OpenTeam) -> None:
        while (await hands.board.refresh()).damaged:
            await hands.writer.store.changed({"board": hands.board.state.number})
        task = await hands.board.claim_next(hands.roster.state.members["alice"])
        await hands.mailbox("alice").send("user", Plain(content=f"I have {task and task.id}"))

    async def told(hands: OpenTeam) -> object:
        with anyio.fail_after(30):
            return (await first_mail(hands, "user")).message

    with played(place, play):
        ended = at(place, "doctor", "main", "--accept", "--yes", env=env)
        assert (ended.code, ended.stderr) == (0, "")
        assert in_team(place, told) == Plain(content="I have 1")


def test_lines_put_in_by_hand_are_accepted_too_though_they_share_a_number(place: Path, env: Env) -> None:
    at(place, "doctor", "--accept", "--yes", env=env)
    lines = (place / BOARD).read_bytes().splitlines(keepends=True)
    (place / BOARD).write_bytes(b"".join([*lines[:3], b"one\n", b"two\n", *lines[3:]]))
    assert damaged(place) == (frozenset(), frozenset({4}))
    ended = at(place, "doctor", "--accept", "--yes", env=env)
    assert (ended.code, ended.stdout.splitlines()[0]) == (0, "team main: 2 lost")
    assert damaged(place) == (frozenset(), frozenset())


def test_without_a_terminal_it_shows_what_is_lost_and_needs_a_word(place: Path, env: Env) -> None:
    before = files(place)
    ended = at(place, "doctor", "--accept", env=env, stdin="y\n")
    assert (ended.code, ended.stdout.splitlines()) == (2, lost(place))
    assert ended.stderr.startswith("deskmate: Nothing was accepted, because there is no terminal to ask in\n")
    assert files(place) == before


def test_a_file_that_is_put_back_leaves_nothing_to_accept(place: Path, env: Env) -> None:
    async def add(hands: OpenTeam) -> None:
        await hands.board.create("lead", NewTask("one"))

    founded(place, "other")
    in_team(place, add, "other")
    file = place / ".tasks/other/board.jsonl"
    whole = file.read_bytes()
    spoil(file, 0)
    assert at(place, "doctor", "other", "--accept", env=env, stdin="").stdout.startswith("team other: 1 lost\n")
    file.write_bytes(whole)
    assert at(place, "doctor", "other", "--accept", "--yes", env=env).code == 2
    assert file.read_bytes() == whole


# -- transcripts ------------------------------------------------------------------------------------


def cut(folder: Path, *names: str) -> Path:
    """Found a team in which the transcripts of these were cut."""

    async def park(hands: OpenTeam) -> None:
        for name in names:
            await hands.roster.status(MemberParked(name=name, reason="cut", only_user=True, at=0.0))

    founded(folder, "other", "alice", "bob")
    in_team(folder, park, "other")
    return folder / ".teams/other"


def mails_to_go_on(folder: Path) -> int:
    file = folder / ".teams/other/alice_inbox.jsonl"
    return file.read_text().count(GO_ON_CUT) if file.exists() else 0


@pytest.mark.parametrize("name", ["lead", "alice"])
def test_a_transcript_that_was_cut_is_bad_until_that_is_accepted(place: Path, env: Env, name: str) -> None:
    file = cut(place, name) / f"{name}_transcript.jsonl"
    ended = at(place, "doctor", "other", env=env)
    why = "the transcript was cut or changed, so its member is stopped until you accept the loss"
    advice = "Restore the file from a copy, or accept the loss with: deskmate doctor other --accept"
    assert (
        ended.code,
        f"other: the end of log/{name} is lost ({file}: {why})\n" in ended.stdout and advice in ended.stdout,
    ) == (1, True)
    (team,) = json.loads(at(place, "doctor", "other", "--json", env=env).stdout)["teams"]
    assert [(one["stream"], one["stops"]) for one in team["lost"]] == [(f"log/{name}", True)]
    assert at(place, "doctor", "other", "--accept", "--yes", env=env).code == 0
    ended = at(place, "doctor", "other", env=env)
    assert (ended.code, "other: not running" in ended.stdout) == (0, True)


def test_a_cut_transcript_is_accepted_once(place: Path, env: Env) -> None:
    cut(place, "alice")
    assert at(place, "doctor", "other", "--accept", "--yes", env=env).code == 0
    before = files(place)
    assert mails_to_go_on(place) == 1
    ended = at(place, "doctor", "other", "--accept", "--yes", env=env)
    assert (ended.code, ended.stderr) == (2, "deskmate: Team 'other' has no losses to accept\n")
    anyio.run(accept, place, "other", [("log/alice", 0)])
    assert files(place) == before


def test_a_member_that_the_user_wrote_to_has_no_loss_to_accept_but_a_lead_has(place: Path, env: Env) -> None:
    cut(place, "lead", "alice")
    for name in ("lead", "alice"):
        assert at(place, "send", "--team", "other", name, "go on", env=env).code == 0
    assert [one.stream for one in lost_of(place, "other")[1]] == ["log/lead"]


def test_a_transcript_that_cannot_be_read_keeps_no_other_loss_from_being_accepted(place: Path, env: Env) -> None:
    (place / ".teams/main/alice_transcript.jsonl").mkdir()
    assert at(place, "doctor", "main", "--accept", "--yes", env=env).code == 0
    assert damaged(place) == (frozenset(), frozenset())


@pytest.mark.parametrize("stream", ["roster", "board"])
def test_what_is_no_loss_cannot_be_accepted(place: Path, stream: str) -> None:
    with pytest.raises(Refused, match="is not damaged"):
        anyio.run(accept, place, "main", [(stream, 1)])


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nope"], "There is no team 'nope'"),
        (["nope", "--accept", "--yes"], "There is no team 'nope'"),
        (["main", "other"], "unexpected extra argument"),
        (["--yes"], "--yes needs --accept"),
        (["--accept", "--json"], "--json and --accept"),
        (["x\x1b[2J"], "There is no team 'x'"),
    ],
)
def test_wrong_arguments_are_a_sentence_and_exit_code_2(place: Path, env: Env, args: list[str], said: str) -> None:
    ended = at(place, "doctor", *args, env=env)
    assert (ended.code, ended.stdout) == (2, "")
    assert said in ended.stderr
    assert obeyed(ended.stderr) == []


def test_in_a_folder_without_teams_there_is_nothing_to_accept(tmp_path: Path, env: Env) -> None:
    ended = at(tmp_path, "doctor", "--accept", "--yes", env=env)
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"deskmate: There is no team in {tmp_path}")


def test_a_board_that_is_gone_is_a_sentence(place: Path, env: Env) -> None:
    (place / ".tasks").rename(place / "aside")
    ended = at(place, "doctor", "--accept", "--yes", env=env)
    assert (ended.code, "an error in Deskmate itself" in ended.stderr) == (3, False)
    assert f"{place}/.tasks/main is missing, and team 'main' cannot continue without it" in ended.stderr


# -- at a terminal ----------------------------------------------------------------------------------


def at_terminal(folder: Path, home: Path, *args: str, cells: int = 80, typed: str = "", **env: str) -> Ended:
    """Type a command at a terminal of so many cells, and an answer; return what it showed, as it was sent."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, cells, 0, 0))
    words = [sys.executable, "-m", "deskmate", "-C", str(folder), *args]
    environ = environment(home, ANTHROPIC_API_KEY="sk-test", **env)
    os.write(ours, typed.encode())
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=environ) as process:
        os.close(theirs)
        deadline = threading.Timer(60, process.kill)
        deadline.start()
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:
            # So a terminal says that nobody has it open any more.
            process.wait()
        finally:
            deadline.cancel()
            os.close(ours)
            process.kill()
    return Ended(process.returncode, shown.decode().replace("\r\n", "\n"), "")


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 0), ("n\n", 1, 2), ("\n", 1, 2)])
def test_at_a_terminal_it_asks_first(place: Path, tmp_path: Path, answer: str, code: int, left: int) -> None:
    ended = at_terminal(place, tmp_path, "doctor", "--accept", typed=answer, cells=200)
    assert ended.code == code
    assert "record 2 of board is lost" in ended.stdout.partition("accept? [y/N]")[0]
    assert ended.stdout.endswith(f"{FREE if code == 0 else 'Nothing was accepted.'}\n")
    assert sum(map(len, damaged(place))) == left


@pytest.mark.parametrize("cells", [20, 40, 80, 200])
def test_lines_are_filled_to_any_width_and_nothing_is_cut(place: Path, tmp_path: Path, cells: int) -> None:
    lines = at_terminal(place, tmp_path, "doctor", cells=cells, NO_COLOR="1").stdout.splitlines()
    assert "…" not in "".join(lines)
    assert [line for line in lines if len(line) > cells and len(line.split()) > 1] == []
    in_a_pipe = at_terminal(place, tmp_path, "doctor", cells=10_000, NO_COLOR="1").stdout
    # Figures such as the free space change from one run to the next.
    words, others = (re.sub(r"\d+", "0", text).split() for text in (" ".join(lines), in_a_pipe))
    assert words == others


def test_only_the_states_are_coloured_and_only_where_that_is_wanted(place: Path, tmp_path: Path) -> None:
    shown = at_terminal(place, tmp_path, "doctor", cells=200).stdout
    states = {"\x1b[32mok\x1b[0m", "\x1b[33mwarn\x1b[0m", "\x1b[31mbad\x1b[0m"}
    assert set(re.findall(r"\x1b\[\d+m[^\x1b]*\x1b\[0m", shown)) == states
    assert obeyed(re.sub(r"\x1b\[\d+m", "", shown)) == []
    assert obeyed(at_terminal(place, tmp_path, "doctor", cells=200, NO_COLOR="1").stdout) == []


def test_no_name_or_record_can_make_a_terminal_obey(tmp_path: Path, env: Env) -> None:
    folder = tmp_path / "odd \x1b[31mfolder\x07"
    folder.mkdir()
    founded(folder, "main", "alice")
    for file in (ROSTER, ".teams/main/odd\x1b[2J_inbox.jsonl", ".teams/main/alice_inbox.jsonl"):
        with (folder / file).open("ab") as opened:
            opened.writelines(text.replace("\n", " ").encode("utf-8", "surrogatepass") + b"\n" for text in NAUGHTY)
    (folder / ".teams/main/lead.seat").write_text("\x1b[2J")
    for args in (["doctor"], ["doctor", "--json"], ["doctor", "--accept"]):
        ended = at(folder, *args, env=env)
        assert (ended.code in (1, 2), obeyed(ended.stdout + ended.stderr)) == (True, [])
    naughty = {**env, "PATH": "\x1b[2J", "DESKMATE_MODEL": "\x1b[31m", "OPENAI_BASE_URL": "http://\x1b]0;x\x07/"}
    assert obeyed(at(folder, "doctor", env=naughty).stdout) == []


def test_the_words_of_who_holds_a_seat_cannot_make_a_terminal_obey(place: Path, env: Env) -> None:
    async def look(hands: OpenTeam) -> Ended:
        async with hands.writer.store.hold("lead", "process \x1b[2J7"), hands.writer.store.hold("alice", "\x07"):
            await hands.roster.join(Joined(name="carol", role="dev", at=1.0))
            return at(place, "doctor", env=env)

    ended = in_team(place, look)
    assert "main: running (process 7), with alice" in ended.stdout
    assert obeyed(ended.stdout) == []
