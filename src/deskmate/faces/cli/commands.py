"""Commands: what can be typed, and the help that teaches it. Only click is imported before a command runs.

`main` stands above; each command hands what was typed to the module that carries it out.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from deskmate.faces.cli.starting import Suggesting, bounded, from_stdin, importing
from deskmate.faces.cli.team_commands import TEAM_COMMANDS

MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypass")
OUTPUTS = ("text", "json", "stream-json")
LAUNCHERS = ("inline", "process")

Command = TypeVar("Command", bound=Callable[..., Any])

EPILOG = """
\b
Examples:
  deskmate run "explain how retries work here"
  deskmate run "make the tests pass" --permission-mode dontAsk --max-cost 2
  deskmate run - --output json < goal.txt
  deskmate -C ../api run "list the endpoints" --model openai:gpt-5.5
  deskmate resume
  deskmate board
  deskmate tail lead -f

\b
Environment, over the settings file (deskmate/settings.toml in ~/.config):
  ANTHROPIC_API_KEY, OPENAI_API_KEY    the key of a provider
  OPENAI_BASE_URL, ANTHROPIC_BASE_URL  a server of your own, such as Ollama
  DESKMATE_MODEL                       the model, as provider:model
  NO_COLOR                             set to anything: no colours

\b
Exit codes:
  0    answered
  1    the agent could not go on; the reason and how to resume are on stderr
  2    wrong usage or settings
  3    the store, workspace or output cannot be used, or Deskmate itself erred
  130  interrupted; how to resume is on stderr
"""


@click.group(cls=Suggesting, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="deskmate", message="deskmate %(version)s")
@click.option(
    "-C",
    "workspace",
    metavar="PATH",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Work in this folder. Else: the nearest one upwards with .teams, the top of the repository, or this one.",
)
@click.pass_context
def deskmate(ctx: click.Context, workspace: Path | None) -> None:
    """Coding agents at the desks around you: give them a goal, they work in your folder."""
    ctx.meta["workspace"] = workspace


def _options(command: Command) -> Command:
    for option in (
        click.option("--output", type=click.Choice(OUTPUTS), default="text", show_default=True, help="What to print."),
        click.option(
            "--permission-mode",
            type=click.Choice(MODES),
            help="What happens to calls that no rule settles. Nobody is asked here: what would ask is denied.",
        ),
        click.option(
            "--delegate/--no-delegate",
            default=None,
            help="Let the lead leave the work itself to teammates: it has no tools for files and commands then.",
        ),
        click.option(
            "--launcher",
            type=click.Choice(LAUNCHERS),
            help="Play new teammates inline, in this process, or each in a process of its own.",
        ),
        click.option("--max-steps", type=click.IntRange(min=1), help="Stop after so many steps of a turn."),
        click.option("--max-calls", type=click.IntRange(min=1), help="Ask models at most so many things at once."),
        click.option("--max-members", type=click.IntRange(min=0), help="Have at most so many teammates."),
        click.option("--max-time", metavar="SECONDS", type=float, help="Stop when so much time has passed."),
        click.option("--max-tokens", type=click.IntRange(min=1), help="Stop when so many tokens are used."),
        click.option("--max-cost", metavar="DOLLARS", type=float, help="Stop when so much is spent."),
        click.option("--model", metavar="PROVIDER:MODEL", help="The model to ask."),
    ):
        command = option(command)
    return command


@deskmate.command()
@click.argument("goal", nargs=-1)
@click.option("--team", metavar="NAME", help="The name of the new team. Else: main, main-2, ...")
@_options
@click.pass_context
def run(ctx: click.Context, /, goal: tuple[str, ...], team: str | None, output: str, **flags: object) -> int:
    """Give a new team a GOAL, wait for its answer and print it.

    Without GOAL, or with -, the goal is read from stdin. Progress goes to stderr, the answer alone to stdout; with
    --output json one object, with stream-json one for everything that happens and then the result.
    """
    words = from_stdin() if goal in ((), ("-",)) else " ".join(goal)
    if not words or not words.strip():
        raise click.UsageError('There is no goal. Write one, as in: deskmate run "make the tests pass"', ctx)
    with importing():
        from deskmate.faces.cli.run import Errand, carry_out

    errand = Errand("run", ctx.meta["workspace"], bounded(words), team, output, flags)
    return carry_out(errand, ctx.obj)


@deskmate.command()
@click.argument("team", required=False)
@click.argument("text", required=False)
@_options
@click.pass_context
def resume(ctx: click.Context, /, team: str | None, text: str | None, output: str, **flags: object) -> int:
    """Go on with what a TEAM left open, and print the answer.

    Without TEAM, the one that was last at work here. TEXT is said to it first; with - it is read from stdin.
    """
    words = from_stdin() if text == "-" else text
    with importing():
        from deskmate.faces.cli.run import Errand, carry_out

    errand = Errand("resume", ctx.meta["workspace"], words and bounded(words), team, output, flags)
    return carry_out(errand, ctx.obj)


@deskmate.command()
@click.option("--fast", is_flag=True, help="Without the pauses to read in.")
def demo(fast: bool) -> int:
    """Watch a rehearsed team at work, without a key or a network.

    It moves a small application from REST to GraphQL in a new folder. Only the models' words are rehearsed; tools,
    files, tests, tasks, mail and questions are real. Exits with 0 if the application's own tests pass at the end.
    """
    with importing():
        from deskmate.faces.cli.demo import carry_out

    return carry_out(fast=fast)


@deskmate.command(hidden=True)
@click.argument("name")
@click.option("--team", required=True, metavar="NAME", help="The team of the teammate.")
@click.pass_context
def play(ctx: click.Context, /, name: str, team: str) -> int:
    """Play the teammate NAME until it leaves, for the process that started this one."""
    with importing():
        from deskmate.faces.cli.play import carry_out

    return carry_out(ctx.meta["workspace"], team, name)


for command in TEAM_COMMANDS:
    deskmate.add_command(command)
