"""Work that was merged into the branch of the team or returned to its owner, from the board."""

from collections.abc import Mapping
from dataclasses import field, replace

from deskmate.core.log.names import BOARD
from deskmate.core.log.records import Item, Record
from deskmate.core.team.tasks import Assigned, Claimed, Completed, Deleted, Offered, Released, Returned, read_event
from deskmate.core.telemetry import conventions as names
from deskmate.core.telemetry.agent_spans import team_attributes
from deskmate.core.telemetry.roster_spans import RosterTrace
from deskmate.core.telemetry.span_values import AttributeValue, FinishedSpan, TeamIdentity
from deskmate.core.values import frozen


@frozen
class OfferedWork:
    """Work that waits to be merged since `start`. `number`: the record that offered it. `by`: its owner."""

    number: int
    start: float
    by: str
    cause: str | None


@frozen
class BoardTrace:
    """The offers that nobody has answered, by task."""

    number: int = 0
    offers: Mapping[int, OfferedWork] = field(default_factory=dict)


def follow_board(
    trace: BoardTrace, item: Item, identity: TeamIdentity, runs: RosterTrace
) -> tuple[BoardTrace, list[FinishedSpan]]:
    """Return the open offers after one more item of the board, and the spans that ended with it."""
    trace = replace(trace, number=item.number)
    event = read_event(item.body) if isinstance(item, Record) else None
    match event:
        case Offered(task=task, by=by, at=at, cause=cause):
            # The last offer of a task counts.
            offers = {**trace.offers, task: OfferedWork(item.number, at, by, cause)}
            return replace(trace, offers=offers), []
        case Completed(task=task, at=at) | Returned(task=task, at=at):
            offer = trace.offers.get(task)
            merged = isinstance(event, Completed)
            if offer is None:
                return trace, []
            parent = identity.caused_by(offer.cause) or runs.run_at(offer.start)
            span = replace(_span(offer, task, at, identity, merged=merged), parent_id=parent, number=item.number)
            return _without(trace, task), [span]
        case Claimed(task=task) | Assigned(task=task) | Released(task=task) | Deleted(task=task):
            return _without(trace, task), []
        case _:
            return trace, []


def _without(trace: BoardTrace, task: int) -> BoardTrace:
    if task not in trace.offers:
        return trace
    return replace(trace, offers={id_: offer for id_, offer in trace.offers.items() if id_ != task})


def _span(offer: OfferedWork, task: int, at: float, identity: TeamIdentity, *, merged: bool) -> FinishedSpan:
    attributes: dict[str, AttributeValue] = {
        names.OPERATION: "merge",
        names.AGENT_NAME: offer.by,
        names.TASK: task,
        names.MERGED: merged,
        names.RECORD: f"{BOARD} {offer.number}",
        **team_attributes(identity),
    }
    return FinishedSpan(
        name="merge",
        trace_id=identity.trace_id,
        span_id=identity.span_id(BOARD, offer.number),
        parent_id=None,
        start=min(offer.start, at),
        end=at,
        attributes=attributes,
        error="" if merged else "returned",
        stream=BOARD,
    )
