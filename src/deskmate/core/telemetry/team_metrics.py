"""What a team used and how it is, as metrics.

The values are sums over the whole logs, so they are right after any restart: nothing is counted twice or forgotten.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace

from deskmate.core.log.names import BOARD, ROSTER, SPEND
from deskmate.core.log.records import Item, Record
from deskmate.core.team import board_fold, members, roster_fold, tasks
from deskmate.core.team.members import RosterState
from deskmate.core.team.messages import envelope_in
from deskmate.core.team.spending import Spent, read_spent
from deskmate.core.team.status import status_word
from deskmate.core.team.tasks import BoardState, TaskStatus
from deskmate.core.telemetry import conventions as names
from deskmate.core.telemetry.conventions import MetricDefinition
from deskmate.core.telemetry.span_values import Attributes, TeamIdentity
from deskmate.core.telemetry.usage_facts import model_attributes
from deskmate.core.values import frozen


@frozen
class Distribution:
    """Values in buckets. `counts` has one more than the bounds: what is above the last one."""

    counts: tuple[int, ...]
    total: float = 0.0
    least: float = 0.0
    most: float = 0.0

    @property
    def count(self) -> int:
        """How many values there are."""
        return sum(self.counts)

    def plus(self, value: float, bounds: tuple[float, ...]) -> "Distribution":
        """Return the distribution with one more value."""
        at, first = bisect_left(bounds, value), not self.count
        return Distribution(
            counts=(*self.counts[:at], self.counts[at] + 1, *self.counts[at + 1 :]),
            total=self.total + value,
            least=value if first else min(self.least, value),
            most=value if first else max(self.most, value),
        )


_NO_TOKENS = Distribution((0,) * (len(names.TOKEN_USAGE.bounds) + 1))
_NO_SECONDS = Distribution((0,) * (len(names.OPERATION_DURATION.bounds) + 1))


@frozen
class ModelSums:
    """What one member used of one model. `priced`: whether any call had a price."""

    prompt: Distribution = _NO_TOKENS
    answer: Distribution = _NO_TOKENS
    seconds: Distribution = _NO_SECONDS
    cost: float = 0.0
    priced: bool = False

    def plus(self, spent: Spent) -> "ModelSums":
        """Return the sums with one more call."""
        bounds = names.TOKEN_USAGE.bounds
        timed = spent.seconds is not None
        return ModelSums(
            prompt=self.prompt.plus(spent.input + spent.cache_read + spent.cache_write, bounds),
            answer=self.answer.plus(spent.output, bounds),
            seconds=self.seconds.plus(spent.seconds or 0.0, names.OPERATION_DURATION.bounds) if timed else self.seconds,
            cost=self.cost + (spent.cost or 0.0),
            priced=self.priced or spent.cost is not None,
        )


@frozen
class MetricPoint:
    """One value of a metric."""

    attributes: Attributes
    value: float | Distribution


@frozen
class Measured:
    """All values of a metric."""

    definition: MetricDefinition
    points: tuple[MetricPoint, ...]


@frozen
class TeamCounts:
    """What was counted so far. `models`: by member and model. `letters`: messages by kind. `boxes`: numbers by mailbox.

    `spend`: the number of the last record of what was spent.
    """

    roster: RosterState = members.EMPTY
    board: BoardState = tasks.EMPTY
    models: Mapping[tuple[str, str], ModelSums] = field(default_factory=dict)
    letters: Mapping[str, int] = field(default_factory=dict)
    boxes: Mapping[str, int] = field(default_factory=dict)
    spend: int = 0


def count(counts: TeamCounts, stream: str, items: Iterable[Item], identity: TeamIdentity) -> TeamCounts:
    """Return what was counted after these items of a stream."""
    if stream == ROSTER:
        return replace(counts, roster=roster_fold.fold(counts.roster, items))
    if stream == BOARD:
        return replace(counts, board=board_fold.fold(counts.board, items))
    if stream == SPEND:
        return _count_spent(counts, items)
    return _count_mail(counts, stream, items, identity)


def _count_spent(counts: TeamCounts, items: Iterable[Item]) -> TeamCounts:
    models, number = dict(counts.models), counts.spend
    for item in items:
        number = item.number
        spent = read_spent(item.body) if isinstance(item, Record) else None
        if isinstance(spent, Spent):
            # A subagent counts towards the member that started it, as in `deskmate cost`.
            key = spent.member.partition(":")[0], spent.model
            models[key] = models.get(key, ModelSums()).plus(spent)
    return replace(counts, models=models, spend=number)


def _count_mail(counts: TeamCounts, stream: str, items: Iterable[Item], identity: TeamIdentity) -> TeamCounts:
    letters, number = Counter(counts.letters), counts.boxes.get(stream, 0)
    for item in items:
        number = item.number
        envelope = envelope_in(item)
        # A fork has copies of older mail.
        if envelope is not None and envelope.timestamp >= identity.founded:
            letters[envelope.message.type] += 1
    return replace(counts, letters=dict(letters), boxes={**counts.boxes, stream: number})


def metrics_of(counts: TeamCounts, identity: TeamIdentity) -> tuple[Measured, ...]:
    """Return the metrics of a team."""
    team = {names.TEAM: identity.team}
    statuses: Counter[str] = Counter(status_word(member.status) for member in counts.roster.members.values())
    on_board = Counter(task.status for task in counts.board.current)
    return (
        Measured(names.TOKEN_USAGE, tuple(_token_points(counts, team))),
        Measured(names.OPERATION_DURATION, _model_points(counts, team, lambda sums: sums.seconds)),
        Measured(names.MODEL_COST, _model_points(counts, team, lambda sums: sums.cost if sums.priced else None)),
        Measured(names.TEAM_TASKS, _points(team, names.TASK_STATUS, {one: on_board[one] for one in _SHOWN})),
        Measured(names.TEAM_MEMBERS, _points(team, names.MEMBER_STATUS, statuses)),
        Measured(names.TEAM_MESSAGES, _points(team, names.MESSAGE_TYPE, counts.letters)),
    )


_SHOWN = (TaskStatus.PENDING, TaskStatus.IN_PROGRESS, TaskStatus.COMPLETED)


def _points(team: Attributes, name: str, values: Mapping[str, int]) -> tuple[MetricPoint, ...]:
    return tuple(MetricPoint({**team, name: str(word)}, float(value)) for word, value in sorted(values.items()))


def _token_points(counts: TeamCounts, team: Attributes) -> list[MetricPoint]:
    found = []
    for (member, model), sums in sorted(counts.models.items()):
        attributes = _of_model(member, model, team)
        found.append(MetricPoint({**attributes, names.TOKEN_TYPE: "input"}, sums.prompt))
        found.append(MetricPoint({**attributes, names.TOKEN_TYPE: "output"}, sums.answer))
    return found


def _model_points(
    counts: TeamCounts, team: Attributes, value_of: Callable[[ModelSums], float | Distribution | None]
) -> tuple[MetricPoint, ...]:
    values = ((key, value_of(sums)) for key, sums in sorted(counts.models.items()))
    return tuple(
        MetricPoint(_of_model(*key, team), value)
        for key, value in values
        if value is not None and not (isinstance(value, Distribution) and not value.count)
    )


def _of_model(member: str, model: str, team: Attributes) -> Attributes:
    return {names.OPERATION: "chat", names.AGENT_NAME: member, **model_attributes(model), **team}
