"""Runs of a team and new members, from the roster.

A run is the time in which one process runs the lead. It ends with the last status that a member shows in it.
"""

from bisect import bisect_right
from dataclasses import replace

from deskmate.core.log.names import ROSTER
from deskmate.core.log.records import Item, Record
from deskmate.core.team.roster_records import (
    Joined,
    MemberIdle,
    MemberLeft,
    MemberParked,
    MemberWaiting,
    MemberWorking,
    PolicySet,
    read_event,
)
from deskmate.core.telemetry import conventions as names
from deskmate.core.telemetry.agent_spans import team_attributes
from deskmate.core.telemetry.span_values import AttributeValue, FinishedSpan, TeamIdentity
from deskmate.core.values import frozen


@frozen
class OpenRun:
    """The run that began with record `number`. `last`: when a member last showed a status in it."""

    number: int
    start: float
    last: float
    attended: bool


@frozen
class RosterTrace:
    """What is known of the runs of a team. `starts`, `spans`: when each began, and the id of its span."""

    number: int = 0
    run: OpenRun | None = None
    starts: tuple[float, ...] = ()
    spans: tuple[int, ...] = ()

    def run_at(self, at: float) -> int | None:
        """Return the span of the run at a time: the last one that began before. None if there was no run yet."""
        return self.spans[max(0, bisect_right(self.starts, at) - 1)] if self.spans else None


def follow_roster(trace: RosterTrace, item: Item, identity: TeamIdentity) -> tuple[RosterTrace, list[FinishedSpan]]:
    """Return what is known of runs after one more item of the roster, and the spans that ended with it."""
    trace = replace(trace, number=item.number)
    event = read_event(item.body) if isinstance(item, Record) else None
    match event:
        case PolicySet(attended=bool(attended), at=at):
            ended = _ended(trace, identity, item.number)
            at = max(at, trace.starts[-1] if trace.starts else 0.0)
            run = OpenRun(item.number, at, at, attended)
            span = identity.span_id(ROSTER, item.number)
            return replace(trace, run=run, starts=(*trace.starts, at), spans=(*trace.spans, span)), ended
        case MemberWorking(at=at) | MemberIdle(at=at) | MemberWaiting(at=at) | MemberParked(at=at) | MemberLeft(at=at):
            shown = trace.run and replace(trace.run, last=max(trace.run.last, at))
            return replace(trace, run=shown), []
        case Joined():
            return trace, [_created(trace, event, item.number, identity)]
        case _:
            return trace, []


def open_run(trace: RosterTrace, identity: TeamIdentity) -> list[FinishedSpan]:
    """Return the last run as a span, for a team that does not run, if there was one."""
    return _ended(trace, identity, trace.number)


def _ended(trace: RosterTrace, identity: TeamIdentity, number: int) -> list[FinishedSpan]:
    run = trace.run
    if run is None:
        return []
    attributes: dict[str, AttributeValue] = {
        names.OPERATION: "invoke_workflow",
        names.WORKFLOW: identity.team,
        names.RUN_ATTENDED: run.attended,
        **({names.HOME: identity.home} if identity.home else {}),
    }
    return [
        _span(f"invoke_workflow {identity.team}", run.number, None, (run.start, run.last), attributes, identity, number)
    ]


def _created(trace: RosterTrace, joined: Joined, number: int, identity: TeamIdentity) -> FinishedSpan:
    parent = identity.caused_by(joined.cause) or trace.run_at(joined.at)
    attributes: dict[str, AttributeValue] = {
        names.OPERATION: "create_agent",
        names.AGENT_NAME: joined.name,
        names.AGENT_ID: f"{joined.name}@{identity.team}",
        names.AGENT_KIND: "teammate",
    }
    times = (joined.at, joined.at)
    return _span(f"create_agent {joined.name}", number, parent, times, attributes, identity, number)


def _span(
    name: str,
    part: int,
    parent: int | None,
    times: tuple[float, float],
    attributes: dict[str, AttributeValue],
    identity: TeamIdentity,
    number: int,
) -> FinishedSpan:
    return FinishedSpan(
        name=name,
        trace_id=identity.trace_id,
        span_id=identity.span_id(ROSTER, part),
        parent_id=parent,
        start=times[0],
        end=times[1],
        attributes={**attributes, **team_attributes(identity), names.RECORD: f"{ROSTER} {part}"},
        stream=ROSTER,
        number=number,
    )
