"""Conversations with MCP servers: resources, prompts, and a process for each member."""

import sys

import anyio
import pytest

from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import hears, member_of
from tests.faces.chat.chat_harness import chat
from tests.mcp.server_harness import HOSTILE
from tests.mcp.test_mentions import SERVER
from tests.scenarios.app_harness import SOON, AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("mcp-client")]
WORDS = {"words": {"command": sys.executable, "args": ["-c", SERVER]}}
ALLOW = {"allow": ["mcp__hostile__*"]}


async def test_a_resource_and_a_prompt_are_given_to_the_lead(harness: AppHarness) -> None:
    heard = list[str]()

    def listens(asked: Asked) -> Say:
        heard.append("\n".join(asked.texts))
        return Say("I see.")

    with anyio.fail_after(SOON):
        async with chat(harness, listens, mcp=WORDS) as typist:
            await typist.types("look at @words:notes://today")
            await typist.until(lambda session: len(heard) == 1 and not session.busy)
            assert "Buy milk." in heard[-1]
            await typist.types("/mcp__words__review a.py speed and style")
            await typist.until(lambda session: len(heard) == 2 and not session.busy)
            assert "Review a.py. Look at speed and style." in heard[-1]


@pytest.mark.parametrize("per_member", [False, True])
async def test_members_share_a_server_or_have_one_each(harness: AppHarness, per_member: bool) -> None:
    starts = dict[str, str]()

    def calls(asked: Asked) -> Say:
        name = member_of(asked)
        if asked.results and "DESKMATE_CALL" in asked.results[-1].text:
            starts[name] = asked.results[-1].text.partition('"DESKMATE_CALL": "')[2].partition('"')[0]
            return Say("Done.")
        if name == "lead" and hears(asked, "hire") and not asked.results:
            return Say("I hire.", [Use("Task", {"name": "alice", "prompt": "Call it."})])
        return Say("I call.", [Use("mcp__hostile__echo", {})])

    server = {"command": sys.executable, "args": [HOSTILE, "environment"], "per_member": per_member}
    with anyio.fail_after(SOON):
        async with chat(harness, calls, mcp={"hostile": server}, permission=ALLOW) as typist:
            await typist.types("hire")
            await typist.until(lambda session: set(starts) == {"lead", "alice"})
    assert (starts["lead"] == starts["alice"]) is not per_member
