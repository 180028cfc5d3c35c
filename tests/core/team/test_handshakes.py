"""A request has one response: which one counts, by table and over long mixed-up histories."""

from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any, Protocol

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from deskmate.core.agent.entries import (
    Began,
    Call,
    Did,
    Entry,
    Heard,
    Opened,
    PermissionAsked,
    Said,
    Started,
    read_entry,
)
from deskmate.core.agent.memory import EMPTY, Memory, remember
from deskmate.core.log.facts import Fact, Foreign
from deskmate.core.team.handshakes import TABLE, OpenRequest, Shake, answer_flaw, may_ask
from deskmate.core.team.messages import (
    KINDS,
    Envelope,
    InputRequest,
    InputResponse,
    Message,
    PermissionRequest,
    PermissionResponse,
    PlanRequest,
    PlanResponse,
    ShutdownRequest,
    ShutdownResponse,
    Undeliverable,
)

ANSWERS = {
    Shake.SHUTDOWN: ShutdownResponse,
    Shake.PLAN: PlanResponse,
    Shake.PERMISSION: PermissionResponse,
    Shake.INPUT: InputResponse,
}
SENDERS = ("lead", "user", "bob", "mallory", "carol")

# Carol asks; a shutdown she asks of bob. Who may answer what, and nobody else anything:
MAY_ANSWER = {
    (Shake.SHUTDOWN, ShutdownResponse, "bob"),
    (Shake.PLAN, PlanResponse, "lead"),
    (Shake.PLAN, PlanResponse, "user"),
    (Shake.PERMISSION, PermissionResponse, "user"),
    (Shake.INPUT, InputResponse, "user"),
}
ASKED = {Shake.SHUTDOWN: "bob", Shake.PLAN: "lead", Shake.PERMISSION: "user", Shake.INPUT: "user"}


def one_of(kind: Any, request_id: str) -> Any:
    given: dict[str, Any] = {"request_id": request_id, "approve": True, "content": "c", "tool": "bash", "arguments": {}}
    given |= {"schedule": 1, "due": "now"}
    needed: dict[Any, dict[str, Any]] = {
        Undeliverable: {"original": {}, "reason": "left"},
        InputRequest: {"call": "carol:2.0", "server": "shop"},
    }
    return kind.model_validate({key: given[key] for key in given if key in kind.model_fields} | needed.get(kind, {}))


def sent(sender: str, message: Message, id_: str = "m1") -> Envelope:
    return Envelope(id_, sender, "carol", 1.0, message)


# -- by table -------------------------------------------------------------------------------------


@pytest.mark.behaviour("P3")
@pytest.mark.parametrize(("shake", "kind", "sender"), list(product(Shake, KINDS, SENDERS)))
def test_an_answer_counts_only_from_the_right_one_in_the_right_kind(
    shake: Shake, kind: type[Fact], sender: str
) -> None:
    request = OpenRequest("carol:2.0", shake, ASKED[shake])
    counts = answer_flaw(request, sent(sender, one_of(kind, "carol:2.0"))) is None
    assert counts is ((shake, kind, sender) in MAY_ANSWER)


@pytest.mark.behaviour("P3")
@pytest.mark.parametrize(("shake", "sender"), list(product(Shake, SENDERS)))
def test_an_answer_to_another_request_or_to_none_never_counts(shake: Shake, sender: str) -> None:
    answer = sent(sender, one_of(ANSWERS[shake], "carol:2.0"))
    assert answer_flaw(OpenRequest("carol:2.1", shake, ASKED[shake]), answer) is not None
    assert (
        answer_flaw(None, answer) == "There is no open request 'carol:2.0'. It was answered, withdrawn or never made."
    )


@pytest.mark.behaviour("plan", "permission")
@pytest.mark.parametrize("shake", [Shake.PLAN, Shake.PERMISSION])
def test_being_asked_gives_a_teammate_no_right_to_answer(shake: Shake) -> None:
    answer = sent("mallory", one_of(ANSWERS[shake], "carol:2.0"))
    assert answer_flaw(OpenRequest("carol:2.0", shake, "mallory"), answer) is not None


def test_a_flaw_says_what_would_count() -> None:
    request = OpenRequest("carol:2.0", Shake.PLAN, "lead")
    wrong_kind = sent("lead", ShutdownResponse(request_id="carol:2.0", approve=True))
    assert answer_flaw(request, wrong_kind) == "Request 'carol:2.0' is about plan. Answer it with PlanResponse."
    wrong_sender = sent("bob", PlanResponse(request_id="carol:2.0", approve=True))
    assert answer_flaw(request, wrong_sender) == "'bob' cannot answer request 'carol:2.0'. Only lead or user can."


