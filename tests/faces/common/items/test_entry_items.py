"""Transcripts as items: what was said, thought, called, heard and told, in its order, each call with its result."""

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
    PermissionAsked,
    Reported,
    Said,
    Started,
    Took,
)
from deskmate.core.team.messages import Broadcast, Envelope, Plain
from deskmate.faces.common.items.entry_items import ItemHistory, items_of
from deskmate.faces.common.items.mail_items import MailItem
from deskmate.faces.common.items.transcript_items import (
    CallItem,
    CallState,
    Fold,
    NoticeItem,
    ParkedItem,
    ShownItem,
    SummaryItem,
    TakenTaskItem,
    ThoughtItem,
    WordsItem,
    fold_of,
)
from deskmate.faces.common.text_tables import Cell

pytestmark = pytest.mark.behaviour("tui")
BASH = Call(tool="bash", arguments={"command": "make test"})
EDIT = Call(tool="edit_file", arguments={"path": "a.py", "old_text": "one\ntwo", "new_text": "three"})
WRITE = Call(tool="write_file", arguments={"path": "b.py", "content": "x = 1\n"})
DIFF = "--- a.py\n+++ a.py\n@@ -1,2 +1,1 @@\n-one\n-two\n+three"


def items(*entries: Entry) -> list[ShownItem]:
    history = ItemHistory("alice")
    for number, entry in enumerate(entries, 1):
        history.add(number, entry)
    return history.all


def call_after(*entries: Entry) -> CallItem:
    (item,) = items(*entries)
    assert isinstance(item, CallItem)
    return item


def test_words_come_before_the_calls_that_were_said_with_them() -> None:
    assert items(Said(text="I look.\n", calls=(BASH,))) == [
        WordsItem("1/0", "I look."),
        CallItem("alice:1.0", "bash", {"command": "make test"}),
    ]


def test_thoughts_words_and_calls_keep_the_order_in_which_they_were_said() -> None:
    blocks = (
        {"type": "thinking", "text": "Hm.", "signature": "s", "sealed": False},
        {"type": "call", "index": 0},
        {"type": "text", "text": "Then."},
        {"type": "thinking", "text": "", "signature": "s", "sealed": True},
        {"type": "call", "index": 7},
    )
    assert items(Said(text="Then.", calls=(BASH,), blocks=blocks)) == [
        ThoughtItem("1/0", "Hm."),
        CallItem("alice:1.0", "bash", {"command": "make test"}),
        WordsItem("1/2", "Then."),
    ]


def test_a_call_is_one_item_from_when_it_is_said_to_its_result() -> None:
    entries: list[Entry] = [
        Said(calls=(BASH,)),
        PermissionAsked(call="alice:1.0", request_id="alice:1.0"),
        Began(calls=("alice:1.0",)),
        Did(call="alice:1.0", text="2 passed", lines=9),
    ]
    states = [call_after(*entries[:count]).state for count in range(1, 5)]
    assert states == [CallState.SAID, CallState.ASKED, CallState.RUNNING, CallState.DONE]
    ended = CallItem("alice:1.0", "bash", {"command": "make test"}, CallState.DONE, "2 passed", lines=9)
    assert items(*entries) == [ended]
    assert (ended.title, ended.details, ended.failure, fold_of(ended)) == (
        "bash make test",
        "command: make test",
        "",
        Fold.CLOSED,
    )


def test_a_call_that_failed_says_why_and_shows_what_was_meant_for_screens() -> None:
    call = call_after(Said(calls=(BASH,)), Did(call="alice:1.0", text="for the model", shown="error: x", ok=False))
    assert (call.state, call.text, call.failure) == (CallState.FAILED, "error: x", "error: x")


def test_a_call_that_was_said_before_all_this_is_called_an_earlier_one() -> None:
    call = call_after(Began(calls=("alice:1.0",)), Did(call="alice:1.0", text="2 passed"))
    assert (call.title, call.state, call.text) == ("an earlier call", CallState.DONE, "2 passed")


@pytest.mark.parametrize(("call", "diff"), [(EDIT, "-one\n-two\n+three"), (WRITE, "+x = 1")])
def test_an_edit_shows_what_it_would_change_before_it_has_a_result(call: Call, diff: str) -> None:
    item = call_after(Said(calls=(call,)))
    assert (item.diff, item.details, fold_of(item)) == (diff, "", Fold.OPEN)


def test_an_edit_shows_what_it_changed_without_the_names_of_the_file() -> None:
    item = call_after(Said(calls=(EDIT,)), Did(call="alice:1.0", text="edited", shown=DIFF))
    assert (item.diff, item.text, fold_of(item)) == ("@@ -1,2 +1,1 @@\n-one\n-two\n+three", "", Fold.OPEN)


def test_an_edit_that_failed_shows_why() -> None:
    item = call_after(Said(calls=(EDIT,)), Did(call="alice:1.0", text="old_text is nowhere", ok=False))
    assert (item.diff, item.text, fold_of(item)) == ("", "old_text is nowhere", Fold.CLOSED)


def test_a_long_diff_is_folded() -> None:
    long = Call(tool="write_file", arguments={"path": "b.py", "content": "x\n" * 50})
    assert fold_of(call_after(Said(calls=(long,)))) is Fold.CLOSED


