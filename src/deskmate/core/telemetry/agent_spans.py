"""Turns, model calls and tool calls of one agent, from its transcript alone.

A turn begins with the first entry that gives the agent something to do, and ends with an answer without calls. If its
process is killed, the next one continues the same turn, so a kill changes no span.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any, assert_never

from deskmate.core.agent.entries import (
    AgentParked,
    Agreed,
    Began,
    Call,
    Cleared,
    Compacted,
    Did,
    Ended,
    Entry,
    Heard,
    Hooked,
    Noticed,
    Nudged,
    Overflowed,
    PermissionAsked,
    PicturesRefused,
    Reported,
    Said,
    Started,
    SummaryDropped,
    SummaryRequested,
    Took,
    read_entry,
)
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import IN_CHARGE, LEAD, USER, agent_id, call_id, is_call, log
from deskmate.core.log.records import TIME_KEY, Item, Record
from deskmate.core.team.messages import Envelope, Interrupt, read_envelope, wakes
from deskmate.core.telemetry import conventions as names
from deskmate.core.telemetry.span_values import AttributeValue, FinishedSpan, SpanKind, SpanLink, TeamIdentity, calling
from deskmate.core.telemetry.usage_facts import (
    CallUsage,
    ContentChoice,
    finish_reason,
    input_messages,
    model_attributes,
    output_messages,
    usage_attributes,
    usage_in,
)
from deskmate.core.values import frozen

_MOST_LINKS, _MOST_TASKS, _TOOL_CHARS = 32, 32, 64
_SUBAGENT_TOOL = "Task"


@frozen
class OpenTurn:
    """A turn that goes on. `number`: its first record. `heard`: the messages in it, if texts are exported."""

    number: int
    start: float
    links: tuple[SpanLink, ...] = ()
    model: str = ""
    calls: int = 0
    tasks: tuple[int, ...] = ()
    heard: tuple[Envelope, ...] = ()


@frozen
class RunningCall:
    """A tool call without a result. `turn`: the span of its turn. `began`: when it began, None before that."""

    tool: str
    turn: int | None
    arguments: str = ""
    began: float | None = None


@frozen
class AgentTrace:
    """What is known of one agent after record `number`, which was written at `at`.

    `background`: what runs in the background, with the call that started it. `subagents`: calls that started a
    subagent; `ended_subagents`: those of them whose transcripts are complete.
    """

    member: str
    number: int = 0
    at: float = 0.0
    turn: OpenTurn | None = None
    calls: Mapping[str, RunningCall] = field(default_factory=dict)
    interrupted: bool = False
    background: Mapping[str, str] = field(default_factory=dict)
    subagents: frozenset[str] = frozenset()
    ended_subagents: frozenset[str] = frozenset()

    @property
    def stream(self) -> str:
        """Its transcript."""
        return log(self.member)


@frozen
class AgentContext:
    """What the spans of an agent need besides its transcript. `run_at`: the span of the run at a time."""

    identity: TeamIdentity
    content: ContentChoice
    run_at: Callable[[float], int | None]


def follow_agent(trace: AgentTrace, item: Item, context: AgentContext) -> tuple[AgentTrace, list[FinishedSpan]]:
    """Return what is known of an agent after one more item of its transcript, and the spans that ended with it."""
    before = trace.at or context.identity.founded
    if not isinstance(item, Record):
        return replace(trace, number=item.number), []
    entry = read_entry(item.body)
    trace = replace(trace, number=item.number, at=_time_of(item, entry, before))
    copied = trace.member == LEAD and item.number <= context.identity.copied
    if copied or isinstance(entry, Foreign):
        return trace, []
    return _Step(trace, context, before).take(entry)


def unfinished_turn(trace: AgentTrace, context: AgentContext) -> list[FinishedSpan]:
    """Return the turn that nobody has continued, as a span that ends with the last record, if there is one."""
    if trace.turn is None or not trace.turn.calls:
        return []
    step = _Step(trace, context, trace.at)
    step.end_turn("unfinished")
    return step.spans


class _Step:
    """One entry of a transcript: what it changes, and the spans that it ends. `before`: the time of the one before."""

    def __init__(self, trace: AgentTrace, context: AgentContext, before: float) -> None:
        self.trace, self._context, self._before = trace, context, before
        self.spans: list[FinishedSpan] = []

    def take(self, entry: Entry) -> tuple[AgentTrace, list[FinishedSpan]]:
        """Return what is known after an entry, and the spans that it ended."""
        match entry:
            case Started(prompt=prompt):
                self._open_turn(wanted=bool(prompt))
            case Heard():
                self._hear(entry)
            case Said():
                self._say(entry)
            case Began(calls=calls):
                self._begin(calls)
            case Did():
                self._end_call(entry)
            case Took(task=task):
                self._open_turn()
                self._add_task(task)
            case Noticed(away=away, goal=goal):
                # These two may leave nothing to do. If they do not, the answer begins the turn.
                self._open_turn(wanted=away is None and goal is None)
            case Nudged():
                self._open_turn()
            case Ended(background=background):
                self._open_turn()
                self._end_background(background)
            case Compacted(usage=usage):
                self._make_room(usage)
            case AgentParked():
                self.end_turn("parked")
            case Agreed():
                self.end_turn("left")
            case PermissionAsked() | Reported() | Cleared() | SummaryRequested() | SummaryDropped() | Overflowed():
                pass
            case PicturesRefused() | Hooked():
                pass
            case unreachable:
                assert_never(unreachable)
        return self.trace, self.spans

    # -- turns ------------------------------------------------------------------------------------

    def _open_turn(self, *, wanted: bool = True, start: float | None = None) -> None:
        if wanted and self.trace.turn is None:
            turn = OpenTurn(self.trace.number, self.trace.at if start is None else start)
            self.trace = replace(self.trace, turn=turn, interrupted=False)

    def _change_turn(self, change: Callable[[OpenTurn], OpenTurn]) -> None:
        if turn := self.trace.turn:
            self.trace = replace(self.trace, turn=change(turn))

    def _add_task(self, task: int) -> None:
        self._change_turn(lambda turn: replace(turn, tasks=tuple(dict.fromkeys((*turn.tasks, task)))[:_MOST_TASKS]))

    def _hear(self, entry: Heard) -> None:
        heard = [one for one in map(read_envelope, entry.mail) if not isinstance(one, Foreign)]
        self._open_turn(wanted=any(wakes(one.message) for one in heard))
        # A lead that works in a named team hears its members there, and they have their transcripts there.
        team = entry.box.partition("@")[2]
        links = tuple(
            SpanLink(self._context.identity.call_span(call, team), one.id)
            for one in heard
            if one.sender != USER and (call := calling(one.id))
        )
        kept = tuple(heard) if self._context.content.exported else ()
        self._change_turn(
            lambda turn: replace(
                turn, links=(*turn.links, *links)[:_MOST_LINKS], heard=(*turn.heard, *kept)[:_MOST_LINKS]
            )
        )
        for one in heard:
            if isinstance(one.message, Interrupt) and one.sender == USER:
                self.trace = replace(self.trace, interrupted=True)
            elif wakes(one.message) and one.sender in IN_CHARGE:
                self.trace = replace(self.trace, interrupted=False)
        self._end_if_interrupted()

    def _end_if_interrupted(self) -> None:
        if self.trace.interrupted and not self.trace.calls:
            self.end_turn("interrupted")

    def end_turn(self, end: str) -> None:
        """End the turn, if there is one. A turn without a model call leaves no span."""
        turn, trace, content = self.trace.turn, self.trace, self._context.content
        self.trace = replace(trace, turn=None, interrupted=False)
        if turn is None or not turn.calls:
            return
        attributes: dict[str, AttributeValue] = {
            names.OPERATION: "invoke_agent",
            # Tokens and cost are only on model calls, so that nobody who adds up all spans counts them twice.
            **model_attributes(turn.model),
            names.TURN_CALLS: turn.calls,
            **({names.UNFINISHED: True} if end == "unfinished" else {names.TURN_END: end}),
            **({names.TASKS: turn.tasks} if turn.tasks else {}),
            **({names.INPUT_MESSAGES: input_messages(turn.heard, content)} if turn.heard else {}),
        }
        self._add(
            f"invoke_agent {trace.member}",
            turn.number,
            self._parent_of(turn),
            turn.start,
            attributes,
            links=turn.links,
            error="parked" if end == "parked" else "",
        )

    def _parent_of(self, turn: OpenTurn) -> int | None:
        if is_call(self.trace.member):
            return self._context.identity.call_span(self.trace.member)
        return self._context.run_at(turn.start)

    # -- model calls ------------------------------------------------------------------------------

    def _say(self, entry: Said) -> None:
        usage, content = usage_in(entry.usage), self._context.content
        attributes: dict[str, AttributeValue] = {names.FINISH_REASONS: (finish_reason(entry),)}
        if content.exported:
            words = output_messages(entry, self.trace.member, self.trace.number, content)
            attributes[names.OUTPUT_MESSAGES] = words
        self._end_model_call(usage, attributes)
        said = enumerate(entry.calls)
        running = {call_id(self.trace.member, self.trace.number, at): self._running(call) for at, call in said}
        self.trace = replace(self.trace, calls=running)
        if not entry.calls and not entry.unfinished:
            self.end_turn("interrupted" if entry.stopped else "answered")
        else:
            self._end_if_interrupted()

    def _end_model_call(self, usage: CallUsage, more: Mapping[str, AttributeValue]) -> None:
        end = self.trace.at
        start = self._before if usage.seconds is None else end - usage.seconds
        self._open_turn(start=start)
        self._change_turn(lambda turn: replace(turn, model=usage.model, calls=turn.calls + 1))
        attributes = {names.OPERATION: "chat", **usage_attributes(usage), **more}
        if model := attributes.get(names.REQUEST_MODEL):
            attributes[names.RESPONSE_MODEL] = model
        name = f"chat {model}" if model else "chat"
        self._add(name, self.trace.number, self._turn_span, start, attributes, kind="client")

    def _make_room(self, usage: Mapping[str, Any] | None) -> None:
        if usage is None:
            return
        is_alone = self.trace.turn is None
        self._end_model_call(usage_in(usage), {names.FINISH_REASONS: ("stop",)})
        if is_alone:
            # A person wanted it while the agent had nothing to do.
            self.end_turn("answered")

    # -- tool calls -------------------------------------------------------------------------------

    def _running(self, call: Call) -> RunningCall:
        content = self._context.content
        arguments = content.arguments(call.arguments) if content.exported else ""
        return RunningCall(call.tool[:_TOOL_CHARS], self._turn_span, arguments)

    def _begin(self, calls: tuple[str, ...]) -> None:
        began = {id_: replace(self.trace.calls[id_], began=self.trace.at) for id_ in calls if id_ in self.trace.calls}
        starting = {id_ for id_, call in began.items() if call.tool == _SUBAGENT_TOOL}
        self.trace = replace(self.trace, calls={**self.trace.calls, **began}, subagents=self.trace.subagents | starting)

    def _end_call(self, entry: Did) -> None:
        call = self.trace.calls.get(entry.call)
        if call is None:
            return
        calls = {id_: one for id_, one in self.trace.calls.items() if id_ != entry.call}
        self.trace = replace(self.trace, calls=calls)
        for task, epoch in entry.tasks.items():
            if epoch is not None:
                self._add_task(task)
        if entry.background is not None:
            self.trace = replace(self.trace, background={**self.trace.background, entry.background: entry.call})
        else:
            self._end_subagent(entry.call)
        attributes: dict[str, AttributeValue] = {
            names.OPERATION: "execute_tool",
            names.TOOL_NAME: call.tool,
            names.TOOL_CALL: entry.call,
            names.TOOL_TYPE: "function",
        }
        if self._context.content.exported:
            result = self._context.content.text(entry.text)
            attributes |= {names.TOOL_ARGUMENTS: call.arguments, names.TOOL_RESULT: result}
        start, failed = (self.trace.at, "not_run") if call.began is None else (call.began, "tool_error")
        place = entry.call.rpartition(":")[2]
        error = "" if entry.ok else failed
        self._add(f"execute_tool {call.tool}", place, call.turn, start, attributes, error=error)
        self._end_if_interrupted()

    def _end_background(self, background: str) -> None:
        if call := self.trace.background.get(background):
            others = {id_: one for id_, one in self.trace.background.items() if id_ != background}
            self.trace = replace(self.trace, background=others)
            self._end_subagent(call)

    def _end_subagent(self, call: str) -> None:
        ended = self.trace.subagents & {call}
        self.trace = replace(self.trace, ended_subagents=self.trace.ended_subagents | ended)

    # -- all of them ------------------------------------------------------------------------------

    @property
    def _turn_span(self) -> int | None:
        turn = self.trace.turn
        return None if turn is None else self._context.identity.span_id(self.trace.stream, turn.number)

    def _add(
        self,
        name: str,
        part: int | str,
        parent: int | None,
        start: float,
        attributes: Mapping[str, AttributeValue],
        *,
        kind: SpanKind = "internal",
        links: tuple[SpanLink, ...] = (),
        error: str = "",
    ) -> None:
        identity, trace = self._context.identity, self.trace
        common = {**team_attributes(identity), **_agent_attributes(trace.member, identity.team)}
        # A turn and a model call may be named after the same record.
        own_part = f"chat {part}" if kind == "client" else part
        self.spans.append(
            FinishedSpan(
                name=name,
                trace_id=identity.trace_id,
                span_id=identity.span_id(trace.stream, own_part),
                parent_id=parent,
                start=min(start, trace.at),
                end=trace.at,
                attributes={**attributes, **common, names.RECORD: f"{trace.stream} {part}"},
                kind=kind,
                links=links,
                error=error,
                stream=trace.stream,
                number=trace.number,
            )
        )


def team_attributes(identity: TeamIdentity) -> dict[str, AttributeValue]:
    """Return the attributes that all spans of a team have."""
    return {names.TEAM: identity.team, names.CONVERSATION: f"{identity.trace_id:032x}"}


def _agent_attributes(member: str, team: str) -> dict[str, AttributeValue]:
    kind = "subagent" if is_call(member) else "lead" if member == LEAD else "teammate"
    return {names.AGENT_NAME: member, names.AGENT_ID: agent_id(member, team), names.AGENT_KIND: kind}


def _time_of(record: Record, entry: Entry | Foreign, before: float) -> float:
    """Return when a record was written. Version 0.2 wrote no times, but mail has some."""
    at = record.body.get(TIME_KEY)
    if isinstance(at, int | float) and not isinstance(at, bool):
        return float(at)
    sent = (
        [one.timestamp for one in map(read_envelope, entry.mail) if not isinstance(one, Foreign)]
        if isinstance(entry, Heard)
        else []
    )
    return max([before, *sent])
