"""/budget: limits shown and changed."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deskmate.core.team.spending import cap_in
from deskmate.errors import Refused
from deskmate.faces.common.listings import dollars

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession

# A member is parked with a text. These are what `models` says of a wrong key and of a wrong model.
_DENIED = re.compile(r" denied access \(40[13]\): ")
_UNKNOWN_MODEL = re.compile(r" was not found \(404\): ")


@dataclass(frozen=True, slots=True)
class Cap:
    """A cap that /budget sets. `field`: its name in `Caps`. `flag`: the option for it. `kind`: its number type."""

    field: str
    flag: str
    kind: type[int] | type[float]


CAPS = {
    "money": Cap("cost", "--max-cost", float),
    "tokens": Cap("tokens", "--max-tokens", int),
    "time": Cap("seconds", "--max-time", float),
    "steps": Cap("steps", "--max-steps", int),
    "members": Cap("members", "--max-members", int),
}


def budget_lines(session: "TeamSession") -> list[str]:
    """Return one line for each cap and what is used of it."""
    caps, spent = session.caps, session.spent
    here = sum(member.here for member in session.members) - 1
    return [
        f"money: {dollars(spent)} of {_amount(caps.cost, '${:.2f}')}",
        f"tokens: {spent.tokens:,} of {_amount(caps.tokens, '{:,}')}",
        f"time: {session.seconds:.0f} s of {_amount(caps.seconds, '{:g} s')}",
        f"steps: at most {caps.steps} in one turn",
        f"members: {here} of {_amount(caps.members, '{}')}",
        "To set one: /budget LIMIT NUMBER, as in /budget money 5",
    ]


def _amount(value: float | None, form: str) -> str:
    return "no limit" if value is None else form.format(value)


async def set_cap(session: "TeamSession", name: str, number: str) -> list[str]:
    """Set a cap from typed text and return the lines to show. Raises Refused for an unknown cap or a bad number."""
    cap = CAPS.get(name)
    if cap is None:
        raise Refused(f"There is no limit '{name[:80]}'", f"Limits: {', '.join(CAPS)}")
    try:
        value = cap.kind(number.lstrip("$").replace(",", ""))
    except ValueError:
        value = cap.kind(0)
    if not 0 < value < float("inf"):
        raise Refused(f"'{number[:80]}' is not a number above 0", f"Write it as in: /budget {name} 5")
    going = await session.set_cap(**{cap.field: value})
    said = f"{name}: {value:,} until you leave. To set it from the start, use {cap.flag}"
    return [said, *([f"{', '.join(going)} can continue"] if going else [])]


def parked_line(name: str, why: str) -> str:
    """Return a line about a member that a cap keeps from continuing, with the command that raises the cap."""
    return f"{name} cannot continue: {with_way_on(why, name)}"


def with_way_on(why: str, member: str) -> str:
    """Return why a member is parked, and for a cap, a key or a model, what to do about it in this conversation."""
    if _DENIED.search(why):
        return f"{why} Leave with /quit, set the key, and start again. Or: /model NAME, then /resume {member}"
    if _UNKNOWN_MODEL.search(why):
        return f"{why} To continue here: /model NAME, then /resume {member}"
    reached = cap_in(why)
    found = next((word for word, cap in CAPS.items() if cap.flag == reached), None)
    if found:
        return f"{why}. To raise it here: /budget {found} NUMBER"
    return f"{why}. To raise it, change settings.toml and start again" if reached else why


def flag_for(why: str) -> str | None:
    """Return the option that raises the cap a member is parked for, or None if it is parked for another reason."""
    reached = cap_in(why)
    return next((cap.flag for cap in CAPS.values() if cap.flag == reached), None)
