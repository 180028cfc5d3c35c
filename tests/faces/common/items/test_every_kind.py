"""Every kind of entry, message, question and task state is shown, or is listed here with the reason why not."""

from collections.abc import Mapping
from typing import get_args

import pytest

from deskmate.core.agent import entries
from deskmate.core.agent.entries import Call, Entry
from deskmate.core.team import messages
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.messages import Envelope, Message
from deskmate.core.team.open_questions import Question
from deskmate.core.team.tasks import BoardState, Task, TaskStatus
from deskmate.faces.common.items.entry_items import items_of
from deskmate.faces.common.items.mail_items import MailItem, mail_items
from deskmate.faces.common.items.question_items import question_item
from deskmate.faces.common.items.task_items import TaskItem, TaskState, task_items
from deskmate.faces.common.items.transcript_items import TranscriptItem
from deskmate.queries.member_view import Letter

MAIL = Envelope("user/1", "user", "alice", 1.0, messages.Plain(content="go"))

# An entry of each kind that there is.
ENTRIES: tuple[Entry, ...] = (
    entries.Started(name="alice", prompt="You know APIs."),
    entries.Heard(box="mail/alice", after=0, upto=1, mail=(MAIL.body(),)),
    entries.Said(text="I look.", calls=(Call(tool="bash", arguments={"command": "ls"}),)),
    entries.Began(calls=("alice:1.0",)),
    entries.Did(call="alice:1.0", text="a.py"),
    entries.PermissionAsked(call="alice:1.0", request_id="alice:1.0"),
    entries.Took(task=1, epoch=1, text="read"),
    entries.Noticed(text="bob left"),
    entries.Nudged(task=1, epoch=1, text="go on"),
    entries.Reported(task=1, epoch=1),
    entries.Agreed(request_id="lead:1.0"),
    entries.AgentParked(reason="no money"),
    entries.Ended(background="b1", status="exit 0"),
    entries.Compacted(upto=3, summary="We planned."),
    entries.Cleared(upto=3),
    entries.SummaryRequested(focus="the API"),
    entries.SummaryDropped(),
    entries.Overflowed(),
    entries.PicturesRefused(names=("shot.png",)),
    entries.Hooked(event="Stop", about="3", decision="deny", reason="run the tests", shown=("it took long",)),
)
# Kinds of entries that show nothing, and why.
UNSHOWN_ENTRIES: Mapping[type[Entry], str] = {}

MESSAGES: tuple[Message, ...] = (
    messages.Plain(content="go"),
    messages.Broadcast(content="go"),
    messages.PlanRequest(request_id="alice:1.0", content="First."),
    messages.PlanResponse(request_id="alice:1.0", approve=True, accept_edits=True),
    messages.ShutdownRequest(request_id="lead:1.0", content="We are done."),
    messages.ShutdownResponse(request_id="lead:1.0", approve=False, content="Not yet."),
    messages.PermissionRequest(request_id="alice:1.0", tool="bash", arguments={"command": "ls"}, reason="a rule"),
    messages.PermissionResponse(request_id="alice:1.0", approve=True),
    messages.InputRequest(request_id="alice:1.0", call="alice:1.0", server="weather", content="Which city?"),
    messages.InputResponse(request_id="alice:1.0", approve=False, content="Not now."),
    messages.Interrupt(),
    messages.Scheduled(schedule=2, content="Look.", due="now"),
    messages.Undeliverable(reason="bob left", original={"content": "go"}),
)
TITLES = {
    "message": ("", "go"),
    "broadcast": ("to all", "go"),
    "plan_approval_request": ("plan", "First."),
    "plan_approval_response": ("plan: yes, and accept edits", ""),
    "shutdown_request": ("shutdown request", "We are done."),
    "shutdown_response": ("shutdown: no", "Not yet."),
    "permission_request": ("permission request", 'bash {"command": "ls"}\na rule'),
    "permission_response": ("permission: yes", ""),
    "input_request": ("question of the MCP server weather", "Which city?"),
    "input_response": ("answer: no", "Not now."),
    "interrupt": ("interrupt", ""),
    "scheduled": ("schedule 2", "Look."),
    "undeliverable": ("undeliverable", "bob left\ngo"),
}


