"""Who has which tools: the tiers, spelled out once more by hand."""

import pytest

from deskmate.core.policy.tool_table import COLOURS, KNOWN, PLANNING, TOOLS, AgentKind, AgentType, colour_of, tools_of
from deskmate.errors import BadInput

BASE = {"bash", "read_file", "write_file", "edit_file", "glob", "grep"}
READING_BASE = {"read_file", "glob", "grep"}
TASK = {"TaskCreate", "TaskGet", "TaskUpdate", "TaskList"}
TEAM = {"Task", "TeamCreate", "TeamDelete"}
BACKGROUND = {"TaskOutput", "TaskStop"}
CLOCK = {"CronCreate", "CronList", "CronDelete"}
REST = {"SendMessage", "Skill"}
ASK = {"AskUser"}
PLAN_TOOLS = {*READING_BASE, "TaskGet", "TaskList", "SendMessage", "ExitPlanMode"}
READ_ONLY_TYPES = ["Explore", "Plan"]


def traits_with(trait: str) -> set[str]:
    return {name for name, traits in TOOLS.items() if getattr(traits, trait)}


@pytest.mark.behaviour("tiers")
@pytest.mark.parametrize(
    ("kind", "tools"),
    [
        pytest.param(AgentKind.LEAD, BASE | TASK | TEAM | BACKGROUND | CLOCK | REST | ASK, id="lead"),
        pytest.param(AgentKind.TEAMMATE, BASE | TASK | REST, id="teammate"),
        pytest.param(AgentKind.SUBAGENT, BASE | {"Skill"}, id="subagent"),
    ],
)
def test_each_kind_of_agent_has_exactly_the_tools_of_its_tier(kind: AgentKind, tools: set[str]) -> None:
    assert set(tools_of(kind, "general-purpose")) == tools


@pytest.mark.behaviour("tiers")
@pytest.mark.parametrize("agent_type", READ_ONLY_TYPES)
@pytest.mark.parametrize(
    ("kind", "tools"),
    [
        pytest.param(AgentKind.TEAMMATE, READING_BASE | TASK | REST, id="teammate"),
        pytest.param(AgentKind.SUBAGENT, READING_BASE | {"Skill"}, id="subagent"),
    ],
)
def test_a_reading_type_narrows_the_base_tools_only(kind: AgentKind, agent_type: str, tools: set[str]) -> None:
    assert set(tools_of(kind, agent_type)) == tools


@pytest.mark.behaviour("tiers", "plan")
@pytest.mark.parametrize("agent_type", AgentType)
@pytest.mark.parametrize(
    ("kind", "tools"),
    [
        pytest.param(AgentKind.LEAD, PLAN_TOOLS | ASK, id="lead"),
        pytest.param(AgentKind.TEAMMATE, PLAN_TOOLS, id="teammate"),
        pytest.param(AgentKind.SUBAGENT, READING_BASE, id="subagent"),
    ],
)
def test_whoever_plans_only_reads_writes_mail_and_submits_its_plan(
    kind: AgentKind, agent_type: AgentType, tools: set[str]
) -> None:
    assert set(tools_of(kind, agent_type, planning=True)) == tools


@pytest.mark.behaviour("tiers")
def test_a_delegating_lead_keeps_the_tools_that_reach_others() -> None:
    delegating = tools_of(AgentKind.LEAD, "general-purpose", delegate=True)
    assert set(delegating) == TASK | TEAM | BACKGROUND | CLOCK | ASK | {"SendMessage"}


def test_a_delegating_lead_that_plans_can_still_submit_its_plan() -> None:
    tools = tools_of(AgentKind.LEAD, "general-purpose", planning=True, delegate=True)
    assert set(tools) == {"TaskGet", "TaskList", "SendMessage", "ExitPlanMode"} | ASK


@pytest.mark.parametrize("kind", [AgentKind.TEAMMATE, AgentKind.SUBAGENT])
def test_only_the_lead_can_delegate(kind: AgentKind) -> None:
    with pytest.raises(BadInput, match="cannot delegate"):
        tools_of(kind, "general-purpose", delegate=True)


@pytest.mark.parametrize("agent_type", ["", "explore", "Explore ", "general", "lead", "\x1b[31m", "x" * 1000])
def test_an_unknown_agent_type_is_refused_with_the_known_ones(agent_type: str) -> None:
    with pytest.raises(BadInput, match="general-purpose, Explore, Plan") as refused:
        tools_of(AgentKind.TEAMMATE, agent_type)
    assert len(str(refused.value)) < 200
    assert "\x1b" not in str(refused.value)


@pytest.mark.behaviour("tiers")
def test_the_table_says_of_each_tool_what_it_does() -> None:
    reading = {*READING_BASE, "TaskGet", "TaskList", "TaskOutput", "CronList", "Skill", *ASK}
    assert traits_with("reads") == reading
    assert traits_with("edits") == {"write_file", "edit_file"}
    assert traits_with("runs") == {"bash"}
    assert traits_with("repeatable") == {
        *reading,
        *("TaskCreate", "TaskUpdate", "SendMessage", "ExitPlanMode", "Task", "CronCreate", "CronDelete"),
    }
    assert traits_with("overlaps") == {*reading, "Task"}
    # A tool that acts outside never counts as one that only reads: its call is on disk before it begins.
    assert [tool.name for tool in KNOWN.values() if tool.reads and (tool.visits or tool.runs or tool.edits)] == []
    assert [tool.name for tool in KNOWN.values() if tool.visits] == ["web_fetch", "web_search"]


def test_every_tool_is_in_the_table_under_its_own_name_and_one_home() -> None:
    assert {name: traits.name for name, traits in TOOLS.items()} == {name: name for name in TOOLS}
    homes: dict[str, set[str]] = {}
    for traits in TOOLS.values():
        homes.setdefault(traits.home, set()).add(traits.name)
    assert homes == {
        "base": BASE,
        "task": TASK,
        "mail": {"SendMessage"},
        "team": TEAM,
        "background": BACKGROUND,
        "clock": CLOCK,
        "skill": {"Skill"},
        "ask": ASK,
        "plan": {"ExitPlanMode"},
    }


@pytest.mark.behaviour("plan")
def test_nothing_that_edits_or_runs_is_among_the_tools_for_planning() -> None:
    assert PLANNING == PLAN_TOOLS | ASK
    assert PLANNING & (traits_with("edits") | traits_with("runs")) == set()


def test_tools_come_in_the_order_of_the_table_so_that_a_prompt_keeps_its_bytes() -> None:
    assert tools_of(AgentKind.LEAD, "general-purpose") == tuple(name for name in TOOLS if name != "ExitPlanMode")
    teammate = tools_of(AgentKind.TEAMMATE, "general-purpose")
    assert teammate == tuple(name for name in TOOLS if name in teammate)


def test_colours_go_round_after_five() -> None:
    assert COLOURS[:5] == ("cyan", "yellow", "magenta", "green", "blue")
    assert len(set(COLOURS)) == 12
    assert [colour_of(index) for index in range(14)] == [*COLOURS, "cyan", "yellow"]
