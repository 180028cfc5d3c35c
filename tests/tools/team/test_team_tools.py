"""TeamCreate and TeamDelete: what they ask of the runtime, and what they refuse, in which words."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import ValidationError

from deskmate.core.agent.entries import Started
from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import LEAD
from deskmate.core.policy.tool_table import AgentKind, AgentType, tools_of
from deskmate.core.prompt.call_texts import ask_to_leave
from deskmate.errors import BadName, Refused, ToolError
from deskmate.tools import spec, tools_for
from tests.tools.mail_team import MailDesk, MailTeam

pytestmark = pytest.mark.anyio
ARCHIVED = ".teams/.archive/web-20251009T085320Z"


@dataclass
class FoundersDesk(MailDesk):
    """A desk that writes down what is founded and closed."""

    done: list[tuple[str, ...]] = field(default_factory=list)

    async def found(self, name: str, description: str) -> None:
        if name == "taken":
            raise Refused("There is already a team 'taken'. Choose another name.")
        self.done.append((name, description))

    async def close(self) -> str:
        self.done.append(("closed",))
        return ARCHIVED


async def seated(*teammates: str, home: str | None = None) -> tuple[MailTeam, FoundersDesk]:
    """Seat the lead of team `web`."""
    team = MailTeam()
    await team.process.roster.found("web", home=home)
    await team.process.join(*teammates)
    transcript = await team.process.transcript(LEAD)
    await transcript.record(Started(name=LEAD))
    return team, FoundersDesk(transcript, team.process.roster, team.process.mailbox(LEAD), team.process.board)


async def refusal(desk: FoundersDesk, tool: str, **arguments: Any) -> str:
    """Return the words in which a call is refused; nothing may have been done."""
    with pytest.raises((ToolError, BadName, Refused)) as refused:
        await desk.use(tool, **arguments)
    assert desk.done == []
    return str(refused.value)


# -- founding ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("team-create")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"team_name": "my-project"}, ("my-project", "")),
        ({"name": "rest-to-graphql"}, ("rest-to-graphql", "")),
        ({"team_name": "api", "description": "the API"}, ("api", "the API")),
    ],
)
async def test_a_team_is_founded_under_either_name_of_the_argument(
    arguments: dict[str, str], expected: tuple[str, str]
) -> None:
    _, desk = await seated()
    result = await desk.use("TeamCreate", **arguments)
    assert result == Result(
        f"Created team '{expected[0]}'. You lead it now. Put tasks on its board, then start teammates."
    )
    assert desk.done == [expected]


@pytest.mark.behaviour("team-create")
async def test_a_second_team_is_not_founded_while_one_is_open() -> None:
    _, desk = await seated(home="main")
    assert await refusal(desk, "TeamCreate", team_name="api") == (
        "You lead team 'web' now. Close it with TeamDelete before you create another."
    )


@pytest.mark.behaviour("team-create", "two-teams")
async def test_a_team_is_founded_while_there_are_teammates_at_home() -> None:
    _, desk = await seated("bob", "carol")
    assert (await desk.use("TeamCreate", team_name="api")).ok
    assert desk.done == [("api", "")]


@pytest.mark.behaviour("team-create")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"team_name": ""}, "'' is not a valid team name. Use 1 to 64 characters from"),
        ({"team_name": "taken"}, "There is already a team 'taken'. Choose another name."),
        ({"team_name": "Web"}, "'Web' is not a valid team name. Use 1 to 64 characters from"),
        ({"team_name": "../x"}, "is not a valid team name"),
        ({"team_name": ".archive"}, "is not a valid team name"),
        ({"team_name": "x" * 65}, "is not a valid team name"),
        ({"name": "lead"}, "The team name 'lead' is reserved"),
        ({"name": "everyone"}, "The team name 'everyone' is reserved"),
    ],
)
async def test_what_cannot_be_a_team_is_refused_with_the_reason(arguments: dict[str, str], why: str) -> None:
    _, desk = await seated()
    assert why in await refusal(desk, "TeamCreate", **arguments)


# -- closing ----------------------------------------------------------------------------------------


@pytest.mark.behaviour("team-delete")
@pytest.mark.parametrize("arguments", [{}, {"team_name": "web"}, {"name": "web"}, {"force": True}])
async def test_a_team_that_everybody_left_is_closed_and_the_lead_told_where_it_is(arguments: dict[str, Any]) -> None:
    team, desk = await seated("bob", home="main")
    await team.process.leave("bob")
    result = await desk.use("TeamDelete", **arguments)
    assert result == Result(f"Closed team 'web'. All of it is archived in {ARCHIVED}")
    assert desk.done == [("closed",)]


@pytest.mark.behaviour("team-delete")
async def test_a_team_is_not_closed_while_someone_is_here_unless_forced() -> None:
    team, desk = await seated("bob", "carol", home="main")
    await team.process.leave("bob")
    assert await refusal(desk, "TeamDelete") == (
        f"carol is still here. Ask each to leave, and close the team when all have left: {ask_to_leave('carol')}. "
        "Or set force to make them leave."
    )
    assert (await desk.use("TeamDelete", force=True)).ok
    assert desk.done == [("closed",)]


@pytest.mark.behaviour("team-delete")
async def test_the_home_is_not_closed_and_neither_is_another_team() -> None:
    _, desk = await seated()
    assert await refusal(desk, "TeamDelete", force=True) == (
        "Team 'web' is your own and stays. You can close only a team that you made with TeamCreate."
    )
    assert await refusal(desk, "TeamDelete", name="api", force=True) == "Your team is 'web'. You cannot close 'api'."


@pytest.mark.parametrize(
    ("tool", "nonsense"),
    [
        ("TeamCreate", {}),
        ("TeamCreate", {"team_name": 7}),
        ("TeamCreate", {"team_name": "api", "name": "web"}),
        ("TeamCreate", {"team_name": "web", "description": "x" * 2_001}),
        ("TeamCreate", {"team_name": "web", "home": "main"}),
        ("TeamDelete", {"force": "maybe"}),
        ("TeamDelete", {"team": "web"}),
    ],
)
async def test_nonsense_is_refused_before_anything_runs(tool: str, nonsense: dict[str, Any]) -> None:
    _, desk = await seated(home="main")
    with pytest.raises(ValidationError):
        await desk.begin(tool, **nonsense)


# -- who has them -----------------------------------------------------------------------------------


@pytest.mark.behaviour("tiers")
def test_only_a_lead_has_them_also_while_it_delegates() -> None:
    both = {"TeamCreate", "TeamDelete"}
    has = {kind: both & set(tools_of(kind, AgentType.GENERAL)) for kind in AgentKind}
    assert has == {AgentKind.LEAD: both, AgentKind.TEAMMATE: set(), AgentKind.SUBAGENT: set()}
    assert both <= set(tools_of(AgentKind.LEAD, AgentType.GENERAL, delegate=True))


def test_both_together_take_less_than_a_kilobyte() -> None:
    tools = tools_for(AgentKind.LEAD, ["TeamCreate", "TeamDelete"])
    shown = [{"name": tool.name, "text": tool.text, "schema": spec(tool).schema} for tool in tools]
    assert len(json.dumps(shown).encode()) < 1_000