@pytest.mark.behaviour("shutdown")
@pytest.mark.parametrize("sender", SENDERS)
def test_only_lead_and_user_may_ask_for_a_shutdown_and_anyone_for_the_rest(sender: str) -> None:
    may = {kind for kind in KINDS if may_ask(sender, one_of(kind, "a"))}
    assert may == {PlanRequest, PermissionRequest, InputRequest} | (
        {ShutdownRequest} if sender in ("lead", "user") else set()
    )


def test_every_handshake_has_a_row() -> None:
    assert set(TABLE) == set(Shake)


# -- over histories -------------------------------------------------------------------------------


class Choice(Protocol):
    """Where a history takes its turns: from Hypothesis, or from a seeded walk."""

    def below(self, limit: int) -> int: ...


@dataclass
class Expected:
    """What a plain reading of the mailbox says of one call of carol's: the first answer that fits is the answer."""

    id: str
    shake: Shake
    asked: str
    opened: bool = False
    over: bool = False
    answer: Envelope | None = None

    @property
    def waits(self) -> bool:
        return self.opened and not self.over and self.answer is None

    def take(self, envelope: Envelope) -> None:
        allowed = {Shake.SHUTDOWN: {self.asked}, Shake.PLAN: {"lead", "user"}, Shake.PERMISSION: {"user"}}[self.shake]
        fits = type(envelope.message) is ANSWERS[self.shake] and envelope.sender in allowed
        if fits and self.answer is None and not self.over:
            self.answer = envelope


@dataclass
class History:
    """Carol asks and is answered, rightly and wrongly, early, late and twice, and starts again from her transcript."""

    memory: Memory = EMPTY
    bodies: list[dict[str, Any]] = field(default_factory=list)
    asked: dict[str, Expected] = field(default_factory=dict)
    mailbox: list[Envelope] = field(default_factory=list)
    heard: int = 0

    def __post_init__(self) -> None:
        self.record(Started(name="carol", planning=True))

    def record(self, entry: Entry) -> None:
        self.bodies.append(entry.body())
        self.memory = remember(self.memory, len(self.bodies), entry)

    # -- steps --

    def say(self, choice: Choice) -> None:
        """Ask for one to three new calls, after giving those still open a result."""
        for id_ in list(self.memory.calls):
            self.settle(id_)
        self.record(Said(calls=tuple(Call(tool="t", arguments={}) for _ in range(1 + choice.below(3)))))
        for id_ in self.memory.calls:
            shake = list(Shake)[choice.below(3)]
            asked = ("bob", "dave")[choice.below(2)] if shake is Shake.SHUTDOWN else ASKED[shake]
            self.asked[id_] = Expected(id_, shake, asked)

    def settle(self, id_: str) -> None:
        self.record(Did(call=id_, text="withdrawn", ok=False))
        expected = self.asked[id_]
        # A request whose call is over before it was answered is withdrawn; what was answered stays answered.
        expected.over = expected.answer is None or not expected.opened

    def ask(self, choice: Choice) -> None:
        """Note a request that was sent; it may have been answered already if carol died in between."""
        if not self.memory.calls:
            return
        id_ = list(self.memory.calls)[choice.below(len(self.memory.calls))]
        expected = self.asked[id_]
        if expected.opened:
            return
        if expected.shake is Shake.PLAN:
            for older in self.asked.values():
                older.over = older.over or (older.shake is Shake.PLAN and older.waits)
        expected.opened = True
        if expected.shake is Shake.PERMISSION:
            self.record(PermissionAsked(call=id_, request_id=id_))
        else:
            self.record(Began(calls=(id_,)))
            opened = Opened(request_id=id_, shake=expected.shake, asked=expected.asked)
            self.record(Did(call=id_, text="sent", opened=opened))

    def answer(self, choice: Choice) -> None:
        """Put an answer of any kind from anyone to any request, made or not, into the mailbox."""
        ids = [*list(self.asked)[-4:], "carol:99999.0", "bob:1.0"]
        kind = list(ANSWERS.values())[choice.below(3)]
        message = kind(request_id=ids[choice.below(len(ids))], approve=bool(choice.below(2)), content="why")
        sender = (*SENDERS, "dave")[choice.below(6)]
        self.mailbox.append(sent(sender, message, f"m{len(self.mailbox)}"))

    def answer_well(self, choice: Choice) -> None:
        waiting = [expected for expected in self.asked.values() if not expected.over and expected.answer is None]
        if waiting:
            expected = waiting[choice.below(len(waiting))]
            message = ANSWERS[expected.shake](request_id=expected.id, approve=bool(choice.below(2)))
            self.mailbox.append(sent(expected.asked, message, f"m{len(self.mailbox)}"))

    def repeat(self, choice: Choice) -> None:
        """Deliver a message again under its own id, as after a crash of its sender."""
        if self.mailbox:
            self.mailbox.append(self.mailbox[-1 - choice.below(min(5, len(self.mailbox)))])

    def hear(self, choice: Choice) -> None:
        """Hear some of what waits, in one entry."""
        new = self.mailbox[self.heard : self.heard + 1 + choice.below(4)]
        known = {envelope.id for envelope in self.mailbox[: self.heard]}
        for index, envelope in enumerate(new):
            if envelope.id not in known | {other.id for other in new[:index]}:
                named = self.asked.get(getattr(envelope.message, "request_id", ""))
                if named:
                    named.take(envelope)
        after, self.heard = self.heard, self.heard + len(new)
        mail = tuple(envelope.body() for envelope in new)
        self.record(Heard(box="mail/carol", after=after, upto=self.heard, mail=mail))

    def restart(self, choice: Choice) -> None:
        """Forget all and read the transcript again."""
        memory = EMPTY
        for number, body in enumerate(self.bodies, start=1):
            entry = read_entry(body)
            assert not isinstance(entry, Foreign)
            memory = remember(memory, number, entry)
        assert memory == self.memory

    # -- what must hold --

    def check(self) -> None:
        waiting = [expected for expected in self.asked.values() if expected.waits]
        assert self.memory.requests == {one.id: OpenRequest(one.id, one.shake, one.asked) for one in waiting}
        assert {id_: call.allowed for id_, call in self.memory.calls.items()} == {
            id_: self.verdict(self.asked[id_]) for id_ in self.memory.calls
        }
        assert self.memory.owes_plan is not any(self.approved(one) for one in self.asked.values())

    @staticmethod
    def verdict(expected: Expected) -> bool | None:
        if expected.shake is not Shake.PERMISSION or not expected.opened or expected.answer is None:
            return None
        return bool(expected.answer.message.model_dump()["approve"])

    @staticmethod
    def approved(expected: Expected) -> bool:
        answer = expected.answer.message if expected.answer and expected.opened else None
        return isinstance(answer, PlanResponse) and answer.approve


