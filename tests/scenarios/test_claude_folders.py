"""Whole folders `.claude` as repositories publish them: everything that we support is there, the rest is named."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from deskmate.core.agent.entries import Did, Hooked
from deskmate.faces.common.commands.first_line import with_command
from deskmate.testing import Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.trust.approvals import survey
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Level
from tests.claude_folders import HOOK_SUITE, NESTED_RESEARCH, REVIEW_BOTS
from tests.faces.fake_app import run_command
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.test_project_hooks import environment, played, trust

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("agent-types", "commands", "skills", "hooks", "trust")]


def harness_with(tmp_path: Path, folder: Path) -> AppHarness:
    harness = AppHarness.at(tmp_path / "work", tmp_path / "home")
    shutil.copytree(folder, harness.place / ".claude")
    trust(harness)
    return harness


def listed(harness: AppHarness, *words: str) -> str:
    """Return what a command says of the folder."""
    env = {"HOME": str(harness.home), "XDG_STATE_HOME": str(harness.home / "elsewhere")}
    return run_command("-C", str(harness.place), *words, env=env).stdout


async def told_of_command(harness: AppHarness, typed: str) -> str:
    """Send a command, and return what the lead is told."""
    async with FakeProvider([Say("Done.")]) as provider:
        wanted = harness.wanted(provider, "anthropic", typed)
        consent = survey(harness.place, harness.home / "state", reads=False).consent
        return with_command(wanted.with_consent(consent)).goal or ""


def asks_type(name: str, then: Say) -> list[Say]:
    """Let the lead start a subagent of a type, which does one thing."""
    return [Say(calls=[Use("Task", {"prompt": "Look.", "subagent_type": name})]), then, Say("Seen."), Say("Done.")]


async def test_nested_agents_commands_and_a_skill_with_its_files_are_there(tmp_path: Path) -> None:
    harness = harness_with(tmp_path, NESTED_RESEARCH)
    load = Say(calls=[Use("Skill", {"skill": "rpc-services"})])
    read = Say(calls=[Use("read_file", {"path": ".claude/skills/rpc-services/references/template.md"})])
    steps = [load, read, *asks_type("code-locator", Say(calls=[Use("Skill", {"skill": "rpc-services"})]))]
    async with FakeProvider(steps) as provider:
        await played(harness, provider)
        lead, subagent = provider.requests[0], provider.requests[3]
    assert "- code-locator: Finds files and components for a feature." in lead.system
    assert "- web-researcher: Do you need to know something" in lead.system
    assert (
        '- rpc-services: Guide for creating, updating and removing RPC services. Use when asked to "add' in lead.system
    )
    assert set(subagent.tools) == {"grep", "glob", "Skill"}
    assert "You find WHERE code is." in subagent.system
    assert [entry.ok for entry in await harness.entries() if isinstance(entry, Did)] == [True] * 3
    told = await told_of_command(harness, "/cl:commit")
    assert told.startswith("# Commit changes\n\n1. Run `git status`")
    assert (await told_of_command(harness, "/gh-pr main")).endswith("create one.\n\nArguments: main")
    assert listed(harness, "hooks").startswith("There are no hooks")


async def test_the_hooks_of_a_suite_run_with_their_scripts_in_the_sandbox(tmp_path: Path) -> None:
    if find_sandbox(tmp_path / "state", environ=environment()).level is not Level.BUBBLEWRAP:
        pytest.skip("no bubblewrap here")
    harness = harness_with(tmp_path, HOOK_SUITE)
    removes = Say(calls=[Use("bash", {"command": "rm -rf /tmp/x"})])
    steps = [removes, *asks_type("docs-writer", Say(calls=[Use("write_file", {"path": "a.md", "content": "x"})]))]
    async with FakeProvider(steps) as provider:
        await played(harness, provider, sandbox=True)
        first, last = provider.requests[0], provider.requests[-1]
    assert any("On branch main" in text for text in first.texts)
    assert any("BLOCKED: dangerous rm command" in str(passage) for passage in last.prompt.passages)
    events = Counter(json.loads(line)["event"] for line in (harness.files["logs/events.jsonl"]).splitlines())
    assert events.keys() == {"SessionStart", "UserPromptSubmit", "PostToolUse", "SubagentStop", "Stop"}
    assert harness.files["a.md"] == "x"
    decisions = [entry.decision for entry in await harness.entries() if isinstance(entry, Hooked) and entry.decision]
    assert decisions == ["deny"]
    assert "not supported" not in listed(harness, "hooks")


async def test_types_and_commands_of_review_bots_are_read_and_what_is_unknown_is_named(tmp_path: Path) -> None:
    harness = harness_with(tmp_path, REVIEW_BOTS)
    async with FakeProvider(asks_type("quality-reviewer", Say(calls=[Use("glob", {"pattern": "*"})]))) as provider:
        await played(harness, provider)
        lead, subagent = provider.requests[0], provider.requests[1]
    # Of a description, the examples are left out.
    assert "- quality-reviewer: Use this agent to review code for quality. (only reads)" in lead.system
    assert set(subagent.tools) == {"read_file", "glob", "grep"}
    words = await told_of_command(harness, "/label-issue")
    assert "- REPO: ${{ github.repository }}" in words
    words = await told_of_command(harness, "/review-pr")
    assert words.startswith("Review it with these subagents:")
    assert "these tools do not exist here: BashOutput, KillBash" in listed(harness, "agents")
    shown = listed(harness, "hooks")
    assert "PostToolUse  Edit|Write|MultiEdit  touch formatted" in " ".join(shown.replace("\n", " ").split(" "))
