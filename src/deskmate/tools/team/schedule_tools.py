"""CronCreate, CronList, CronDelete.

A repeated call creates or deletes nothing twice, because its id is the cause of what it records.
"""

from collections.abc import Iterable

from pydantic import Field

from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import LEAD
from deskmate.core.prompt.frames import unframed
from deskmate.core.schedule.schedules import CONTENT_CAP, Schedule
from deskmate.core.schedule.when_text import new_schedule, schedule_line
from deskmate.ports import Schedules, Tool, ToolContext
from deskmate.texts import text
from deskmate.tools.clip import clip
from deskmate.tools.tool_base import Arguments, Described


class ScheduleArguments(Arguments):
    """What to do, and when."""

    cron: str = Field(description="5 fields, or an interval such as 10m")
    prompt: str = Field(min_length=1, max_length=CONTENT_CAP)
    recurring: bool = True
    timezone: str = ""
    task: str = Field("", max_length=500)
    skip_missed: bool = False


class DeleteArguments(Arguments):
    """Which schedule to delete."""

    id: int


class ListArguments(Arguments):
    """Nothing."""


class CronCreate(Described):
    """Creates schedules."""

    async def run(self, arguments: ScheduleArguments, context: ToolContext) -> Result:
        """Create a schedule and say when it is due first."""
        new = new_schedule(
            arguments.cron,
            arguments.prompt,
            zone=arguments.timezone,
            repeats=arguments.recurring,
            subject=arguments.task,
            missed="skip" if arguments.skip_missed else "once",
        )
        made = await context.schedules.create(LEAD, new, cause=context.call)
        return Result(
            f"Created schedule {_line(made, context.schedules)}\n"
            "It is followed while this team runs: in an open session, or with `deskmate daemon`."
        )


class CronDelete(Described):
    """Deletes schedules."""

    async def run(self, arguments: DeleteArguments, context: ToolContext) -> Result:
        """Delete a schedule."""
        await context.schedules.refresh()
        deleted = await context.schedules.delete(LEAD, arguments.id, cause=context.call)
        return Result(f"Deleted schedule {deleted.id}.")


class CronList(Described):
    """Lists schedules."""

    async def run(self, arguments: ListArguments, context: ToolContext) -> Result:
        """Return a line for each schedule that will be due again."""
        state = await context.schedules.refresh()
        lines = [_line(one, context.schedules) for one in state.active]
        return Result(clip(lines, "Delete some first") if lines else "There are no schedules.")


def _line(schedule: Schedule, schedules: Schedules) -> str:
    due = schedules.next_due(schedule)
    return unframed(schedule_line(schedule, schedules.moment_text(schedule, due) if due else ""))


def tools() -> Iterable[Tool]:
    """Return the tools of this family."""
    return [
        CronCreate("CronCreate", text("tools/CronCreate"), ScheduleArguments),
        CronList("CronList", text("tools/CronList"), ListArguments),
        CronDelete("CronDelete", text("tools/CronDelete"), DeleteArguments),
    ]