STEPS = (
    History.say,
    History.ask,
    History.ask,
    History.answer,
    History.answer,
    History.answer_well,
    History.repeat,
    History.hear,
    History.hear,
    History.restart,
)


@dataclass
class Drawn:
    """Choices that Hypothesis makes, and can make smaller."""

    data: st.DataObject

    def below(self, limit: int) -> int:
        return self.data.draw(st.integers(0, limit - 1))


@dataclass
class Walked:
    """Choices of a seeded walk: many and cheap."""

    random: Random

    def below(self, limit: int) -> int:
        return self.random.randrange(limit)


class Histories(RuleBasedStateMachine):
    """Histories that Hypothesis looks for."""

    def __init__(self) -> None:
        super().__init__()
        self.history = History()

    @rule(step=st.sampled_from(STEPS), data=st.data())
    def go_on(self, step: Any, data: st.DataObject) -> None:
        step(self.history, Drawn(data))
        self.history.check()

    def teardown(self) -> None:
        self.history.restart(Walked(Random(0)))


@pytest.mark.behaviour("P3", "plan", "permission", "shutdown")
class TestHistories(Histories.TestCase):  # type: ignore[valid-type, misc]
    """Run them."""


@pytest.mark.slow
@pytest.mark.behaviour("P3")
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 4))])
def test_each_request_has_at_most_one_answer_and_it_is_the_first_that_fits(seed: int) -> None:
    random = Random(seed)
    answered = asked = 0
    for _ in range(500):
        history = History()
        for _ in range(50):
            STEPS[random.randrange(len(STEPS))](history, Walked(random))
            history.check()
        asked += sum(one.opened for one in history.asked.values())
        answered += sum(one.opened and one.answer is not None for one in history.asked.values())
    # A walk in which nothing is asked or nothing answered would show nothing.
    assert asked > 2000
    assert 0.2 * asked < answered < asked
