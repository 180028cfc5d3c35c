"""What parallel work can be worth, or was: rules over the board, the statuses of members and what calls cost.

The estimate of a single agent is a range with two named assumptions, because nobody ran it:

- at least: it needs no second start and no coordination, so the first call of each teammate, and all calls of the lead
  but the first and the last, are left out;
- at most: all calls of teammates are made, and each carries what earlier teammates had read, at the average price of a
  token in this team, up to the window.
"""

from collections.abc import Iterable, Mapping, Sequence

from deskmate.core.values import frozen

# More tasks are not looked at: the rule takes the time of a cube.
MOST_TASKS = 60
# About what a single agent carries before it makes room.
WINDOW = 150_000


@frozen
class WorkedTask:
    """A completed task: how long its owner had it, and what blocked it."""

    id: int
    subject: str
    owner: str
    seconds: float
    blocked_by: frozenset[int]


@frozen
class PaidCall:
    """A model call of a member: tokens of the prompt and dollars, None if the price is not known."""

    member: str
    prompt: int
    cost: float | None


@frozen
class MemberTimes:
    """How long a teammate worked, waited for something, and was idle, in seconds. `waited`: by what it waited for."""

    name: str
    worked: float
    waited: Mapping[str, float]
    idle: float


@frozen
class SoloEstimate:
    """What one agent would have cost for the same work, at least and at most, and how long it would have worked."""

    least: float
    most: float
    seconds: float


def width(blocked_by: Mapping[int, frozenset[int]]) -> int:
    """Return how many open tasks can be worked on at the same time at most. `blocked_by`: by open task."""
    ids = sorted(blocked_by)[:MOST_TASKS]
    above = {id_: _all_before(id_, blocked_by) & {*ids} for id_ in ids}
    # Tasks that need not wait for each other are as many as chains are needed to cover all tasks.
    matched: dict[int, int] = {}
    return len(ids) - sum(_match(id_, above, matched, set()) for id_ in ids)


def _all_before(id_: int, blocked_by: Mapping[int, frozenset[int]]) -> set[int]:
    found, rest = set[int](), [*blocked_by[id_]]
    while rest:
        if (one := rest.pop()) in blocked_by and one not in found:
            found.add(one)
            rest += blocked_by[one]
    return found


def _match(id_: int, above: Mapping[int, set[int]], matched: dict[int, int], tried: set[int]) -> bool:
    for other in sorted(above[id_] - tried):
        tried.add(other)
        if other not in matched or _match(matched[other], above, matched, tried):
            matched[other] = id_
            return True
    return False


def spawn_advice(blocked_by: Mapping[int, frozenset[int]], teammates: int) -> str:
    """Return what a lead should know of its board when it has just started a teammate; empty if that is nothing.

    A board with one task says nothing: a lead may start teammates for work that is on no board.
    """
    most = width(blocked_by)
    if len(blocked_by) < 2 or teammates <= most:
        return ""
    return (
        f"At most {most} of the {len(blocked_by)} open tasks can be worked on at the same time, and you have "
        f"{teammates} teammates now. More will not be faster."
    )


def critical_path(tasks: Iterable[WorkedTask]) -> list[WorkedTask]:
    """Return the chain of tasks that waited for each other and took longest in all."""
    by_id = {task.id: task for task in tasks}
    longest: dict[int, list[WorkedTask]] = {}

    def chain(id_: int, below: frozenset[int]) -> list[WorkedTask]:
        if id_ not in longest:
            before = [chain(one, below | {id_}) for one in by_id[id_].blocked_by if one in by_id and one not in below]
            longest[id_] = [*max(before, key=_seconds, default=[]), by_id[id_]]
        return longest[id_]

    return max((chain(id_, frozenset()) for id_ in sorted(by_id)), key=_seconds, default=[])


def _seconds(chain: Sequence[WorkedTask]) -> float:
    return sum(task.seconds for task in chain)


def member_times(name: str, statuses: Sequence[tuple[float, str]], end: float) -> MemberTimes:
    """Return how a member spent its time.

    `statuses`: when it was working, idle or parked, or what it waited for. The last status lasts until `end`.
    """
    spent: dict[str, float] = {}
    for (at, status), (until, _) in zip(statuses, [*statuses[1:], (end, "")], strict=True):
        spent[status] = spent.get(status, 0.0) + max(until - at, 0.0)
    worked, idle = spent.pop("working", 0.0), spent.pop("idle", 0.0)
    return MemberTimes(name, worked, {what: seconds for what, seconds in spent.items() if seconds}, idle)


def solo_estimate(calls: Sequence[PaidCall], lead: str, seconds: float) -> SoloEstimate | None:
    """Return what one agent would have cost; None without teammates or if a price is not known.

    `seconds`: how long teammates worked in all.
    """
    by_member: dict[str, list[PaidCall]] = {}
    for call in calls:
        by_member.setdefault(call.member, []).append(call)
    own = by_member.pop(lead, [])
    if not by_member or any(call.cost is None for call in calls):
        return None
    ends = _cost(own) if len(own) < 2 else _cost([own[0], own[-1]])
    tokens, paid = sum(call.prompt for call in calls), _cost(calls)
    carried, extra = 0, 0
    for mine in by_member.values():
        extra += len(mine) * min(carried, WINDOW)
        carried += mine[-1].prompt
    least = ends + sum(_cost(mine[1:]) for mine in by_member.values())
    most = ends + sum(map(_cost, by_member.values())) + (extra * paid / tokens if tokens else 0.0)
    return SoloEstimate(least, most, seconds)


def _cost(calls: Iterable[PaidCall]) -> float:
    return sum(call.cost or 0.0 for call in calls)
