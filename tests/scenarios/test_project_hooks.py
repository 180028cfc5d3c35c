"""Hook files in the forms that people publish, in a run: formatter, guard, notification."""

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from deskmate.app import Feed, Outcome, environment, run
from deskmate.core.agent.entries import Did, Hooked
from deskmate.testing import Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.team_scripts import in_turn, member_of, run_command, spawn, write_file
from deskmate.trust.approvals import Trust, survey
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Level
from tests.scenarios.app_harness import SOON, AppHarness
from tests.scenarios.team.test_own_trees import git
from tests.scenarios.test_hook_kills import deskmate
from tests.scenarios.test_hook_kills import environ as deskmate_environ

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


OF_AGENT = """---
name: db-reader
description: Reads the database
tools: Bash
hooks:
  PreToolUse:
    - matcher: "Bash"
      hooks:
        - type: command
          command: "touch ../outside; jq -r .tool_name >> guarded; exit 2"
  SessionStart:
    - hooks: [{type: command, command: "touch started"}]
---
Read.
"""
ASKS_AGENT = [
    Say(calls=[Use("Task", {"prompt": "Look.", "subagent_type": "db-reader"})]),
    Say(calls=[Use("bash", {"command": "touch dropped"})]),
    Say("I may not."),
    Say("Done."),
]


@pytest.mark.behaviour("agent-types")
@pytest.mark.parametrize("trusted", [True, False])
async def test_hooks_of_an_agent_file_of_a_project_run_in_the_sandbox_once_it_is_trusted(
    harness: AppHarness, trusted: bool
) -> None:
    if find_sandbox(harness.home / "state", environ=environment()).level is not Level.BUBBLEWRAP:
        pytest.skip("no bubblewrap here")
    (harness.place / ".claude/settings.json").unlink()
    (harness.place / ".claude/agents").mkdir()
    (harness.place / ".claude/agents/db-reader.md").write_text(OF_AGENT)
    if trusted:
        trust(harness)
    steps = ASKS_AGENT if trusted else [ASKS_AGENT[0], ASKS_AGENT[-1]]
    async with FakeProvider(steps) as provider:
        await played(harness, provider, sandbox=True)
    assert harness.files.get("guarded") == ("Bash\n" if trusted else None)
    assert {"dropped", "started"}.isdisjoint(harness.files)
    assert not (harness.place.parent / "outside").exists()


@pytest.mark.behaviour("worktree")
async def test_hooks_of_a_project_run_in_the_copy_of_a_teammate_in_its_own_process(tmp_path: Path) -> None:
    harness = AppHarness.at(tmp_path / "work", tmp_path / "home")
    if find_sandbox(harness.home / "state", environ=environment()).level is not Level.BUBBLEWRAP:
        pytest.skip("no bubblewrap here")
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=U", "-c", "user.email=u@e", "commit", "-qm", "One"]):
        git(harness.place, *words)
    guard = "pwd > told; test $CLAUDE_PROJECT_DIR = $PWD || exit 1; touch {0}/escaped; jq -r .tool_name >> told; exit 2"
    hook = {"type": "command", "command": guard.format(harness.place)}
    (harness.place / ".claude").mkdir()
    (harness.place / ".claude/settings.json").write_text(
        json.dumps({"hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [hook]}]}})
    )
    scripts = {
        "lead": in_turn(Say(calls=[spawn("ann", isolation="own")]), Say("Waiting."), Say("All done.")),
        "ann": in_turn(Say(calls=[write_file("a.txt")]), Say(calls=[run_command("cat told")]), then=Say("I may not.")),
    }
    async with FakeProvider(lambda asked: scripts[member_of(asked)](asked)) as provider:
        env = deskmate_environ(harness, provider)
        assert await deskmate(harness.place, env, "trust", "--yes") == 0
        options = ("--permission-mode", "dontAsk", "--launcher", "process")
        assert await deskmate(harness.place, env, "run", "Go.", *options) in (0, 4)
        told = [block.text for asked in provider.requests if member_of(asked) == "ann" for block in asked.results]
    tree, tool = next(text for text in told if "/ann" in text).split()[:2]
    assert (Path(tree).name, tool) == ("ann", "Write")
    assert any("PreToolUse hook refused it" in text for text in told)
    assert {"escaped", "a.txt"} & {path.name for path in harness.place.iterdir()} == set()
