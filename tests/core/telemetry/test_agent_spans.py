"""What one transcript says about turns, model calls and tool calls: entries in, spans out."""

from typing import Any

import pytest

from deskmate.core.agent.entries import (
    AgentParked,
    Began,
    Call,
    Compacted,
    Did,
    Ended,
    Entry,
    Heard,
    Noticed,
    Said,
    Started,
    Took,
)
from deskmate.core.goals import GoalRound
from deskmate.core.log.records import Damaged, Item, Record
from deskmate.core.policy.redaction import Redaction
from deskmate.core.team.messages import Envelope, Interrupt, Message, Plain, PlanResponse
from deskmate.core.telemetry import conventions as names
from deskmate.core.telemetry.agent_spans import AgentContext, AgentTrace, follow_agent, unfinished_turn
from deskmate.core.telemetry.span_values import FinishedSpan, TeamIdentity
from deskmate.core.telemetry.usage_facts import NO_CONTENT, ContentChoice

BEGAN = 1000.0
TEAM = TeamIdentity("seed", "main", founded=BEGAN)
RUN = TEAM.span_id("roster", 2)
USED = {"input": 10, "output": 5, "cache_read": 80, "cache_write": 10, "model": "gemini:flash", "cost": 0.5}
LOOK = Call(tool="bash", arguments={"command": "ls"})
SECRET = "-".join(["ghq", "4kdkf9", "3kd9f3", "kd93kd"])


def heard(message: Message, sender: str = "user", id_: str = "user:1", at: float = BEGAN) -> Heard:
    return Heard(box="mail/bob", after=0, upto=1, mail=(Envelope(id_, sender, "bob", at, message).body(),))


def played(*entries: Entry, content: ContentChoice = NO_CONTENT, member: str = "bob", **of_team: Any) -> list[str]:
    """Return a line for each span: its name, when it began and ended, and its error or how the turn ended."""
    trace, spans = followed(*entries, content=content, member=member, **of_team)
    spans += unfinished_turn(trace, context(content))
    return [line(span) for span in spans]


def followed(
    *entries: Entry, content: ContentChoice = NO_CONTENT, member: str = "bob", copied: int = 0, timed: bool = True
) -> tuple[AgentTrace, list[FinishedSpan]]:
    """Follow entries that are written ten seconds apart."""
    items: list[Item] = [
        Record(number, {**entry.body(), **({"at": BEGAN + 10 * number} if timed else {})})
        for number, entry in enumerate(entries, 1)
    ]
    trace, spans = AgentTrace(member), list[FinishedSpan]()
    for item in items:
        trace, ended = follow_agent(trace, item, context(content, copied))
        spans += ended
    return trace, spans


def context(content: ContentChoice = NO_CONTENT, copied: int = 0) -> AgentContext:
    return AgentContext(TeamIdentity("seed", "main", copied=copied, founded=BEGAN), content, lambda at: RUN)


def line(span: FinishedSpan) -> str:
    end = span.error or str(span.attributes.get(names.TURN_END, ""))
    cut = "unfinished" if span.attributes.get(names.UNFINISHED) else ""
    return f"{span.name} {span.start - BEGAN:g}-{span.end - BEGAN:g} {end or cut}".rstrip()


def test_a_turn_has_its_model_calls_and_tool_calls_inside() -> None:
    begun: list[Entry] = [heard(Plain(content="hi")), Said(calls=(LOOK,), usage={**USED, "seconds": 4.0})]
    _, spans = followed(
        *begun, Began(calls=("bob:2.0",)), Did(call="bob:2.0", text="a"), Said(text="Done.", usage=USED)
    )
    assert [line(span) for span in spans] == [
        "chat flash 16-20",
        "execute_tool bash 30-40",
        "chat flash 40-50",
        "invoke_agent bob 10-50 answered",
    ]
    turn = spans[-1]
    assert {span.parent_id for span in spans} == {turn.span_id, RUN}
    assert (turn.attributes[names.REQUEST_MODEL], turn.attributes[names.TURN_CALLS]) == ("flash", 2)
    # A sum over all spans must not count tokens twice.
    assert not {names.INPUT_TOKENS, names.COST} & set(turn.attributes)
    chat = spans[0].attributes
    assert (chat[names.PROVIDER], chat[names.INPUT_TOKENS], chat[names.CACHE_READ_TOKENS]) == ("gcp.gemini", 100, 80)
    assert [one.attributes[names.FINISH_REASONS] for one in (spans[0], spans[2])] == [("tool_call",), ("stop",)]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([Said(calls=(LOOK,)), Did(call="bob:1.0", text="Not allowed.", ok=False)], "execute_tool bash 20-20 not_run"),
        (
            [Said(calls=(LOOK,)), Began(calls=("bob:1.0",)), Did(call="bob:1.0", text="exit 1", ok=False)],
            "execute_tool bash 20-30 tool_error",
        ),
        ([Said(text="a", unfinished=True), AgentParked(reason="budget")], "invoke_agent bob 0-20 parked"),
        ([Said(text="a", stopped=True)], "invoke_agent bob 0-10 interrupted"),
        ([Said(calls=(LOOK,)), heard(Interrupt()), Did(call="bob:1.0", text="x")], "invoke_agent bob 0-30 interrupted"),
        ([Said(calls=(LOOK,))], "invoke_agent bob 0-10 unfinished"),
        ([Took(task=3, epoch=1, text="#3"), Said(text="Done.")], "invoke_agent bob 10-20 answered"),
        ([Compacted(upto=1, summary="s", usage=USED), Said(text="Done.")], "chat flash 0-10"),
    ],
)
def test_how_calls_and_turns_end(entries: list[Entry], expected: str) -> None:
    assert expected in played(*entries)


