"""TeamCreate, TeamDelete.

The runtime opens and moves the folders. These tools refuse what is not possible, and say why.
"""

from collections.abc import Iterable, Sequence

from pydantic import Field, model_validator

from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import new_name
from deskmate.core.prompt.call_texts import ask_to_leave
from deskmate.core.team.members import Member
from deskmate.errors import ToolError
from deskmate.ports import Tool, ToolContext
from deskmate.texts import text
from deskmate.tools.tool_base import Arguments, Described


class TeamArguments(Arguments):
    """Arguments with the name of a team."""

    @model_validator(mode="before")
    @classmethod
    def _by_either_name(cls, given: dict[str, object]) -> dict[str, object]:
        # Some models write `name`, others `team_name`.
        other = {("team_name" if key == "name" else key): value for key, value in given.items()}
        return given if "team_name" in given else other


class FoundArguments(TeamArguments):
    """The team to create."""

    team_name: str
    description: str = Field("", max_length=2_000)


class CloseArguments(TeamArguments):
    """The team to close."""

    team_name: str = ""
    force: bool = Field(False, description="make teammates leave first")


class TeamCreate(Described):
    """Creates teams."""

    async def run(self, arguments: FoundArguments, context: ToolContext) -> Result:
        """Create a team. Raises ToolError, saying why, if that is not possible."""
        roster, name = context.roster, new_name(arguments.team_name, "team")
        if roster.home:
            raise ToolError(f"You lead team '{roster.team}' now. Close it with TeamDelete before you create another.")
        await context.found(name, arguments.description)
        return Result(f"Created team '{name}'. You lead it now. Put tasks on its board, then start teammates.")


class TeamDelete(Described):
    """Closes teams."""

    async def run(self, arguments: CloseArguments, context: ToolContext) -> Result:
        """Close the team. Raises ToolError, saying why, if that is not possible."""
        roster, name = context.roster, arguments.team_name
        if name and name != roster.team:
            raise ToolError(f"Your team is '{roster.team}'. You cannot close '{name[:80]}'.")
        if not roster.home:
            raise ToolError(
                f"Team '{roster.team}' is your own and stays. You can close only a team that you made with TeamCreate."
            )
        if (here := _here(context)) and not arguments.force:
            raise ToolError(
                f"{_names(here)}. Ask each to leave, and close the team when all have left: {_ways_to_ask(here)}. "
                "Or set force to make them leave."
            )
        where = await context.close()
        return Result(f"Closed team '{roster.team}'. All of it is archived in {where}")


def _here(context: ToolContext) -> list[Member]:
    return [member for member in context.roster.teammates if member.here]


def _names(members: Sequence[Member]) -> str:
    names = ", ".join(member.name for member in members)
    return f"{names} {'is' if len(members) == 1 else 'are'} still here"


def _ways_to_ask(members: Sequence[Member]) -> str:
    return ", ".join(ask_to_leave(member.name) for member in members)


def tools() -> Iterable[Tool]:
    """Return the tools of this family."""
    return [
        TeamCreate("TeamCreate", text("tools/TeamCreate"), FoundArguments),
        TeamDelete("TeamDelete", text("tools/TeamDelete"), CloseArguments),
    ]
