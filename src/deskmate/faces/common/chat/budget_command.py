"""/budget: limits shown and changed."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deskmate import Refused
from deskmate.faces.common.listings import dollars

if TYPE_CHECKING:
    from deskmate.app.session import Session


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


def budget_lines(session: "Session") -> list[str]:
    """Return one line for each cap and what is used of it."""
    caps, spent = session.caps, session.spent
    here = sum(member.word != "left" for member in session.members) - 1
    return [
        f"money: {dollars(spent)} of {_amount(caps.cost, '${:.2f}')}",
        f"tokens: {spent.tokens:,} of {_amount(caps.tokens, '{:,}')}",
        f"time: {session.seconds:.0f} s of {_amount(caps.seconds, '{:g} s')}",
        f"steps: at most {caps.steps} in one turn",
        f"members: {here} of {_amount(caps.members, '{}')}",
        "set one with: /budget NAME NUMBER, as in /budget money 5",
    ]


def _amount(value: float | None, form: str) -> str:
    return "no limit" if value is None else form.format(value)


async def set_cap(session: "Session", name: str, number: str) -> list[str]:
    """Set a cap from typed text and return the lines to show. Raises Refused for an unknown cap or a bad number."""
    cap = CAPS.get(name)
    if cap is None:
        raise Refused(f"there is no cap '{name[:80]}'; caps: {', '.join(CAPS)}")
    try:
        value = cap.kind(number.lstrip("$").replace(",", ""))
    except ValueError:
        value = cap.kind(0)
    if not 0 < value < float("inf"):
        raise Refused(f"'{number[:80]}' is no number above 0; as in: /budget {name} 5")
    going = await session.set_cap(**{cap.field: value})
    said = f"{name}: {value:,} from now on, until you leave; {cap.flag} sets it at the next start"
    return [said, *([f"{', '.join(going)} can go on"] if going else [])]


def parked_line(name: str, why: str) -> str:
    """Return a line about a member that a cap keeps from going on, with the command that raises the cap."""
    return f"{name} cannot go on: {with_way_on(why)}"


def with_way_on(why: str) -> str:
    """Return why a member is parked. If a cap is the reason, add how to raise it in this conversation."""
    found = next((word for word, cap in CAPS.items() if cap.flag == _cap_in(why)), None)
    if found:
        return f"{why}. To raise it here: /budget {found} NUMBER"
    return f"{why}. To raise it, change settings.toml and start again" if _cap_in(why) else why


def flag_in(why: str) -> str | None:
    """Return the option that raises the cap a member is parked for, or None if it is parked for another reason."""
    return next((cap.flag for cap in CAPS.values() if cap.flag == _cap_in(why)), None)


def _cap_in(why: str) -> str | None:
    """Return the cap named at the end of a reason, as in `budget: 3 steps in one turn (--max-steps)`."""
    named = re.fullmatch(r"budget: .* \((--max-[a-z]+|max_[a-z_]+)\)", why)
    return named[1] if named else None
