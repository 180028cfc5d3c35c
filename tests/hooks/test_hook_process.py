"""Hooks as programs on this machine."""

import json
import os
from pathlib import Path

import anyio
import pytest

from deskmate.core.hooks.hook_outputs import HookRun
from deskmate.core.hooks.hook_tables import Hook
from deskmate.hooks.hook_process import HookPlace, run_command_hook
from tests.runtime.team_process import until

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("hooks")]

TOLD = {"hook_event_name": "PreToolUse", "tool_input": {"file_path": "größe.py"}}


def hook(command: str, seconds: float = 30) -> Hook:
    return Hook("PreToolUse", "", command, seconds, "settings.toml", of_project=False)


@pytest.fixture
def place(tmp_path: Path) -> HookPlace:
    (tmp_path / ".teams/main").mkdir(parents=True)
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ANTHROPIC_API_KEY": "sk-1", "DISPLAY": ":0"}
    return HookPlace(tmp_path, tmp_path, "main", environ, None)


async def run(place: HookPlace, command: str, seconds: float = 30) -> HookRun:
    return await run_command_hook(hook(command, seconds), json.dumps(TOLD).encode(), place, "lead")


async def test_a_hook_reads_json_and_its_outputs_are_kept_apart(place: HookPlace) -> None:
    ended = await run(place, "cat; echo oops >&2; exit 3")
    assert (ended.exit, json.loads(ended.stdout), ended.stderr) == (3, TOLD, "oops\n")


async def test_a_hook_runs_in_the_folder_of_the_agent_and_sees_few_variables(place: HookPlace) -> None:
    ended = await run(place, 'pwd; echo "$CLAUDE_PROJECT_DIR $DESKMATE_PROJECT_DIR $DISPLAY ($ANTHROPIC_API_KEY)"')
    folder = str(place.folder)
    assert ended.stdout.splitlines() == [folder, f"{folder} {folder} :0 ()"]


async def test_a_hook_that_does_not_end_is_ended_with_all_that_it_started(place: HookPlace) -> None:
    ended = await run(place, "sleep 1000 & echo $! > child; wait", seconds=0.5)
    assert (ended.exit, ended.ended) == (None, "did not end within 0.5 s")
    assert not is_running(int((place.folder / "child").read_text()))


@pytest.mark.parametrize("flood", ["yes", "yes >&2 & sleep 0.3; exit 2"])
async def test_a_flood_of_output_is_bounded(place: HookPlace, flood: str) -> None:
    ended = await run(place, flood)
    assert len(ended.stdout) + len(ended.stderr) <= 256_001
    assert (ended.exit, ended.ended) in ((None, "printed more than 256 kB"), (2, ""))


async def test_a_missing_command_fails_as_a_shell_says(place: HookPlace) -> None:
    ended = await run(place, "no-such-program")
    assert (ended.exit, "no-such-program" in ended.stderr) == (127, True)


async def test_a_cancelled_hook_leaves_nothing_running(place: HookPlace) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, place, "echo $$ > pid; sleep 1000")
        await until(lambda: (place.folder / "pid").exists() and (place.folder / "pid").read_text())
        tasks.cancel_scope.cancel()
    assert not is_running(int((place.folder / "pid").read_text()))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
