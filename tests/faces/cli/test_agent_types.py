"""The agent types of a folder and of the user, as `deskmate agents` shows them."""

import shutil
from pathlib import Path

import pytest

from deskmate.app.parts.usable_types import ListedTypes
from deskmate.faces.common.chat.status_commands import agent_type_lines
from deskmate.faces.common.text_tables import Cell, Sheet
from tests.agent_files import COMMA_LISTS, PLAIN, YAML_LISTS
from tests.faces.fake_app import Env, FakeApp, run_command

pytestmark = pytest.mark.behaviour("agent-types")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "work"
    shutil.copytree(YAML_LISTS, place / ".claude/agents")
    return place


def test_the_types_are_listed_with_their_files_tools_and_whether_they_are_trusted(folder: Path, env: Env) -> None:
    shutil.copytree(COMMA_LISTS, Path(str(env["HOME"])) / ".claude/agents")
    lines = run_command("-C", str(folder), "agents", env=env).stdout.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["general-purpose", "Explore", "Plan"]
    own = lines.index(f"code-reviewer  {env['HOME']}/.claude/agents/code-reviewer.md")
    tools = "  tools: read_file, glob, grep, web_fetch, mcp__github__get_pull_request"
    assert lines[own + 2 : own + 4] == [tools, "  model: anthropic:claude-sonnet-5-5"]
    assert "shell-user  .claude/agents/shell-user.md (new, not trusted)" in lines
    assert lines[-1] == "To review and trust agent files, run: deskmate trust"


@pytest.mark.behaviour("trust")
def test_a_trusted_type_is_listed_as_such_until_its_file_changes(folder: Path, env: Env) -> None:
    assert run_command("-C", str(folder), "trust", "--yes", env=env).code == 0
    lines = run_command("-C", str(folder), "agents", env=env).stdout.splitlines()
    assert "planner  .claude/agents/planner.md" in lines
    assert "trusted" not in "".join(lines)
    with (folder / ".claude/agents/planner.md").open("a") as file:
        file.write("More.\n")
    assert (
        "planner  .claude/agents/planner.md (changed, not trusted)"
        in run_command("-C", str(folder), "agents", env=env).stdout.splitlines()
    )


@pytest.mark.behaviour("trust")
def test_a_run_uses_only_trusted_files_and_says_which_it_does_not(folder: Path, env: Env) -> None:
    app = FakeApp()
    ended = run_command("-C", str(folder), "run", "x", app=app, env=env)
    assert "not used, because you have not trusted it: .claude/agents" in ended.stderr
    assert [wanted.consent.definitions for wanted in app.wanted] == [()]


def test_what_a_file_says_cannot_reach_the_terminal(tmp_path: Path, env: Env) -> None:
    place = tmp_path.resolve() / "work"
    shutil.copytree(PLAIN, place / ".claude/agents")
    text = "---\nname: x\ndescription: a\x1b[2Jb \u202e c\ntools: \x1b[1mRead\nmodel: \x1b[3m\n---\n"
    (place / ".claude/agents/x.md").write_text(text)
    shown = run_command("-C", str(place), "agents", env=env).stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "not used: .claude/agents/no-fields.md has no front matter" in shown


def test_what_is_wrong_with_a_file_is_shown_in_full_on_a_narrow_screen() -> None:
    problem = "broken.md has no front matter. Start it with the lines ---, name:, description: and ---."
    lines = agent_type_lines(ListedTypes((), (), (problem,)), Sheet(40, colour=False))
    assert lines[-1] == (Cell(f"not used: {problem}"),)
