"""What an agent knows after its entries: each kind, and whose word counts."""

from dataclasses import replace
from typing import Any

import pytest

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
    Noticed,
    Nudged,
    Opened,
    Overflowed,
    PermissionAsked,
    PicturesRefused,
    Reported,
    Said,
    Started,
    SummaryDropped,
    SummaryRequested,
    Took,
    WorkMode,
)
from deskmate.core.agent.memory import EMPTY, Memory, remember
from deskmate.core.agent.open_calls import OpenCall
from deskmate.core.hooks.hook_memory import NO_HOOKS
from deskmate.core.log.persistent_map import Seen
from deskmate.core.team.handshakes import OpenRequest, Shake, ShownPlan
from deskmate.core.team.messages import (
    Broadcast,
    Envelope,
    Interrupt,
    Message,
    PermissionRequest,
    PermissionResponse,
    Plain,
    PlanRequest,
    PlanResponse,
    Scheduled,
    ShutdownRequest,
    ShutdownResponse,
    Undeliverable,
)

NONE_SEEN: Seen[int] = Seen()

BOX = "mail/alice"
BASH = Call(tool="bash", arguments={"command": "make"})
READ = Call(tool="read_file", arguments={"path": "a"})
STARTED = Started(name="alice")


def after(*entries: Entry, memory: Memory = EMPTY) -> Memory:
    for entry in entries:
        memory = remember(memory, memory.number + 1, entry)
    return memory


def mail(sender: str, message: Message, id_: str) -> dict[str, Any]:
    return Envelope(id_, sender, "alice", 1.0, message).body()


def heard(sender: str, message: Message, upto: int = 1, id_: str = "") -> Heard:
    return Heard(box=BOX, after=0, upto=upto, mail=(mail(sender, message, id_ or f"m{upto}"),))


def changed(memory: Memory, entry: Entry) -> dict[str, Any]:
    """Return the fields that an entry changes, and what they become; its number, mail cursor and hooks aside."""
    now = remember(memory, memory.number + 1, entry)
    assert now.number == memory.number + 1
    aside = ("number", "cursors", "ids", "hooks")
    fields = [name for name in Memory.__dataclass_fields__ if name not in aside]
    return {name: getattr(now, name) for name in fields if getattr(now, name) != getattr(memory, name)}


IDLE = after(STARTED)
CALLING = after(STARTED, Said(calls=(BASH, READ)))
PLANNING = after(
    Started(name="alice", planning=True),
    Said(calls=(Call(tool="ExitPlanMode", arguments={"plan": "p"}),)),
    Did(call="alice:2.0", text="submitted", opened=Opened(request_id="alice:2.0", shake=Shake.PLAN, asked="lead")),
    Said(text="I wait"),
)


# -- whole memories -------------------------------------------------------------------------------

BASH_CALL = OpenCall("alice:2.0", "bash", {"command": "make"})
READ_CALL = OpenCall("alice:2.1", "read_file", {"path": "a"})


