"""What advise prints."""

from pathlib import Path

from deskmate.core.advice import MemberTimes
from deskmate.faces.cli.output import json_output
from deskmate.faces.common.terminal_text import one_line
from deskmate.faces.common.text_tables import put
from deskmate.queries.team_advice import TeamAdvice, look_at_advice

_ASSUMES = (
    "At least: no second start and no coordination. At most: each call also carries what earlier teammates had read, "
    "at this team's average price of a token."
)


def advise(folder: Path | None, team: str | None, *, as_json: bool) -> int:
    """Print what a team shows about parallel work."""
    seen = look_at_advice(folder, team)
    return put([json_output.line(_fields(seen))] if as_json else _lines(seen), seen.damage)


def _lines(seen: TeamAdvice) -> list[str]:
    cost = "cost unknown" if seen.cost is None else f"${seen.cost:.4f}"
    count = len(seen.members)
    mates = f"{count} teammate{'' if count == 1 else 's'}"
    lines = [f"team {seen.team}: {mates}, {seen.done} done, {_time(seen.seconds)}, {cost}"]
    if seen.path:
        chain = " > ".join(f"#{task.id} {one_line(task.subject)[:40]} ({_time(task.seconds)})" for task in seen.path)
        lines.append(f"critical path, {_time(sum(task.seconds for task in seen.path))}: {chain}")
    lines += [f"{one.name}: {_spent(one)}" for one in seen.members]
    if seen.solo is None:
        return [*lines, "No estimate for one agent: there were no teammates, or a price is not known."]
    solo = seen.solo
    return [
        *lines,
        f"one agent, estimated: ${solo.least:.4f} to ${solo.most:.4f}, about {_time(solo.seconds)} of work",
        _ASSUMES,
    ]


def _spent(times: MemberTimes) -> str:
    waits = [f"waited {_time(seconds)} for {what}" for what, seconds in times.waited.items() if what != "parked"]
    parked = [f"parked {_time(times.waited['parked'])}"] if "parked" in times.waited else []
    return ", ".join([f"worked {_time(times.worked)}", *waits, *parked, f"idle {_time(times.idle)}"])


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m {rest:02d}s" if minutes else f"{rest}s"


def _fields(seen: TeamAdvice) -> json_output.Fields:
    solo = seen.solo
    return {
        "team": seen.team,
        "done": seen.done,
        "seconds": round(seen.seconds, 3),
        "cost_usd": seen.cost,
        "critical_path": [
            {"id": one.id, "subject": one.subject, "seconds": round(one.seconds, 3)} for one in seen.path
        ],
        "members": [
            {"name": one.name, "worked": one.worked, "idle": one.idle, "waited": dict(one.waited)}
            for one in seen.members
        ],
        "one_agent": None
        if solo is None
        else {"least_usd": solo.least, "most_usd": solo.most, "seconds": solo.seconds, "assumes": _ASSUMES},
        "damage": list(seen.damage),
    }
