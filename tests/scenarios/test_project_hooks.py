"""Hook files in the forms that people publish, in a run: formatter, guard, notification; and a kill in between."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from deskmate.app import Feed, Outcome, environment, run
from deskmate.core.agent.entries import Did, Hooked
from deskmate.testing import Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.trust.approvals import Trust, survey
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Level
from tests.hooks.test_hook_process import is_running
from tests.runtime.team_process import until
from tests.scenarios.app_harness import MODELS, SOON, AppHarness

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("hooks", "trust")]

GUARD = (
    "python3 -c \"import json, sys; data=json.load(sys.stdin); path=data.get('tool_input',{}).get('file_path',''); "
    "sys.exit(2 if any(p in path for p in ['.env', 'package-lock.json', '.git/']) else 0)\""
)
FORMATTER = "jq -r '.tool_input.file_path' | { read file_path; if echo \"$file_path\" | grep -q '\\.txt$'; then "
FORMATTER += 'sed -i "s/[ ]*$//" "$file_path"; fi; }'
# As in documentation and well-known repositories, written again by hand.
PUBLISHED = {
    "permissions": {"allow": ["Bash(npm run lint)"], "deny": ["Read(./.env)"]},
    "env": {"FOO": "bar"},
    "hooks": {
        "PreToolUse": [{"matcher": "Edit|MultiEdit|Write", "hooks": [{"type": "command", "command": GUARD}]}],
        "PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": FORMATTER, "timeout": 30}]}],
        "Notification": [{"matcher": "", "hooks": [{"type": "command", "command": "notify-send 'Claude Code' 'x'"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": '"$CLAUDE_PROJECT_DIR"/.claude/hooks/stop.sh'}]}],
        "SubagentStart": [{"hooks": [{"type": "command", "command": "true"}]}],
    },
}
STOP = "#!/bin/sh\njq -r .hook_event_name >> stopped\ntouch ../outside 2>/dev/null\nexit 0\n"
STEPS = [
    Say(calls=[Use("write_file", {"path": "a.txt", "content": "one  \n"})]),
    Say(calls=[Use("write_file", {"path": ".env", "content": "KEY=1"})]),
    Say("Done."),
]


@pytest.fixture
def harness(tmp_path: Path) -> AppHarness:
    found = AppHarness.at(tmp_path / "work", tmp_path / "home")
    (found.place / ".claude/hooks").mkdir(parents=True)
    (found.place / ".claude/settings.json").write_text(json.dumps(PUBLISHED))
    (found.place / ".claude/hooks/stop.sh").write_text(STOP)
    (found.place / ".claude/hooks/stop.sh").chmod(0o755)
    return found


def trust(harness: AppHarness) -> None:
    Trust(harness.home / "state").approve(
        harness.place, survey(harness.place, harness.home / "state", reads=True).whole
    )


async def played(harness: AppHarness, provider: FakeProvider, **flags: object) -> Outcome:
    wanted = harness.wanted(provider, "anthropic", "Go.", **flags)
    consent = survey(harness.place, harness.home / "state", reads=False).consent
    with anyio.fail_after(SOON):
        return await run(replace(wanted, consent=consent), Feed())


async def test_published_hooks_work_as_they_are_in_the_sandbox(harness: AppHarness) -> None:
    if find_sandbox(harness.home / "state", environ=environment()).level is not Level.BUBBLEWRAP:
        pytest.skip("no bubblewrap here")
    trust(harness)
    async with FakeProvider(STEPS) as provider:
        await played(harness, provider, sandbox=True)
    dids = [entry.ok for entry in await harness.entries() if isinstance(entry, Did)]
    assert dids == [True, False]
    assert (harness.files["a.txt"], harness.files["stopped"]) == ("one\n", "Stop\n")
    assert not (harness.place.parent / "outside").exists()


@pytest.mark.parametrize("changes", [False, True])
async def test_hooks_that_nobody_trusts_or_that_changed_since_do_not_run(harness: AppHarness, changes: bool) -> None:
    if changes:
        trust(harness)
        with (harness.place / ".claude/settings.json").open("a") as file:
            file.write("\n")
    async with FakeProvider(STEPS) as provider:
        await played(harness, provider)
    assert [entry for entry in await harness.entries() if isinstance(entry, Hooked)] == []
    assert harness.files["a.txt"] == "one  \n"
    assert "stopped" not in harness.files


async def test_hooks_of_a_project_do_not_run_without_a_sandbox_that_the_user_wants(
    harness: AppHarness, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A workspace that contains the user's home is not confined.
    monkeypatch.setenv("HOME", str(harness.place))
    trust(harness)
    async with FakeProvider(STEPS) as provider:
        await played(harness, provider, sandbox=True, permission_mode="default", notify=False)
    assert "Some hooks are not used" in caplog.text
    assert "stopped" not in harness.files


def with_hook(harness: AppHarness, event: str, command: str) -> None:
    """Give the user one hook, and the workspace none."""
    (harness.place / ".claude/settings.json").unlink()
    settings = harness.home / ".config/deskmate/settings.toml"
    settings.parent.mkdir(parents=True)
    hook = f'[[hooks.{event}]]\nhooks = [{{type = "command", command = """{command}"""}}]\n'
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


@pytest.mark.behaviour("C2")
@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "Stop"])
async def test_after_a_kill_in_the_middle_of_a_hook_it_runs_again_and_its_effect_is_recorded_once(
    harness: AppHarness, event: str
) -> None:
    # The first time, the hook kills the process that runs it.
    kills = "echo ran >> hooks-ran; [ -e once ] || { touch once; kill -9 $PPID; }"
    with_hook(harness, event, f"{kills}; echo '{json.dumps({'systemMessage': 'heard'})}'")
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


@pytest.mark.behaviour("C2", "P2")
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


async def deskmate(folder: Path, env: dict[str, str], *words: str) -> int:
    command = [sys.executable, "-P", "-m", "deskmate", *words]
    with anyio.fail_after(SOON):
        ended = await anyio.run_process(command, cwd=folder, env=env, check=False, stdin=subprocess.DEVNULL)
    return ended.returncode
