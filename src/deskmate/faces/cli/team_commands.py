"""Commands that look at a team or act on it.

`root_commands` adds them to the command line. The modules in `output`, `removal_command` and `trust_command` carry
them out. Docstrings of commands are their help.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from deskmate.faces.cli import shell_completion
from deskmate.faces.cli.hooks.hook_commands import hooks
from deskmate.faces.cli.mcp.mcp_commands import mcp
from deskmate.faces.cli.trees.tree_commands import TREE_COMMANDS
from deskmate.faces.common.command_start import ShowingGroup, SuggestingGroup, bounded, from_stdin, importing

if TYPE_CHECKING:
    from deskmate.app.user_answers import Answer

ANSWERS: "dict[str, Answer]" = {"yes": "yes", "always": "always", "no": "no"}
Command = TypeVar("Command", bound=Callable[..., Any])


def _team_option(command: Command) -> Command:
    return click.option(
        "--team",
        metavar="NAME",
        shell_complete=shell_completion.teams,
        help="The team. Default: the most recently used one.",
    )(command)


def _team_argument(command: Command) -> Command:
    return click.argument("team", required=False, shell_complete=shell_completion.teams)(command)


def _json_option(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")(command)


@click.group(cls=SuggestingGroup, invoke_without_command=True, subcommand_metavar="[COMMAND [ARGS]...]")
@click.option("-v", "--verbose", is_flag=True, help="Also show the members of each team.")
@_json_option
@click.pass_context
def teams(ctx: click.Context, /, verbose: bool, as_json: bool) -> int:
    """List the teams here, with title, state, completed tasks, cost and last activity.

    A team is stopped if no process runs it. Its title is the start of the first message that you sent to it.
    """
    if ctx.invoked_subcommand is not None:
        if verbose or as_json:
            raise click.UsageError(f"-v and --json cannot be used with {ctx.invoked_subcommand}.", ctx)
        return 0
    with importing():
        from deskmate.faces.cli.output import team_output

    return team_output.teams(ctx.meta["workspace"], members=verbose, as_json=as_json)


@teams.command()
@click.pass_context
def files(ctx: click.Context, /) -> int:
    """List the team files, in .deskmate/teams of the workspace and beside your settings file.

    To start the team of one, use: deskmate run --team-file NAME
    """
    with importing():
        from deskmate.faces.cli.output import team_file_output

    return team_file_output.team_files(ctx.meta["workspace"])


@teams.command()
@click.argument("name", nargs=-1, required=True, shell_complete=shell_completion.teams)
@click.option("--yes", is_flag=True, help="Do not ask first.")
@click.pass_context
def rm(ctx: click.Context, /, name: tuple[str, ...], yes: bool) -> int:
    """Remove the team NAME for good, with its board, mail and transcripts.

    This also removes the teams that its lead created from it, open or closed. You cannot remove a team that is running
    or that you did not start. The files that the team worked on are kept, and so is its branch. A tree of a teammate is
    kept if it has work that is not merged. Exits with 1 if you do not confirm.
    """
    with importing():
        from deskmate.faces.cli import removal_command

    return removal_command.remove_named(ctx.meta["workspace"], name, asks=not yes)


@teams.command()
@click.option(
    "--days", metavar="N", type=click.FloatRange(min=0), help="Also remove teams without activity for N days."
)
@click.option("--dry-run", is_flag=True, help="Only list the teams that would be removed.")
@click.option("--yes", is_flag=True, help="Do not ask first.")
@click.pass_context
def prune(ctx: click.Context, /, days: float | None, dry_run: bool, yes: bool) -> int:
    """Remove the teams that never got an answer from a model and completed no task.

    Exits with 1 if you do not confirm.
    """
    with importing():
        from deskmate.faces.cli import removal_command

    return removal_command.prune(ctx.meta["workspace"], days=days, dry_run=dry_run, asks=not yes)


class BoardGroup(ShowingGroup):
    """The commands of the board."""

    advice = "To show the board of a team: deskmate board TEAM"


@click.group(cls=BoardGroup)
def board() -> None:
    """Show the tasks of a TEAM and what blocks each of them, or change them.

    TEAM defaults to the most recently used team. If its lead has another team with tasks, both boards are shown.
    """


@board.command(hidden=True)
@_team_argument
@_json_option
@click.pass_context
def show(ctx: click.Context, /, team: str | None, as_json: bool) -> int:
    """Show the tasks of a TEAM. Default: the most recently used team."""
    with importing():
        from deskmate.faces.cli.output import team_output

    return team_output.board(ctx.meta["workspace"], team, as_json=as_json)


@board.command()
@click.argument("subject")
@click.option("--description", default="", help="Describe the task in full.")
@click.option(
    "--blocked-by",
    metavar="ID",
    multiple=True,
    shell_complete=shell_completion.open_tasks,
    help="Block the task until this one is done. Can be repeated.",
)
@click.option("--role", help="Let only members with this role or name take it.")
@click.option(
    "--owner", metavar="NAME", shell_complete=shell_completion.members_here, help="Give the task to this member."
)
@click.option("--verify", metavar="COMMAND", help="Require this command to succeed before the task is done.")
@_team_option
@click.pass_context
def add(ctx: click.Context, /, subject: str, team: str | None, blocked_by: tuple[str, ...], **fields: Any) -> int:
    """Put a task on the board. SUBJECT is one line."""
    with importing():
        from deskmate.faces.cli.output import action_output

    return action_output.add(ctx.meta["workspace"], team, subject, blocked_by, **fields)


@board.command()
@click.argument("id_", metavar="ID", shell_complete=shell_completion.open_tasks)
@click.argument("name", shell_complete=shell_completion.members_here)
@_team_option
@click.pass_context
def assign(ctx: click.Context, /, id_: str, name: str, team: str | None) -> int:
    """Give the task ID to the member NAME."""
    with importing():
        from deskmate.faces.cli.output import action_output

    return action_output.assign(ctx.meta["workspace"], team, id_, name)


@board.command()
@click.argument("id_", metavar="ID", shell_complete=shell_completion.open_tasks)
@_team_option
@click.pass_context
def done(ctx: click.Context, /, id_: str, team: str | None) -> int:
    """Mark the task ID as done. If it has a verify command, that runs here first and must succeed."""
    with importing():
        from deskmate.faces.cli.output import action_output

    return action_output.done(ctx.meta["workspace"], team, id_)


@board.command()
@click.argument("id_", metavar="ID", shell_complete=shell_completion.tasks)
@_team_option
@click.pass_context
def drop(ctx: click.Context, /, id_: str, team: str | None) -> int:
    """Delete the task ID from the board. Tasks that were blocked by it no longer wait for it."""
    with importing():
        from deskmate.faces.cli.output import action_output

    return action_output.drop(ctx.meta["workspace"], team, id_)


@click.command()
@click.argument("name", required=False, shell_complete=shell_completion.mailboxes)
@_team_argument
@_json_option
@click.pass_context
def inbox(ctx: click.Context, /, name: str | None, team: str | None, as_json: bool) -> int:
    """Show the mail of the member NAME: unread mail marked with *, then the last 20 messages it has read.

    Without NAME, this shows the mail of the lead and your own, which is the mail of user. TEAM defaults to the most
    recently used team. This command does not mark mail as read, and your own mail is never marked.
    """
    with importing():
        from deskmate.faces.cli.output import team_output

    return team_output.inbox(ctx.meta["workspace"], team, name, as_json=as_json)


@click.command()
@click.argument("name", default="lead", shell_complete=shell_completion.members)
@_team_argument
@click.option("-f", "--follow", is_flag=True, help="Keep printing new entries, until Ctrl-C.")
@click.option(
    "-n", "--last", type=click.IntRange(min=1), default=100, show_default=True, help="Show the last N entries."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each entry.")
@click.pass_context
def tail(ctx: click.Context, /, name: str, team: str | None, follow: bool, last: int, as_json: bool) -> int:
    """Show what the member NAME heard, said and did. Default: the lead.

    TEAM defaults to the most recently used team.
    """
    with importing():
        from deskmate.faces.cli.output import tail_output

    return tail_output.tail(ctx.meta["workspace"], team, name, last=last, follows=follow, as_json=as_json)


@click.command()
@click.argument("name", shell_complete=shell_completion.members_here)
@click.argument("text")
@_team_option
@click.pass_context
def send(ctx: click.Context, /, name: str, text: str, team: str | None) -> int:
    """Send your message TEXT to the member NAME, or to everybody if NAME is all.

    With -, TEXT is read from stdin.
    """
    words = from_stdin() if text == "-" else text
    if not words or not words.strip():
        raise click.UsageError('The text is empty. Write one, as in: deskmate send lead "TEXT"', ctx)
    with importing():
        from deskmate.faces.cli.output import action_output

    return action_output.send(ctx.meta["workspace"], team, name, bounded(words))


@click.command()
@click.argument("words", nargs=-1, metavar="[ID] yes|always|no [WORDS]")
@_team_option
@_json_option
@click.pass_context
def answer(ctx: click.Context, /, words: tuple[str, ...], team: str | None, as_json: bool) -> int:
    """List the questions that wait for your answer, or answer one.

    Members ask for permission and submit plans. Without arguments, this lists all open questions.

    [ID] yes|always|no [WORDS] answers a question. Leave out ID if only one is open. yes allows the call or approves the
    plan. always also allows all similar calls from now on or, for a plan, accepts its edits. no refuses, with WORDS as
    the reason. Only the first answer counts. You can answer from any shell, even while the team is stopped.

    MCP servers can ask you to fill in a form. Then the WORDS after yes are its values, as in: yes name=Ann age=30
    """
    id_, word, rest = _answer(words)
    if words and word is None:
        raise click.UsageError("Write yes, always or no, as in: deskmate answer [ID] yes|always|no [WORDS]", ctx)
    if word and as_json:
        raise click.UsageError("--json only lists questions. Leave it out to answer one.", ctx)
    with importing():
        from deskmate.faces.cli.output import action_output

    if word is None:
        return action_output.questions(ctx.meta["workspace"], team, as_json=as_json)
    return action_output.answer(ctx.meta["workspace"], team, id_, word, bounded(rest))


def _answer(words: tuple[str, ...]) -> "tuple[str | None, Answer | None, str]":
    """Return the id of a question, if given, the answer, and the words after it."""
    id_, rest = (None, words) if words[:1] and words[0] in ANSWERS else (words[0] if words else None, words[1:])
    word = ANSWERS.get(rest[0]) if rest else None
    return id_, word, " ".join(rest[1:])


@click.command()
@_team_argument
@_json_option
@click.pass_context
def cost(ctx: click.Context, /, team: str | None, as_json: bool) -> int:
    """Show what a TEAM has used and spent, by member and model.

    TEAM defaults to the most recently used team.
    """
    with importing():
        from deskmate.faces.cli.output import team_output

    return team_output.cost(ctx.meta["workspace"], team, as_json=as_json)


@click.command()
@click.argument("name", shell_complete=shell_completion.teammates_here)
@_team_option
@click.pass_context
def stop(ctx: click.Context, /, name: str, team: str | None) -> int:
    """Ask the teammate NAME to leave, and wait until it has left or refused."""
    with importing():
        from deskmate.faces.cli.output import action_output

    return action_output.stop(ctx.meta["workspace"], team, name)


@click.command()
@_team_argument
@click.option(
    "--accept", is_flag=True, help="Accept the loss of records in the roster, the board and the transcripts of TEAM."
)
@click.option("--yes", is_flag=True, help="With --accept: do not ask first.")
@_json_option
@click.pass_context
def doctor(ctx: click.Context, /, team: str | None, accept: bool, yes: bool, as_json: bool) -> int:
    """Check the machine, settings, workspace and teams.

    Each line shows one check and, if there is a problem, how to fix it. With TEAM, only that team is checked.

    If a record of the roster or board is lost, nobody can take tasks, because the record may have assigned one. If a
    member's transcript was cut, that member stays stopped, because it could repeat work. Restore the file from a copy,
    or accept the loss with --accept. Exits with 1 if a check is bad, and with 3 if the workspace cannot be used.
    """
    if as_json and accept:
        raise click.UsageError("--json and --accept cannot be used together.", ctx)
    if yes and not accept:
        raise click.UsageError("--yes needs --accept.", ctx)
    with importing():
        from deskmate.faces.cli.output import doctor_output as face

    if accept:
        return face.accept(ctx.meta["workspace"], team, asks=not yes)
    return face.doctor(ctx.meta["workspace"], team, as_json=as_json)


@click.command()
@click.pass_context
def agents(ctx: click.Context, /) -> int:
    """List the types of agents that the lead can start: those that are built in, and those that files describe.

    Files are read from agents/ beside your settings, from ~/.claude/agents, and from .deskmate/agents and
    .claude/agents in the workspace. Those of the workspace are used after you trust them.
    """
    with importing():
        from deskmate.faces.cli.output import agent_type_output as face

    return face.agent_types(ctx.meta["workspace"])


@click.command()
@click.argument(
    "path", required=False, type=shell_completion.FolderArgument(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "--team",
    metavar="NAME",
    shell_complete=shell_completion.teams,
    help="Trust this team, which was started by somebody else.",
)
@click.option("--yes", is_flag=True, help="Do not ask first.")
@click.option(
    "--list", "lists", is_flag=True, help="List all that you have trusted, with the start of each file's SHA-256."
)
@click.option("--revoke", is_flag=True, help="Stop trusting this folder or, with --team, this team.")
@click.pass_context
def trust(ctx: click.Context, /, path: Path | None, team: str | None, yes: bool, lists: bool, revoke: bool) -> int:
    """Show the files that instruct agents or run hooks and that you have not trusted yet. Trust them if you confirm.

    PATH defaults to the workspace. These files are not used until you trust them. Trust covers the current content of
    each file: if a file changes, you are asked again. Exits with 1 if you do not confirm.
    """
    if (lists and (revoke or team)) or (yes and (lists or revoke)):
        raise click.UsageError("--list cannot be used with other options, and --yes cannot be used with --revoke.", ctx)
    folder = path or ctx.meta["workspace"]
    with importing():
        from deskmate.faces.cli import trust_command as face

    if lists:
        return face.listing()
    if revoke:
        return face.revoke_team(folder, team) if team else face.revoke(folder)
    return face.trust_team(folder, team, asks=not yes) if team else face.trust(folder, asks=not yes)


TEAM_COMMANDS = (teams, board, inbox, tail, send, answer, cost, stop, *TREE_COMMANDS, agents, mcp, hooks, doctor, trust)
