"""Run, resume, demo and the other main commands, with their help.

Each command passes its arguments to the module that carries it out. Docstrings of commands are their help.
"""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from deskmate.faces.cli import shell_completion
from deskmate.faces.cli.clock.clock_commands import CLOCK_COMMANDS
from deskmate.faces.cli.hosts.host_commands import HOST_COMMANDS
from deskmate.faces.cli.pages.page_commands import PAGE_COMMANDS
from deskmate.faces.cli.rewind.rewind_commands import REWIND_COMMANDS
from deskmate.faces.cli.run_options import headless_options, mode_option, options, team_file_option
from deskmate.faces.cli.stores.store_commands import STORE_COMMANDS
from deskmate.faces.cli.team_commands import TEAM_COMMANDS
from deskmate.faces.common.command_start import Speaking, at_terminal, bounded, from_stdin, importing
from deskmate.faces.common.exit_codes import EXIT_CODES_EPILOG

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from deskmate.app import RunRequest

EPILOG = """
\b
Examples:
  deskmate
  deskmate "where are retries handled?"
  deskmate --continue --plain
  echo "list the endpoints" | deskmate > endpoints.txt
  deskmate run "explain how retries work here"
  deskmate run "make the tests pass" --permission-mode dontAsk --max-cost 2
  deskmate run - --output json < goal.txt
  deskmate -C ../api run "list the endpoints" --model openai:gpt-5.5
  deskmate resume
  deskmate teams
  deskmate board
  deskmate tail -f
  deskmate answer

\b
Environment variables (they override ~/.config/deskmate/settings.toml):
  ANTHROPIC_API_KEY, OPENAI_API_KEY    the API key for a provider
  OPENAI_BASE_URL, ANTHROPIC_BASE_URL  your own server, such as Ollama
  DESKMATE_PERMISSION_MODE             as --permission-mode
  DESKMATE_MAX_COST                    as --max-cost, in dollars
  DESKMATE_MODEL                       the model, as --model
  DESKMATE_STORE                       a PostgreSQL or NATS URL for teams
  OTEL_EXPORTER_OTLP_ENDPOINT          a collector for spans and metrics
  NO_COLOR                             set it to anything to turn colours off
"""

COMPLETION_EPILOG = """
\b
To enable completion in every new shell, run one of these once:
  bash  echo 'eval "$(deskmate completion bash)"' >> ~/.bashrc
  zsh   echo 'eval "$(deskmate completion zsh)"' >> ~/.zshrc      # after compinit
  fish  echo 'deskmate completion fish | source' >> ~/.config/fish/config.fish
"""


_NEW_TEAM_ONLY = "--team-file starts a new team, so it cannot be used with an existing one."


