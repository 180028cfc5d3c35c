"""Calls in the forms that models know them in: each works as it is written, and does what it says."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from deskmate.core.agent.entries import Call, Opened, Said
from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import LEAD, call_id
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.messages import (
    Broadcast,
    Message,
    Plain,
    PlanRequest,
    PlanResponse,
    ShutdownRequest,
    ShutdownResponse,
)
from deskmate.core.team.tasks import TaskStatus
from tests.tools.calling_team import CallingTeam

pytestmark = pytest.mark.anyio
PROJECT, MIGRATION = "my-project", "rest-to-graphql"
MEMBERS = ("researcher", "frontend", "backend", "coder")
STAYS = "It works now. You are notified when it writes to you or is idle. Do not wait or poll."


# -- words ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Letter:
    """A SendMessage: what its sender reads, and what each who hears it hears."""

    arguments: dict[str, Any]
    told: str
    heard: Message
    hearers: tuple[str, ...]
    sender: str = LEAD
    team: str = PROJECT


AUTH = "Found the auth module at src/auth/. Please investigate the token refresh logic."
BUG = "Critical: blocking bug found in shared utils, stop all work"
LETTERS = [
    Letter(
        {"recipient": "frontend", "content": "请先完成登录页面"},
        "sent to frontend",
        Plain(content="请先完成登录页面", summary="请先完成登录页面"),
        ("frontend",),
    ),
    Letter(
        {"recipient": "backend", "content": "API schema ready"},
        "sent to backend",
        Plain(content="API schema ready", summary="API schema ready"),
        ("backend",),
        team=MIGRATION,
    ),
    Letter(
        {"recipient": "backend", "content": "Database schema is ready"},
        "sent to backend",
        Plain(content="Database schema is ready", summary="Database schema is ready"),
        ("backend",),
        sender="researcher",
        team=MIGRATION,
    ),
    Letter(
        {
            "type": "message",
            "recipient": "researcher",
            "content": AUTH,
            "summary": "Auth module location for investigation",
        },
        "sent to researcher",
        Plain(content=AUTH, summary="Auth module location for investigation"),
        ("researcher",),
    ),
    Letter(
        {"recipient": "anyone", "content": "Schema 已定稿", "type": "broadcast", "team_name": PROJECT},
        "sent to 4 of 4: lead, researcher, frontend, coder",
        Broadcast(content="Schema 已定稿", summary="Schema 已定稿"),
        (LEAD, "researcher", "frontend", "coder"),
        sender="backend",
    ),
    Letter(
        {"type": "broadcast", "content": BUG, "summary": "Critical blocking issue found"},
        "sent to 4 of 4: researcher, frontend, backend, coder",
        Broadcast(content=BUG, summary="Critical blocking issue found"),
        MEMBERS,
    ),
]


@pytest.mark.behaviour("send", "broadcast")
@pytest.mark.parametrize("letter", LETTERS, ids=lambda letter: letter.heard.summary)
async def test_words_reach_whom_they_are_for_and_nobody_else(letter: Letter) -> None:
    asking = await CallingTeam.gathered(*MEMBERS, team=letter.team)
    assert await (await asking.seat(letter.sender)).told("SendMessage", **letter.arguments) == letter.told
    heard = {name: await (await asking.seat(name)).hear() for name in (LEAD, *MEMBERS)}
    wanted = {name: [(letter.sender, letter.heard)] if name in letter.hearers else [] for name in (LEAD, *MEMBERS)}
    assert heard == wanted


# -- handshakes -------------------------------------------------------------------------------------


@pytest.mark.behaviour("shutdown")
@pytest.mark.parametrize(
    "arguments",
    [
        {"recipient": "researcher", "content": "All tasks complete, wrapping up the session"},
        {"recipient": "researcher"},
        {"recipient": "coder"},
    ],
)
async def test_the_lead_asks_a_teammate_to_leave(arguments: dict[str, Any]) -> None:
    asking = await CallingTeam.gathered(*MEMBERS, team=PROJECT)
    lead, asked = await asking.seat(), await asking.seat(arguments["recipient"])
    told = await lead.told("SendMessage", type="shutdown_request", **arguments)
    (request,) = lead.memory.requests
    asked_to_leave = f"Asked {arguments['recipient']} to leave (request {request})."
    assert told == f"{asked_to_leave} You are notified when it has left or refuses. Do not wait."
    words = arguments.get("content", "")
    assert await asked.hear() == [(LEAD, ShutdownRequest(request_id=request, content=words))]
    assert asked.memory.demands == {request: LEAD}


@pytest.mark.behaviour("shutdown")
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"approve": True}, "You agreed: you leave the team now."),
        (
            {"approve": False, "content": "Still working on task #3, need 5 more minutes"},
            "You refused: lead will read why. Continue your work.",
        ),
    ],
)
async def test_a_teammate_that_was_asked_agrees_or_refuses(answer: dict[str, Any], told: str) -> None:
    asking = await CallingTeam.gathered(*MEMBERS, team=PROJECT)
    lead, researcher = await asking.seat(), await asking.seat("researcher")
    await lead.mail.send("researcher", ShutdownRequest(request_id="abc-123"))
    await researcher.hear()
    arguments = {"type": "shutdown_response", "request_id": "abc-123", **answer}
    assert await researcher.told("SendMessage", **arguments) == told
    assert await lead.hear() == [("researcher", ShutdownResponse(request_id="abc-123", **answer))]
    assert (researcher.memory.stopping, researcher.memory.demands) == ("abc-123" if answer["approve"] else None, {})


@pytest.mark.behaviour("plan")
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"approve": True}, "told researcher: approved"),
        (
            {"approve": False, "content": "Please add error handling for the API calls"},
            "told researcher: refused. It can submit another plan.",
        ),
    ],
)
async def test_the_lead_answers_a_plan_and_a_yes_ends_the_planning(answer: dict[str, Any], told: str) -> None:
    asking = await CallingTeam.gathered(*MEMBERS, team=PROJECT)
    lead, researcher = await asking.seat(), await asking.seat("researcher", planning=True)
    said = await researcher.transcript.record(Said(calls=(Call(tool="ExitPlanMode", arguments={"plan": "Look."}),)))
    asked = Opened(request_id="abc-123", shake=Shake.PLAN, asked=LEAD)
    await researcher.transcript.record(Result("submitted", opened=asked).did(call_id("researcher", said, 0)))
    await researcher.mail.send(LEAD, PlanRequest(request_id="abc-123", content="Look."))
    await lead.hear()
    arguments = {"type": "plan_approval_response", "request_id": "abc-123", "recipient": "researcher", **answer}
    assert await lead.told("SendMessage", **arguments) == told
    assert await researcher.hear() == [(LEAD, PlanResponse(request_id="abc-123", **answer))]
    assert (researcher.memory.owes_plan, researcher.memory.requests) == (not answer["approve"], {})


@pytest.mark.behaviour("plan")
async def test_a_plan_is_submitted_and_the_lead_hears_it() -> None:
    asking = await CallingTeam.gathered(*MEMBERS, team=PROJECT)
    planner = await asking.seat("backend", planning=True)
    told = await planner.told("ExitPlanMode", plan="1. Add the schema. 2. Port the resolvers.")
    (request,) = planner.memory.requests
    assert told.startswith(f"Submitted to lead (request {request}).")
    plan = PlanRequest(request_id=request, content="1. Add the schema. 2. Port the resolvers.")
    assert await (await asking.seat()).hear() == [("backend", plan)]


# -- joining ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spawn:
    """A Task that makes a teammate, and of which type that is."""

    arguments: dict[str, Any]
    agent_type: AgentType = AgentType.GENERAL
    team: str = field(default=MIGRATION)


SPAWNS = [
    Spawn({"prompt": "负责前端开发", "team_name": PROJECT, "name": "frontend"}, team=PROJECT),
    Spawn({"name": "analyst", "team_name": MIGRATION, "prompt": "分析 REST 端点"}),
    Spawn({"name": "backend", "team_name": MIGRATION, "prompt": "处理后端任务"}),
    Spawn({"name": "frontend", "team_name": MIGRATION, "prompt": "处理前端迁移"}),
    Spawn({"name": "backend", "team_name": MIGRATION, "prompt": "处理后端迁移"}),
    Spawn({"name": "frontend", "team_name": MIGRATION, "prompt": "处理前端更新"}),
    Spawn(
        {"name": "researcher", "subagent_type": "Explore", "team_name": PROJECT, "prompt": "..."},
        AgentType.EXPLORE,
        PROJECT,
    ),
    Spawn({"name": "coder", "subagent_type": "general-purpose", "team_name": PROJECT, "prompt": "..."}, team=PROJECT),
    Spawn({"name": "alice", "role": "backend dev", "prompt": "创建数据库 schema"}),
]


@pytest.mark.behaviour("spawn")
@pytest.mark.parametrize("spawn", SPAWNS, ids=lambda spawn: f"{spawn.arguments['name']}: {spawn.arguments['prompt']}")
async def test_a_name_makes_a_teammate_of_the_team(spawn: Spawn) -> None:
    asking = await CallingTeam.gathered(team=spawn.team)
    name = spawn.arguments["name"]
    assert await (await asking.seat()).told("Task", **spawn.arguments) == f"agent_id {name}@{spawn.team}\n{STAYS}"
    (member,) = asking.team_state.roster.state.teammates
    assert (member.name, member.agent_type, member.role) == (name, spawn.agent_type, spawn.arguments.get("role", ""))
    assert member.joined
    assert member.joined.prompt == spawn.arguments["prompt"]


# -- the board --------------------------------------------------------------------------------------

MIGRATING: list[tuple[dict[str, Any], str]] = [
    ({"subject": "Analyze REST endpoints"}, "Created #1 Analyze REST endpoints"),
    ({"subject": "Design GraphQL schema", "blockedBy": ["#1"]}, "Created #2 Design GraphQL schema. It waits for #1."),
    ({"subject": "Implement resolvers", "blockedBy": ["2"]}, "Created #3 Implement resolvers. It waits for #2."),
    ({"subject": "Update frontend", "blockedBy": [3]}, "Created #4 Update frontend. It waits for #3."),
]


async def migrating() -> CallingTeam:
    asking = await CallingTeam.gathered("analyst", "backend", "frontend", team=MIGRATION)
    lead = await asking.seat()
    assert [await lead.told("TaskCreate", **arguments) for arguments, _ in MIGRATING] == [told for _, told in MIGRATING]
    return asking


@pytest.mark.behaviour("task-tools", "claim", "complete")
async def test_a_board_of_four_tasks_is_worked_off_by_three_who_take_what_is_free() -> None:
    asking = await migrating()
    analyst, backend, frontend = [await asking.seat(name) for name in ("analyst", "backend", "frontend")]
    assert (await analyst.told("TaskUpdate", taskId=1, status="in_progress", owner="analyst")).startswith(
        "#1 [in progress] Analyze REST endpoints @analyst\nclaimed\nTask #1 is yours now.\n<deskmate-task "
    )
    why = await backend.refused("TaskUpdate", taskId="2", owner="backend")
    assert why.startswith("Task #2 is blocked by #1.")
    assert await analyst.told("TaskUpdate", taskId="1", status="completed") == (
        "#1 [completed] Analyze REST endpoints @analyst\ncompleted, which unblocked #2"
    )
    assert (await backend.told("TaskUpdate", taskId="#2", owner="backend")).startswith(
        "#2 [in progress] Design GraphQL schema @backend\nclaimed\nTask #2 is yours now."
    )
    assert await frontend.told("TaskList") == (
        "#1 [completed] Analyze REST endpoints @analyst\n"
        "#2 [in progress] Design GraphQL schema @backend\n"
        "#3 [pending] Implement resolvers (blocked by #2)\n"
        "#4 [pending] Update frontend (blocked by #3)"
    )
    await backend.told("TaskUpdate", taskId=2, status="completed")
    await backend.told("TaskUpdate", taskId=3, status="in_progress")
    await backend.told("TaskUpdate", taskId=3, status="completed")
    assert await frontend.told("TaskGet", taskId="4") == (
        "task #4\nstatus: pending\nowner: nobody\nblocked by: #3\n"
        '<deskmate-task id="4" created_by="lead">Update frontend</deskmate-task>'
    )
    await frontend.told("TaskUpdate", taskId=4, status="in_progress")
    await frontend.told("TaskUpdate", taskId=4, status="completed")
    assert [(task.status, task.owner) for task in asking.team_state.board.state.tasks.values()] == [
        (TaskStatus.COMPLETED, "analyst"),
        (TaskStatus.COMPLETED, "backend"),
        (TaskStatus.COMPLETED, "backend"),
        (TaskStatus.COMPLETED, "frontend"),
    ]


@pytest.mark.behaviour("task-tools")
@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("TaskList", {}, "#1 [pending] Analyze REST endpoints\n#2 [pending] Design GraphQL schema (blocked by #1)\n…"),
        ("TaskGet", {"taskId": "1"}, "task #1\nstatus: pending\nowner: nobody\nblocks: #2\n<deskmate-task …"),
        ("TaskCreate", {"subject": "Write tests", "team_name": MIGRATION}, "Created #5 Write tests"),
        ("TaskUpdate", {"taskId": 1, "owner": "analyst"}, "#1 [pending] Analyze REST endpoints @analyst\n…"),
        ("TaskUpdate", {"taskId": 1, "status": "in_progress"}, "#1 [in progress] Analyze REST endpoints @lead\n…"),
    ],
)
async def test_each_task_tool_takes_its_shortest_form(tool: str, arguments: dict[str, Any], told: str) -> None:
    text = await (await (await migrating()).seat()).told(tool, **arguments)
    assert text.startswith(told.rstrip("…"))


@pytest.mark.behaviour("subagent")
@pytest.mark.parametrize("arguments", [{"prompt": "Find it."}, {"description": "look", "prompt": "Find it."}])
async def test_without_a_name_a_task_is_an_errand(arguments: dict[str, Any]) -> None:
    asking = await CallingTeam.gathered(team=PROJECT)
    assert await (await asking.seat()).told("Task", **arguments) == "general-purpose did: Find it."
    assert asking.team_state.roster.state.teammates == []


# -- arguments under the names of other makers ------------------------------------------------------


async def test_files_are_read_written_and_edited_under_the_names_that_models_know() -> None:
    team = await CallingTeam.gathered()
    lead = await team.seat(LEAD)
    assert await lead.told("write_file", file_path="a", content="one\n") == "Wrote 1 line to a"
    assert await lead.told("read_file", file_path="a") == "1\tone"
    assert await lead.told("edit_file", file_path="a", old_string="one", new_string="1") == "Edited a: line 1"
    both = await lead.refused("read_file", file_path="a", path="b")
    assert "file_path: Extra inputs are not permitted" in both


@pytest.mark.parametrize("given", [0, -1, 601, 999, 600_001, 10**9])
async def test_a_time_that_makes_no_sense_is_refused_with_its_unit(given: float) -> None:
    team = await CallingTeam.gathered()
    told = await (await team.seat(LEAD)).refused("bash", command="make", timeout=given)
    assert "timeout: it is in seconds, from 1 to 600" in told
