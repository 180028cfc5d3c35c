"""TaskCreate, TaskGet, TaskUpdate, TaskList.

`task_update` carries out a TaskUpdate. `core.team.board_rules` says whether it is allowed. Every change has the id of
its call, so that a call repeated after a crash changes nothing twice.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from deskmate.core.advice import PlannedTask, board_advice
from deskmate.core.agent.notices import task_words
from deskmate.core.agent.tool_results import Result
from deskmate.core.policy.permissions import Attempt
from deskmate.core.policy.tool_table import AgentKind
from deskmate.core.prompt.call_texts import in_team
from deskmate.core.prompt.frames import task_text, unframed
from deskmate.core.prompt.task_lines import ids, line, one_line, quoted
from deskmate.core.team.task_fields import NewTask, TaskChange
from deskmate.core.team.tasks import BoardState, Receipt, Task, TaskStatus, blockers, blocks, parse_id
from deskmate.errors import Refused, ToolError
from deskmate.ports import Tool, ToolContext
from deskmate.texts import text, text_for
from deskmate.tools.clip import MAX_LINES, clip, counted, cut
from deskmate.tools.shell.bash import attempt_to_run
from deskmate.tools.team import task_update
from deskmate.tools.tool_base import Arguments, Described

_NOTES_SHOWN = 10
_OUTPUT_SHOWN = 200
_COMMIT_SHOWN = 12

TaskId = Annotated[int, BeforeValidator(parse_id)]
TaskIds = tuple[TaskId, ...]


class BoardArguments(Arguments):
    """What every task tool takes.

    No schema shows `team_name`: only a lead with two teams needs it, and it is told so. Some models send it always.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    team_name: SkipJsonSchema[str | None] = Field(None, alias="team_name")

    def is_for_home(self, context: ToolContext) -> bool:
        """Tell whether the named team is the first team of a lead that leads another one."""
        return context.home is not None and self.team_name == context.home.roster.team

    def check_team(self, context: ToolContext) -> None:
        """Raise ToolError if the named team is not the caller's."""
        team, home = context.roster.team, context.home
        if self.team_name in (None, team):
            return
        named = cut(ascii(self.team_name), 80)
        if home is None:
            raise ToolError(f"Your team is '{team}', not {named}. You can only use its board: leave team_name out.")
        raise ToolError(
            f"Your teams are '{team}' and '{home.roster.team}', not {named}. Set team_name to '{home.roster.team}', or "
            f"leave it out for the board of '{team}'."
        )


class CreateArguments(BoardArguments):
    """A task to create."""

    subject: str = Field(min_length=1, description="what to do, in a few words")
    description: str = ""
    active_form: str = Field("", description="shown during the work, such as: Writing tests")
    blocked_by: TaskIds = Field((), description="numbers of tasks that must be completed first")
    owner: str | None = Field(None, description="name of the member who gets it")
    role: str | None = Field(None, description="only members of this role or name take it")
    verify: str | None = Field(None, description="command that must succeed to complete the task")


class GetArguments(BoardArguments):
    """Which task to read."""

    task_id: TaskId


class UpdateArguments(GetArguments):
    """What to change in a task."""

    status: TaskStatus | None = None
    owner: str | None = None
    subject: str | None = None
    description: str | None = None
    active_form: str | None = None
    role: str | None = Field(None, description="as in TaskCreate (empty for none)")
    add_blocks: TaskIds = ()
    add_blocked_by: TaskIds = ()
    remove_blocked_by: TaskIds = ()


class _BoardTool(Described, ABC):
    """A tool that uses the board of the caller's team or, for a lead with two teams, of the named one."""

    async def run(self, arguments: Any, context: ToolContext) -> Result:
        """Use the board that the arguments name. Raises ToolError if it is not one of the caller's."""
        if not (context.home and arguments.is_for_home(context)):
            arguments.check_team(context)
            return await self.use(arguments, context)
        team, result = context.home.roster.team, await _tried(self.use(arguments, context.home))
        return replace(result, text=f"{in_team(team)}\n{result.text}", team=team)

    @abstractmethod
    async def use(self, arguments: Any, context: ToolContext) -> Result:
        """Use the board of the team of this context."""