@pytest.mark.parametrize(
    "entries",
    [
        [heard(PlanResponse(request_id="x", approve=True), "lead", "lead:3.0")],
        [Noticed(text="goal", goal=GoalRound(until="make test", round=1, met=True))],
        [Noticed(text="away", away="web")],
        [Did(call="bob:9.0", text="of a lost record")],
        [Started(name="bob")],
    ],
)
def test_what_leads_to_no_model_call_leaves_no_span(entries: list[Entry]) -> None:
    assert played(*entries) == []


def test_a_summary_that_a_person_wanted_in_between_is_a_turn_of_its_own() -> None:
    entries: list[Entry] = [Compacted(upto=1, summary="s", usage=USED), heard(Plain(content="hi")), Said(text="Done.")]
    turns = [one for one in played(*entries) if one.startswith("invoke_agent")]
    assert turns == ["invoke_agent bob 0-10 answered", "invoke_agent bob 20-30 answered"]


def test_a_call_belongs_to_the_turn_that_asked_for_it_even_if_it_ends_later() -> None:
    said, began = Said(calls=(LOOK,)), Began(calls=("bob:1.0",))
    _, spans = followed(said, began, AgentParked(reason="budget"), Did(call="bob:1.0", text="x"))
    chat, turn, tool = spans
    assert (chat.parent_id, tool.parent_id) == (turn.span_id, turn.span_id)


def test_an_interrupted_turn_does_not_reach_into_the_next_one() -> None:
    first: list[Entry] = [heard(Plain(content="hi")), Said(text="a", unfinished=True), heard(Interrupt(), id_="user:2")]
    second: list[Entry] = [heard(Plain(content="go on"), id_="user:3"), Said(text="Done.")]
    turns = [one for one in played(*first, *second) if one.startswith("invoke_agent")]
    assert turns == ["invoke_agent bob 10-30 interrupted", "invoke_agent bob 40-50 answered"]


def test_a_subagent_belongs_to_the_call_that_started_it_and_is_complete_once_that_ended() -> None:
    trace, _ = followed(
        Said(calls=(Call(tool="Task", arguments={}), Call(tool="Task", arguments={}))),
        Began(calls=("bob:1.0", "bob:1.1")),
        Did(call="bob:1.0", text="found"),
        Did(call="bob:1.1", text="it runs", background="a7"),
    )
    both = frozenset({"bob:1.0", "bob:1.1"})
    assert (trace.subagents, trace.ended_subagents) == (both, frozenset({"bob:1.0"}))
    after, _ = follow_agent(trace, Record(5, {**Ended(background="a7", status="done").body(), "at": 9e3}), context())
    assert after.ended_subagents == both
    _, spans = followed(Started(name="bob:1.0", prompt="Look."), Said(text="found"), member="bob:1.0")
    assert spans[-1].parent_id == TEAM.call_span("bob:1.0")
    assert spans[-1].attributes[names.AGENT_KIND] == "subagent"


def test_records_without_times_get_those_of_the_mail_before_them() -> None:
    entries: list[Entry] = [heard(Plain(content="hi"), at=BEGAN + 7), Said(text="Done.", usage=USED)]
    assert played(*entries, timed=False) == ["chat flash 7-7", "invoke_agent bob 7-7 answered"]


def test_a_fork_does_not_export_what_it_copied() -> None:
    entries: list[Entry] = [
        Said(calls=(LOOK,)),
        Did(call="lead:1.0", text="a"),
        heard(Plain(content="hi")),
        Said(text="Done."),
    ]
    assert played(*entries, member="lead", copied=1) == ["chat 30-40", "invoke_agent lead 30-40 answered"]


def test_what_cannot_be_read_is_passed_over() -> None:
    trace = AgentTrace("bob")
    for item in (Damaged(1, "lost", "x:1", "bad"), Record(2, {"type": "said", "calls": 7}), Record(3, {"type": "new"})):
        trace, spans = follow_agent(trace, item, context())
        assert spans == []
    odd = {"input": -1, "output": "many", "cost": float("nan"), "seconds": True, "model": 7}
    assert (trace.number, played(Said(text="hi", usage=odd))) == (3, ["chat 0-10", "invoke_agent bob 0-10 answered"])


@pytest.mark.behaviour("telemetry")
def test_texts_are_exported_only_on_request_and_then_short_and_without_secrets() -> None:
    secret = Call(tool="bash", arguments={"command": f"login {SECRET}"})
    story: list[Entry] = [
        heard(Plain(content=f"the word is {SECRET}")),
        Said(text=f"{SECRET} " + "x" * 9000, calls=(secret,)),
    ]
    story += [Began(calls=("bob:2.0",)), Did(call="bob:2.0", text=f"{SECRET} and {SECRET}"), Said(text="Done.")]
    _, silent = followed(*story)
    assert not any(set(span.attributes) & set(names.CONTENT) for span in silent)
    _, spans = followed(*story, content=ContentChoice(True, Redaction({"WORD": SECRET})))
    texts = {key: str(value) for span in spans for key, value in span.attributes.items() if key in names.CONTENT}
    assert set(texts) == set(names.CONTENT)
    assert not any(SECRET in text for text in texts.values())
    assert "[redacted: WORD]" in texts[names.TOOL_ARGUMENTS]
    assert max(map(len, texts.values())) < 5000


def test_every_attribute_of_a_span_is_in_the_table() -> None:
    story: list[Entry] = [heard(Plain(content="hi")), Took(task=1, epoch=1, text="#1"), Said(text="Done.", usage=USED)]
    _, spans = followed(*story, content=ContentChoice(True))
    known = {**names.ATTRIBUTES, **names.CONTENT}
    assert {key for span in spans for key in span.attributes} <= set(known)