@click.group(
    cls=Speaking,
    epilog=EPILOG + EXIT_CODES_EPILOG,
    invoke_without_command=True,
    subcommand_metavar='["WORDS" | COMMAND [ARGS]...]',
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="deskmate", message="deskmate %(version)s")
@click.option(
    "-C",
    "workspace",
    metavar="PATH",
    type=shell_completion.FolderArgument(exists=True, file_okay=False, path_type=Path),
    help="Work in this folder. Default: the top of the git repository, or the nearest folder with .teams, or this one.",
)
@click.option("--plain", is_flag=True, help="Talk line by line. This is the default if there is no terminal.")
@click.option("--team", metavar="NAME", shell_complete=shell_completion.teams, help="Continue this team.")
@click.option("--new-team", metavar="NAME", help="Start a team with this name. Default: main, main-2, ...")
@click.option("-c", "--continue", "latest", is_flag=True, help="Continue the most recently used team.")
@click.option("-r", "--resume", "picks", is_flag=True, help="Choose from a list which team to continue.")
@click.option("--web", "shows", is_flag=True, help="Also show the team on a page in your browser.")
@team_file_option
@mode_option("You are asked if a call needs permission.")
@options
@click.pass_context
def deskmate(
    ctx: click.Context,
    /,
    workspace: Path | None,
    plain: bool,
    team: str | None,
    new_team: str | None,
    latest: bool,
    picks: bool,
    shows: bool,
    team_file: str | None,
    trusts: bool,
    **flags: object,
) -> int:
    """Talk to a team of coding agents, or give it a goal. The agents work in your folder.

    Without a command, you talk to the lead of a new team in the terminal UI. WORDS are your first message: one text in
    quotes, or everything after --. The options below apply to this conversation. Commands have their own options, and
    only -C can be used before a command.
    """
    ctx.meta["workspace"] = workspace
    if ctx.invoked_subcommand is not None:
        _refuse_options(ctx)
        return 0
    if sum(map(bool, (team, new_team, latest, picks))) > 1:
        raise click.UsageError("Choose one of --team, --new-team, --continue and --resume.", ctx)
    if team_file and (team or latest or picks):
        raise click.UsageError(_NEW_TEAM_ONLY, ctx)
    if picks and not at_terminal():
        raise click.UsageError("--resume needs a terminal. Use --continue or --team NAME instead.", ctx)
    words = ctx.meta["words"]
    if words is not None and not words.strip():
        raise click.UsageError('The message is empty. Write one, as in: deskmate "where are retries handled?"', ctx)
    flags["team_file"] = team_file
    with _page(workspace, team) if shows else nullcontext():
        if picks:
            return _talk_to_picked(workspace, words, flags, plain=plain, trusts=trusts)
        return _talk(
            workspace, words, team or new_team, flags, continues=latest or team is not None, plain=plain, trusts=trusts
        )


def _page(workspace: Path | None, team: str | None) -> "AbstractContextManager[None]":
    with importing():
        from deskmate.faces.web import shown_beside

    return shown_beside(workspace, team)


def _talk_to_picked(
    workspace: Path | None, words: str | None, flags: dict[str, object], *, plain: bool, trusts: bool
) -> int:
    """Continue the team that the person chooses from a list. Attach to it if another process runs it."""
    with importing():
        from deskmate.faces.common.chat.session_picker import pick_team

    chosen = pick_team(workspace)
    if chosen is None:
        return 0
    if chosen.live:
        return _attach(workspace, chosen.name, plain=plain)
    return _talk(workspace, words, chosen.name, flags, continues=True, plain=plain, trusts=trusts)


def _attach(workspace: Path | None, team: str | None, *, plain: bool) -> int:
    with importing():
        from deskmate.faces.common.run_start import request_of

    return _converse(request_of(workspace, None, team, {}, continues=True), plain=plain, attaches=True)


def _talk(
    workspace: Path | None,
    words: str | None,
    team: str | None,
    flags: dict[str, object],
    *,
    continues: bool,
    plain: bool,
    trusts: bool,
) -> int:
    """Open a conversation, after asking about files that are not trusted yet."""
    with importing():
        from deskmate.faces.common.run_start import agreed, request_of

    request = request_of(workspace, words and bounded(words), team, flags, continues=continues)
    # Ask here, while the terminal is still in its normal state.
    consented = agreed(request, trusts=trusts)
    return _converse(consented, plain=plain or not at_terminal()) if consented else 0


def _refuse_options(ctx: click.Context) -> None:
    """Raise UsageError for a conversation option before a command: it would have no effect."""
    typed = [
        param.opts[-1]
        for param in ctx.command.params
        if param.name != "workspace" and ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
    ]
    if typed:
        name = ctx.invoked_subcommand
        raise click.UsageError(f"{typed[0]} cannot be used before a command. See: deskmate {name} --help", ctx)


def _converse(request: "RunRequest", *, plain: bool, attaches: bool = False) -> int:
    with importing():
        if plain or _lacks_terminal_ui():
            from deskmate.faces.cli.plain.plain_chat import carry_out
        else:
            from deskmate.faces.tui import carry_out

    return carry_out(request, attaches=attaches)


