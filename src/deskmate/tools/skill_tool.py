"""Skill."""

from collections.abc import Iterable, Mapping

from deskmate.core.agent.tool_results import Result
from deskmate.core.prompt.skills import Skill
from deskmate.errors import ToolError
from deskmate.ports import Tool, ToolContext
from deskmate.texts import text
from deskmate.tools.clip import counted
from deskmate.tools.tool_base import Arguments, Described

MAX_CHARS = 30_000
_MAX_NAMED = 50


class SkillArguments(Arguments):
    """Which skill to read."""

    skill: str


class ReadSkill(Described):
    """Reads skills."""

    async def run(self, arguments: SkillArguments, context: ToolContext) -> Result:
        """Return the body of the skill and the folder of its files. Raises ToolError if there is no such skill."""
        found = context.skills.get(arguments.skill)
        if found is None:
            raise ToolError(_unknown(arguments.skill, context.skills))
        left_out = len(found.body) - MAX_CHARS
        rest = f"\n… {counted(left_out, 'character')} more in {found.folder}/SKILL.md" if left_out > 0 else ""
        return Result(f"Skill {found.name}. Its files are in {found.folder}.\n\n{found.body[:MAX_CHARS]}{rest}")


def _unknown(name: str, there_are: Mapping[str, Skill]) -> str:
    if not there_are:
        return f"There is no skill {name[:80]}: no skills are installed. Continue without one."
    named = ", ".join(sorted(there_are)[:_MAX_NAMED])
    more = f" and {len(there_are) - _MAX_NAMED} more" if len(there_are) > _MAX_NAMED else ""
    return f"There is no skill {name[:80]}. Choose one of {named}{more}."


def tools() -> Iterable[Tool]:
    """Return the tool of this family."""
    return [ReadSkill("Skill", text("tools/Skill"), SkillArguments)]