async def _tried(use: Awaitable[Result]) -> Result:
    """Return the result of a call, also if it is refused."""
    try:
        return await use
    except Refused as error:
        return Result(str(error), ok=False, roster=error.roster)
    except ToolError as error:
        return Result(str(error), ok=False)


class TaskCreate(_BoardTool):
    """Puts a task on the board."""

    async def use(self, arguments: CreateArguments, context: ToolContext) -> Result:
        """Create the task. Return its number and what it waits for."""
        # A lead that delegates may set it: its teammates run the command when they complete the task.
        if arguments.verify and "bash" not in context.me.tools():
            raise ToolError(
                "verify is a command, and you have no bash. Leave it out, or ask the lead to create the task."
            )
        new = NewTask(**arguments.model_dump(exclude={"team_name"}))
        new = replace(new, owner=_owner(new.owner, context) if new.owner else None)
        task = await context.board.create(context.me.name, new, cause=context.call)
        waits = blockers(context.board.state, task)
        role = f"[role {quoted(one_line(task.role))}] " if task.role else ""
        created = f"Created #{task.id} {role}{one_line(task.subject)}" + (
            f". It waits for {ids(waits)}." if waits else ""
        )
        return Result("\n".join(filter(None, [created, task_update.untaken(context, task), _advice(context)])))


def _advice(context: ToolContext) -> str:
    """Return what the board says about parallel work, for a lead that has created the last task of its step."""
    later = [id_ for id_, call in context.memory.calls.items() if call.tool == "TaskCreate" and not call.began]
    if context.me.kind is not AgentKind.LEAD or later:
        return ""
    board, here = context.board.state, sum(member.here for member in context.roster.teammates)
    open_ = [
        PlannedTask(task.id, f"{task.subject}\n{task.description}", task.blocked_by)
        for task in board.tasks.values()
        if task.is_open
    ]
    return board_advice(open_, here, _paid(context), delegating=context.memory.work_mode.delegating)


def _paid(context: ToolContext) -> list[float | None]:
    """Return what each teammate has cost for each task that it completed; None if a price is not known."""
    done = [task.owner for task in context.board.state.tasks.values() if task.status is TaskStatus.COMPLETED]
    mates = {mate.name: done.count(mate.name) for mate in context.roster.teammates}
    spent = {name: context.spent.get(name) for name, count in mates.items() if count}
    return [None if one is None or one.unpriced else one.cost / mates[name] for name, one in spent.items()]


class TaskGet(_BoardTool):
    """Reads one task."""

    async def use(self, arguments: GetArguments, context: ToolContext) -> Result:
        """Return everything that is known about the task."""
        board = await context.board.refresh()
        return Result("\n".join(_told(board, task_update.found(board, arguments.task_id))), framed=True)


class TaskUpdate(_BoardTool):
    """Changes one task."""

    async def attempt(self, arguments: UpdateArguments, context: ToolContext) -> Attempt:
        """Return a bash call if completing the task runs a command, or may run one by then."""
        if arguments.status is TaskStatus.COMPLETED:
            board = context.home.board if context.home and arguments.is_for_home(context) else context.board
            task = (await board.refresh()).tasks.get(arguments.task_id)
            if task is None:
                # A call before this one may create the task, with a command.
                return Attempt("bash", None, inside=False)
            if task.verify is not None:
                return replace(await attempt_to_run(task.verify, context.workspace), command=task.verify)
        return Attempt(self.name, (), inside=True)

    async def use(self, arguments: UpdateArguments, context: ToolContext) -> Result:
        """Change the task and return its new state."""
        change = TaskChange(**arguments.model_dump(exclude={"task_id", "team_name", "status", "owner"}))
        status, owner = arguments.status, arguments.owner
        if change == TaskChange() and status is owner is None:
            known = "status, owner, subject, description, activeForm, role, addBlocks, addBlockedBy, removeBlockedBy"
            raise ToolError(f"There is nothing to change. Set at least one of {known}.")
        owner = _owner(owner, context) if owner else owner
        return await task_update.update(context, task_update.Update(arguments.task_id, change, owner, status))


