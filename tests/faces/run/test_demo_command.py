"""The demo as people and CI meet it: a whole team in another process, killed and resumed, and what is left behind."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from deskmate.app import Feed
from deskmate.app.demo_team import Rehearsed, prepare, rehearsal
from deskmate.app.session import Answer
from deskmate.core.agent.open_calls import INTERRUPTED
from deskmate.core.prompt.prompts import (
    CallBlock,
    Delta,
    Passage,
    Prompt,
    Reply,
    ResultBlock,
    Spoke,
    TextBlock,
    TextDelta,
    Told,
)
from deskmate.core.team.open_questions import Question
from deskmate.demo import paced_model
from deskmate.demo.application import texts_in
from deskmate.demo.demo_parts import TRIES, ScriptLine, ScriptPart, play
from deskmate.demo.demo_script import BETTER_PLAN, FIRST_PLAN, README_LEFT
from deskmate.demo.paced_model import Paced
from deskmate.errors import ModelRejected
from deskmate.faces.cli.demo_page import Effects, Records
from deskmate.models.scripted import RehearsedModel
from deskmate.testing import FakeClock, Say, Use
from deskmate.testing import ScriptedModel as CheckedModel
from deskmate.testing.knowledge.knowledge_checks import take_found
from deskmate.testing.team_scripts import answer_stop
from tests.faces.fake_app import Ended, environment

SECONDS = 60
PLAIN = ("-m", "deskmate", "demo", "--plain", "--fast")


@dataclass(frozen=True)
class Watched:
    """A demo that ended: what it printed, and the one folder it made in a place of its own."""

    ended: Ended
    place: Path
    home: Path

    @property
    def folder(self) -> Path:
        (folder,) = (self.place / "tmp").iterdir()
        return folder / "library"

    @property
    def killed(self) -> int:
        """The process that the demo says it killed."""
        (pid,) = re.findall(r"^\$ kill -9 (\d+)\nKilled\n", self.ended.stderr, re.MULTILINE)
        return int(pid)

    def lines(self, pattern: str) -> list[dict[str, Any]]:
        texts = (path.read_text(encoding="utf-8") for path in sorted(self.folder.glob(pattern)))
        return [json.loads(line) for text in texts for line in text.splitlines()]

    def mail(self, kind: str) -> list[dict[str, Any]]:
        found = [line for line in self.lines(".teams/*/*_inbox.jsonl") if line["type"] == kind]
        return sorted(found, key=lambda line: line["timestamp"])


def own(place: Path) -> dict[str, str]:
    """Return an environment in which everything that is anybody's lies under one place."""
    for name in ("tmp", "home", "here"):
        (place / name).mkdir()
    env = environment(place / "home", TMPDIR=str(place / "tmp"), PYTHONDONTWRITEBYTECODE="1")
    # What git is told when it runs us must not lead it elsewhere.
    return {**env, "GIT_DIR": str(place / "nowhere")}


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    place = tmp_path_factory.mktemp("demo")
    ran = subprocess.run(
        [sys.executable, "-m", "deskmate", "demo", "--fast"],
        cwd=place,
        env=own(place),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Watched(Ended(ran.returncode, ran.stdout, ran.stderr), place, place / "home")


# -- the whole of it ------------------------------------------------------------------------------


@pytest.mark.behaviour("demo")
def test_it_ends_with_the_tests_of_the_application_green(watched: Watched) -> None:
    assert watched.ended.code == 0, watched.ended.stderr
    assert re.search(r"run once more, pass: Ran 8 tests in .* OK\n", watched.ended.stdout)
    again = subprocess.run(["sh", "check.sh"], cwd=watched.folder, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stderr.splitlines()[-1]) == (0, "OK")


def test_it_says_who_did_what_and_where_to_look(watched: Watched) -> None:
    stdout = watched.ended.stdout
    assert re.findall(r"^  #(\d) completed +(\w+)", stdout, re.MULTILINE) == [
        ("1", "analyst"),
        ("2", "backend"),
        ("3", "frontend"),
        ("4", "analyst"),
    ]
    assert f"  cd {watched.folder}\n" in stdout
    # A short command, with its comment above. If the shell does not find it, its folder is put on the path first.
    assert "  # the tasks\n  deskmate board graphql\n" in stdout
    assert re.search(r"^  cd YOUR/PROJECT && .*deskmate'?\n", stdout, re.MULTILINE)
    assert len(list(watched.folder.glob(".teams/*/*_transcript.jsonl"))) == 4
    assert "\x1b" not in stdout + watched.ended.stderr


def test_the_files_of_the_application_are_those_of_the_script_and_are_kept_in_git(watched: Watched) -> None:
    expected = {**texts_in("rest"), **texts_in("graphql")}
    assert {path: (watched.folder / path).read_text(encoding="utf-8") for path in expected} == expected
    status = subprocess.run(
        ["git", "status", "--short"], cwd=watched.folder, capture_output=True, text=True, check=True
    )
    log = subprocess.run(["git", "log", "--format=%s"], cwd=watched.folder, capture_output=True, text=True, check=True)
    assert (status.stdout, log.stdout) == ("", "Move from REST to GraphQL\nREST\n")


def test_a_plan_is_refused_and_a_better_one_approved(watched: Watched) -> None:
    assert [plan["content"] for plan in watched.mail("plan_approval_request")] == [FIRST_PLAN, BETTER_PLAN]
    assert [(word["sender"], word["approve"]) for word in watched.mail("plan_approval_response")] == [
        ("lead", False),
        ("lead", True),
    ]


def test_one_request_to_leave_is_refused_and_then_everybody_leaves(watched: Watched) -> None:
    answers = [(word["sender"], word["approve"], word["content"]) for word in watched.mail("shutdown_response")]
    assert answers[0] == ("frontend", False, README_LEFT)
    assert sorted(answers[1:]) == [(name, True, "") for name in ("analyst", "backend", "frontend")]
    left = [line["name"] for line in watched.lines(".teams/graphql/roster.jsonl") if line["type"] == "member_left"]
    assert sorted(left) == ["analyst", "backend", "frontend"]


@pytest.mark.behaviour("demo", "resume")
def test_it_is_killed_in_the_middle_and_resumed_by_another_process(watched: Watched) -> None:
    with pytest.raises(ProcessLookupError):
        os.kill(watched.killed, 0)
    runs = list(dict.fromkeys(line["run"] for line in watched.lines(".teams/graphql/*_transcript.jsonl")))
    assert len(runs) == 2
    by_run = [
        {line["task"] for line in watched.lines(".tasks/*/board.jsonl") if (line["type"], line["run"]) == (kind, run)}
        for run in runs
        for kind in ("task_created", "task_completed")
    ]
    assert by_run == [{1, 2, 3, 4}, {1, 2}, set(), {3, 4}]
    assert "$ deskmate resume graphql\n" in watched.ended.stderr
    assert f"kill -9 ended process {watched.killed} halfway. Process" in watched.ended.stdout


@pytest.mark.behaviour("demo", "resume")
def test_nothing_is_lost_by_the_kill_and_nothing_done_twice(watched: Watched) -> None:
    assert "  Nothing was lost: " in watched.ended.stdout
    assert "  Nothing was done twice: 4 tasks completed, " in watched.ended.stdout
    effects = Effects.of(Records.of(watched.folder), "graphql")
    assert (effects.tasks, effects.repeated) == (Counter({1: 1, 2: 1, 3: 1, 4: 1}), [])
    said = [
        (path.name.partition("_")[0], json.loads(line))
        for path in watched.folder.glob(".teams/*/*_transcript.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    calls = [
        f"{member}:{line['n']}.{index}"
        for member, line in said
        if line["type"] == "said"
        for index in range(len(line["calls"]))
    ]
    assert sorted(effects.results) == sorted(calls)


def test_one_question_is_asked_and_answered_as_the_user(watched: Watched) -> None:
    (question,) = watched.mail("permission_request")
    (answer,) = watched.mail("permission_response")
    assert (question["sender"], question["tool"], question["arguments"]) == (
        "backend",
        "bash",
        {"command": "git switch -q -c graphql"},
    )
    assert (answer["sender"], answer["request_id"], answer["approve"]) == ("user", question["request_id"], True)
    assert "backend asks: may I use bash?\n    command: git switch -q -c graphql\n" in watched.ended.stderr


def test_the_last_task_was_verified(watched: Watched) -> None:
    board = watched.lines(".tasks/graphql/board.jsonl")
    receipts = {
        line["task"]: line["receipt"] for line in board if line["type"] == "task_completed" and "receipt" in line
    }
    assert [(task, receipt["command"], receipt["exit"]) for task, receipt in receipts.items() if receipt] == [
        (4, "sh check.sh", 0)
    ]


def test_nothing_is_written_outside_of_its_folder(watched: Watched) -> None:
    made = watched.folder.parent
    outside = [path for path in watched.place.rglob("*") if not path.is_relative_to(made)]
    assert sorted(map(str, outside)) == sorted(str(watched.place / name) for name in ("home", "here", "tmp"))


# -- at a terminal --------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "said", "branches"), [("n", "you answered: no", 1), ("y", "you answered: yes", 2)])
def test_who_sits_at_a_terminal_may_answer(tmp_path: Path, key: str, said: str, branches: int) -> None:
    screen = "".join(typing(tmp_path, {"the script answers": key}))
    assert said in screen
    assert "run once more, pass" in screen
    assert "nobody answered" not in screen
    (folder,) = (tmp_path / "tmp").glob("*/library")
    assert len(list((folder / ".git/refs/heads").iterdir())) == branches


def typing(place: Path, answers: dict[str, str]) -> Iterator[str]:
    """Play the demo on a terminal of its own, typing each answer once its cue is on the screen; yield the screen."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, *PLAIN], {**own(place), "TERM": "xterm"})
    signal.alarm(SECONDS)
    try:
        while piece := read(terminal):
            yield piece
            for cue in [cue for cue in answers if cue in piece]:
                os.write(terminal, f"{answers.pop(cue)}\n".encode())
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        signal.alarm(0)
        os.close(terminal)


def read(terminal: int) -> str:
    try:
        return os.read(terminal, 65536).decode(errors="replace")
    except OSError:
        # So a terminal on Linux says that nobody writes to it any more.
        return ""


# -- what may be missing --------------------------------------------------------------------------


def test_without_git_it_says_what_to_install(tmp_path: Path) -> None:
    env = {**own(tmp_path), "PATH": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-m", "deskmate", "demo", "--fast"], env=env, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (
        2,
        "deskmate: The demo needs git, which is not installed\nInstall git.\n",
    )


def test_interrupted_it_says_where_its_folder_is(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "deskmate", "demo"],
        env=own(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr is not None
        while "TeamCreate" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=SECONDS)
    (folder,) = (tmp_path / "tmp").iterdir()
    assert (process.returncode, stdout) == (130, "")
    assert f"deskmate: interrupted\nThe files are in {folder}/library\n" in stderr


# -- parts ----------------------------------------------------------------------------------------


def prompt(*passages: Passage, name: str = "ann") -> Prompt:
    return Prompt(f"You are {name}, a teammate.", passages)


def told(*texts: str, results: tuple[bool, ...] = ()) -> Told:
    return Told((*(ResultBlock("1", "", ok) for ok in results), *map(TextBlock, texts)))


def said(text: str) -> Spoke:
    return Spoke((TextBlock(text), CallBlock("1", "glob", {})))


LOOK = Use("glob", {"pattern": "*"})
PART = ScriptPart((ScriptLine("first", (LOOK,)), ScriptLine("second", (LOOK,), after=("go",))))


def test_a_line_that_came_to_nothing_is_said_again_and_one_that_did_is_not() -> None:
    assert PART(prompt(told("go"))) == Say("first", [LOOK])
    assert PART(prompt(told("go"), said("first"), told(results=(False,)))) == Say("first", [LOOK])
    assert PART(prompt(told("go"), said("first"), told(results=(True,)))) == Say("second", [LOOK])


def test_a_line_whose_calls_failed_may_be_said_in_other_words() -> None:
    part = ScriptPart((ScriptLine("first", (LOOK,), again="once more"), ScriptLine("second")))
    assert part(prompt(told("go"), said("first"), told(results=(False,)))).text == "once more"
    begun = (told("go"), said("first"), told(results=(False,)), said("once more"))
    assert part(prompt(*begun, told(results=(True,)))).text == "second"


def test_a_line_that_is_not_needed_any_more_is_left_out() -> None:
    part = ScriptPart((ScriptLine("first", after=("no",), unless="yes"), ScriptLine("second", after=("yes",))))
    assert part(prompt(told("no"))).text == "first"
    assert part(prompt(told("yes"))).text == "second"


def test_a_line_is_not_said_before_its_cue() -> None:
    begun = (told("hello"), said("first"), told(results=(True,)))
    assert PART(prompt(*begun)) == Say("That is all from me for now.")
    assert PART(prompt(*begun, said("That is all from me for now."), told("go"))) == Say("second", [LOOK])


def test_a_line_that_never_comes_to_anything_ends_the_part() -> None:
    tries = [passage for _ in range(TRIES) for passage in (said("first"), told(results=(False,)))]
    with pytest.raises(ModelRejected, match="'first' failed"):
        PART(prompt(told("go"), *tries))


def test_who_is_asked_to_leave_with_nothing_left_to_say_agrees() -> None:
    request = '<teammate-message sender="lead" type="shutdown_request" request_id="lead:9.0">bye</teammate-message>'
    assert ScriptPart(())(prompt(told(request))) == Say("I am done here.", [answer_stop("lead:9.0")])


def test_who_has_no_part_is_not_played() -> None:
    with pytest.raises(ModelRejected, match="no part for the agent"):
        play({"ann": PART}, prompt(told("go"), name="bob"))


# -- pacing ---------------------------------------------------------------------------------------


class Counting(FakeClock):
    """A clock on which every sleep is over at once, and counted."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.mark.anyio
async def test_words_come_one_by_one_and_are_the_same_words() -> None:
    clock = Counting()
    model = Paced(RehearsedModel([Say("one two three", [LOOK])]), clock)
    *deltas, reply = [part async for part in model.stream(prompt(told("go")))]
    words = [delta.text for delta in deltas if isinstance(delta, TextDelta)]
    assert "".join(words) == "one two three"
    assert clock.slept == [paced_model.THINKING_SECONDS, *[paced_model.WORD_SECONDS] * len(words)]
    assert reply.blocks[0] == TextBlock("one two three")


# -- the last page --------------------------------------------------------------------------------


def records(place: Path, **files: Sequence[Mapping[str, object]]) -> Records:
    """Write files of records, and return what is there."""
    for folder in (".teams/x", ".tasks/x"):
        (place / folder).mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        below = ".tasks/x" if name == "board" else ".teams/x"
        (place / below / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return Records.of(place)


def test_records_that_only_grew_are_kept_and_others_are_not(tmp_path: Path) -> None:
    message = {"type": "message", "id": "a:1.0"}
    before = records(tmp_path, a_inbox=[message], roster=[])
    assert (before.count, before.words) == (1, "1 records in 2 files")
    assert before.is_start_of(records(tmp_path, a_inbox=[message, message]))
    assert not before.is_start_of(records(tmp_path, a_inbox=[]))


def test_what_was_done_twice_is_found_and_a_cut_off_line_is_no_record(tmp_path: Path) -> None:
    done = {"type": "task_completed", "task": 1}
    did = [{"type": "did", "call": f"a:{number}.0", "text": INTERRUPTED} for number in (1, 1, 2)]
    found = records(tmp_path, board=[done, done], a_inbox=[{"id": "a:1.0"}], a_transcript=did)
    with (tmp_path / ".teams/x/a_inbox.jsonl").open("a") as inbox:
        inbox.write('{"id": "a:1')
    effects = Effects.of(Records.of(tmp_path), "x")
    assert (effects.repeated, effects.cut_off, found.count) == ([1, "a:1.0"], 3, 6)


# -- what its models are told -----------------------------------------------------------------------


class Absent:
    """Nobody who could answer."""

    patience_seconds = 0.0

    async def ask(self, question: Question, stays: Callable[[], None]) -> Answer:
        await anyio.sleep_forever()
        raise AssertionError("nobody answers")

    def told(self, question: Question, answer: Answer, by_person: bool) -> None:
        assert not by_person


class Unaware(CheckedModel):
    """A model that is not told that the user is there."""

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Check a prompt without that sentence."""
        async for piece in super().stream(replace(prompt, system=prompt.system.replace("The user is here", ""))):
            yield piece


async def played(place: Path, monkeypatch: pytest.MonkeyPatch, player: type[RehearsedModel]) -> Rehearsed:
    """Play the demo in this process, with somebody else for its models."""
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    async with rehearsal(prepare(), Feed(), fast=True, player=player) as show:
        with anyio.fail_after(SECONDS):
            return await show.play(Absent())


@pytest.mark.anyio
@pytest.mark.behaviour("demo", "K1", "K2", "K3", "K4", "K5", "K6", "K8")
async def test_every_model_of_the_demo_is_told_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rehearsed = await played(tmp_path, monkeypatch, CheckedModel)
    assert take_found() == []
    assert rehearsed.passed


@pytest.mark.anyio
@pytest.mark.behaviour("K4")
async def test_a_demo_whose_models_are_not_told_something_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rehearsed = await played(tmp_path, monkeypatch, Unaware)
    assert take_found()[0] == "K4: that the user is there: true now, and the prompt does not say so"
    assert rehearsed.outcome.end == "parked"