def test_arguments_of_several_lines_stand_below_their_name() -> None:
    call = Call(tool="bash", arguments={"command": "cd a\nmake\n", "timeout": 5})
    assert call_after(Said(calls=(call,))).details == "command: \n  cd a\n  make\ntimeout: 5"


def test_mail_that_was_heard_is_known_by_its_id_and_what_could_not_be_read_is_told() -> None:
    sent = [
        Envelope("user/1", "user", "alice", 1.0, Plain(content="go")),
        Envelope("lead/2", "lead", "alice", 2.0, Broadcast(content="all of you")),
    ]
    bodies = (*(one.body() for one in sent), {"type": "telegram", "sender": "bob"})
    history = ItemHistory("alice")
    history.add(1, Heard(box="mail/alice", after=0, upto=3, mail=bodies, damage=("line 3",)))
    *mail, unknown, damaged = history.all
    assert mail == [MailItem(f"1/{n}", one, ("alice",)) for n, one in enumerate(sent)]
    assert (unknown.title, "telegram" in unknown.text) == ("could not read mail", True)
    assert damaged == NoticeItem("1/damage0", "could not read mail", "line 3")
    assert history.heard == {"user/1", "lead/2"}


@pytest.mark.parametrize(
    ("entry", "item"),
    [
        (Started(name="alice", prompt="You know."), NoticeItem("1", "began", "You know.", minor=True)),
        (Noticed(text="bob left"), NoticeItem("1", "was told", "bob left", minor=True)),
        (Nudged(task=1, epoch=1, text="#1 is open"), NoticeItem("1", "was reminded", "#1 is open")),
        (
            Reported(task=3, epoch=1),
            NoticeItem("1", "is idle with task #3 unfinished. The lead was told"),
        ),
        (Reported(task=0, epoch=1), NoticeItem("1", "submitted no plan. The lead was told")),
        (AgentParked(reason="no money"), ParkedItem("1", "no money", "alice")),
        (Ended(background="b1", status="exit 0", text="a\nb"), NoticeItem("1", "b1 ended: exit 0", "a\nb")),
        (Agreed(request_id="r"), NoticeItem("1", "agreed to leave", minor=True)),
        (Compacted(upto=3, summary="a\nb"), SummaryItem("1", "a\nb")),
        (Cleared(upto=3), NoticeItem("1", "made room: cleared old results", minor=True)),
    ],
)
def test_what_happened_to_a_member_is_an_item(entry: Entry, item: ShownItem) -> None:
    assert items(entry) == [item]


@pytest.mark.parametrize(
    ("took", "title", "fold"),
    [
        (Took(task=1, epoch=1, text="read\nthe API"), "took task #1", Fold.CLOSED),
        (
            Took(task=1, epoch=1, text="read", created_by="lead", edited_by=("ann", "bob")),
            "took task #1 (edited by ann, bob)",
            Fold.NEVER,
        ),
        (
            Took(task=1, epoch=1, text="read", created_by="lead", changes="ann changed your task #1: subject."),
            "read task #1 again",
            Fold.NEVER,
        ),
    ],
)
def test_a_task_that_was_taken_names_its_number_and_its_authors(took: Took, title: str, fold: Fold) -> None:
    (item,) = items(took)
    assert isinstance(item, TakenTaskItem)
    assert (item.title, fold_of(item)) == (title, fold)


def test_what_a_lead_left_unfinished_was_told_to_nobody_else() -> None:
    history = ItemHistory("lead")
    history.add(1, Reported(task=3, epoch=1))
    assert [item.title for item in history.all] == ["is idle with task #3 unfinished"]


def test_who_was_told_nothing_at_the_beginning_has_nothing_there() -> None:
    assert items(Started(name="lead")) == []


def test_a_note_stands_where_the_conversation_was() -> None:
    history = ItemHistory("lead")
    history.add(1, Said(text="before"))
    history.note(((Cell("2 tasks"),),))
    history.add(2, Said(text="after"))
    history.note(((Cell("3 tasks"),),))
    assert [one.text for one in history.all] == ["before", "2 tasks", "after", "3 tasks"]


@pytest.mark.parametrize(("ok", "title"), [(True, "#3 completed"), (False, "#3 not completed")])
def test_a_task_is_called_completed_only_once_it_is(ok: bool, title: str) -> None:
    asked = Said(calls=(Call(tool="TaskUpdate", arguments={"taskId": 3, "status": "completed"}),))
    entries: list[Entry] = [asked, Began(calls=("alice:1.0",)), Did(call="alice:1.0", text="so", ok=ok)]
    titles = [call_after(*entries[:count]).title for count in (1, 2, 3)]
    assert titles == ["completing #3 …", "completing #3 …", title]


def test_notes_that_a_lead_proposes_are_shown_with_the_command_that_keeps_them() -> None:
    proposes = Said(text="Done.\n#team Use tabs.")
    *_, shown = items_of("lead", 7, proposes, {})
    assert shown == NoticeItem("7/notes", "proposes a note for later teams", "To keep it, type /memory keep")
    assert [type(item) for item in items_of("alice", 7, proposes, {})] == [WordsItem]
    assert [type(item) for item in items_of("lead", 7, Said(text="#teams are nice"), {})] == [WordsItem]