def _lacks_terminal_ui() -> bool:
    """Return whether the terminal UI is not installed. If so, print how to install it."""
    from deskmate.faces.common.text_tables import note
    from deskmate.queries.installation import Installation, has_terminal_ui

    if has_terminal_ui():
        return False
    command = Installation.current().command_for_all
    note(f"The terminal UI is not installed, so this is the plain chat. To install it, run: {command}")
    return True


@deskmate.command(epilog=EXIT_CODES_EPILOG)
@click.argument("goal", nargs=-1)
@click.option(
    "--team", metavar="NAME", shell_complete=shell_completion.teams, help="Give the goal to this team instead."
)
@click.option("--new-team", metavar="NAME", help="The name of the new team. Default: main, main-2, ...")
@click.option("--resume", "latest", is_flag=True, help="Continue the most recently used team. GOAL is optional then.")
@click.option(
    "--image",
    "images",
    metavar="PATH",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Send this image with the goal. You can repeat this option.",
)
@team_file_option
@headless_options
@click.pass_context
def run(
    ctx: click.Context,
    /,
    goal: tuple[str, ...],
    team: str | None,
    new_team: str | None,
    latest: bool,
    images: tuple[Path, ...],
    team_file: str | None,
    output: str,
    quiet: bool,
    trusts: bool,
    **flags: object,
) -> int:
    """Give a new team a GOAL, wait for its answer and print it.

    Without GOAL, or with -, the goal is read from stdin. With --team-file, GOAL is added to the words of the file, if
    any. Progress goes to stderr, and only the answer goes to stdout.
    --output json prints one object. --output stream-json prints one for each event, and the result at the end.
    """
    reads = goal == ("-",) or not (goal or team_file or latest)
    words = (from_stdin() if reads else " ".join(goal)) or ""
    if not (words.strip() or team_file or latest):
        raise click.UsageError('The goal is empty. Write one, as in: deskmate run "make the tests pass"', ctx)
    if sum(map(bool, (team, new_team, latest))) > 1:
        raise click.UsageError("Choose one of --team, --new-team and --resume.", ctx)
    if team_file and (team or latest):
        raise click.UsageError(_NEW_TEAM_ONLY, ctx)
    with importing():
        from deskmate.faces.cli.run_command import carry_out
        from deskmate.faces.common.run_start import request_of

    place, flags["team_file"] = ctx.meta["workspace"], team_file
    request = request_of(place, bounded(words) or None, team or new_team, flags, continues=latest or team is not None)
    return carry_out(replace(request, images=images), ctx.obj, output=output, trusts=trusts, quiet=quiet)


@deskmate.command(epilog=EXIT_CODES_EPILOG)
@click.argument("team", required=False, shell_complete=shell_completion.teams)
@click.argument("text", required=False)
@headless_options
@click.pass_context
def resume(
    ctx: click.Context, /, team: str | None, text: str | None, output: str, quiet: bool, trusts: bool, **flags: object
) -> int:
    """Continue the work of a TEAM, and print the answer.

    TEXT is sent to the lead first. With -, TEXT is read from stdin. Without TEAM, you choose a team from a list and
    talk to it. With --output, or if there is no terminal, TEAM defaults to the most recently used team.
    """
    words = from_stdin() if text == "-" else text
    if team is None and ctx.get_parameter_source("output") is ParameterSource.DEFAULT and at_terminal():
        return _talk_to_picked(ctx.meta["workspace"], None, flags, plain=False, trusts=trusts)
    with importing():
        from deskmate.faces.cli.run_command import carry_out
        from deskmate.faces.common.run_start import request_of

    request = request_of(ctx.meta["workspace"], words and bounded(words), team, flags, continues=True)
    return carry_out(request, ctx.obj, output=output, trusts=trusts, quiet=quiet)


