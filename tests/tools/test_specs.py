"""What a model is shown of the tools, and what their arguments refuse."""

import json

import pytest
from pydantic import ValidationError

from deskmate.core.policy.tool_table import TOOLS, AgentKind, AgentType, tools_of
from deskmate.core.prompt.prompts import ToolSpec
from deskmate.ports import Tool
from deskmate.tools import spec, tools_for
from tests.tools.tool_desk import every_tool

BASE = ("bash", "read_file", "write_file", "edit_file", "glob", "grep")
TEAM = ("TaskCreate", "TaskGet", "TaskUpdate", "TaskList", "SendMessage", "ExitPlanMode")
CRON = ("CronCreate", "CronList", "CronDelete")
MADE_HERE = (*BASE, *TEAM, "Task", "TaskOutput", "TaskStop", *CRON, "Skill", "AskUser", "TeamCreate", "TeamDelete")
NEEDED = {"questions": [{"question": "Which?", "options": [{"label": "one"}, {"label": "two"}]}]}


def names(tools: tuple[Tool, ...]) -> tuple[str, ...]:
    return tuple(tool.name for tool in tools)


def test_every_tool_stands_in_the_table_of_roles_and_has_its_text() -> None:
    assert names(every_tool()) == MADE_HERE
    assert [tool.name for tool in every_tool() if not tool.text or "##" in tool.text] == []


def test_tools_come_in_the_order_of_the_names_and_those_made_elsewhere_are_passed_over() -> None:
    assert names(tools_for(AgentKind.LEAD, ["grep", "mcp__web__search", "bash"])) == ("grep", "bash")


@pytest.mark.behaviour("tools-base")
@pytest.mark.parametrize("kind", [AgentKind.TEAMMATE, AgentKind.SUBAGENT])
def test_who_is_not_the_lead_has_the_base_tools_without_the_background(kind: AgentKind) -> None:
    tools = tools_for(kind, tools_of(kind, AgentType.GENERAL))
    assert tuple(tool.name for tool in tools if TOOLS[tool.name].home == "base") == BASE
    assert "background" not in json.dumps([(tool.text, spec(tool).schema) for tool in tools])


def test_each_is_shown_the_messages_that_it_may_send() -> None:
    shown = {}
    for kind in (AgentKind.LEAD, AgentKind.TEAMMATE):
        (tool,) = tools_for(kind, ["SendMessage"])
        shown[kind] = spec(tool).schema["properties"]["type"]["enum"]
        assert [type_ for type_ in shown[kind] if f"- {type_}:" not in tool.text] == []
    assert shown == {
        AgentKind.LEAD: ["message", "broadcast", "shutdown_request", "plan_approval_response"],
        AgentKind.TEAMMATE: ["message", "broadcast", "shutdown_response"],
    }


@pytest.mark.behaviour("background")
def test_the_lead_is_shown_that_bash_can_run_in_the_background() -> None:
    bash, task = tools_for(AgentKind.LEAD, ["bash", "Task"])
    assert "run_in_background" in spec(bash).schema["properties"]
    assert "run_in_background" in spec(task).schema["properties"]


def test_a_schema_says_what_it_must_and_no_more() -> None:
    (bash, task) = tools_for(AgentKind.TEAMMATE, ["bash", "Task"])
    assert spec(bash) == ToolSpec(
        name="bash",
        text=bash.text,
        schema={
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "timeout": {
                    "type": "number",
                    "description": "seconds: 120 if not given, 600 at most",
                },
            },
            "required": ["command"],
        },
    )
    assert spec(task).schema["properties"]["subagent_type"] == {
        "type": "string",
        "default": "general-purpose",
        "description": "general-purpose, Explore, Plan or a listed type",
    }


@pytest.mark.behaviour("tools-errors")
@pytest.mark.parametrize("tool", every_tool(), ids=lambda tool: tool.name)
def test_an_unknown_argument_is_refused(tool: Tool) -> None:
    needed = {name: NEEDED.get(name, "1") for name in spec(tool).schema.get("required", ())}
    tool.arguments.model_validate(needed)
    with pytest.raises(ValidationError):
        tool.arguments.model_validate({**needed, "colour": "blue"})


@pytest.mark.behaviour("tools-errors")
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("bash", {"command": "ls", "timeout": 601}),
        ("bash", {"command": "ls", "timeout": 0}),
        ("bash", {"command": ""}),
        ("read_file", {"path": "a", "offset": 0}),
        ("read_file", {"path": "a", "limit": 2001}),
        ("write_file", {"path": "a", "content": "\ud800"}),
        ("edit_file", {"path": "a", "old_text": "", "new_text": "b"}),
        ("glob", {"pattern": ""}),
        ("grep", {"pattern": ""}),
        ("Task", {"prompt": ""}),
        ("TaskOutput", {"task_id": "b1", "timeout": 601}),
    ],
)
def test_an_argument_out_of_its_bounds_is_refused(name: str, wrong: dict[str, object]) -> None:
    (tool,) = tools_for(AgentKind.LEAD, [name])
    with pytest.raises(ValidationError):
        tool.arguments.model_validate(wrong)


@pytest.mark.parametrize(
    ("name", "more"),
    [("read_file", {}), ("write_file", {"content": "a"}), ("edit_file", {"old_text": "a", "new_text": "b"})],
)
def test_a_file_without_a_path_is_refused_in_words_that_ask_for_one(name: str, more: dict[str, str]) -> None:
    (tool,) = tools_for(AgentKind.LEAD, [name])
    with pytest.raises(ValidationError, match="a path is needed"):
        tool.arguments.model_validate({"path": "", **more})


def test_the_traits_of_every_tool_are_known() -> None:
    assert [tool.name for tool in every_tool() if tool.name not in TOOLS] == []


def test_a_schema_shows_one_name_for_each_argument() -> None:
    shown = {tool.name: list(spec(tool).schema["properties"]) for tool in every_tool()}
    assert shown["bash"] == ["command", "timeout", "run_in_background"]
    assert shown["edit_file"] == ["path", "old_text", "new_text", "replace_all"]
    assert shown["read_file"] == ["path", "offset", "limit"]
