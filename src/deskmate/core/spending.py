"""Spending: what the model calls of a team came to, and the caps on it.

One record per model call in the stream `spend`. The caps are checked before each call, by the fold of all that every
process has spent; `runtime.purse` above appends and reads.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from deskmate.core.facts import Fact, Foreign, reader
from deskmate.core.prompts import Reply, Usage
from deskmate.core.records import Item, Json, Record


class Spent(Fact):
    """One model call was paid for. `cost`: in US dollars, none where the price is not known."""

    type: Literal["spent"] = "spent"
    member: str
    model: str
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float | None = None
    at: float

    @classmethod
    def of(cls, member: str, reply: Reply, at: float) -> "Spent":
        """Return what a reply came to."""
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
        )


KINDS: tuple[type[Spent], ...] = (Spent,)
read_spent: Callable[[Json], Spent | Foreign] = reader(*KINDS)


@dataclass(frozen=True, slots=True)
class Sum:
    """What some calls came to. `unpriced`: calls whose price is not known, so that `cost` is a part only."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    unpriced: int = 0

    def plus(self, spent: Spent) -> "Sum":
        """Return the sum with one call more."""
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

    def minus(self, before: "Sum") -> "Sum":
        """Return what came on top of an earlier sum."""
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


@dataclass(frozen=True, slots=True)
class Spending:
    """The fold of the stream: what the team spent, and each of its members."""

    team: Sum = field(default_factory=Sum)
    members: Mapping[str, Sum] = field(default_factory=dict)
    number: int = 0


EMPTY = Spending()


def fold(spending: Spending, items: Iterable[Item]) -> Spending:
    """Return what was spent after these items. What cannot be read counts nothing."""
    for item in items:
        spending = replace(spending, number=item.number)
        spent = read_spent(item.body) if isinstance(item, Record) else None
        if isinstance(spent, Spent):
            own = spending.members.get(spent.member, Sum()).plus(spent)
            spending = replace(
                spending, team=spending.team.plus(spent), members={**spending.members, spent.member: own}
            )
    return spending


@dataclass(frozen=True, slots=True)
class Caps:
    """Limits: dollars of the whole team, steps of one turn. None: no limit. `str` tells two sets of caps apart."""

    cost: float | None = None
    steps: int = 200

    def __str__(self) -> str:
        return f"cost {self.cost}, steps {self.steps}"


def over(caps: Caps, spending: Spending, steps: int) -> str | None:
    """Return which cap is reached, in words, or nothing."""
    if caps.cost is not None and spending.team.cost >= caps.cost:
        spent = f"{_dollars(spending.team.cost)} of {_dollars(caps.cost)}"
        return f"budget: {spent} is spent; raise --max-cost"
    if steps >= caps.steps:
        return f"budget: {steps} {'step' if steps == 1 else 'steps'} in one turn, and --max-steps allows no more"
    return None


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.01 else f"${amount:.6f}"