def shown(item: TranscriptItem) -> bool:
    return bool(item.title.strip() or item.text.strip())


def test_there_is_an_example_of_every_kind() -> None:
    assert set(map(type, ENTRIES)) == set(entries.KINDS) == set(get_args(Entry))
    assert set(map(type, MESSAGES)) == set(messages.KINDS) == set(get_args(Message))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.type)
def test_every_kind_of_entry_is_shown_or_listed_as_unshown(entry: Entry) -> None:
    found = list(items_of("alice", 1, entry, {}))
    assert bool(found) == (type(entry) not in UNSHOWN_ENTRIES)
    assert all(map(shown, found))


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.type)
def test_every_kind_of_message_says_what_it_is_and_what_it_says(message: Message) -> None:
    (item,) = mail_items([Letter(3, Envelope("lead/1", "lead", "alice", 1.0, message))])
    assert (item.sender, item.recipients, item.title, item.text) == ("lead", ("alice",), *TITLES[message.type])


def test_copies_of_a_broadcast_are_one_item() -> None:
    to = [
        Letter(1, Envelope(f"lead:1.0/{name}", "lead", name, 1.0, messages.Broadcast(content="go")))
        for name in ("alice", "bob")
    ]
    (item,) = mail_items(to)
    assert isinstance(item, MailItem)
    assert item.recipients == ("alice", "bob")


@pytest.mark.parametrize(
    ("task", "state"),
    [
        (TaskItem(Task(1, "read")), TaskState.FREE),
        (TaskItem(Task(1, "read", owner="bob")), TaskState.GIVEN),
        (TaskItem(Task(1, "read", owner="bob"), (2,)), TaskState.BLOCKED),
        (TaskItem(Task(1, "read", owner="bob", status=TaskStatus.IN_PROGRESS)), TaskState.IN_PROGRESS),
        (TaskItem(Task(1, "read", status=TaskStatus.COMPLETED)), TaskState.DONE),
        (TaskItem(Task(1, "read", status=TaskStatus.DELETED)), TaskState.DROPPED),
    ],
)
def test_every_state_of_a_task_has_a_word(task: TaskItem, state: TaskState) -> None:
    assert task.state is state


def test_every_task_is_on_the_board_except_deleted_ones() -> None:
    tasks = {n: Task(n, "read", status=status) for n, status in enumerate(TaskStatus, 1)}
    assert [item.task.status for item in task_items(BoardState(tasks))] == [
        status for status in TaskStatus if status is not TaskStatus.DELETED
    ]


def test_every_kind_of_question_says_what_is_asked_and_how_to_answer() -> None:
    plan = question_item(Question("bob:1.0", "bob", 0.0, Shake.PLAN, plan="First."))
    call = question_item(
        Question("bob:1.0", "bob:7.0", 0.0, Shake.PERMISSION, "bash", {"command": "ls"}, rule="allow bash(ls)")
    )
    bare = question_item(Question("bob:1.0", "bob", 0.0, Shake.PERMISSION, "bash", {"command": "ls"}))
    wanted = messages.InputRequest(request_id="bob:1.0", call="bob:1.0", server="weather", content="Which city?")
    of_server = question_item(Question("bob:1.0", "bob", 0.0, Shake.INPUT, input=wanted))
    assert [(item.asker, item.asks, item.subject) for item in (plan, call, of_server)] == [
        ("bob", "submits a plan", "a plan: First."),
        ("bob (subagent)", "asks: may I use bash?", "bash ls"),
        ("bob", "asks for the MCP server weather, which wants a page to be opened", "weather: Which city?"),
    ]
    assert [[(one.answer, one.effect) for one in item.choices] for item in (plan, call, bare, of_server)] == [
        [("yes", ""), ("always", "yes, and accept edits"), ("no", "")],
        [("yes", ""), ("always", "adds the rule: allow bash(ls)"), ("no", "")],
        [("yes", ""), ("no", "")],
        [("yes", ""), ("no", "")],
    ]
    # A member answers a shutdown request itself: people are never asked.
    assert set(Shake) - {item.question.shake for item in (plan, call, of_server)} == {Shake.SHUTDOWN}