class TaskList(_BoardTool):
    """Shows the board."""

    async def use(self, arguments: BoardArguments, context: ToolContext) -> Result:
        """Return a line for each task. If there are too many, completed tasks are left out."""
        board = await context.board.refresh()
        tasks = [task for task in board.tasks.values() if task.status is not TaskStatus.DELETED]
        listed = tasks if len(tasks) <= MAX_LINES else [task for task in tasks if task.is_open]
        lines = [clip([line(board, task) for task in listed], "Read any of them with TaskGet")] if listed else []
        if over := len(tasks) - len(listed):
            lines.append(f"({counted(over, 'completed task')} not listed)")
        return Result("\n".join(lines) or "The board is empty.")


def _owner(name: str, context: ToolContext) -> str:
    """Return an owner as the roster spells it. Raises ToolError for a member of the lead's other team."""
    roster, home = context.roster, context.home
    bare, _, team = name.partition("@")
    if home and team.lower() == home.roster.team:
        raise ToolError(
            f"'{cut(name, 80)}' is on your other team, and this is the board of team '{roster.team}'. "
            f"For the board of that team, set team_name to '{home.roster.team}'."
        )
    return roster.spelled(bare if team.lower() == roster.team else name)


def _told(board: BoardState, task: Task) -> Iterator[str]:
    """Yield what the board knows about a task, then what members wrote, framed."""
    yield f"task #{task.id}"
    yield f"status: {task.status.replace('_', ' ')}"
    yield f"owner: {task.owner or 'nobody'}"
    yield from _edges(board, task)
    if task.receipt:
        yield unframed(_proof(task.receipt))
    subject = " ".join(task.subject.split())
    words = task_words(subject, task.role, task.active_form, task.verify or "", task.description)
    yield task_text(task.id, words, task.created_by, task.editors, task.notes[-_NOTES_SHOWN:])


def _edges(board: BoardState, task: Task) -> Iterator[str]:
    if task.blocked_by:
        waits = blockers(board, task)
        yield f"blocked by: {ids(sorted(task.blocked_by))}" + (f" (still open: {ids(waits)})" if waits else "")
    if waiting := blocks(board, task.id):
        yield f"blocks: {ids(sorted(waiting))}"


def _proof(receipt: Receipt) -> str:
    printed = " ".join(receipt.output[-_OUTPUT_SHOWN:].split())
    where = f"exit {receipt.exit} in {receipt.workspace}, at {_revision(receipt)}"
    return f"receipt: {where}" + (f", it printed … {printed}" if printed else "")


def _revision(receipt: Receipt) -> str:
    if receipt.commit is None:
        return "an unknown commit"
    state = {True: "all committed", False: "with uncommitted changes", None: "unknown whether all was committed"}
    return f"commit {receipt.commit[:_COMMIT_SHOWN]} ({state[receipt.clean]})"


def tools(kind: AgentKind) -> Iterable[Tool]:
    """Return the tools of this family, described for this kind of agent."""
    return [
        TaskCreate("TaskCreate", text_for("tools/TaskCreate", kind), CreateArguments),
        TaskGet("TaskGet", text("tools/TaskGet"), GetArguments),
        TaskUpdate("TaskUpdate", text_for("tools/TaskUpdate", kind), UpdateArguments),
        TaskList("TaskList", text("tools/TaskList"), BoardArguments),
    ]
