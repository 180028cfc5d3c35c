"""schedule and daemon, with their help. Docstrings of commands are their help."""

import click

from deskmate.faces.cli import shell_completion
from deskmate.faces.cli.run_options import mode_option, work_options
from deskmate.faces.common.command_start import SuggestingGroup, bounded, from_stdin, importing

_ADD_EPILOG = """
\b
Examples:
  deskmate schedule add 10m "Is the build green? If not, say what broke."
  deskmate schedule add "0 9 * * 1-5" "Sum up what changed since yesterday." --zone Europe/Berlin
  deskmate schedule add "0 3 * * 0" "Update the dependencies and run the tests." --task "Weekly update"
  deskmate schedule add 2h "Remind me of the release." --once
"""
_DAEMON_EPILOG = """
\b
Examples:
  deskmate daemon
  deskmate -C ~/project daemon --permission-mode dontAsk --max-cost 2
"""

_team_option = click.option(
    "--team",
    metavar="NAME",
    shell_complete=shell_completion.teams,
    help="The team. Default: the most recently used one.",
)


class ScheduleGroup(SuggestingGroup):
    """The commands for schedules."""

    advice = 'To create one: deskmate schedule add 10m "TEXT"'


@click.group(cls=ScheduleGroup)
def schedule() -> None:
    """Let a team do something at certain times.

    Schedules are followed while the team runs, or while a daemon does: deskmate daemon
    """


@schedule.command(epilog=_ADD_EPILOG)
@click.argument("when")
@click.argument("text")
@click.option("--task", "subject", metavar="SUBJECT", help="Create a task with this subject, and TEXT as description.")
@click.option("--zone", metavar="NAME", help="The time zone of the cron line. Default: that of this machine.")
@click.option("--once", is_flag=True, help="Do it only the next time.")
@click.option(
    "--skip-missed", is_flag=True, help="Skip times at which nobody ran. Default: do it once, as soon as possible."
)
@_team_option
@click.pass_context
def add(
    ctx: click.Context,
    /,
    when: str,
    text: str,
    subject: str | None,
    zone: str | None,
    once: bool,
    skip_missed: bool,
    team: str | None,
) -> int:
    """Send TEXT to the lead again and again, or create a task. With -, TEXT is read from stdin.

    WHEN is an interval such as 90s, 10m, 2h or 1d, or a cron line in quotes: minute, hour, day, month and weekday.
    """
    words = from_stdin() if text == "-" else text
    if not words or not words.strip():
        raise click.UsageError('The text is empty. Write one, as in: deskmate schedule add 10m "TEXT"', ctx)
    with importing():
        from deskmate.core.schedule.when_text import new_schedule
        from deskmate.faces.cli.clock import clock_output

    new = new_schedule(
        when,
        bounded(words),
        zone=zone or "",
        repeats=not once,
        subject=subject or "",
        missed="skip" if skip_missed else "once",
    )
    return clock_output.add(ctx.meta["workspace"], team, new)


@schedule.command("list")
@click.argument("team", required=False, shell_complete=shell_completion.teams)
@click.option("--all", "all_", is_flag=True, help="Also show schedules that are over.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
@click.pass_context
def list_(ctx: click.Context, /, team: str | None, all_: bool, as_json: bool) -> int:
    """Show the schedules of a TEAM: when they are due next, how often they were, and what was missed.

    TEAM defaults to the most recently used team.
    """
    with importing():
        from deskmate.faces.cli.clock import clock_output

    return clock_output.listing(ctx.meta["workspace"], team, all_=all_, as_json=as_json)


@schedule.command()
@click.argument("number", type=click.IntRange(min=1))
@_team_option
@click.pass_context
def rm(ctx: click.Context, /, number: int, team: str | None) -> int:
    """Delete the schedule NUMBER."""
    with importing():
        from deskmate.faces.cli.clock import clock_output

    return clock_output.remove(ctx.meta["workspace"], team, number)


@click.command(epilog=_DAEMON_EPILOG)
@mode_option("Questions wait for your answer: deskmate answer")
@work_options
@click.pass_context
def daemon(ctx: click.Context, /, **flags: object) -> int:
    """Start the teams of this workspace when their schedules are due, until Ctrl-C.

    Each team runs in a process of its own, which ends when there is nothing left to do. It goes on if the daemon stops.
    Several daemons do nothing twice. Only teams that you started are followed, with the files that you trust. The
    options apply to every team that the daemon starts.
    """
    with importing():
        from deskmate.faces.cli.clock import clock_output

    return clock_output.follow(ctx.meta["workspace"], flags)


CLOCK_COMMANDS = (schedule, daemon)
