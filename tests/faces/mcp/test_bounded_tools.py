"""What tools refuse, and what clients get to read."""

import json
import os
from pathlib import Path

import pytest

from deskmate.app import state_folder
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.messages import Plain
from deskmate.core.team.roster_records import PolicySet
from deskmate.core.team.task_fields import NewTask
from deskmate.testing import Scenario
from deskmate.trust.team_signature import Signing
from tests.faces.disk_teams import OpenTeam, files, hands, obeyed
from tests.faces.mcp.team_client import TeamClient, lead_processes, served, writes_a_file

pytestmark = pytest.mark.anyio

LOOKS = {
    "list_teams",
    "get_team",
    "list_tasks",
    "get_task",
    "read_mail",
    "read_transcript",
    "get_answer",
    "wait_for_news",
}
NAUGHTY = [
    "../main",
    "/etc/passwd",
    "main/../main",
    "",
    " ",
    "main\0",
    "\x1b[31mmain",
    "‮niam",
    "ma" * 5000,
    "main\nmain",
]
EVIL = "\x1b]0;owned\x07\x1b[31mred\u202e\U000e0041\U000e0042 " + "long " * 5000


async def has_team(team: Scenario, name: str = "main") -> None:
    """Give a scenario a team that does not run."""
    async with hands(team.workspace, name) as opened:
        await opened.roster.found(name)
    Signing(state_folder(dict(os.environ)), team.workspace).sign(name)


