"""Tools of the program that runs a team: given to everybody who may do more than read, and allowed."""

from dataclasses import replace

import pytest

from deskmate.app import Arguments, Described, Feed, RunRequest, ToolContext, run
from deskmate.core.agent.actions import Act, Settle
from deskmate.core.agent.rules.decide import decide
from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import USER
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.team.roster_records import PolicySet
from deskmate.errors import BadInput
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from tests.core.agent.rules.test_decide import idle, says
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]


class Word(Described):
    """Says a word."""

    async def run(self, arguments: Arguments, desk: ToolContext) -> Result:
        return Result(f"a word for {desk.me.name}")


def word(name: str) -> Word:
    return Word(name, "Say a word.", Arguments)


def asks(asked: Asked) -> Say:
    offered = "word" in asked.tools
    return Say(asked.results[-1].text) if asked.results else Say(f"{offered}", [Use("word")])


@pytest.mark.anyio
async def test_a_lead_uses_a_tool_of_the_program_where_nobody_attends(harness: AppHarness) -> None:
    async with FakeProvider(asks) as provider:
        settings = harness.settings(provider, "anthropic", permission_mode="default")
        wanted = RunRequest(harness.place, "Say it.", None, settings, tools=(word("word"),))
        assert (await run(wanted, Feed())).text == "a word for lead"


@pytest.mark.parametrize("name", ["bash", "two words", "", "x" * 65, "sé"])
def test_a_name_that_is_taken_or_that_no_provider_takes_is_refused(harness: AppHarness, name: str) -> None:
    with pytest.raises(BadInput):
        RunRequest(harness.place, None, None, None, tools=(word(name),))  # type: ignore[arg-type]


def test_two_tools_of_one_name_are_refused(harness: AppHarness) -> None:
    with pytest.raises(BadInput):
        RunRequest(harness.place, None, None, None, tools=(word("a"), word("a")))  # type: ignore[arg-type]


def test_only_who_may_do_more_than_read_has_it() -> None:
    world = idle()
    (call,) = says(world, "word")
    world.note(PolicySet(by=USER, at=0, add_rules=("allow word",)))
    view = replace(world.view, own_tools=frozenset({"word"}))
    assert decide(view) == Act((call,))
    for less in (
        replace(view, own_tools=frozenset()),
        replace(view, memory=replace(view.memory, owes_plan=True)),
        replace(view, me=replace(view.me, agent_type=AgentType.EXPLORE)),
    ):
        assert isinstance(decide(less), Settle)