@pytest.mark.parametrize(
    ("entries", "memory"),
    [
        pytest.param((), Memory(), id="nothing"),
        pytest.param((STARTED,), Memory(name="alice", number=1), id="a lead begins without a prompt"),
        pytest.param(
            (Started(name="alice", prompt="go", planning=True),),
            Memory(name="alice", number=1, owed=True, owes_plan=True, work_mode=WorkMode(planning=True)),
            id="a planning teammate begins with a prompt",
        ),
        pytest.param(
            (STARTED, Heard(box=BOX, after=0, upto=4, mail=(mail("bob", Plain(content="hi"), "x"),))),
            Memory(name="alice", number=2, cursors={BOX: 4}, ids=NONE_SEEN.put("x", 2), owed=True),
            id="mail",
        ),
        pytest.param(
            (STARTED, Heard(box=BOX, after=0, upto=4, damage=("record 4: torn",))),
            Memory(name="alice", number=2, cursors={BOX: 4}, owed=True),
            id="damage is told",
        ),
        pytest.param(
            (STARTED, Said(text="look", calls=(BASH, READ))),
            Memory(name="alice", number=2, calls={"alice:2.0": BASH_CALL, "alice:2.1": READ_CALL}, steps=1),
            id="two calls",
        ),
        pytest.param(
            (STARTED, Said(calls=(BASH,)), Began(calls=("alice:2.0",))),
            Memory(name="alice", number=3, calls={"alice:2.0": replace(BASH_CALL, began=True)}, steps=1),
            id="a call began",
        ),
        pytest.param(
            (STARTED, Said(calls=(BASH,)), Began(calls=("alice:2.0",)), Did(call="alice:2.0", text="ok")),
            Memory(name="alice", number=4, owed=True, steps=1),
            id="a call ended",
        ),
        pytest.param(
            (STARTED, Said(calls=(BASH,)), Did(call="alice:2.0", text=""), Said(calls=(BASH,)), Said(text="done")),
            Memory(name="alice", number=5),
            id="a turn ended",
        ),
        pytest.param(
            (STARTED, Said(text="cut", unfinished=True)),
            Memory(name="alice", number=2, owed=True, steps=1),
            id="a reply that ran out of room",
        ),
        pytest.param(
            (STARTED, Said(calls=(BASH,)), PermissionAsked(call="alice:2.0", request_id="alice:2.0")),
            Memory(
                name="alice",
                number=3,
                calls={"alice:2.0": replace(BASH_CALL, request="alice:2.0")},
                requests={"alice:2.0": OpenRequest("alice:2.0", Shake.PERMISSION, "user")},
                steps=1,
            ),
            id="a person was asked",
        ),
        pytest.param(
            (STARTED, Took(task=3, epoch=1, text="#3"), Nudged(task=3, epoch=1), Reported(task=3, epoch=1)),
            Memory(
                name="alice",
                number=4,
                owed=True,
                tasks={3: 1},
                read=frozenset({(3, 1)}),
                nudged=frozenset({(3, 1)}),
                reported=frozenset({(3, 1)}),
            ),
            id="a task taken and left lying",
        ),
        pytest.param(
            (STARTED, heard("lead", ShutdownRequest(request_id="lead:9.0")), Agreed(request_id="lead:9.0")),
            Memory(
                name="alice",
                number=3,
                cursors={BOX: 1},
                ids=NONE_SEEN.put("m1", 2),
                pressed=True,
                halted=True,
                demanded=True,
                stopping="lead:9.0",
            ),
            id="agreed to stop",
        ),
    ],
)
def test_entries_make_this_memory(entries: tuple[Entry, ...], memory: Memory) -> None:
    assert replace(after(*entries), hooks=NO_HOOKS) == memory


