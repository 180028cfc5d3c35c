"""What model calls cost, and the limits on it.

The stream `spend` has one record per model call. The caps are checked before each call, against the fold of what all
processes have spent.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Annotated, Literal

from pydantic import Field

from deskmate.core.log.facts import Fact, Foreign, reader
from deskmate.core.log.names import LEAD
from deskmate.core.log.records import Item, Json, Record
from deskmate.core.prompt.prompts import Reply, Usage
from deskmate.core.team.caps import Caps, Cost, Count
from deskmate.core.values import frozen


class Spent(Fact):
    """One model call was paid for. `cost`: in US dollars, None if the price is not known.

    `seconds`: how long it took, with retries, None if that is not known.
    """

    type: Literal["spent"] = "spent"
    member: str
    model: str
    input: Count = 0
    output: Count = 0
    cache_read: Count = 0
    cache_write: Count = 0
    cost: Cost | None = None
    at: float
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None

    @classmethod
    def of(cls, member: str, reply: Reply, at: float) -> "Spent":
        """Return what a reply cost."""
        used = reply.usage
        return cls(
            member=member,
            model=reply.model,
            input=used.input,
            output=used.output,
            cache_read=used.cache_read,
            cache_write=used.cache_write,
            cost=reply.cost,
            at=at,
            seconds=reply.seconds,
        )


# Every text about a reached cap begins with this, and ends with the name of the cap.
_OVER = "budget: "
_NAMED = re.compile(rf"{_OVER}.* \((--max-[a-z]+|max_[a-z_]+)\)", re.DOTALL)
KINDS: tuple[type[Spent], ...] = (Spent,)
read_spent: Callable[[Json], Spent | Foreign] = reader(*KINDS)


@frozen
class Sum:
    """The total of some calls. `unpriced`: calls whose price is not known, so that `cost` is incomplete."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """All tokens, in and out, cached or not."""
        return self.usage.prompt + self.usage.output

    def plus(self, spent: Spent) -> "Sum":
        """Return the sum with one more call."""
        used = self.usage
        return Sum(
            calls=self.calls + 1,
            usage=Usage(
                used.input + spent.input,
                used.output + spent.output,
                used.cache_read + spent.cache_read,
                used.cache_write + spent.cache_write,
            ),
            cost=self.cost + (spent.cost or 0.0),
            unpriced=self.unpriced + (spent.cost is None),
        )

    def added(self, other: "Sum") -> "Sum":
        """Return the total of both sums."""
        return self.minus(Sum().minus(other))

    def minus(self, before: "Sum") -> "Sum":
        """Return what was added since an earlier sum."""
        now, then = self.usage, before.usage
        return Sum(
            calls=self.calls - before.calls,
            usage=Usage(
                now.input - then.input,
                now.output - then.output,
                now.cache_read - then.cache_read,
                now.cache_write - then.cache_write,
            ),
            cost=self.cost - before.cost,
            unpriced=self.unpriced - before.unpriced,
        )


@frozen
class Spending:
    """The fold of the stream: what the team spent, and each of its members."""

    team: Sum = field(default_factory=Sum)
    members: Mapping[str, Sum] = field(default_factory=dict)
    number: int = 0

    def of(self, member: str) -> Sum:
        """Return what a member and its subagents spent."""
        total = Sum()
        for name, one in self.members.items():
            total = total.added(one) if name.partition(":")[0] == member else total
        return total


EMPTY = Spending()


def fold(spending: Spending, items: Iterable[Item]) -> Spending:
    """Return what was spent after these items. Unreadable items count nothing."""
    team, members, number = spending.team, dict(spending.members), spending.number
    for item in items:
        number = item.number
        spent = read_spent(item.body) if isinstance(item, Record) else None
        if isinstance(spent, Spent):
            team = team.plus(spent)
            members[spent.member] = members.get(spent.member, Sum()).plus(spent)
    return Spending(team, members, number)


def together(spending: Spending, elsewhere: Spending) -> Spending:
    """Return the spending of a team plus that of its lead's other teams. Only the lead is the same member in both."""
    if not elsewhere.team.calls:
        return spending
    members = dict(spending.members)
    for name, total in elsewhere.members.items():
        if name.partition(":")[0] == LEAD:
            members[name] = members.get(name, Sum()).added(total)
    return replace(spending, team=spending.team.added(elsewhere.team), members=members)


def over(caps: Caps, spending: Spending, member: str, steps: int, seconds: float) -> str | None:
    """Return which cap a member has reached, this many steps into its turn; None if none.

    How to raise it depends on the face, so faces add that. A subagent's name is the id of a call, and it counts towards
    the member that made the call. `seconds`: how long this process has run.
    """
    return next((f"{_OVER}{reached}" for reached in _reached(caps, spending, member, steps, seconds)), None)


def is_over(reason: str) -> bool:
    """Return whether a member is parked for a cap. Its record has the reason of `over`, and only as text."""
    return reason.startswith(_OVER)


def cap_in(reason: str) -> str | None:
    """Return the cap that a reason of `over` names, as `--max-cost` or `max_member_cost`, or None for any other."""
    named = _NAMED.fullmatch(reason)
    return named[1] if named else None


def _reached(caps: Caps, spending: Spending, member: str, steps: int, seconds: float) -> Iterator[str]:
    team = spending.team
    if caps.cost is not None and team.cost >= caps.cost:
        yield f"{_dollars(team.cost)} of {_dollars(caps.cost)} is spent (--max-cost)"
    if caps.tokens is not None and team.tokens >= caps.tokens:
        yield f"{team.tokens:,} of {caps.tokens:,} tokens are used (--max-tokens)"
    if caps.seconds is not None and seconds >= caps.seconds:
        yield f"the time limit of {caps.seconds:g} s is reached (--max-time)"
    if caps.member_cost is not None or caps.member_tokens is not None:
        yield from _reached_alone(caps, spending, member.partition(":")[0])
    if steps >= caps.steps:
        yield f"{steps} {'step' if steps == 1 else 'steps'} in one turn (--max-steps)"


def _reached_alone(caps: Caps, spending: Spending, member: str) -> Iterator[str]:
    own = spending.of(member)
    cost, tokens = own.cost, own.tokens
    if caps.member_cost is not None and cost >= caps.member_cost:
        spent = f"'{member}' has spent {_dollars(cost)} of its {_dollars(caps.member_cost)}"
        yield f"{spent} (max_member_cost)"
    if caps.member_tokens is not None and tokens >= caps.member_tokens:
        used = f"'{member}' has used {tokens:,} of its {caps.member_tokens:,} tokens"
        yield f"{used} (max_member_tokens)"


def crowded(caps: Caps, teammates: int) -> str | None:
    """Return why nobody may join this many teammates that have not left, in words for the asker; None if they may."""
    if caps.members is None or teammates < caps.members:
        return None
    if not teammates:
        return "budget: --max-members allows no teammates. Do the work yourself, or use subagents."
    here = f"{teammates} {'teammate is' if teammates == 1 else 'teammates are'} here"
    return (
        f"budget: {here}, and --max-members allows no more. "
        "Give the work to somebody on the team, or shut down a teammate whose work is done."
    )


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.01 else f"${amount:.6f}"
