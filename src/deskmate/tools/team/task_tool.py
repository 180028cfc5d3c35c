"""Task: start a subagent or a teammate.

A subagent's answer is the result of the call. A teammate is recorded on the roster and reports by mail.
"""

import time
from collections.abc import Iterable
from itertools import takewhile
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from deskmate.core.advice import spawn_advice
from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import SUBAGENT, agent_id, new_name
from deskmate.core.policy.isolation import Isolation
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.profiles.agent_profiles import AgentProfile, unpacked
from deskmate.core.team.members import Member, RosterState
from deskmate.core.team.roster_records import Joined
from deskmate.errors import BadInput, ToolError
from deskmate.ports import Tool, ToolContext
from deskmate.texts import text
from deskmate.tools.tool_base import Arguments, Described

_ONLY_WITH_NAME = ("team_name", "role", "model", "mode", "isolation", "plan_mode_required", "host", "labels")


def _isolation(word: object) -> object:
    # The word that other tools use.
    return Isolation.OWN if word == "worktree" else word


class TaskToolArguments(Arguments):
    """The prompt for a subagent, or the teammate to start."""

    description: str = Field("", description="a few words, shown to the user")
    prompt: str = Field(min_length=1, description="all it needs to know: goal, files, limits, what to report")
    subagent_type: str = Field(AgentType.GENERAL.value, description="general-purpose, Explore, Plan or a listed type")
    run_in_background: bool = Field(False, description="only for a subagent: return at once with an id")
    name: str = Field("", description="start a teammate with this name")
    team_name: SkipJsonSchema[str] = ""
    role: str = Field("", max_length=120, description="what the teammate is for. It takes tasks with this role")
    model: str = Field("", description="a model other than yours")
    mode: Mode | None = Field(None, description="permissions of the teammate, never wider than yours")
    isolation: Annotated[Isolation, BeforeValidator(_isolation)] | None = Field(
        None, description="own: a copy of the repository, shared: your folder"
    )
    plan_mode_required: bool = Field(
        False, description="the teammate plans first, and works after you approve its plan"
    )
    # Only a lead with hosts is told of these: see `with_hosts`.
    host: SkipJsonSchema[str] = ""
    labels: SkipJsonSchema[tuple[str, ...]] = ()


class TaskTool(Described):
    """Starts subagents and teammates."""

    def fix(self, arguments: TaskToolArguments, context: ToolContext) -> tuple[str, ...]:
        """Return the agent type if a file describes it: that file may change before the call runs again."""
        try:
            profile = context.profile_of(arguments.subagent_type)
        except BadInput:
            # The call fails when it runs, and says why.
            return ()
        return profile.packed if profile.file else ()

    async def run(self, arguments: TaskToolArguments, context: ToolContext) -> Result:
        """Return the subagent's answer, or its id if it runs in the background. With a name, return who joined."""
        profile = unpacked(context.fixed) if context.fixed else context.profile_of(arguments.subagent_type)
        if arguments.name:
            return await _spawn(arguments, profile, context)
        if only := [field for field in _ONLY_WITH_NAME if getattr(arguments, field)]:
            raise ToolError(
                f"{', '.join(only)} is only for a teammate. Set name to start one, or leave that out for a subagent."
            )
        if not arguments.run_in_background:
            return await context.run_subagent(arguments.prompt, profile.as_subagent)
        id_ = context.background.start(SUBAGENT, lambda _: context.run_subagent(arguments.prompt, profile.as_subagent))
        return Result(
            f"Started in the background as {id_}. You are notified when it ends. TaskStop stops it.",
            background=id_,
        )


async def _spawn(arguments: TaskToolArguments, profile: AgentProfile, context: ToolContext) -> Result:
    team = context.roster.team
    if arguments.run_in_background:
        raise ToolError(
            "A teammate always runs in the background. Leave out run_in_background. For a subagent, leave out name."
        )
    if arguments.team_name not in ("", team):
        raise ToolError(
            f"You cannot add to team '{arguments.team_name[:80]}'. Your team is '{team}': leave team_name out."
        )
    joined = _joined(arguments, profile, context)
    member = await context.join(joined)
    first = "It plans first and submits its plan to you" if joined.plan else "It works now"
    if member.host:
        first += f", on host {member.host}. Its folder is on that machine"
    if member.isolated:
        first += (
            f", in its own copy of the repository. Its completed tasks are merged into the branch deskmate/{team}, "
            "and you are told when they are in your workspace too"
        )
    elif not member.host and (why := _new_reason(member, context.roster)):
        first += f", in the folder of the user like you: it cannot have its own copy of the repository, because {why}"
    words = f"{first}. You are notified when it writes to you or is idle. Do not wait or poll."
    return Result("\n".join(filter(None, [f"agent_id {agent_id(member.name, team)}", words, _advice(context)])))


def _advice(context: ToolContext) -> str:
    """Return what the board says about one more teammate, if there are more now than can work at once."""
    board = context.board.state
    open_ = {task.id: task.blocked_by for task in board.tasks.values() if task.is_open}
    return spawn_advice(open_, sum(member.here for member in context.roster.teammates))


def _new_reason(member: Member, roster: RosterState) -> str:
    """Return why a teammate shares the folder of the user, unless that was said of an earlier one."""
    why = member.joined.shared_because if member.joined else None
    earlier = takewhile(lambda other: other.name != member.name, roster.members.values())
    return "" if why in (None, *(other.joined.shared_because for other in earlier if other.joined)) else str(why)


def _joined(arguments: TaskToolArguments, profile: AgentProfile, context: ToolContext) -> Joined:
    known = profile.recorded
    mode = _mode(arguments, profile, context)
    plans = arguments.plan_mode_required or mode is Mode.PLAN
    return Joined(
        name=new_name(arguments.name),
        **known,
        role=arguments.role or known["custom_type"] or "",
        prompt=arguments.prompt,
        model=arguments.model or profile.model,
        mode=_after_plan(mode, context),
        plan=True if plans else None,
        isolation=arguments.isolation or profile.isolation,
        host=arguments.host or None,
        labels=arguments.labels or None,
        at=time.time(),
        cause=context.call,
    )


def _mode(arguments: TaskToolArguments, profile: AgentProfile, context: ToolContext) -> Mode | None:
    """Return the mode that a new teammate is given, never wider than the caller's. None if it is given none."""
    mine, asked = context.roster.mode_of(context.me.name), arguments.mode
    if asked and asked.wider_than(mine):
        raise ToolError(f"Mode {asked} is wider than your own, {mine}. Use {mine} or less, or leave mode out.")
    return asked or profile.mode_below(mine, context.roster.mode)


def _after_plan(asked: Mode | None, context: ToolContext) -> Mode | None:
    """Return the mode of a new teammate once it works, never wider than the caller's. None is the mode of the team."""
    mine = context.roster.mode_of(context.me.name)
    wanted = None if asked is Mode.PLAN else asked
    return mine if wanted is None and context.roster.mode.wider_than(mine) else wanted


def tools() -> Iterable[Tool]:
    """Return the tool of this family."""
    return [TaskTool("Task", text("tools/Task"), TaskToolArguments)]
