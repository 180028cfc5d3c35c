"""Real kills while a hook runs: it runs again once, and its effect is in the transcript once."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import anyio
import pytest

from deskmate.core.agent.entries import Did, Hooked
from deskmate.testing import Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.team_run import read_streams
from deskmate.testing.team_scripts import (
    MemberScript,
    add_task,
    claim_task,
    complete_task,
    in_turn,
    member_of,
    spawn,
    write_file,
)
from tests.hooks.test_hook_process import is_running
from tests.runtime.team_process import until
from tests.scenarios.app_harness import MODELS, SOON, AppHarness

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("hooks", "C2")]

# The first time, the hook kills the process that runs it.
KILLS = "echo ran >> hooks-ran; [ -e once ] || { touch once; kill -9 $PPID; }"


@pytest.fixture
def harness(tmp_path: Path) -> AppHarness:
    return AppHarness.at(tmp_path / "work", tmp_path / "home")


def with_hook(harness: AppHarness, event: str, command: str, more: str = "") -> None:
    """Give the user one hook. `more`: other fields of it."""
    settings = harness.home / ".config/deskmate/settings.toml"
    settings.parent.mkdir(parents=True)
    hook = f'[[hooks.{event}]]\nhooks = [{{type = "command", command = """{command}"""{more}}}]\n'
    settings.write_text(f'permission_mode = "dontAsk"\nsandbox = false\ncheckpoints = 0\n{hook}')


def environ(harness: AppHarness, provider: FakeProvider) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(harness.home),
        "DESKMATE_MODEL": MODELS["anthropic"],
        "ANTHROPIC_API_KEY": "sk-test",
        "ANTHROPIC_BASE_URL": provider.url,
    }


COUNTS = Say(calls=[Use("bash", {"command": "echo done >> effects"})])


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "Stop"])
async def test_after_a_kill_in_the_middle_of_a_hook_it_runs_again_and_its_effect_is_recorded_once(
    harness: AppHarness, event: str
) -> None:
    with_hook(harness, event, f"{KILLS}; echo '{json.dumps({'systemMessage': 'heard'})}'")
    async with FakeProvider([COUNTS, Say("Done.")]) as provider:
        env = environ(harness, provider)
        codes = [await deskmate(harness.place, env, *words) for words in (("run", "Go."), ("resume",))]
    assert codes == [-signal.SIGKILL, 0]
    entries = await harness.entries()
    assert [entry.shown for entry in entries if isinstance(entry, Hooked)] == [("heard",)]
    assert harness.files["hooks-ran"] == "ran\nran\n"
    # The call that the hook is about ran once.
    assert harness.files["effects"] == "done\n"
    assert [entry.ok for entry in entries if isinstance(entry, Did)] == [True]


@pytest.mark.behaviour("P2")
async def test_a_hook_that_a_killed_run_left_behind_is_ended_when_the_team_is_resumed(harness: AppHarness) -> None:
    with_hook(
        harness, "PreToolUse", "[ -e once ] && exit 0; touch once; echo $$ > left.new; mv left.new left; sleep 99"
    )
    async with FakeProvider([COUNTS, Say("Done.")]) as provider:
        env, left = environ(harness, provider), harness.place / "left"
        command = [sys.executable, "-P", "-m", "deskmate", "run", "Go."]
        with anyio.fail_after(SOON):
            async with await anyio.open_process(command, cwd=harness.place, env=env, stdin=subprocess.DEVNULL) as run_:
                await until(left.exists)
                run_.kill()
                await run_.wait()
        hook = int(left.read_text())
        assert is_running(hook)
        assert await deskmate(harness.place, env, "resume") == 0
    assert not is_running(hook)
    assert harness.files["effects"] == "done\n"


@pytest.mark.behaviour("P2")
async def test_an_async_hook_of_a_killed_run_is_ended_and_does_not_run_again(harness: AppHarness) -> None:
    with_hook(
        harness,
        "PostToolUse",
        "echo ran >> hooks-ran; echo $$ > left.new; mv left.new left; sleep 99",
        ", async = true",
    )
    waits = Say(calls=[Use("bash", {"command": "touch waiting; sleep 99"})])
    async with FakeProvider([COUNTS, waits, Say("Done.")]) as provider:
        env, left = environ(harness, provider), harness.place / "left"
        command = [sys.executable, "-P", "-m", "deskmate", "run", "Go."]
        with anyio.fail_after(SOON):
            async with await anyio.open_process(command, cwd=harness.place, env=env, stdin=subprocess.DEVNULL) as run_:
                await until(lambda: left.exists() and (harness.place / "waiting").exists())
                run_.kill()
                await run_.wait()
        hook = int(left.read_text())
        assert is_running(hook)
        assert await deskmate(harness.place, env, "resume") == 0
    assert not is_running(hook)
    assert harness.files["hooks-ran"] == "ran\n"
    assert harness.files["effects"] == "done\n"


LEAD = in_turn(Say(calls=[add_task("write it"), spawn("alice")]), then=Say("Well."))
FIXES = write_file("fixed")
TEAMMATES = {
    "TaskCompleted": in_turn(
        Say(calls=[claim_task(1)]),
        Say(calls=[complete_task(1)]),
        Say(calls=[FIXES, complete_task(1)]),
        then=Say("Done."),
    ),
    "TeammateIdle": in_turn(
        Say(calls=[claim_task(1), complete_task(1)]), Say("Done."), Say(calls=[FIXES]), then=Say("Fixed.")
    ),
}


@pytest.mark.parametrize(("event", "alice"), TEAMMATES.items())
async def test_a_teammate_that_a_hook_sends_back_continues_once_although_the_hook_was_killed(
    harness: AppHarness, event: str, alice: MemberScript
) -> None:
    with_hook(harness, event, f"{KILLS}; [ -e fixed ] || {{ echo fixed is missing >&2; exit 2; }}")
    scripts = {"lead": LEAD, "alice": alice}
    async with FakeProvider(lambda asked: scripts[member_of(asked)](asked)) as provider:
        env = environ(harness, provider)
        codes = [await deskmate(harness.place, env, *words) for words in (("run", "Go."), ("resume",))]
        told = [str(asked.prompt.passages[-1]) for asked in provider.requests if member_of(asked) == "alice"]
    # 4, because the lead leaves it to the end of the run to dismiss her.
    assert codes == [-signal.SIGKILL, 4]
    streams = await read_streams(harness.place)
    # The killed one said nothing.
    effects = Counter(entry.decision for entry in streams.entries("alice") if isinstance(entry, Hooked))
    assert effects == {"deny": 1, None: 1}
    assert Counter(harness.files["hooks-ran"].split()) == {"ran": 3}
    assert sum("fixed is missing" in text for text in told) == 1
    assert [task.status for task in streams.board.tasks.values()] == ["completed"]


async def deskmate(folder: Path, env: dict[str, str], *words: str) -> int:
    command = [sys.executable, "-P", "-m", "deskmate", *words]
    with anyio.fail_after(SOON):
        ended = await anyio.run_process(command, cwd=folder, env=env, check=False, stdin=subprocess.DEVNULL)
    return ended.returncode
