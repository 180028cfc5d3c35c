"""The streams of a team as spans and metrics: records in, spans out.

Give it the roster first, then what was read of the other streams before that. Then the run of each turn is known, and
it does not matter in which portions the records come.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from deskmate.core.log.names import BOARD, LEAD, ROSTER, SPEND, USER, log, mail, split_stream
from deskmate.core.log.records import Item, Record
from deskmate.core.team.roster_records import TeamFounded, read_event
from deskmate.core.telemetry.agent_spans import AgentContext, AgentTrace, follow_agent, unfinished_turn
from deskmate.core.telemetry.merge_spans import BoardTrace, follow_board
from deskmate.core.telemetry.roster_spans import RosterTrace, follow_roster, open_run
from deskmate.core.telemetry.span_values import FinishedSpan, TeamIdentity
from deskmate.core.telemetry.team_metrics import Measured, TeamCounts, count, metrics_of
from deskmate.core.telemetry.usage_facts import NO_CONTENT, ContentChoice
from deskmate.core.values import frozen


def identity_of(roster: Sequence[Item], home: Sequence[Item]) -> TeamIdentity:
    """Return which team this is, by the first records of its roster and of that of its home, if it has one."""
    record, founded = _founding(roster)
    first, _ = _founding(home)
    # Drawn at random for each process. A damaged founding leaves the name of the team.
    seed = (first or record or Record(0, {})).body
    name = founded.team if founded else ""
    return TeamIdentity(
        seed=f"{seed.get('team', name)} {seed.get('run', '')} {seed.get('ord', '')}",
        team=name,
        home=(founded.home if founded else None) or "",
        copied=(founded.copied if founded else None) or 0,
        founded=founded.at if founded else 0.0,
    )


def _founding(items: Sequence[Item]) -> tuple[Record | None, TeamFounded | None]:
    for item in items[:1]:
        event = read_event(item.body) if isinstance(item, Record) else None
        if isinstance(event, TeamFounded) and isinstance(item, Record):
            return item, event
    return None, None


@frozen
class Projection:
    """Everything that was computed from the records so far."""

    identity: TeamIdentity
    content: ContentChoice = NO_CONTENT
    roster: RosterTrace = field(default_factory=RosterTrace)
    board: BoardTrace = field(default_factory=BoardTrace)
    agents: Mapping[str, AgentTrace] = field(default_factory=dict)
    counts: TeamCounts = field(default_factory=TeamCounts)

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams to read next, without the roster, which is read after each of them. It grows with the team."""
        at_home = {log(LEAD), mail(USER)} if self.identity.home else set()
        names = [*self.counts.roster.members, *sorted(self.subagents)]
        logs = [log(name) for name in names]
        boxes = [mail(name) for name in (*self.counts.roster.members, USER)]
        return tuple(stream for stream in (*logs, *boxes, BOARD, SPEND) if stream not in at_home)

    @property
    def subagents(self) -> frozenset[str]:
        """The calls that started subagents."""
        return frozenset[str]().union(*(agent.subagents for agent in self.agents.values()))

    @property
    def ended_subagents(self) -> frozenset[str]:
        """The subagents whose transcripts are complete."""
        return frozenset[str]().union(*(agent.ended_subagents for agent in self.agents.values()))

    def number_of(self, stream: str) -> int:
        """Return the number of the last record of a stream that was taken in."""
        if stream == ROSTER:
            return self.roster.number
        if stream == BOARD:
            return self.board.number
        if stream == SPEND:
            return self.counts.spend
        kind, owner = split_stream(stream)
        if kind == "log":
            return self.agents[owner].number if owner in self.agents else 0
        return self.counts.boxes.get(stream, 0)

    @property
    def numbers(self) -> dict[str, int]:
        """The number of the last record of each stream whose records end spans."""
        return {stream: self.number_of(stream) for stream in (ROSTER, BOARD, *map(log, self.agents))}

    @property
    def metrics(self) -> tuple[Measured, ...]:
        """The metrics of the team as of the last record."""
        return metrics_of(self.counts, self.identity)

    @property
    def context(self) -> AgentContext:
        """What the spans of agents need besides their transcripts."""
        return AgentContext(self.identity, self.content, self.roster.run_at)


def project(projection: Projection, stream: str, items: Iterable[Item]) -> tuple[Projection, list[FinishedSpan]]:
    """Return the projection after more items of a stream, and the spans that ended with them."""
    items, spans = list(items), list[FinishedSpan]()
    kind, owner = split_stream(stream)
    if kind == "log":
        agent = projection.agents.get(owner) or AgentTrace(owner)
        context = projection.context
        for item in items:
            agent, ended = follow_agent(agent, item, context)
            spans += ended
        return replace(projection, agents={**projection.agents, owner: agent}), spans
    identity, counts = projection.identity, count(projection.counts, stream, items, projection.identity)
    roster, board = projection.roster, projection.board
    for item in items:
        if stream == ROSTER:
            roster, ended = follow_roster(roster, item, identity)
            spans += ended
        elif stream == BOARD:
            board, ended = follow_board(board, item, identity, roster)
            spans += ended
    return replace(projection, roster=roster, board=board, counts=counts), spans


def closing(projection: Projection, *, unfinished: bool) -> list[FinishedSpan]:
    """Return the spans of a team that does not run any more, which no record ends: its last run, and cut turns.

    Nobody continues the turns of members that left. `unfinished`: also the turns that a later process may continue.
    """
    here = {name: member for name, member in projection.counts.roster.members.items() if member.here}
    cut = [
        span
        for name, agent in projection.agents.items()
        if unfinished or name.partition(":")[0] not in here
        for span in unfinished_turn(agent, projection.context)
    ]
    return [*cut, *open_run(projection.roster, projection.identity)]