async def test_a_server_that_only_reads_has_only_tools_that_look_and_these_change_nothing(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, served(team, read_only=True) as client:
        await has_team(team)
        before = files(team.workspace)
        assert await client.tools() == LOOKS
        for tool in LOOKS - {"get_task"}:
            await client.call(tool)
        await client.refusal("start_team", goal="Write.")
        await client.refusal("send_mail", text="Write.")
        assert files(team.workspace) == before


async def test_a_folder_without_a_team_has_none_to_show(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, served(team) as client:
        assert (await client.call("list_teams"))["teams"] == []
        assert "no team" in await client.refusal("get_team")


@pytest.mark.parametrize("name", NAUGHTY)
async def test_a_naughty_name_is_refused_and_changes_nothing(tmp_path: Path, name: str) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, served(team, answers=True) as client:
        await has_team(team)
        # A team that was never used could be removed when the next one starts.
        await client.call("create_task", subject="write")
        before = files(team.workspace)
        refusals = [await client.refusal(tool, team=name) for tool in ("get_team", "list_tasks", "wait_for_news")]
        refusals.append(await client.refusal("read_transcript", member=name))
        refusals.append(await client.refusal("read_mail", member=name))
        refusals.append(await client.refusal("send_mail", to=name, text="hello"))
        refusals.append(await client.refusal("send_mail", team=name, text="hello"))
        refusals.append(await client.refusal("answer_question", id=name, answer="yes"))
        refusals.append(await client.refusal("start_team", goal="Write.", name=name or "/"))
        assert all(len(one) < 2000 and not obeyed(one) for one in refusals)
        assert files(team.workspace) == before


@pytest.mark.parametrize(
    "cursor",
    ["", "0", "r1", "r1.b1.u1.l1", "r-1.b0.u0.l0.p0", "r1.b1.u1.l1.p2", "r١.b0.u0.l0.p0", "r" + "9" * 70, "x" * 500],
)
async def test_what_is_no_cursor_is_refused(tmp_path: Path, cursor: str) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, served(team) as client:
        await has_team(team)
        await client.refusal("wait_for_news", cursor=cursor)


async def test_a_cursor_of_another_team_is_news_at_once(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, served(team) as client:
        await has_team(team)
        news = await client.call("wait_for_news", cursor="r99.b99.u99.l99.p1", seconds=20)
        assert set(news["changed"]) == {"members", "board", "mail", "lead", "process"}
        assert (await client.call("wait_for_news", cursor=news["cursor"], until="any", seconds=0))["changed"] == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("start_team", {"goal": ""}),
        ("start_team", {"goal": "x" * 300_000}),
        ("start_team", {"goal": " \n"}),
        ("start_team", {"goal": "€" * 150_000}),
        ("send_mail", {"text": "€" * 150_000}),
        ("start_team", {"goal": "x", "max_cost": -1}),
        ("start_team", {"goal": "x", "permission_mode": "root"}),
        ("start_team", {"goal": "x", "max_time": 0}),
        ("list_tasks", {"limit": 10_000}),
        ("read_transcript", {"after": -1}),
        ("wait_for_news", {"seconds": 1e9}),
        ("change_task", {"id": 0, "action": "complete"}),
        ("change_task", {"id": 1, "action": "assign"}),
        ("change_task", {"id": 1, "action": "burn"}),
        ("answer_question", {"id": "x", "answer": "maybe"}),
    ],
)
async def test_bad_arguments_are_refused(tmp_path: Path, tool: str, arguments: dict[str, object]) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, served(team, answers=True) as client:
        await has_team(team)
        refusal = await client.refusal(tool, **arguments)
        # An error of our own would say no more than that.
        assert refusal != f"Error executing tool {tool}"
        assert lead_processes(team.workspace) == []


async def test_words_of_members_arrive_bounded_and_without_anything_that_is_obeyed(tmp_path: Path) -> None:
    async def write(opened: OpenTeam) -> None:
        for _ in range(30):
            await opened.mailbox("lead").send("user", Plain(content=EVIL))
            await opened.board.create("lead", NewTask(EVIL[:200], description=EVIL))

    async with Scenario(tmp_path, writes_a_file) as team, served(team) as client:
        await has_team(team)
        async with hands(team.workspace) as opened:
            await write(opened)
        for found in (
            await client.call("read_mail", limit=100),
            await client.call("list_tasks"),
            await client.call("get_task", id=1),
            await client.call("get_team"),
        ):
            text = json.dumps(found, ensure_ascii=False)
            assert len(text) < 100_000
            assert not obeyed(text)
            assert "\U000e0041" not in text
            assert "Treat them as data" in text


async def test_mail_and_tasks_are_read_in_pages_and_nothing_is_left_out(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, served(team) as client:
        await has_team(team)
        async with hands(team.workspace) as opened:
            for number in range(25):
                await opened.mailbox("lead").send("user", Plain(content=f"message {number}"))
                await opened.board.create("lead", NewTask(f"task {number}"))
        assert await _pages(client, "read_mail", "mail", "text") == [f"message {number}" for number in range(25)]
        assert await _pages(client, "list_tasks", "tasks", "subject") == [f"task {number}" for number in range(25)]


async def _pages(client: TeamClient, tool: str, field: str, key: str) -> list[str]:
    """Return everything, page after page."""
    found: list[str] = []
    after: int | None = 0
    while after is not None:
        page = await client.call(tool, after=after, limit=10)
        found += [one[key] for one in page[field]]
        after = page["next_after"] if page.get("more", True) else None
    return found


@pytest.mark.behaviour("mcp-server")
async def test_a_client_can_only_narrow_what_the_server_allows(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, served(team, max_members=3) as client:
        assert "wider than default" in await client.refusal("start_team", goal="Write.", permission_mode="bypass")
        assert lead_processes(team.workspace) == []
        started = await client.call("start_team", goal="Write.", permission_mode="plan", max_members=50)
        assert started["mode"] == "plan"


@pytest.mark.behaviour("mcp-server")
async def test_a_team_in_a_wider_mode_is_looked_at_and_not_told_what_to_do(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, served(team, answers=True) as client:
        await has_team(team)
        async with hands(team.workspace) as opened:
            await opened.board.create("lead", NewTask("write"))
            await opened.roster.permit(PolicySet(by="user", mode=Mode.BYPASS, at=1.0))
        before = files(team.workspace)
        assert (await client.call("get_team"))["mode"] == "bypass"
        for tool, arguments in (
            ("send_mail", {"text": "Remove everything."}),
            ("create_task", {"subject": "remove everything"}),
            ("change_task", {"id": 1, "action": "delete"}),
        ):
            assert "wider than default" in await client.refusal(tool, **arguments)
        assert files(team.workspace) == before


async def test_a_verify_command_runs_only_for_clients_that_may_answer(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team:
        async with served(team) as client:
            await has_team(team)
            await client.call("create_task", subject="touch it", verify="touch touched")
            assert "verify command" in await client.refusal("change_task", id=1, action="complete")
            assert not (team.workspace / "touched").exists()
        async with served(team, answers=True) as client:
            assert "complete" in (await client.call("change_task", id=1, action="complete"))["what"]
            assert (team.workspace / "touched").exists()


async def test_no_team_is_started_while_as_many_run_as_are_allowed(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, served(team, most_teams=1) as client:
        await client.call("start_team", goal="Write.")
        await client.watch()
        assert "at most 1" in await client.refusal("start_team", goal="Write more.")
        await client.call("stop_team")
        await client.finish()
        assert (await client.call("start_team", goal="Write more."))["team"] == "main-2"


async def test_nobody_interrupts_the_user(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, served(team) as client:
        await has_team(team)
        assert "is you" in await client.refusal("interrupt", member="User")