@deskmate.command()
@click.argument("team", required=False, shell_complete=shell_completion.teams)
@click.option("--plain", is_flag=True, help="Talk line by line.")
@click.pass_context
def attach(ctx: click.Context, /, team: str | None, plain: bool) -> int:
    """Open another window on a running TEAM, to watch it, talk to it and answer its questions.

    TEAM defaults to the most recently used team. Several windows can be attached, and closing one does not stop the
    team. To continue a team that is not running, use: deskmate --team TEAM
    """
    if not at_terminal():
        raise click.UsageError("attach needs a terminal. In a script, use tail, board and answer instead.", ctx)
    return _attach(ctx.meta["workspace"], team, plain=plain)


@deskmate.command()
@click.option("--fast", is_flag=True, help="Skip the pauses for reading.")
@click.option("--plain", is_flag=True, help="Print lines instead of opening the terminal UI.")
@click.pass_context
def demo(ctx: click.Context, /, fast: bool, plain: bool) -> int:
    """Watch a scripted team at work, without a key or a network.

    The team moves a small application from REST to GraphQL in a new folder. Halfway through, the demo kills the team
    with kill -9 and resumes it. Only the models' words are scripted. Tools, files, tests, tasks, mail and questions are
    real. At a terminal, the demo opens the terminal UI if that is installed. Exits with 0 if the application's own
    tests pass at the end and nothing was lost or done twice.
    """
    with importing():
        from deskmate.faces.cli.demo_command import carry_out
        from deskmate.queries.installation import has_terminal_ui

    return carry_out(fast=fast, on_screen=not plain and at_terminal() and has_terminal_ui())


@deskmate.command(hidden=True)
@click.option("--cue", type=int, help="Where to write when it is time to kill the team.")
@click.option("--killed", type=int, help="The process that was killed. Its team is resumed.")
@click.option("--fast", is_flag=True)
@click.option("--tui", is_flag=True)
@click.pass_context
def demo_act(ctx: click.Context, /, cue: int | None, killed: int | None, fast: bool, tui: bool) -> int:
    """Play one act of the demo, for the process that started this one."""
    with importing():
        from deskmate.app.demo_team import DemoAct
        from deskmate.faces.cli.demo_act import carry_out

    return carry_out(DemoAct(ctx.meta["workspace"], killed, cue, fast), on_screen=tui)


@deskmate.command(epilog=COMPLETION_EPILOG)
@click.argument("shell", required=False, type=click.Choice(shell_completion.SHELLS))
@click.pass_context
def completion(ctx: click.Context, /, shell: str | None) -> int:
    """Print the script that completes commands, options, teams, members and tasks in a SHELL.

    SHELL defaults to your login shell, as named by the variable SHELL.
    """
    with importing():
        from deskmate.app import environment, shell_name
        from deskmate.faces.common.text_tables import put

    name = shell or shell_name(environment())
    if name not in shell_completion.SHELLS:
        raise click.UsageError(f"Your shell is not known. Name one of {', '.join(shell_completion.SHELLS)}.", ctx)
    return put([shell_completion.script(deskmate, name).rstrip("\n")])


@deskmate.command(hidden=True)
@click.argument("name")
@click.option("--team", required=True, metavar="NAME", help="The team of the teammate.")
@click.pass_context
def play(ctx: click.Context, /, name: str, team: str) -> int:
    """Play the teammate NAME until it leaves, for the process that started this one."""
    with importing():
        from deskmate.faces.cli.play_command import carry_out

    return carry_out(ctx.meta["workspace"], team, name)


@deskmate.command(hidden=True)
@click.pass_context
def play_lead(ctx: click.Context, /) -> int:
    """Run the lead of a team that nobody has a window on, for the process that started this one."""
    with importing():
        from deskmate.faces.cli.detached.lead_command import carry_out

    return carry_out(ctx.meta["workspace"])


for command in (*TEAM_COMMANDS, *REWIND_COMMANDS, *CLOCK_COMMANDS, *PAGE_COMMANDS, *STORE_COMMANDS, *HOST_COMMANDS):
    deskmate.add_command(command)
