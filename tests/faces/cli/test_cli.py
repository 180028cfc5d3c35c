"""The command line as people and programs meet it: what is printed where, and the exit codes."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from deskmate.app import GOAL_CAP, Outcome, RunRequest
from deskmate.app.sessions.run_outcome import End
from deskmate.config import Settings, load
from deskmate.core.agent.entries import Did
from deskmate.core.policy.permissions import Mode
from deskmate.core.prompt.prompts import CallDelta, RetryDelta, TextDelta, ThinkingDelta, Usage
from deskmate.core.team.status import Idle, Parked
from deskmate.core.team.tasks import Task, TaskStatus
from deskmate.errors import BadInput, BadName, DeskmateError, Held, ModelRejected, Refused, StoreCorrupt
from deskmate.faces.cli.run_command import LEFT
from deskmate.faces.cli.run_options import MODES
from deskmate.runtime.events import Changed, Recorded, Streamed, TeamEvent, TeamStarted
from tests.faces.fake_app import ANSWER, HEAD, SLOW_CALL, SUM, Ended, Env, FakeApp, LoggingApp, environment, run_command

RESULT = {
    "team": "main",
    "text": "All green.",
    "end": "answered",
    "reason": "",
    "exit_code": 0,
    "steps": 3,
    "usage": {"input": 1200, "output": 80, "cache_read": 4000, "cache_write": 0},
    "cost_usd": 0.0421,
    "model": "anthropic:claude-sonnet-5-5",
    "tasks": {"open": 0, "done": 0},
    "unfinished": [],
    "goal": None,
    "members": [],
    "files": [],
    "dismissed": [],
    "stopped": [],
}


def settings_of(env: Env, **flags: object) -> Settings:
    return load({name: value for name, value in env.items() if value is not None}, flags)


# -- what is wanted -------------------------------------------------------------------------------


def test_run_hands_the_goal_and_the_flags_to_the_app(env: Env, tmp_path: Path) -> None:
    app = FakeApp()
    flags = ["--model", "gpt-5", "--permission-mode", "acceptEdits", "--max-cost", "2", "--max-steps", "9"]
    caps = ["--max-tokens", "5000", "--max-time", "90", "--max-members", "0", "--max-calls", "3"]
    env["OPENAI_API_KEY"] = "sk-other"
    assert (
        run_command("-C", str(tmp_path), "run", "tidy up", "--new-team", "t", *flags, *caps, app=app, env=env).code == 0
    )
    capped = {"max_cost": 2.0, "max_steps": 9, "max_tokens": 5000, "max_time": 90.0, "max_members": 0, "max_calls": 3}
    settings = settings_of(env, model="gpt-5", permission_mode="acceptEdits", **capped)
    assert app.wanted == [RunRequest(tmp_path, "tidy up", "t", settings)]


def test_run_without_flags_wants_what_the_settings_say(env: Env) -> None:
    app = FakeApp()
    run_command("run", "tidy up", app=app, env=env)
    assert app.wanted == [RunRequest(None, "tidy up", None, settings_of(env))]


def test_run_hands_over_every_image(env: Env) -> None:
    app = FakeApp()
    run_command("run", "what is this?", "--image", "a.png", "--image", "b c.jpg", app=app, env=env)
    images = (Path("a.png"), Path("b c.jpg"))
    assert app.wanted == [RunRequest(None, "what is this?", None, settings_of(env), images=images)]


@pytest.mark.parametrize(
    ("args", "team", "words"), [([], None, None), (["t"], "t", None), (["t", "and then?"], "t", "and then?")]
)
def test_resume_hands_over_the_team_and_what_to_say_first(
    env: Env, args: list[str], team: str | None, words: str | None
) -> None:
    app = FakeApp()
    assert run_command("resume", *args, app=app, env=env).code == 0
    assert app.wanted == [RunRequest(None, words, team, settings_of(env), continues=True)]


@pytest.mark.parametrize("args", [["run"], ["run", "-"], ["resume", "t", "-"]])
def test_what_is_not_typed_is_read_from_stdin(env: Env, args: list[str]) -> None:
    app = FakeApp()
    run_command(*args, app=app, stdin="tidy up\nall of it", env=env)
    assert [wanted.goal for wanted in app.wanted] == ["tidy up\nall of it"]


@pytest.mark.parametrize(
    ("args", "stdin", "said"),
    [
        (["run"], "", "The goal is empty"),
        (["run", "  "], "", "The goal is empty"),
        (["run", "-"], "x" * (GOAL_CAP + 1), "Put the text in a file"),
        (["run", "-"], "x" * (GOAL_CAP - 1), "Put the text in a file"),
        (["run", *["x" * 100_000] * 3], "", "Put the text in a file"),
        (["run", "漢" * 90_000], "", "Put the text in a file"),
        (["run", "\udc80" * 90_000], "", "Put the text in a file"),
        (["run", "\n" * 140_000 + "x"], "", "Put the text in a file"),
        (["resume", "t", "x" * GOAL_CAP], "", "Put the text in a file"),
        (["rum", "x"], "", "Did you mean 'run'?"),
        (["fix"], "", "There is no command 'fix'. To send it to the lead: deskmate -- fix"),
        (["--team", "x y", "--plain", "hi", "you"], "", "lead: deskmate --team 'x y' --plain -- hi you"),
        (["fix the tests", "now"], "", "not 'now'"),
        (["--", " "], "", "The message is empty"),
        ([""], "", "The message is empty"),
        (["--plain", "board"], "", "--plain cannot be used before a command"),
        (["--team", "x", "--continue"], "", "Choose one of --team, --new-team, --continue and --resume."),
        (["run", "x", "--output", "xml"], "", "stream-json"),
        (["run", "x", "--max-cost", "0"], "", "The option --max-cost must be a number of dollars above 0"),
        (["run", "x", "--max-time", "abc"], "", "'abc' is not a number of seconds. Write it as in: --max-time 600"),
        (["run", "x", "--max-cost", "a lot"], "", "'a lot' is not a number of dollars"),
        (["run", "x", "--max-steps", "0"], "", "--max-steps"),
        (["run", "x", "--max-tokens", "0"], "", "--max-tokens"),
        (["run", "x", "--max-time", "0"], "", "The option --max-time must be a number of seconds above 0"),
        (["run", "x", "--max-members", "-1"], "", "--max-members"),
        (["run", "x", "--max-calls", "0"], "", "--max-calls"),
        (["run", "x", "--max-calls", "10001"], "", "The option --max-calls must be a whole number from 1 to 10000"),
        (["-C", "/nowhere/at/all", "run", "x"], "", "/nowhere/at/all"),
        (["run", "x", "--model", "llama3"], "", "openai:llama3"),
    ],
)
def test_wrong_usage_ends_with_2_says_why_and_runs_nothing(env: Env, args: list[str], stdin: str, said: str) -> None:
    app = FakeApp()
    end = run_command(*args, app=app, stdin=stdin, env=env)
    assert (end.code, end.stdout, app.wanted) == (2, "", [])
    assert said in " ".join(end.stderr.split())


@pytest.mark.parametrize("goal", ["x" * (GOAL_CAP - 2), "\udc80" * ((GOAL_CAP - 2) // 3)])
def test_a_goal_may_be_as_long_as_a_message_holds(env: Env, goal: str) -> None:
    app = FakeApp()
    assert run_command("run", goal, app=app, env=env).code == 0
    assert [wanted.goal for wanted in app.wanted] == [goal]


def test_the_modes_that_can_be_typed_are_those_of_the_policy() -> None:
    assert tuple(Mode) == MODES


# -- what is printed ------------------------------------------------------------------------------


def test_text_output_is_the_answer_alone_and_progress_goes_to_stderr(env: Env) -> None:
    end = run_command("run", "x", app=FakeApp(SLOW_CALL), env=env)
    assert end == Ended(0, "All green.\n", f"{HEAD}[lead] bash make test\n{SUM}")


def test_a_team_that_is_resumed_is_told_a_mode_only_where_one_is_set(env: Env) -> None:
    assert run_command("resume", app=FakeApp(), env=env).stderr == f"anthropic:claude-sonnet-5-5\n{SUM}"
    end = run_command("resume", "--permission-mode", "plan", app=FakeApp(), env=env)
    assert end.stderr == f"anthropic:claude-sonnet-5-5, permission mode plan\n{SUM}"


def test_json_output_is_one_object(env: Env) -> None:
    end = run_command("run", "x", "--output", "json", app=FakeApp(SLOW_CALL), env=env)
    assert end.stdout.count("\n") == 1
    assert json.loads(end.stdout) == RESULT


def test_a_cost_nobody_knows_is_null_and_said_to_be_unknown(env: Env) -> None:
    app = FakeApp(outcome=Outcome("main", "Hi.", "answered", "", 1, Usage(), None))
    end = run_command("run", "x", "--output", "json", app=app, env=env)
    assert json.loads(end.stdout)["cost_usd"] is None
    assert end.stderr.endswith("1 step, 0 tokens in, 0 out, cost unknown\n")


def test_a_cost_is_told_without_what_subtracting_left_of_it(env: Env) -> None:
    app = FakeApp(outcome=Outcome("main", "", "answered", "", 1, Usage(), 0.0056521 - 0.0051901))
    assert json.loads(run_command("run", "x", "--output", "json", app=app, env=env).stdout)["cost_usd"] == 0.000462


def test_stream_output_is_an_object_for_all_that_happens_and_then_the_result(env: Env) -> None:
    did = Did(call="lead:4.0", text="ok")
    events: list[TeamEvent] = [
        TeamStarted("main"),
        Streamed("lead", TextDelta("Hm\x1b[2J \x9b2J")),
        Streamed("lead", ThinkingDelta("well")),
        Streamed("lead", CallDelta("bash")),
        Streamed("lead", RetryDelta(2.0, "overloaded", "m")),
        Recorded("lead", 6, did),
        Changed("lead", Idle()),
    ]
    end = run_command("run", "x", "--output", "stream-json", app=FakeApp(events), env=env)
    assert [json.loads(line) for line in end.stdout.splitlines()] == [
        {"type": "founded", "team": "main"},
        {"type": "streamed", "member": "lead", "delta": {"type": "text", "text": "Hm\x1b[2J \x9b2J"}},
        {"type": "streamed", "member": "lead", "delta": {"type": "thinking", "text": "well"}},
        {"type": "streamed", "member": "lead", "delta": {"type": "call", "tool": "bash"}},
        {
            "type": "streamed",
            "member": "lead",
            "delta": {"type": "retry", "seconds": 2.0, "reason": "overloaded", "model": "m"},
        },
        {"type": "recorded", "member": "lead", "number": 6, "entry": did.model_dump(mode="json")},
        {"type": "changed", "member": "lead", "word": "idle", "detail": ""},
        {"type": "result", **RESULT},
    ]
    assert end.stdout.isascii()
    assert "\x1b" not in end.stdout


def test_nothing_a_terminal_would_obey_reaches_stdout_or_stderr(env: Env) -> None:
    evil = "one\x1b]0;title\x07\x1b[31m two\x9b2J\x00\r\u202e\n\tthree\ud800"
    events: list[TeamEvent] = [
        Streamed("lead", RetryDelta(1.0, evil, evil)),
        Recorded("lead", 6, Did(call=evil, text=evil, ok=False)),
        Changed("lead", Parked(evil)),
    ]
    end = run_command("run", "x", app=FakeApp(events, Outcome("main", evil, "parked", evil, 1, Usage(), 0)), env=env)
    assert end.stdout == "one two\n\tthree�\n"
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]|title|31m", end.stderr)


def test_a_key_that_others_may_read_is_warned_of(env: Env, tmp_path: Path) -> None:
    file = tmp_path / ".config/deskmate/settings.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[anthropic]\nkey = "sk-file"')
    file.chmod(0o644)
    end = run_command("run", "x", app=FakeApp(), env=env)
    assert end.stderr.startswith(f"deskmate: warning: {file} contains an API key")
    assert "sk-file" not in end.stderr


# -- how it ends ----------------------------------------------------------------------------------


def test_an_answer_without_a_word_is_told(env: Env, tmp_path: Path) -> None:
    outcome = Outcome("main", "", "answered", "the model said nothing", 3, Usage(1200, 80, 4000), 0.0421)
    end = run_command("-C", str(tmp_path), "run", "x", app=FakeApp(outcome=outcome), env=env)
    told = f"deskmate: answered: the model said nothing\nTo continue, run: deskmate -C {tmp_path} resume main\n"
    assert end == Ended(0, "", HEAD + SUM + told)


def board(done: int, *subjects: str) -> tuple[Task, ...]:
    """Return a board on which so many tasks are done, and those of these subjects are not."""
    ended = [Task(id_, "x", status=TaskStatus.COMPLETED) for id_ in range(1, done + 1)]
    left = [Task(id_, subject) for id_, subject in enumerate(subjects, done + 1)]
    return (*ended, *left)


@pytest.mark.behaviour("headless")
@pytest.mark.parametrize("deed", [("run", "x"), ("resume",)])
@pytest.mark.parametrize(
    ("tasks", "told"),
    [
        (board(3), ""),
        (board(3, "write docs", "test\nit\x1b[2J"), "2 of 5 tasks open: #4 write docs, #5 test it\n"),
        (board(0, "y" * 100), f"1 of 1 tasks open: #1 {'y' * 39}…\n"),
        (board(0, *"abcdefg"), "7 of 7 tasks open: #1 a, #2 b, #3 c, #4 d, #5 e and 2 more\n"),
    ],
)
def test_what_is_left_open_is_named_and_the_exit_code_tells(
    env: Env, deed: tuple[str, ...], tasks: tuple[Task, ...], told: str
) -> None:
    end = run_command(*deed, app=FakeApp(outcome=replace(ANSWER, tasks=tasks)), env=env)
    assert (end.code, end.stdout) == (LEFT if told else 0, "All green.\n")
    way_on = "deskmate: answered, but work is left\nTo continue, run: deskmate resume main\n"
    assert end.stderr.endswith(SUM + told + (way_on if told else ""))


@pytest.mark.behaviour("headless")
@pytest.mark.parametrize("output", ["json", "stream-json"])
def test_a_program_reads_what_is_left_open(env: Env, output: str) -> None:
    outcome = replace(ANSWER, tasks=board(2, *map(str, range(30))))
    end = run_command("run", "x", "--output", output, app=FakeApp(outcome=outcome), env=env)
    result = json.loads(end.stdout.splitlines()[-1])
    assert (end.code, result["tasks"], len(result["unfinished"])) == (LEFT, {"open": 30, "done": 2}, 20)
    assert result["unfinished"][0] == {"id": 3, "subject": "0"}


def test_what_is_left_open_is_told_before_the_way_to_go_on(env: Env) -> None:
    outcome = replace(ANSWER, end="parked", reason="the cap of $2 is reached", tasks=board(0, "write docs"))
    end = run_command("run", "x", app=FakeApp(outcome=outcome), env=env)
    assert end.stderr.splitlines()[-3:] == [
        "1 of 1 tasks open: #1 write docs",
        "deskmate: stopped: the cap of $2 is reached",
        "To continue, run: deskmate resume main",
    ]


@pytest.mark.parametrize(("word", "code"), [("stopped", 1), ("interrupted", 130)])
def test_what_did_not_end_well_tells_why_and_how_to_go_on(env: Env, tmp_path: Path, word: str, code: int) -> None:
    end_: End = "parked" if word == "stopped" else "interrupted"
    outcome = Outcome("main-2", "So far.", end_, "the cap of $2 is reached", 3, Usage(1200, 80, 4000), 0.0421)
    end = run_command("-C", str(tmp_path), "run", "x", app=FakeApp(outcome=outcome), env=env)
    told = f"deskmate: {word}: the cap of $2 is reached\nTo continue, run: deskmate -C {tmp_path} resume main-2\n"
    assert end == Ended(code, "So far.\n", HEAD + SUM.replace("main", "main-2") + told)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadInput("no"), 2),
        (BadName("no"), 2),
        (Refused("There is already a team 'main'", "Run: deskmate resume"), 2),
        (ModelRejected("no"), 2),
        (Held("alice", "process 7"), 3),
        (StoreCorrupt("no"), 3),
    ],
)
def test_an_error_is_a_line_then_a_line_with_the_fix_and_an_exit_code(
    env: Env, error: DeskmateError, code: int
) -> None:
    end = run_command("run", "x", app=FakeApp(error=error), env=env)
    hint = f"{error.hint}\n" if error.hint else ""
    assert end == Ended(code, "", f"{HEAD}deskmate: {error.message}\n{hint}")


def test_an_error_of_its_own_is_one_line_with_the_details_in_a_private_file(env: Env, tmp_path: Path) -> None:
    log = tmp_path / ".local/state/deskmate/error.log"
    for _ in range(2):
        end = run_command("run", "x", app=FakeApp(error=RuntimeError("odd\x1b[2J\nthing")), env=env)
        told = f"deskmate: an error in Deskmate itself: RuntimeError: odd thing\nDetails are in {log}\n"
        assert end == Ended(3, "", HEAD + told)
    assert log.stat().st_mode & 0o777 == 0o600
    assert log.read_text().count("Traceback (most recent call last)") == 2


def test_an_error_of_its_own_is_not_written_where_a_link_leads(env: Env, tmp_path: Path) -> None:
    log, elsewhere = tmp_path / ".local/state/deskmate/error.log", tmp_path / "elsewhere"
    log.parent.mkdir(parents=True)
    elsewhere.touch()
    log.symlink_to(elsewhere)
    end = run_command("run", "x", app=FakeApp(error=RuntimeError("odd")), env=env)
    assert (end.code, elsewhere.read_text()) == (3, "")
    assert end.stderr.endswith("RuntimeError: odd\n")


def test_an_error_of_its_own_that_cannot_be_kept_is_told_whole(env: Env, tmp_path: Path) -> None:
    (tmp_path / ".local").touch()
    end = run_command("run", "x", app=FakeApp(error=RuntimeError("odd")), env=env)
    assert (end.code, end.stdout) == (3, "")
    assert "\nTraceback (most recent call last)" in end.stderr
    assert end.stderr.endswith("RuntimeError: odd\n")


@pytest.mark.behaviour("secrets")
@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("error", [RuntimeError, Refused])
def test_no_error_shows_a_secret(env: Env, tmp_path: Path, error: type[Exception], kept: bool) -> None:
    if not kept:
        (tmp_path / ".local").touch()
    known = {"A_TOKEN": "Zk3vQ9tRw7" + "Lx2MbN"}
    end = run_command("run", "x", app=FakeApp(error=error(f"no {known['A_TOKEN']}")), env={**env, **known})
    files = [path.read_text() for path in tmp_path.rglob("error.log")]
    assert len(files) == (kept and error is RuntimeError)
    assert "no [redacted: A_TOKEN]" in end.stderr
    assert known["A_TOKEN"] not in "".join([end.stderr, *files])


def test_what_is_logged_is_a_clean_line_each_and_tracebacks_are_kept_out_of_sight(env: Env, tmp_path: Path) -> None:
    log = tmp_path / "state/deskmate/error.log"
    told = f"""deskmate: warning: left out: one two
