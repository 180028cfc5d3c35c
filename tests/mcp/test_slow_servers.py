"""A server that takes long to start holds nobody up: work begins without it, and its tools are found later."""

from pathlib import Path

import anyio
import pytest

from deskmate.core.policy.tool_table import AgentKind, AgentType
from deskmate.core.team.members import Member
from deskmate.core.team.status import WORKING
from deskmate.mcp.mcp_tools import McpCall, McpCallArguments, McpSearch, SearchArguments, ToolsOfServers
from deskmate.mcp.team_servers import TeamServers
from deskmate.runtime.task_groups import task_group
from deskmate.testing import FakeClock
from deskmate.tools import ToolSet
from deskmate.tools.tool_base import spec
from tests.mcp.server_harness import ServerHarness
from tests.runtime.team_process import until

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("mcp-client")]


class SlowHarness(ServerHarness):
    """A server that starts when `finish` is called, and a clock that is set by hand."""

    def __init__(self, place: Path) -> None:
        self.hand_clock = FakeClock()
        super().__init__(place, self.hand_clock)
        self.told = list[str]()

    @property
    def file(self) -> Path:
        return self.place / "tools"

    def slow(self) -> TeamServers:
        servers = self.servers("slow", self.file)
        servers.tell = self.told.append
        return servers

    def finish(self) -> None:
        half = self.file.with_name("half")
        half.write_text("shout|Say it loudly.\n")
        half.rename(self.file)

    async def begin(self, servers: TeamServers, tasks: anyio.abc.TaskGroup) -> None:
        """Begin, and let all the time pass that the first request waits."""
        async with anyio.create_task_group() as begun:
            begun.start_soon(servers.begin, tasks)
            await until(lambda: self.hand_clock.sleeping > 1)
            self.hand_clock.advance(1.0)
            await until(lambda: bool(self.told))
            await until(lambda: self.hand_clock.sleeping > 1)
            self.hand_clock.advance(2.0)


@pytest.fixture
def harness(tmp_path: Path) -> SlowHarness:
    return SlowHarness(tmp_path)


def tools(servers: TeamServers, base_tools: tuple[str, ...] | None = None) -> ToolsOfServers:
    me = Member("lead", AgentKind.LEAD, AgentType.GENERAL, "", "", None, WORKING, base_tools=base_tools)
    return servers.tools_for(me)


async def test_work_begins_without_a_slow_server_after_saying_what_it_waits_for(harness: SlowHarness) -> None:
    servers = harness.slow()
    async with task_group() as tasks:
        await harness.begin(servers, tasks)
        assert [tool.name for tool in tools(servers).listed] == ["McpSearch", "McpCall"]
        tasks.cancel_scope.cancel()
    assert ["hostile" in words for words in harness.told] == [True, True]


async def test_the_tools_of_a_late_server_are_found_and_called_and_the_prompt_stays(harness: SlowHarness) -> None:
    servers = harness.slow()
    async with task_group() as tasks:
        await harness.begin(servers, tasks)
        before = tools(servers).listed
        search, call = before
        assert isinstance(search, McpSearch)
        assert isinstance(call, McpCall)
        may_call = ToolSet(AgentKind.LEAD, [], before, tools(servers).found)
        assert set(may_call) == {"McpSearch", "McpCall"}
        found = list[str]()

        async def look() -> None:
            found.append((await search.run(SearchArguments(query="shout"), harness.context)).text)

        async with anyio.create_task_group() as looking:
            looking.start_soon(look)
            harness.finish()
        assert "mcp__hostile__shout\n" in found[0]
        called = await call.run(
            McpCallArguments(tool="mcp__hostile__shout", arguments={"text": "late"}), harness.context
        )
        assert called.text.endswith("late")
        assert list(map(spec, tools(servers).listed)) == list(map(spec, before))
        assert set(may_call) == {"McpSearch", "McpCall", "mcp__hostile__shout"}
        tasks.cancel_scope.cancel()


async def test_a_late_server_that_fails_is_named_to_who_searches(harness: SlowHarness) -> None:
    servers = harness.slow()
    async with task_group() as tasks:
        await harness.begin(servers, tasks)
        (search, _) = tools(servers).listed
        assert isinstance(search, McpSearch)
        harness.hand_clock.advance(30.0)
        await servers.settled()
        result = await search.run(SearchArguments(query="shout"), harness.context)
        assert "could not be started: hostile" in result.text
        tasks.cancel_scope.cancel()


async def test_an_agent_type_searches_only_if_it_may_use_the_late_server(harness: SlowHarness) -> None:
    servers = harness.slow()
    async with task_group() as tasks:
        await harness.begin(servers, tasks)
        counts = [len(tools(servers, (word,)).listed) for word in ("mcp__hostile__*", "mcp__*", "mcp__time__*", "Read")]
        assert counts == [2, 2, 0, 0]
        tasks.cancel_scope.cancel()
