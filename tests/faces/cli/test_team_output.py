"""Commands that look: on a live or a dead team, whole or damaged, from any shell, and nothing is changed by it."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deskmate.core.agent.entries import Began, Call, Did, Said, Started
from deskmate.core.team.messages import PermissionRequest, Plain, PlanResponse
from deskmate.core.team.task_fields import NewTask, TaskChange
from deskmate.runtime.streams.transcript import Transcript
from tests.chaos.files.naughty_strings import NAUGHTY
from tests.faces.disk_teams import LOOKS, SECRET, OpenTeam, at, files, founded, in_team, obeyed, played
from tests.faces.fake_app import Env, environment

USAGE = {"input": 1000, "output": 50, "cache_read": 0, "cache_write": 0}
TWICE = {name: 2 * count for name, count in USAGE.items()}
THRICE = {name: 3 * count for name, count in USAGE.items()}


def no_times(text: str) -> str:
    return re.sub(r"\b\d+ (s|min|h|d)\b", "T", text)


# -- what is shown ----------------------------------------------------------------------------------


@pytest.mark.behaviour("two-teams")
def test_the_boards_of_both_teams_of_a_lead_are_shown_unless_one_is_named(place: Path, env: Env) -> None:
    founded(place, "web", home="main")
    assert _boards(place, env) == ["web", "main"]

    async def paint(opened: OpenTeam) -> None:
        await opened.board.create("lead", NewTask("paint"))

    in_team(place, paint, "web")
    assert _boards(place, env) == ["web", "main"]
    assert _boards(place, env, "main") == ["main"]
    shown = json.loads(at(place, "board", "--json", env=env).stdout)
    teams = [(one["team"], len(one["tasks"])) for one in (shown, *shown["others"])]
    assert teams == [("web", 1), ("main", 3)]
    assert "others" not in json.loads(at(place, "board", "web", "--json", env=env).stdout)


def _boards(place: Path, env: Env, *team: str) -> list[str]:
    """Return the teams whose boards are shown."""
    return re.findall(r"^team (\S+):", at(place, "board", *team, env=env).stdout, re.MULTILINE)


def test_teams_for_programs_tells_the_same(place: Path, env: Env) -> None:
    (team,) = json.loads(at(place, "teams", "--json", env=env).stdout)["teams"]
    members = [(one["name"], one["kind"], one["colour"], one["status"], one["detail"]) for one in team.pop("members")]
    assert members == [
        ("lead", "lead", "", "idle", ""),
        ("alice", "teammate", "cyan", "waiting", "permission"),
        ("bob", "teammate", "yellow", "working", ""),
    ]
    assert team.pop("written") > 1e9
    assert team == {
        "name": "main",
        "title": "",
        "description": "",
        "home": None,
        "away": None,
        "state": "stopped",
        "live": False,
        "holder": "",
        "pid": None,
        "sandbox": None,
        "tasks": {"open": 3, "done": 0},
        "calls": 3,
        "usage": THRICE,
        "cost_usd": None,
        "priced_usd": 0.03,
        "unpriced_calls": 1,
        "damage": [],
    }


def test_a_team_is_live_while_somebody_holds_the_leads_seat_and_looking_does_not_take_it(place: Path, env: Env) -> None:
    for _ in range(2):
        with played(place):
            assert at(place, "teams", "-v", env=env).stdout.startswith("main: asks you (process 7), ")
        assert at(place, "teams", "-v", env=env).stdout.startswith("main: stopped, ")


def test_the_board_shows_what_blocks_each_task_who_has_it_whom_it_is_for_and_its_proof(place: Path, env: Env) -> None:
    ended = at(place, "board", env=env)
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == [
        "team main: 0 of 3 tasks done",
        "#1  in progress  read the API                     @alice",
        "#2  blocked      write the schema  blocked by #1          for dev  to verify: test -f schema.txt",
        "#3  blocked      port the page     blocked by #2  @bob",
    ]
    assert at(place, "board", "main", env=env) == ended


def test_the_board_for_programs_has_every_field(place: Path, env: Env) -> None:
    board = json.loads(at(place, "board", "--json", env=env).stdout)
    assert {name: board[name] for name in ("team", "damage")} == {"team": "main", "damage": []}
    task = board["tasks"][1]
    assert (task.pop("created") > 1e9, task.pop("updated") > 1e9) == (True, True)
    assert task == {
        "id": 2,
        "subject": "write the schema",
        "description": "",
        "status": "pending",
        "owner": None,
        "role": "dev",
        "blocked_by": [1],
        "waits_for": [1],
        "verify": "test -f schema.txt",
        "receipt": None,
        "notes": [],
        "noted_by": [],
        "created_by": "lead",
        "edited_by": [],
    }


@pytest.mark.behaviour("task-authors")
def test_the_board_names_the_teammates_who_wrote_a_task(place: Path, env: Env) -> None:
    async def write(hands: OpenTeam) -> None:
        await hands.board.edit("lead", 2, TaskChange(subject="write the schemas"))
        await hands.board.create("bob", NewTask("lint", role="dev"))
        await hands.board.edit("alice", 1, TaskChange(description="all of them"))
        await hands.board.create("bob", NewTask("print it"))
        await hands.board.assign("lead", 5, "alice")
        await hands.board.edit("alice", 5, TaskChange(subject="print all"))

    in_team(place, write)
    shown = at(place, "board", env=env).stdout.splitlines()
    assert ["by bob" in line for line in shown[1:]] == [False, False, False, True, True]
    assert ["edited by alice" in line for line in shown[1:]] == [True, False, False, False, True]
    task = json.loads(at(place, "board", "--json", env=env).stdout)["tasks"][4]
    assert (task["created_by"], task["edited_by"]) == ("bob", ["alice"])


def test_a_dropped_task_is_not_shown(place: Path, env: Env) -> None:
    in_team(place, lambda hands: hands.board.delete("lead", 2))
    assert [line.split()[0] for line in at(place, "board", env=env).stdout.splitlines()] == ["team", "#1", "#3"]


def test_the_board_needs_neither_mail_nor_transcripts(place: Path, env: Env) -> None:
    whole = at(place, "board", env=env)
    for file in (*place.glob(".teams/main/*_inbox.jsonl"), *place.glob(".teams/main/*_transcript.jsonl")):
        file.write_bytes(b"garbage\n")
    assert at(place, "board", env=env) == whole


def test_the_inbox_marks_what_is_unheard_and_has_the_last_heard_below(place: Path, env: Env) -> None:
    assert no_times(at(place, "inbox", "alice", env=env).stdout).splitlines() == [
        "alice@main: 1 unread",
        "* [lead@main], T ago",
        "    and soon",
        "  [lead@main], T ago",
        "    in UTF-8,",
        "    please",
    ]


def test_of_much_mail_all_that_is_unheard_and_twenty_heard_are_shown(place: Path, env: Env) -> None:
    async def write(hands: OpenTeam) -> None:
        box = hands.mailbox("lead")
        for number in range(30):
            await box.send("bob", Plain(content=f"heard {number}"))
        await hands.mailbox("bob").hear(await Transcript.load(hands.writer, "bob"))
        for number in range(25):
            await box.send("bob", Plain(content=f"new {number}"))

    in_team(place, write)
    found = json.loads(at(place, "inbox", "bob", "--json", env=env).stdout)
    shown = [(letter["content"], letter["heard"]) for letter in found["mail"]]
    heard = [(f"heard {number}", True) for number in range(10, 30)]
    assert (shown, found["before"]) == ([*heard, *((f"new {number}", False) for number in range(25))], 10)
    assert at(place, "inbox", "bob", env=env).stdout.endswith("\n10 more before these\n")


def test_requests_and_answers_are_shown_with_what_they_are_about(place: Path, env: Env) -> None:
    async def ask(hands: OpenTeam) -> None:
        asked = PermissionRequest(request_id="alice:3.0", tool="bash", arguments={"command": "rm x"}, reason="a rule")
        await hands.mailbox("alice").send("user", asked)
        await hands.mailbox("user").send("bob", PlanResponse(request_id="bob:4.0", approve=False, content="too long"))

    in_team(place, ask)
    assert no_times(at(place, "inbox", "user", env=env).stdout).splitlines() == [
        "user@main: 1 message",
        "  [alice@main] permission request (alice:3.0), T ago",
        '    bash {"command": "rm x"}',
        "    a rule",
    ]
    bobs = no_times(at(place, "inbox", "bob", env=env).stdout).splitlines()
    assert bobs[1:] == ["* [user@main] plan: no (bob:4.0), T ago", "    too long"]


def test_tail_shows_what_a_member_heard_said_and_did(place: Path, env: Env) -> None:
    ended = at(place, "tail", "alice", env=env)
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == [
        "[alice@main] began: You know APIs.",
        "[alice@main] heard from lead",
        "[alice@main]     in UTF-8,",
        "[alice@main]     please",
        "[alice@main] I look.",
        "[alice@main] > bash ls",
        "[alice@main] < bash",
        "[alice@main]     a.py",
        "[alice@main]     b.py",
    ]


def test_tail_shows_only_the_last_entries_and_says_how_many_there_are(place: Path, env: Env) -> None:
    ended = at(place, "tail", "alice", "-n", "1", env=env)
    assert ended.stdout.splitlines() == ["[alice@main] < bash", "[alice@main]     a.py", "[alice@main]     b.py"]
    assert ended.stderr == "deskmate: 4 earlier entries are not shown. To see all, add: -n 5\n"


def test_tail_for_programs_has_an_object_for_each_entry(place: Path, env: Env) -> None:
    lines = [json.loads(line) for line in at(place, "tail", "alice", "--json", env=env).stdout.splitlines()]
    assert [(one["type"], one["member"], one["number"], one["entry"]["type"]) for one in lines] == [
        ("recorded", "alice", number, kind)
        for number, kind in enumerate(["started", "heard", "said", "began", "did"], start=1)
    ]


def test_tail_follows_what_is_written_until_it_is_interrupted(place: Path, tmp_path: Path) -> None:
    async def say(hands: OpenTeam) -> None:
        await (await Transcript.load(hands.writer, "alice")).record(Said(text=f"Done. {SECRET}"))

    words = [sys.executable, "-m", "deskmate", "-C", str(place), "tail", "alice", "-f", "-n", "1"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(tmp_path)
    ) as process:
        try:
            assert process.stdout
            first = [process.stdout.readline() for _ in range(3)]
            in_team(place, say)
            then = process.stdout.readline()
            process.send_signal(signal.SIGINT)
            rest, stderr = process.communicate(timeout=60)
        finally:
            process.kill()
    assert first[0] == "[alice@main] < bash\n"
    assert (then, rest) == ("[alice@main] Done. red bell\n", "")
    # A line end of its own: the terminal has shown ^C.
    assert (process.returncode, stderr.splitlines()[0][-4:]) == (130, "-n 5")


def test_cost_is_told_by_member_and_model_and_a_price_that_is_not_known_is_said(place: Path, env: Env) -> None:
    assert at(place, "cost", env=env).stdout.splitlines() == [
        "team main",
        "member  model   model calls  tokens in  out  cost",
        "alice   claude  2            2,000      100  $0.0200 and 1 call of unknown price",
        "lead    claude  1            1,000      50   $0.0100",
        "all             3            3,000      150  $0.0300 and 1 call of unknown price",
    ]
    priced = {"calls": 1, "usage": USAGE, "cost_usd": 0.01, "priced_usd": 0.01, "unpriced_calls": 0}
    partly = {"calls": 2, "usage": TWICE, "cost_usd": None, "priced_usd": 0.02, "unpriced_calls": 1}
    nothing = {"calls": 0, "usage": dict.fromkeys(USAGE, 0), "cost_usd": 0, "priced_usd": 0, "unpriced_calls": 0}
    assert json.loads(at(place, "cost", "--json", env=env).stdout) == {
        "team": "main",
        "rows": [
            {"member": "alice", "model": "claude", **partly},
            {"member": "lead", "model": "claude", **priced},
        ],
        "total": {"calls": 3, "usage": THRICE, "cost_usd": None, "priced_usd": 0.03, "unpriced_calls": 1},
        "put_away": nothing,
        "damage": [],
    }


# -- which team -------------------------------------------------------------------------------------


def test_the_team_last_written_to_is_meant_unless_one_is_named(place: Path, env: Env) -> None:
    founded(place, "other", home="main")
    assert at(place, "board", env=env).stdout.startswith("team other: no tasks\n")
    assert at(place, "board", "main", env=env).stdout.startswith("team main: 0 of 3")


def test_of_a_team_founded_from_another_the_leads_transcript_is_that_at_its_home(place: Path, env: Env) -> None:
    async def begin(hands: OpenTeam) -> None:
        transcript = await Transcript.load(hands.writer, "lead")
        await transcript.record(Started(name="lead"))
        await transcript.record(Said(text="I lead both."))
        await hands.mailbox("bob").send("user", Plain(content="for you"))

    in_team(place, begin)
    founded(place, "web", "carl", home="main")
    assert at(place, "tail", "lead", "web", env=env).stdout.splitlines()[-1] == "[lead@web] I lead both."
    assert at(place, "inbox", "user", "web", env=env).stdout.splitlines()[-1] == "    for you"
    assert "web (from main): stopped" in at(place, "teams", "-v", env=env).stdout


def test_looking_changes_nothing(place: Path, env: Env) -> None:
    before = files(place)
    for look in LOOKS:
        assert at(place, *look, env=env).code == 0
    assert files(place) == before


# -- text from models -------------------------------------------------------------------------------


def test_no_text_of_a_model_or_tool_can_make_a_terminal_obey(tmp_path: Path, env: Env) -> None:
    async def write(hands: OpenTeam) -> None:
        transcript = await Transcript.load(hands.writer, "alice")
        for text in NAUGHTY:
            if text.strip():
                await hands.board.create("lead", NewTask(text, description=text, role=text, verify=text))
            await hands.mailbox("lead").send("alice", Plain(content=text, summary=text))
            said = await transcript.record(Said(text=text, calls=(Call(tool=text, arguments={text: text}),)))
            await transcript.record(Began(calls=(f"alice:{said}.0",)))
            await transcript.record(Did(call=f"alice:{said}.0", text=text, shown=text))
            await hands.spend("alice", text, None)

    founded(tmp_path, "main", "alice")
    in_team(tmp_path, write)
    for look in (*LOOKS, ["tail", "alice", "-n", "100000"]):
        ended = at(tmp_path, *look, env=env)
        assert (ended.code, obeyed(ended.stdout + ended.stderr)) == (0, []), look