deskmate: error: a tool failed: KeyError: 'gone\\x1b]0;title\\x07'. Details are in {log}
"""
    end = run_command("run", "x", app=LoggingApp(), env={**env, "XDG_STATE_HOME": str(tmp_path / "state")})
    assert end == Ended(0, "All green.\n", HEAD + told + SUM)
    assert re.search(r"a tool failed\nTraceback .*\nKeyError: ", log.read_text(), re.DOTALL)


def test_a_traceback_that_cannot_be_kept_is_still_a_line(env: Env, tmp_path: Path) -> None:
    (tmp_path / ".local").touch()
    end = run_command("run", "x", app=LoggingApp(), env=env)
    assert end.stderr.splitlines()[2].startswith("deskmate: error: a tool failed: KeyError: 'gone")
    assert "Traceback" not in end.stderr


# -- the real thing, in another process -----------------------------------------------------------


def deskmate(*args: str, home: Path) -> Ended:
    end = subprocess.run(
        [sys.executable, "-m", "deskmate", *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment(home),
    )
    return Ended(end.returncode, end.stdout, end.stderr)


def test_the_version_is_told_without_importing_anything_of_size(tmp_path: Path) -> None:
    assert re.fullmatch(r"deskmate \d+\.\d+\.\d+\n", deskmate("--version", home=tmp_path).stdout)
    words = (
        "import sys; from deskmate.faces.cli.main import main; main(['--version']); "
        "print(*{n.split('.')[0] for n in sys.modules} & {'click', 'pydantic', 'anyio', 'httpx2', 'asyncio'})"
    )
    end = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, timeout=60, check=True)
    assert end.stdout.splitlines()[1:] == [""]


def test_the_version_is_the_same_wherever_it_is_asked_for(tmp_path: Path) -> None:
    alone, beside = deskmate("--version", home=tmp_path), deskmate("-C", ".", "--version", home=tmp_path)
    assert alone == beside == Ended(0, alone.stdout, "")


def test_the_help_teaches_examples_environment_and_exit_codes(tmp_path: Path) -> None:
    end = deskmate("--help", home=tmp_path)
    assert (end.code, end.stderr) == (0, "")
    for taught in ('deskmate run "', "resume", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "NO_COLOR", "130"):
        assert taught in end.stdout
    assert max(map(len, end.stdout.splitlines())) <= 80


def test_without_a_key_the_ways_to_set_one_are_told(tmp_path: Path) -> None:
    end = deskmate("run", "x", home=tmp_path)
    assert (end.code, end.stdout) == (2, "")
    assert end.stderr.startswith("deskmate: There is no API key")
    for way in ("ANTHROPIC_API_KEY", "OPENAI_BASE_URL", str(tmp_path / ".config/deskmate/settings.toml")):
        assert way in end.stderr


NO_TEAM = (["resume"], ["resume", "web"], ["run", "x", "--team", "web"], ["--plain", "--continue"])


@pytest.mark.parametrize("args", NO_TEAM)
def test_in_a_folder_without_a_team_a_missing_team_is_told_before_a_missing_key(
    env: Env, tmp_path: Path, args: list[str]
) -> None:
    end = run_command("-C", str(tmp_path), *args, env={**env, "ANTHROPIC_API_KEY": None}, stdin="hi\n")
    assert (end.code, end.stdout) == (2, "")
    assert end.stderr.startswith("deskmate: There is no team")
