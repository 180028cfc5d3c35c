"""Run a command in the workspace."""

from collections.abc import Awaitable, Iterable
from contextlib import suppress
from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator
from pydantic.json_schema import SkipJsonSchema

from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import COMMAND, blob_name
from deskmate.core.policy.patterns import HOLE, words_of
from deskmate.core.policy.permissions import Attempt
from deskmate.core.policy.secret_placeholders import refusal_to_run
from deskmate.core.prompt.live_output import LiveOutput
from deskmate.errors import ToolError
from deskmate.ports import AskHost, Ran, Tool, ToolContext, Workspace
from deskmate.texts import text
from deskmate.tools.durations import MOST_SECONDS, read_seconds
from deskmate.tools.shell.command_hints import hints_of
from deskmate.tools.shell.shell_commands import commands_of
from deskmate.tools.shell.shell_words import Word, unescaped
from deskmate.tools.tool_base import Arguments, Described

DEFAULT_SECONDS = 120.0
# Nobody waits for a background command, and TaskStop can end it sooner. But nothing may run forever.
BACKGROUND_SECONDS = 24 * 3600.0
_MOVING = frozenset({"cd", "pushd", "popd"})
_IN_EACH_FOLDER = frozenset({"-execdir", "-okdir"})

_ADVICE = (
    "Use an environment variable, or change the file with edit_file, which puts the secret back. "
    "To search for placeholders, search for 'redacted:'"
)


class BashArguments(Arguments):
    """What every agent may set in a bash call."""

    command: str = Field(min_length=1)
    timeout: Annotated[float | None, BeforeValidator(read_seconds(1))] = Field(
        None, ge=1, le=MOST_SECONDS, description="seconds: 120 if not given, 600 at most"
    )
    # Models send a description even if the schema has none. Users see it beside the command.
    description: SkipJsonSchema[str] = ""

    @field_validator("command")
    @classmethod
    def _has_no_stand_in(cls, command: str) -> str:
        # Checked here so that the user is not asked for permission first.
        if why := refusal_to_run(command):
            raise ValueError(f"{why}. {_ADVICE}")
        return command


class LeadBashArguments(BashArguments):
    """What the lead may set in a bash call."""

    run_in_background: bool = Field(False, description="return at once with an id")


class Bash(Described):
    """Runs commands."""

    async def attempt(self, arguments: BashArguments, context: ToolContext) -> Attempt:
        """Return the commands that a call would run."""
        return await attempt_to_run(arguments.command, context.workspace)

    async def run(self, arguments: BashArguments, context: ToolContext) -> Result:
        """Run the command to its end, or start it in the background and return its id."""
        # The names of the user's own secrets are known only here.
        if why := refusal_to_run(arguments.command, context.redaction):
            raise ToolError(f"The command was not run: {why}. {_ADVICE}")
        workspace, blob = context.workspace, f"{blob_name(context.call)}.txt"
        if not isinstance(arguments, LeadBashArguments) or not arguments.run_in_background:
            seconds = arguments.timeout or DEFAULT_SECONDS
            ask = context.ask_host(arguments.command, context.call)
            return await _result(workspace, arguments.command, seconds, blob, context.printed, ask)
        seconds, printed = arguments.timeout or BACKGROUND_SECONDS, LiveOutput()

        def work(id_: str) -> Awaitable[Result]:
            ask = context.ask_host(arguments.command, id_)
            return _result(workspace, arguments.command, seconds, blob, printed, ask)

        id_ = context.background.start(COMMAND, work, printed)
        return Result(
            f"Started in the background as {id_}. You are notified when it ends. TaskOutput shows its output.",
            background=id_,
        )


async def attempt_to_run(command: str, workspace: Workspace) -> Attempt:
    """Return a bash call as the permission rules see it, whichever tool makes it.

    Paths in redirections are resolved like those of file tools, so that no symlink or `..` bypasses a rule.
    """
    told = commands_of(command)
    if told is None:
        return Attempt("bash", None, inside=False, hints=hints_of(command))
    moves = any(map(_moves, told))
    subjects = tuple([await _resolved(one, workspace, moves=moves) for one in told])
    return Attempt("bash", subjects, inside=False, hints=tuple(one for one in told if one not in subjects))


def _moves(command: str) -> bool:
    """Tell whether a command changes the folder in which later commands, or those it runs, start."""
    name, *rest = words_of(command)
    return name in _MOVING or not _IN_EACH_FOLDER.isdisjoint(rest)


async def _resolved(told: str, workspace: Workspace, *, moves: bool) -> str:
    """Return a redirection with its real path, or HOLE if that is unknown. Return other commands unchanged."""
    sign, _, target = told.partition(" ")
    if sign not in ("<", ">") or HOLE in target:
        return told
    path = HOLE
    if not moves or target.startswith("/"):
        with suppress(ToolError):
            path = str(Word((await workspace.locate(unescaped(target)))[0]))
    return f"{sign} {path}"


async def _result(
    workspace: Workspace, command: str, seconds: float, blob: str, printed: LiveOutput, ask: AskHost | None
) -> Result:
    ran = await workspace.run(command, timeout_seconds=seconds, blob=blob, printed=printed, ask_host=ask)
    return Result(_text(ran), ok=ran.exit == 0, lines=ran.lines)


def _text(ran: Ran) -> str:
    """Return the output, followed by what it does not show: blob, exit status, why it ended."""
    lines = [ran.output.rstrip("\n") or "(no output)"]
    if ran.blob and ran.blob not in ran.output:
        lines.append(f"The whole output is in {ran.blob}.")
    if ran.exit:
        lines.append(f"exit status {ran.exit}")
    return "\n".join([*lines, ran.ended] if ran.ended else lines)


def tools(*, may_background: bool) -> Iterable[Tool]:
    """Return the tool of this family. `run_in_background` is offered only if the agent may use it."""
    arguments = LeadBashArguments if may_background else BashArguments
    return [Bash("bash", text("tools/bash"), arguments)]
