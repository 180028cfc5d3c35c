"""/loop: what the lead is told again and again, shown, added and deleted."""

from typing import TYPE_CHECKING

from deskmate.errors import BadInput, Refused
from deskmate.faces.common.terminal_text import one_line

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession

_CRON_FIELDS = 5


async def loop_lines(session: "TeamSession", rest: str) -> list[str]:
    """Carry out /loop and return the lines to show. Raises Refused or BadInput."""
    # Imported here because loading it would slow down every start.
    from deskmate.app.clock import schedule_actions
    from deskmate.core.schedule.when_text import new_schedule

    place, team = session.workspace, session.home
    if not rest:
        seen = await schedule_actions.look_at_schedules(place, team, all_=False)
        how = "Nothing is repeated. To repeat something: /loop 10m WORDS"
        return [one_line(one.line) for one in seen.schedules] or [how]
    word, _, after = rest.partition(" ")
    if word == "off":
        if not after.strip().isdecimal():
            raise Refused("Usage: /loop off N", "N is the number of the schedule. To see them: /loop")
        (one,) = (await schedule_actions.remove_schedule(place, team, int(after))).schedules
        return [f"deleted: {one_line(one.line)}"]
    when, words = _parted(rest)
    (one,) = (await schedule_actions.add_schedule(place, team, new_schedule(when, words))).schedules
    return [f"added: {one_line(one.line)}", f"To end it: /loop off {one.schedule.id}"]


def _parted(text: str) -> tuple[str, str]:
    """Return an interval or a cron line, and the words after it. Raises BadInput."""
    from deskmate.core.schedule.when_text import is_interval

    count = 1 if is_interval(text.split(None, 1)[0]) else _CRON_FIELDS
    parts = text.split(None, count)
    if len(parts) <= count:
        raise BadInput(
            "Usage: /loop INTERVAL WORDS, or a cron line of five fields instead of the interval",
            "For example: /loop 10m Is the build green?",
        )
    return " ".join(parts[:count]), parts[count]