# -- what one entry changes -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory", "entry", "change"),
    [
        (IDLE, Noticed(text="news", roster=5, board=2), {"owed": True, "noticed": (5, 2), "informed": True}),
        (IDLE, Noticed(text="a reminder", roster=5, board=2, quiet=True), {"owed": True, "reminded": 5}),
        (after(Noticed(text="news", roster=1), memory=IDLE), Said(text="I see"), {"owed": False, "informed": False}),
        (
            after(Noticed(text="", roster=5, board=2), memory=IDLE),
            Noticed(text="", roster=3, board=9),
            {"noticed": (5, 9)},
        ),
        (
            after(Took(task=3, epoch=1, text=""), memory=IDLE),
            Noticed(text="", tasks=(3, 4)),
            {"tasks": {}},
        ),
        (IDLE, AgentParked(reason="budget", caps="5"), {"parked": AgentParked(reason="budget", caps="5")}),
        (after(AgentParked(reason="budget"), memory=IDLE), Said(text="again"), {"parked": None}),
        (
            after(heard("lead", ShutdownRequest(request_id="r")), memory=IDLE),
            Said(text="I heard"),
            {"demanded": False, "pressed": False, "halted": False},
        ),
        (IDLE, Compacted(upto=1, summary="s"), {"compacted": True}),
        (after(Compacted(upto=1, summary="s"), memory=IDLE), Said(text="on"), {"compacted": False}),
        (IDLE, Cleared(upto=1), {}),
        (IDLE, SummaryRequested(), {"focus": ""}),
        (after(SummaryRequested(focus="the schema"), memory=IDLE), SummaryRequested(focus="it"), {"focus": "it"}),
        (after(SummaryRequested(), memory=IDLE), SummaryDropped(), {"focus": None}),
        (after(SummaryRequested(), memory=IDLE), Compacted(upto=1, summary="s"), {"focus": None, "compacted": True}),
        (after(SummaryRequested(), memory=IDLE), AgentParked(reason="r"), {"parked": AgentParked(reason="r")}),
        (IDLE, Overflowed(), {"overflowed": True}),
        (after(Overflowed(), memory=IDLE), Compacted(upto=1, summary="s"), {"overflowed": False, "compacted": True}),
        (after(Overflowed(), memory=IDLE), Cleared(upto=1), {"overflowed": False}),
        (
            after(Overflowed(), memory=IDLE),
            AgentParked(reason="r"),
            {"overflowed": False, "parked": AgentParked(reason="r")},
        ),
        (IDLE, PicturesRefused(names=("shot.png",)), {}),
        (IDLE, Ended(background="b1", status="exit 0"), {"owed": True}),
        (CALLING, Did(call="alice:2.1", text="", background="b1"), {"owed": True, "background": frozenset({"b1"})}),
        (CALLING, Did(call="alice:2.1", text="", tasks={3: 1, 4: None}), {"owed": True, "tasks": {3: 1}}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_entry_changes_this_and_nothing_else(memory: Memory, entry: Entry, change: dict[str, Any]) -> None:
    ended = {"calls": {"alice:2.0": BASH_CALL}} if isinstance(entry, Did) else {}
    assert changed(memory, entry) == change | ended


def test_a_task_given_up_by_a_call_is_forgotten() -> None:
    holding = after(Took(task=3, epoch=1, text=""), Said(calls=(BASH,)), memory=IDLE)
    assert after(Did(call="alice:3.0", text="", tasks={3: None}), memory=holding).tasks == {}
    assert after(Did(call="alice:3.0", text="", tasks={3: 2}), memory=holding).tasks == {3: 2}


def test_what_runs_in_the_background_is_known_until_it_ended() -> None:
    running = after(Did(call="alice:2.0", text="", background="b1"), memory=CALLING)
    assert after(Ended(background="b2", status="exit 0"), memory=running).background == {"b1"}
    assert after(Ended(background="b1", status="exit 0"), memory=running).background == frozenset()


def test_steps_count_the_replies_with_calls_of_one_turn() -> None:
    memory, steps = IDLE, []
    for calls in [(BASH,), (BASH, READ), (BASH,), (), (BASH,)]:
        memory = after(Said(calls=calls), memory=memory)
        steps.append(memory.steps)
    assert steps == [1, 2, 3, 0, 1]


# -- mail -----------------------------------------------------------------------------------------

WORDS = Plain(content="hi")


BOBS_PLAN = ShownPlan("bob:2.0", "bob", "p")


@pytest.mark.parametrize(
    ("sender", "message", "change"),
    [
        ("bob", WORDS, {"owed": True}),
        ("bob", Broadcast(content="hi"), {"owed": True}),
        ("lead", WORDS, {"owed": True}),
        ("user", WORDS, {"owed": True, "pressed": True}),
        ("bob", PlanRequest(request_id="bob:2.0", content="p"), {"owed": True, "plans": {"bob": BOBS_PLAN}}),
        ("bob", Undeliverable(reason="left", original={}), {"owed": True}),
        # What the clock says cuts nothing off, also in the name of the user.
        ("user", Scheduled(schedule=1, content="look", due="now"), {"owed": True}),
        ("lead", Scheduled(schedule=1, content="look", due="now"), {"owed": True}),
        ("bob", PermissionRequest(request_id="bob:2.0", tool="bash", arguments={}), {}),
        ("user", Interrupt(), {"interrupted": True, "pressed": True, "halted": True}),
        ("bob", Interrupt(), {}),
        ("lead", Interrupt(), {}),
        ("bob", ShutdownRequest(request_id="bob:2.0"), {}),
        ("system", ShutdownRequest(request_id="bob:2.0"), {}),
        (
            "lead",
            ShutdownRequest(request_id="r"),
            {"demands": {"r": "lead"}, "demanded": True, "pressed": True, "halted": True},
        ),
        (
            "user",
            ShutdownRequest(request_id="r"),
            {"demands": {"r": "user"}, "demanded": True, "pressed": True, "halted": True},
        ),
        ("lead", PlanResponse(request_id="alice:1.0", approve=True), {}),
        ("user", PermissionResponse(request_id="alice:1.0", approve=True), {}),
        ("bob", ShutdownResponse(request_id="alice:1.0", approve=False), {}),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_mail_changes_what_its_sender_may_change(sender: str, message: Message, change: dict[str, Any]) -> None:
    assert changed(IDLE, heard(sender, message)) == change


@pytest.mark.behaviour("M2")
def test_a_message_heard_again_has_no_second_effect() -> None:
    for message in (Interrupt(), ShutdownRequest(request_id="r"), WORDS):
        once = after(heard("user", message), memory=IDLE)
        settled = replace(once, interrupted=False, pressed=False, halted=False, demanded=False, demands={}, owed=False)
        again = after(heard("user", message, upto=2, id_="m1"), memory=settled)
        assert again == replace(settled, number=3, cursors={BOX: 2})


@pytest.mark.behaviour("M2")
def test_a_message_twice_in_one_entry_is_heard_once() -> None:
    body = mail("lead", ShutdownRequest(request_id="r"), "x")
    other = mail("lead", ShutdownRequest(request_id="s"), "x")
    twice = after(Heard(box=BOX, after=0, upto=3, mail=(body, body, other)), memory=IDLE)
    assert twice == after(Heard(box=BOX, after=0, upto=3, mail=(body,)), memory=IDLE)


def test_mail_that_is_not_understood_is_passed_over_and_what_follows_is_heard() -> None:
    odd: tuple[dict[str, Any], ...] = (
        {"type": "telegram"},
        {"type": []},
        {**mail("user", Interrupt(), "x"), "sender": "USER"},
    )
    memory = after(Heard(box=BOX, after=0, upto=9, mail=(*odd, mail("bob", WORDS, "y"))), memory=IDLE)
    assert memory == replace(IDLE, number=2, cursors={BOX: 9}, ids=NONE_SEEN.put("y", 2), owed=True)


def test_each_mailbox_has_its_own_cursor_and_none_falls() -> None:
    boxes = [("mail/lead", 5), ("mail/alice", 9), ("mail/lead", 6), ("mail/alice", 9), ("mail/lead", 3)]
    memory = after(*(Heard(box=box, after=0, upto=upto) for box, upto in boxes), memory=IDLE)
    assert memory.cursors == {"mail/lead": 6, "mail/alice": 9}
    assert not memory.owed


@pytest.mark.behaviour("M1", "M2")
def test_an_entry_that_began_beyond_the_cursor_does_not_move_it_and_its_mail_is_heard_once() -> None:
    """The entry before it is lost, and with it the mail between."""
    third = Heard(box=BOX, after=2, upto=3, mail=(mail("bob", WORDS, "m3"),))
    again = Heard(box=BOX, after=1, upto=3, mail=(mail("bob", WORDS, "m2"),))
    memory = after(heard("bob", WORDS, id_="m1"), third)
    assert (memory.cursors, len(memory.ids)) == ({BOX: 1}, 2)
    memory = after(again, memory=memory)
    assert (memory.cursors, len(memory.ids)) == ({BOX: 3}, 3)


# -- interrupts -----------------------------------------------------------------------------------

CUT = after(heard("user", Interrupt()), memory=IDLE)


@pytest.mark.behaviour("urgent")
@pytest.mark.parametrize(
    ("entry", "rests"),
    [
        (heard("bob", WORDS, 2), True),
        (heard("bob", Broadcast(content="all"), 2), True),
        (heard("bob", Undeliverable(reason="left", original={}), 2), True),
        (heard("bob", PlanRequest(request_id="bob:1.0", content="p"), 2), True),
        (heard("mallory", ShutdownRequest(request_id="r"), 2), True),
        (heard("user", Interrupt(), 2), True),
        (Said(text="cut short"), True),
        (Took(task=1, epoch=1, text=""), True),
        (Noticed(text="news"), True),
        (Ended(background="b1", status="exit 0"), True),
        (heard("user", WORDS, 2), False),
        (heard("lead", WORDS, 2), False),
        (heard("lead", Broadcast(content="all"), 2), False),
        (heard("lead", ShutdownRequest(request_id="r"), 2), False),
        (heard("user", ShutdownRequest(request_id="r"), 2), False),
    ],
)
def test_an_interrupted_agent_rests_until_user_or_lead_writes(entry: Entry, rests: bool) -> None:
    assert CUT.interrupted
    assert after(entry, memory=CUT).interrupted is rests


@pytest.mark.behaviour("urgent")
@pytest.mark.parametrize(("sender", "rests"), [("lead", False), ("user", False), ("bob", True)])
def test_the_word_on_its_plan_lets_an_interrupted_or_parked_agent_go_on(sender: str, rests: bool) -> None:
    cut = after(heard("user", Interrupt(), 1), AgentParked(reason="budget"), memory=PLANNING)
    told = after(heard(sender, PlanResponse(request_id="alice:2.0", approve=False), 2), memory=cut)
    assert (told.interrupted, told.parked is not None) == (rests, rests)


def test_a_parked_agent_stays_parked_when_a_teammate_writes_or_it_is_asked_to_stop() -> None:
    parked = after(AgentParked(reason="budget"), memory=IDLE)
    for entry in (heard("bob", WORDS), heard("lead", ShutdownRequest(request_id="r"))):
        assert after(entry, memory=parked).parked == AgentParked(reason="budget")
    for sender in ("lead", "user"):
        assert after(heard(sender, WORDS), memory=parked).parked is None


@pytest.mark.behaviour("urgent")
@pytest.mark.parametrize(
    ("sender", "message", "pressed"),
    [
        ("user", WORDS, True),
        ("user", Interrupt(), True),
        ("lead", ShutdownRequest(request_id="r"), True),
        ("lead", WORDS, False),
        ("bob", WORDS, False),
        ("bob", Interrupt(), False),
    ],
)
def test_only_the_users_word_and_a_shutdown_request_press(sender: str, message: Message, pressed: bool) -> None:
    assert after(heard(sender, message), memory=CALLING).pressed is pressed
    assert not after(heard(sender, message), Said(text="heard"), memory=CALLING).pressed


@pytest.mark.behaviour("permission")
def test_a_call_asked_about_twice_still_has_one_answer() -> None:
    asked = PermissionAsked(call="alice:2.0", request_id="alice:2.0")
    yes, no = (PermissionResponse(request_id="alice:2.0", approve=approve) for approve in (True, False))
    answered = after(STARTED, Said(calls=(BASH,)), asked, heard("user", yes, 1))
    assert after(asked, heard("user", no, 2), memory=answered).calls == answered.calls
