"""Commands that act: the user's hand on a live or a dead team, under the rules that hold for everybody."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from deskmate.app import GOAL_CAP, user_actions
from deskmate.app.user_actions import Stopped
from deskmate.core.team.messages import Plain, ShutdownRequest, ShutdownResponse
from deskmate.core.team.tasks import Receipt, Task, TaskStatus
from deskmate.errors import Refused
from tests.chaos.files.naughty_strings import NAUGHTY
from tests.faces.disk_teams import (
    OpenTeam,
    at,
    files,
    first_mail,
    founded,
    in_team,
    obeyed,
    played,
    sign,
    spoil,
    worked,
)
from tests.faces.fake_app import Env, run_command


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    founded(folder, "main", "alice", "bob")
    sign(folder, {"HOME": str(tmp_path)})
    return folder


def tasks_of(folder: Path, team: str = "main") -> dict[int, Task]:
    async def look(hands: OpenTeam) -> dict[int, Task]:
        return dict((await hands.board.refresh()).tasks)

    return in_team(folder, look, team)


def no_times(task: Task) -> Task:
    return replace(task, created=0.0, updated=0.0)


def mail_of(folder: Path, name: str, team: str = "main") -> list[tuple[str, str, object]]:
    async def look(hands: OpenTeam) -> list[tuple[str, str, object]]:
        return [(one.sender, one.recipient, one.message) for one in await hands.mail_of(name)]

    return in_team(folder, look, team)


# -- the board --------------------------------------------------------------------------------------


def test_a_task_is_added_with_all_that_is_said_of_it(place: Path, env: Env) -> None:
    assert at(place, "board", "add", "read the API", env=env).stdout == "#1 added, free: read the API\n"
    words = ["--description", "all of it", "--blocked-by", "1", "--role", "dev", "--owner", "bob", "--verify", "true"]
    ended = at(place, "board", "add", "port it", *words, "--team", "main", env=env)
    assert (ended.code, ended.stdout, ended.stderr) == (0, "#2 added, blocked: port it\n", "")
    assert no_times(tasks_of(place)[2]) == Task(
        2, "port it", "all of it", owner="bob", blocked_by=frozenset({1}), role="dev", verify="true", created_by="user"
    )


def test_a_task_is_given_to_a_member(place: Path, env: Env) -> None:
    at(place, "board", "add", "read the API", env=env)
    assert at(place, "board", "assign", "#1", "alice", env=env).stdout == "#1 given to alice: read the API\n"
    assert (tasks_of(place)[1].owner, tasks_of(place)[1].status) == ("alice", TaskStatus.PENDING)


def test_what_is_done_or_dropped_frees_what_waited_for_it(place: Path, env: Env) -> None:
    at(place, "board", "add", "one", env=env)
    at(place, "board", "add", "two", "--blocked-by", "1", env=env)
    at(place, "board", "add", "three", "--blocked-by", "2", env=env)
    assert at(place, "board", "done", "1", env=env).stdout == "#1 done: one. This unblocks #2\n"
    assert at(place, "board", "drop", "2", env=env).stdout == "#2 deleted: two. This unblocks #3\n"
    assert [task.status.value for task in tasks_of(place).values()] == ["completed", "deleted", "pending"]


def test_a_task_is_done_once_its_verification_succeeds_where_it_was_typed(
    place: Path, env: Env, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = place / "it's below"
    below.mkdir()
    (below / "schema.txt").write_text("x")
    verify = "ls; test -f schema.txt"
    at(place, "board", "add", "write it", "--verify", verify, env=env)
    monkeypatch.chdir(below)
    ended = run_command("board", "done", "1", env=env)
    assert (ended.code, ended.stdout) == (0, "#1 done: write it\n")
    assert ended.stderr == f"in {below}: {verify}\nschema.txt\n"
    receipt = Receipt(command=verify, workspace=str(below), exit=0, output="schema.txt")
    done = Task(1, "write it", status=TaskStatus.COMPLETED, verify=verify, receipt=receipt, created_by="user")
    assert no_times(tasks_of(place)[1]) == done
    assert at(place, "board", env=env).stdout.splitlines()[1].endswith(f"verified: {verify}")


def test_a_task_whose_verification_fails_is_not_done_and_its_output_is_shown_without_what_moves_a_cursor(
    place: Path, env: Env
) -> None:
    at(place, "board", "add", "write it", "--verify", r"printf '\033[31mno schema\033[2J\n'; exit 4", env=env)
    ended = at(place, "board", "done", "1", env=env)
    assert (ended.code, ended.stdout) == (2, "")
    assert "\nno schema\n" in ended.stderr
    assert "its verify command failed with exit status 4. Fix the cause, then complete it again." in ended.stderr
    assert obeyed(ended.stderr) == []
    assert tasks_of(place)[1].status is TaskStatus.PENDING


def test_nothing_is_run_for_a_task_that_could_not_be_done_anyway(place: Path, env: Env) -> None:
    at(place, "board", "add", "one", env=env)
    at(place, "board", "add", "two", "--blocked-by", "1", "--verify", "touch ran", env=env)
    assert "blocked by #1" in at(place, "board", "done", "2", env=env).stderr
    assert not (place / "ran").exists()


def test_what_a_verification_runs_has_no_keys(place: Path, env: Env) -> None:
    at(place, "board", "add", "one", "--verify", 'test -z "$ANTHROPIC_API_KEY"', env=env)
    assert at(place, "board", "done", "1", env=env).code == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["add"], "Missing argument 'SUBJECT'"),
        (["add", ""], "subject"),
        (["add", "x", "y"], "unexpected extra argument"),
        (["add", "x", "--blocked-by", "9"], "#9"),
        (["add", "x", "--blocked-by", "nine"], "'nine' is not a task number"),
        (["add", "x", "--owner", "zed"], "'zed' is not on this team. On the team: lead, alice, bob, user."),
        (["add", "x", "--team", "nope"], "There is no team 'nope'"),
        (["assign", "1"], "Missing argument 'NAME'"),
        (["assign", "9", "alice"], "#9"),
        (["assign", "1", "zed"], "'zed' is not on this team. On the team: lead, alice, bob, user."),
        (["done"], "Missing argument 'ID'"),
        (["done", "9"], "#9"),
        (["done", "#0"], "is not a task number"),
        (["drop", "9"], "#9"),
        (["drop", "\x1b[2J"], "is not a task number"),
    ],
)
def test_what_the_board_does_not_allow_is_a_sentence_and_changes_nothing(
    place: Path, env: Env, args: list[str], said: str
) -> None:
    at(place, "board", "add", "read the API", env=env)
    before = tasks_of(place)
    ended = at(place, "board", *args, env=env)
    assert (ended.code, ended.stdout) == (2, "")
    assert said in ended.stderr
    assert obeyed(ended.stderr) == []
    assert tasks_of(place) == before


def test_a_team_played_elsewhere_sees_what_the_user_does(place: Path, env: Env) -> None:
    with played(place):
        assert at(place, "board", "add", "read the API", env=env).code == 0
        assert at(place, "send", "alice", "look at the board", env=env).stdout == "sent to alice@main\n"
    assert [task.subject for task in tasks_of(place).values()] == ["read the API"]


# -- mail -------------------------------------------------------------------------------------------


def test_words_are_sent_as_the_user_and_who_hears_them_is_told(place: Path, env: Env) -> None:
    ended = at(place, "send", "alice", "in UTF-8, please", env=env)
    later = "The team is not running. To continue it, run: deskmate resume main"
    assert (ended.code, ended.stdout, ended.stderr) == (0, f"sent to alice@main\n{later}\n", "")
    assert at(place, "send", "lead", "-", "--team", "main", env=env, stdin="two\nlines").code == 0
    assert mail_of(place, "alice") == [("user", "alice", Plain(content="in UTF-8, please"))]
    assert mail_of(place, "lead") == [("user", "lead", Plain(content="two\nlines"))]


def test_the_lead_of_a_team_founded_from_another_is_written_to_there(place: Path, env: Env) -> None:
    founded(place, "web", home="main")
    assert at(place, "send", "lead", "hello", "--team", "web", env=env).code == 0
    assert (mail_of(place, "lead"), len(mail_of(place, "lead", "web"))) == ([], 1)


@pytest.mark.parametrize(
    ("args", "stdin", "said"),
    [
        (["send", "alice"], "", "Missing argument 'TEXT'"),
        (["send", "alice", "  "], "", "The text is empty"),
        (["send", "alice", "-"], "", "The text is empty"),
        (["send", "alice", "-"], "x" * (GOAL_CAP + 1), "Put the text in a file"),
        (["send", "zed", "hi"], "", "'zed' is not on this team. On the team: lead, alice, bob, user."),
        (["send", "zed\x1b[2J", "hi"], "", "is not on this team"),
        (["send", "alice", "hi", "--team", "nope"], "", "There is no team 'nope'"),
        (["send", "alice", "hi", "there"], "", "unexpected extra argument"),
        (["send", "user", "hi"], "", "'user' is you\nName a recipient, such as lead."),
        (["stop"], "", "Missing argument 'NAME'"),
        (["stop", "zed"], "", "'zed' is not on this team. On the team: lead, alice, bob, user."),
        (["stop", "user"], "", "'user' is you"),
        (["stop", "lead"], "", "cannot be asked to leave"),
        (["stop", "alice"], "", "Team 'main' is not running"),
        (["stop", "alice", "--team", "nope"], "", "There is no team 'nope'"),
    ],
)
def test_what_cannot_be_said_is_a_sentence_and_nobody_hears_it(
    place: Path, env: Env, args: list[str], stdin: str, said: str
) -> None:
    before = files(place)
    ended = at(place, *args, env=env, stdin=stdin)
    assert (ended.code, ended.stdout) == (2, "")
    assert said in ended.stderr
    assert obeyed(ended.stderr) == []
    assert files(place) == before


def test_naughty_words_arrive_whole_and_none_of_them_moves_a_cursor(place: Path, env: Env) -> None:
    texts = [text for text in NAUGHTY if text.strip() and "\0" not in text]
    for text in texts[::7]:
        ended = at(place, "send", "--team", "main", "--", "alice", text, env=env)
        added = at(place, "board", "add", "--", text, env=env)
        assert (ended.code, added.code, obeyed(ended.stdout + added.stdout + ended.stderr + added.stderr)) == (0, 0, [])
    sent = [message.content for _, _, message in mail_of(place, "alice") if isinstance(message, Plain)]
    assert sent == [
        json.loads(json.dumps(text)).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        for text in texts[::7]
    ]


# -- stopping ---------------------------------------------------------------------------------------


async def leaves(hands: OpenTeam) -> None:
    asked = await first_mail(hands, "alice")
    assert isinstance(asked.message, ShutdownRequest)
    await hands.roster.leave("alice", "asked to", heard=1, agreed=True)


async def refuses(hands: OpenTeam) -> None:
    asked = await first_mail(hands, "alice")
    assert isinstance(asked.message, ShutdownRequest)
    # To another request first: that is no answer to this one.
    for id_, words in (("user:other", "not this"), (asked.message.request_id, "still on #1 \x1b[2J")):
        await hands.mailbox("alice").send("user", ShutdownResponse(request_id=id_, approve=False, content=words))


def test_a_teammate_that_agrees_is_waited_for_until_it_has_left(place: Path, env: Env) -> None:
    with played(place, leaves):
        ended = at(place, "stop", "alice", env=env)
    assert (ended.code, ended.stdout) == (0, "alice@main left: asked to\n")
    assert ended.stderr in ("", "asked 'alice' to leave. It is working\n")


def test_a_teammate_that_refuses_says_why(place: Path, env: Env) -> None:
    with played(place, refuses):
        ended = at(place, "stop", "alice", "--team", "main", env=env)
    assert (ended.code, ended.stdout) == (1, "alice@main refused to leave: still on #1\n")


def test_the_lead_is_stopped_where_it_runs(place: Path, env: Env) -> None:
    with played(place):
        ended = at(place, "stop", "lead", env=env)
    assert (ended.code, ended.stderr.splitlines()[-1]) == (
        2,
        "To stop the team, press Ctrl-C in the terminal of process 7.",
    )


def test_who_does_not_answer_is_not_waited_for_for_ever(place: Path) -> None:
    told: list[str] = []

    async def stop() -> Stopped:
        return await user_actions.stop(place, None, "alice", told.append, patience_seconds=0.05)

    with played(place):
        stopped = anyio.run(stop)
    assert stopped == Stopped("main", "alice", "waiting", "it has not left within 0 s, and the request is still open")
    assert told == ["asked 'alice' to leave. It is working"]


def test_a_team_that_nobody_plays_any_more_is_not_waited_for(place: Path) -> None:
    def end(_: str) -> None:
        playing.__exit__(None, None, None)

    async def stop() -> Stopped:
        return await user_actions.stop(place, None, "alice", end)

    playing = played(place)
    playing.__enter__()
    assert anyio.run(stop) == Stopped(
        "main", "alice", "waiting", "the team is no longer running. To continue it, run: deskmate resume main"
    )


def test_who_is_asked_by_the_library_is_refused_alike(place: Path) -> None:
    with pytest.raises(Refused):
        anyio.run(user_actions.stop, place, None, "alice", print)


# -- folders that are not as they should be ---------------------------------------------------------

ACTS = (
    ["board", "add", "x"],
    ["board", "assign", "1", "alice"],
    ["board", "done", "1"],
    ["board", "drop", "1"],
    ["send", "alice", "hi"],
    ["stop", "alice"],
)


@pytest.mark.parametrize("act", ACTS)
def test_in_an_empty_folder_there_is_no_team_to_act_on(tmp_path: Path, env: Env, act: list[str]) -> None:
    ended = at(tmp_path, *act, env=env)
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"deskmate: There is no team in {tmp_path}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("damage", ["board", "roster", "tasks", "team"])
def test_on_a_damaged_team_each_act_is_done_or_a_sentence(
    tmp_path: Path, env: Env, act: list[str], damage: str
) -> None:
    worked(tmp_path)
    if damage in ("board", "roster"):
        spoil(tmp_path / {"board": ".tasks/main/board.jsonl", "roster": ".teams/main/roster.jsonl"}[damage], 0)
    elif damage == "tasks":
        (tmp_path / ".tasks/main").rename(tmp_path / "gone")
    else:
        (tmp_path / ".teams/main/roster.jsonl").unlink()
        (tmp_path / ".teams/main/roster.jsonl").mkdir()
    ended = at(tmp_path, *act, env=env)
    assert ended.code in (0, 2, 3)
    assert ended.code == 0 or ended.stderr.startswith("deskmate: ")
    assert "an error in Deskmate itself" not in ended.stderr
    assert obeyed(ended.stdout + ended.stderr) == []


def test_below_a_workspace_its_teams_are_meant_but_not_in_a_repository_of_its_own(
    place: Path, env: Env, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = place / "a/b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert run_command("send", "alice", "hi", env=env).code == 0
    assert len(mail_of(place, "alice")) == 1
    subprocess.run(["git", "init", "-q", str(below)], check=True, timeout=60)
    refused = run_command("send", "alice", "hi", env=env)
    assert (refused.code, len(mail_of(place, "alice"))) == (2, 1)
    assert f"Team main is in {place}. To continue there, run: deskmate -C {place} resume" in refused.stderr
    assert run_command("-C", str(place), "send", "alice", "hi", env=env).code == 0
