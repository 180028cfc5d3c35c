"""The options of the commands that run a team."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from deskmate.faces.common.command_start import amount_of

MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypass")
OUTPUTS = ("text", "json", "stream-json")
LAUNCHERS, MERGES = ("inline", "process"), ("ask", "auto", "leave")

Command = TypeVar("Command", bound=Callable[..., Any])


def options(command: Command) -> Command:
    """Add the options of everything that runs a team."""
    trust = click.option(
        "--trust",
        "trusts",
        is_flag=True,
        help="Trust the notes, settings, skills and agent files in this folder as they are now, for this run only.",
    )
    return trust(work_options(command))


def work_options(command: Command) -> Command:
    """Add the options of everything that runs teams, also later and more than one."""
    for option in (
        click.option(
            "--delegate/--no-delegate",
            default=None,
            help="Make the lead leave all work on files and commands to its teammates.",
        ),
        click.option(
            "--sandbox/--no-sandbox",
            default=None,
            help="Run commands in a sandbox limited to the workspace (default).",
        ),
        click.option(
            "--launcher",
            type=click.Choice(LAUNCHERS),
            help="Run new teammates in this process (inline), or each in its own process.",
        ),
        click.option("--merge", type=click.Choice(MERGES), help="When finished work reaches your branch and files."),
        click.option("--max-steps", type=click.IntRange(min=1), help="Stop a turn after this many steps."),
        click.option("--max-calls", type=click.IntRange(min=1), help="Allow at most this many model calls at once."),
        click.option("--max-members", type=click.IntRange(min=0), help="Allow at most this many teammates."),
        click.option(
            "--max-time",
            metavar="SECONDS",
            type=amount_of("seconds", "--max-time 600"),
            help="End the run after this time, and stop everything that is still running.",
        ),
        click.option("--max-tokens", type=click.IntRange(min=1), help="Stop when this many tokens are used."),
        click.option(
            "--max-cost",
            metavar="DOLLARS",
            type=amount_of("dollars", "--max-cost 2.50"),
            help="Stop when this much is spent.",
        ),
        click.option("--model", metavar="PROVIDER:MODEL", help="Use this model."),
    ):
        command = option(command)
    return command


def team_file_option(command: Command) -> Command:
    """Add the option for a team file."""
    return click.option(
        "--team-file",
        metavar="NAME_OR_PATH",
        help="Start the team that a file describes, such as .deskmate/teams/NAME.toml. See: deskmate teams files",
    )(command)


def mode_option(words: str) -> Callable[[Command], Command]:
    """Return the option of the permission mode. `words`: what happens to calls that need permission."""
    return click.option(
        "--permission-mode",
        type=click.Choice(MODES),
        help=f"Choose what happens to tool calls that no rule covers. {words}",
    )


def headless_options(command: Command) -> Command:
    """Add the options of a run that nobody attends."""
    output = click.option(
        "--output", type=click.Choice(OUTPUTS), default="text", show_default=True, help="The format of the output."
    )
    for option in (
        click.option(
            "--mcp-config",
            metavar="JSON_OR_FILE",
            help="Use these MCP servers too, in the format of .mcp.json. They are trusted.",
        ),
        click.option(
            "--agents",
            metavar="JSON_OR_FILE",
            help='Use these agent types too, such as \'{"reviewer": {"description": "…", "prompt": "…"}}\'.',
        ),
        click.option(
            "--json-schema",
            metavar="FILE",
            help="Demand a result that fits this JSON schema. stdout has it, or `structured_output` in the JSON.",
        ),
        click.option("-q", "--quiet", is_flag=True, help="Print only warnings and what is left on stderr."),
        click.option("--append-system-prompt", metavar="TEXT", help="Add instructions for the lead of a new team."),
        click.option(
            "--add-dir",
            metavar="FOLDER",
            multiple=True,
            help="Let commands write in this folder too. The tools for files stay in the workspace. Can be repeated.",
        ),
        click.option(
            "--network",
            metavar="HOST",
            multiple=True,
            help="Let commands reach this host, such as pypi.org or '*.example.org'. Can be repeated.",
        ),
        click.option(
            "--deny", metavar="RULE", multiple=True, help="Deny calls that this rule covers. Can be repeated."
        ),
        click.option(
            "--allow",
            metavar="RULE",
            multiple=True,
            help="Allow calls that this rule covers, such as 'bash(git diff *)'. Can be repeated.",
        ),
        click.option("--until-judge", metavar="CONDITION", help="Go on until the model judges that this is so."),
        click.option("--until", metavar="COMMAND", help="Go on until this command succeeds. It runs in the sandbox."),
    ):
        command = option(command)
    return options(mode_option("Nobody can answer, so a call that needs permission is denied.")(output(command)))
