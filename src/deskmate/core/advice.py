"""What parallel work can be worth, or was: rules over the board, the statuses of members and what calls cost.

The estimate of a single agent is a range with two named assumptions, because nobody ran it:

- at least: it needs no second start and no coordination, so the first call of each teammate, and all calls of the lead
  but the first and the last, are left out;
- at most: all calls of teammates are made, and each carries what earlier teammates had read, at the average price of a
  token in this team, up to the window.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from deskmate.core.values import frozen

# More tasks are not looked at: the rule takes the time of a cube.
MOST_TASKS = 60
# About what a single agent carries before it makes room.
WINDOW = 150_000
_MOST_MEETINGS = 2
# Of a task, the rest is not looked at.
_READ, _LONGEST = 10_000, 120
_WORDS, _QUOTES = re.compile(r"[\s,;()\[\]{}<>|]+"), "`'\"*"
_ENDS = "c|cc|cpp|cs|css|go|h|html|java|js|json|jsx|kt|md|php|py|rb|rs|scss|sh|sql|swift|toml|ts|tsx|txt|vue|yaml|yml"
_FILE = re.compile(rf"[\w.-]+(?:/[\w.-]+)*/[\w-]+\.\w{{1,8}}|[\w-]+\.(?:{_ENDS})")
# Names such as Node.js are no files.
_PRODUCT = re.compile(r"[A-Z][A-Za-z]*\.(?:js|py|sh)")


@frozen
class PlannedTask:
    """An open task: its text, and what blocks it."""

    id: int
    text: str
    blocked_by: frozenset[int]


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


def board_advice(
    tasks: Sequence[PlannedTask], teammates: int, paid: Sequence[float | None] = (), *, delegating: bool = False
) -> str:
    """Return what the open tasks of a board say about parallel work, for a lead that plans it; empty if nothing.

    `teammates`: how many there are. `paid`: what each of them has cost for each task that it completed, None if a price
    is not known. `delegating`: the lead leaves files and commands to them.
    """
    blocked_by = {task.id: task.blocked_by for task in tasks}
    most = width(blocked_by)
    if len(tasks) < 2 or 0 < teammates >= most:
        return ""
    if most == 1:
        enough = "One teammate is enough." if delegating else "Do them yourself."
        return f"The {len(tasks)} open tasks wait for each other, so several agents would not be faster. {enough}"
    have = f", and you have {teammates} teammate{'' if teammates == 1 else 's'}" if teammates else ""
    share = f"All {most}" if most == len(tasks) else f"At most {most} of the {len(tasks)}"
    words = [f"{share} open tasks can be worked on at the same time{have}."]
    for one, other, file in _meetings(tasks)[:_MOST_MEETINGS]:
        words.append(f"#{one} and #{other} both name {file}: let one wait for the other.")
    known = [dollars for dollars in paid if dollars is not None]
    if known and len(known) == len(paid):
        each = sum(known) / len(known)
        words.append(f"So far a teammate has cost ${each:.2f} for each task that it completed.")
    return " ".join(words)


def _meetings(tasks: Sequence[PlannedTask]) -> list[tuple[int, int, str]]:
    """Return pairs of tasks that can be worked on at the same time and name the same file."""
    tasks = sorted(tasks, key=lambda task: task.id)[:MOST_TASKS]
    blocked_by = {task.id: task.blocked_by for task in tasks}
    before = {task.id: _all_before(task.id, blocked_by) for task in tasks}
    files = {task.id: named_files(task.text) for task in tasks}
    return [
        (one.id, other.id, min(shared))
        for one, other in combinations(tasks, 2)
        if one.id not in before[other.id]
        and other.id not in before[one.id]
        and (shared := files[one.id] & files[other.id])
    ]


def named_files(text: str) -> frozenset[str]:
    """Return the files that a text names: paths with a folder, and names with the usual ends of source files."""
    words = (
        word.lstrip(_QUOTES).rstrip(f"{_QUOTES}.:!?").removeprefix("./")
        for word in _WORDS.split(text[:_READ])
        if "://" not in word
    )
    named = (word for word in words if len(word) <= _LONGEST and not _PRODUCT.fullmatch(word))
    return frozenset(word for word in named if _FILE.fullmatch(word))


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
