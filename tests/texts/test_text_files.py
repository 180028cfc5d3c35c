"""The files that hold what models read: each is used, its markers name what there is, and it is filled as it says."""

import re
from pathlib import Path

import pytest

import deskmate.texts
from deskmate.core.agent.work_mode import RESULT_TOOL
from deskmate.core.policy.tool_table import MCP_CALL, MCP_SEARCH, TOOLS, WEB_TOOLS, AgentKind
from deskmate.texts import filled, text

FOLDER = Path(deskmate.texts.__file__).parent
FILES = sorted(str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.rglob("*.md"))
PROMPTS = [*AgentKind]
# Besides tools, a line may need these.
FACTS = {"summary": {"focus"}, "teammate": {"read-only", "own-tree", "shared-tree"}, "subagent": {"read-only"}}
KINDS = set(AgentKind)


def test_there_is_one_file_for_each_prompt_and_each_tool_and_no_other() -> None:
    others = [
        "init",
        "summary",
        "reminder",
        "running",
        "dismissed",
        "no_result",
        f"tools/{RESULT_TOOL}",
        f"tools/{MCP_SEARCH}",
        f"tools/{MCP_CALL}",
        *(f"tools/{name}" for name in WEB_TOOLS),
    ]
    assert sorted([*PROMPTS, *others, *(f"tools/{name}" for name in TOOLS)]) == FILES


@pytest.mark.parametrize("name", FILES)
def test_a_text_is_tidy(name: str) -> None:
    found = text(name)
    assert found.strip() == found != ""
    assert "\n\n\n" not in found
    assert [line for line in found.splitlines() if line.rstrip() != line] == []


@pytest.mark.parametrize("name", FILES)
def test_a_marker_begins_its_line_and_names_what_there_is(name: str) -> None:
    lines = [line for line in text(name).splitlines() if "{needs" in line]
    markers = [re.match(r"\{needs: ([\w -]+)\}(?!.*\{needs)", line) for line in lines]
    assert [line for line, marker in zip(lines, markers, strict=True) if marker is None] == []
    named = {word for marker in markers if marker for word in marker[1].split()}
    assert named <= (KINDS if name.startswith("tools/") else set(TOOLS) | FACTS.get(name, set()))


def test_a_line_is_read_only_by_those_who_have_what_it_needs() -> None:
    assert filled("summary", {"focus": "the parser"}, {"focus"}).endswith("the parser")
    assert "the parser" not in filled("summary", {"focus": "the parser"}, set())


def test_a_value_that_looks_like_a_place_stays_as_it_is() -> None:
    assert filled("summary", {"focus": "{focus} {needs: focus}"}, {"focus"}).endswith("{focus} {needs: focus}")


def test_a_title_with_nothing_below_it_is_left_out() -> None:
    values = dict.fromkeys(
        [
            "name",
            "team",
            "role",
            "workspace",
            "members",
            "environment",
            "instructions",
            "notes",
            "user_notes",
            "team_notes",
        ],
        "x",
    )
    assert "Skills" in filled("lead", {**values, "skills": "- deploy: how"}, {"Skill"})
    assert "Skills" not in filled("lead", {**values, "skills": "- deploy: how"}, set())
    assert "Skills" not in filled("lead", {**values, "skills": ""}, {"Skill"})
