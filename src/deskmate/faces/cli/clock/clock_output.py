"""What schedule and daemon print."""

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from deskmate import app
from deskmate.app.clock import schedule_actions
from deskmate.app.clock.schedule_actions import SeenSchedule, SeenSchedules
from deskmate.app.clock.team_daemon import TeamDaemon
from deskmate.app.detached.lead_process import LeadOrder, start
from deskmate.app.user_actions import signing
from deskmate.core.schedule.schedules import NewSchedule
from deskmate.faces.cli.output import json_output
from deskmate.faces.common.error_log import error_text, logging_to
from deskmate.faces.common.stop_signals import StopSignals
from deskmate.faces.common.terminal_text import one_line
from deskmate.faces.common.text_tables import note, put
from deskmate.queries.stream_reader import workspace_at


def add(folder: Path | None, team: str | None, new: NewSchedule) -> int:
    """Create a schedule, and print it."""
    return _put("added", _wait_for(partial(schedule_actions.add_schedule, folder, team, new)), advises=True)


def remove(folder: Path | None, team: str | None, number: int) -> int:
    """Delete a schedule, and print it."""
    return _put("deleted", _wait_for(partial(schedule_actions.remove_schedule, folder, team, number)))


def listing(folder: Path | None, team: str | None, *, all_: bool, as_json: bool) -> int:
    """Print the schedules of a team."""
    seen = _wait_for(partial(schedule_actions.look_at_schedules, folder, team, all_=all_))
    if as_json:
        found = list(map(_fields, seen.schedules))
        return put([json_output.line({"team": seen.team, "live": seen.live, "schedules": found})])
    lines = [one_line(one.line) for one in seen.schedules] or [f"team {seen.team} has no schedules"]
    return put([*lines, *_advice(seen)])


def _put(word: str, seen: SeenSchedules, *, advises: bool = False) -> int:
    (one,) = seen.schedules
    return put([f"{word}: {one_line(one.line)}", *(_advice(seen) if advises else [])])


def _advice(seen: SeenSchedules) -> list[str]:
    if seen.live or not any(one.next_due for one in seen.schedules):
        return []
    return [f"Team {seen.team} is not running. To follow its schedules, keep this running: deskmate daemon"]


def _fields(seen: SeenSchedule) -> json_output.Fields:
    one, created = seen.schedule, seen.schedule.created
    return {
        "id": one.id,
        "by": created.by,
        "cron": created.cron,
        "every": created.every,
        "zone": created.zone,
        "repeats": created.repeats,
        "content": created.content,
        "task": created.subject,
        "if_missed": created.missed,
        "next": seen.next_due,
        "times": one.times,
        "missed": one.skipped,
        "flaw": one.last.flaw if one.last else None,
    }


def _wait_for(deed: Callable[[], Coroutine[Any, Any, SeenSchedules]]) -> SeenSchedules:
    with logging_to(note):
        return anyio.run(deed)


def follow(folder: Path | None, flags: Mapping[str, object]) -> int:
    """Start teams when they have something to do, until told to stop. Return the exit code. Raises DeskmateError."""
    place = workspace_at(folder)
    given = {name: value for name, value in flags.items() if value is not None}
    settings = app.load(app.environment(), given)
    # Settings that cannot be used are told now, not when a team is due.
    app.choose_model(settings)
    for warning in settings.warnings:
        note(error_text(warning, before="deskmate: warning: "))

    async def begin(team: str) -> None:
        await start(place, LeadOrder(team=team, continues=True, by_clock=True, settings=given))

    daemon = TeamDaemon(place, signing(place).signed, begin, lambda line: note(f"deskmate: {line}"))
    note(f"deskmate: following the schedules of the teams in {place}. To stop, press Ctrl-C")
    stop_signals = StopSignals(lambda words: None)
    with stop_signals.signals(), logging_to(note):
        anyio.run(_keep, daemon, stop_signals)
    return 0


async def _keep(daemon: TeamDaemon, stop_signals: StopSignals) -> None:
    with anyio.CancelScope() as scope, stop_signals.stops(scope):
        await daemon.keep()
