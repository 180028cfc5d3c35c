"""Transcripts as pieces: what was said, thought, called, heard and told, in its order, each call with its result."""

import pytest

from deskmate.app import Entry
from deskmate.core.agent.entries import (
    AgentParked,
    Agreed,
    Began,
    Call,
    Cleared,
    Compacted,
    Did,
    Ended,
    Heard,
    Noticed,
    Nudged,
    PermissionAsked,
    Reported,
    Said,
    Started,
    Took,
)
from deskmate.faces.common.text_tables import Cell
from deskmate.faces.tui.drawing.transcript_pieces import PieceKind, Pieces, State, TranscriptPiece

pytestmark = pytest.mark.behaviour("tui")
BASH = Call(tool="bash", arguments={"command": "make test"})
EDIT = Call(tool="edit_file", arguments={"path": "a.py", "old_text": "one\ntwo", "new_text": "three"})
WRITE = Call(tool="write_file", arguments={"path": "b.py", "content": "x = 1\n"})
DIFF = "--- a.py\n+++ a.py\n@@ -1,2 +1,1 @@\n-one\n-two\n+three"


def pieces(*entries: Entry) -> list[TranscriptPiece]:
    told = Pieces("alice")
    for number, entry in enumerate(entries, 1):
        told.add(number, entry)
    return told.all


def test_words_come_before_the_calls_that_were_said_with_them() -> None:
    assert pieces(Said(text="I look.\n", calls=(BASH,))) == [
        TranscriptPiece("1/0", PieceKind.WORDS, body="I look."),
        TranscriptPiece("alice:1.0", PieceKind.CALL, "bash make test", more="command: make test", folded=True),
    ]


def test_thoughts_words_and_calls_keep_the_order_in_which_they_were_said() -> None:
    blocks = (
        {"type": "thinking", "text": "Hm.", "signature": "s", "sealed": False},
        {"type": "call", "index": 0},
        {"type": "text", "text": "Then."},
        {"type": "thinking", "text": "", "signature": "s", "sealed": True},
        {"type": "call", "index": 7},
    )
    kinds = [(one.kind, one.body) for one in pieces(Said(text="Then.", calls=(BASH,), blocks=blocks))]
    assert kinds == [(PieceKind.THOUGHT, "Hm."), (PieceKind.CALL, ""), (PieceKind.WORDS, "Then.")]


def test_a_call_is_one_piece_from_when_it_is_said_to_its_result() -> None:
    entries: list[Entry] = [
        Said(calls=(BASH,)),
        PermissionAsked(call="alice:1.0", request_id="alice:1.0"),
        Began(calls=("alice:1.0",)),
        Did(call="alice:1.0", text="2 passed"),
    ]
    states = [pieces(*entries[:count])[0].state for count in range(1, 5)]
    assert states == [State.SAID, State.ASKED, State.RUNNING, State.DONE]
    ended = TranscriptPiece(
        "alice:1.0", PieceKind.CALL, "bash make test", "2 passed", "command: make test", state=State.DONE, folded=True
    )
    assert pieces(*entries) == [ended]


def test_a_call_that_failed_says_so_and_shows_what_was_meant_for_screens() -> None:
    did = Did(call="alice:1.0", text="for the model", shown="for people", ok=False)
    (piece,) = pieces(Said(calls=(BASH,)), did)
    assert (piece.state, piece.body) == (State.FAILED, "for people")


def test_a_result_whose_call_was_lost_is_left_out() -> None:
    assert pieces(Did(call="alice:1.0", text="2 passed"), Began(calls=("alice:1.0",))) == []


@pytest.mark.parametrize(("call", "diff"), [(EDIT, "-one\n-two\n+three"), (WRITE, "+x = 1")])
def test_an_edit_shows_what_it_would_change_before_it_has_a_result(call: Call, diff: str) -> None:
    (piece,) = pieces(Said(calls=(call,)))
    assert (piece.body, piece.more, piece.is_diff, piece.folded) == (diff, "", True, False)


def test_an_edit_shows_what_it_changed_without_the_names_of_the_file() -> None:
    (piece,) = pieces(Said(calls=(EDIT,)), Did(call="alice:1.0", text="edited", shown=DIFF))
    assert (piece.body, piece.is_diff, piece.folded) == ("@@ -1,2 +1,1 @@\n-one\n-two\n+three", True, False)


def test_an_edit_that_failed_shows_why() -> None:
    (piece,) = pieces(Said(calls=(EDIT,)), Did(call="alice:1.0", text="old_text is nowhere", ok=False))
    assert (piece.body, piece.is_diff, piece.folded) == ("old_text is nowhere", False, True)


def test_a_long_diff_is_folded() -> None:
    long = Call(tool="write_file", arguments={"path": "b.py", "content": "x\n" * 50})
    assert pieces(Said(calls=(long,)))[0].folded


def test_arguments_of_several_lines_stand_below_their_name() -> None:
    call = Call(tool="bash", arguments={"command": "cd a\nmake\n", "timeout": 5})
    assert pieces(Said(calls=(call,)))[0].more == "command: \n  cd a\n  make\ntimeout: 5"


def test_mail_names_its_sender_and_what_it_is() -> None:
    mail = (
        {"type": "message", "sender": "user", "content": "go"},
        {"type": "broadcast", "sender": "lead", "content": "all of you"},
        {"type": "plan_approval_request", "sender": "bob", "content": "first\nthen"},
        {"type": "shutdown_response", "sender": "bob", "approve": True},
        {"type": "plan_approval_response", "sender": "lead", "approve": False, "content": "why?"},
        {"type": "undeliverable", "sender": "bob", "reason": "bob left"},
    )
    heard = Heard(box="mail/alice", after=0, upto=6, mail=mail, damage=("line 3",))
    assert [(one.sender, one.head, one.body) for one in pieces(heard)] == [
        ("user", "user", "go"),
        ("lead", "lead to all", "all of you"),
        ("bob", "bob plan", "first\nthen"),
        ("bob", "bob shutdown response: yes", ""),
        ("lead", "lead plan approval response: no", "why?"),
        ("bob", "bob undeliverable", "bob left"),
        ("", "could not read mail: line 3", ""),
    ]


def test_what_was_heard_is_known_by_its_id() -> None:
    told = Pieces("alice")
    told.add(1, Heard(box="mail/alice", after=0, upto=1, mail=({"type": "message", "sender": "user", "id": "user/1"},)))
    assert told.heard == {"user/1"}


@pytest.mark.parametrize(
    ("entry", "head", "body"),
    [
        (Started(name="alice", prompt="You know APIs."), "began: You know APIs.", ""),
        (Started(name="alice", prompt="You\nknow"), "began", "You\nknow"),
        (Took(task=1, epoch=1, text="#1 read\nthe API"), "took a task", "#1 read\nthe API"),
        (
            Took(task=1, epoch=1, text="read\nthe API", created_by="lead", edited_by=("ann", "bob")),
            "took a task by lead, edited by ann, bob",
            "Task #1 is yours now: read\nthe API",
        ),
        (Nudged(task=1, epoch=1, text="#1 is open"), "was reminded: #1 is open", ""),
        (Noticed(text="bob left"), "was told: bob left", ""),
        (Reported(task=3, epoch=1), "rests on task #3; the lead was told", ""),
        (Reported(task=0, epoch=1), "handed in no plan", ""),
        (AgentParked(reason="no money"), "parked: no money", ""),
        (Ended(background="b1", status="exit 0", text="a\nb"), "b1 ended: exit 0", "a\nb"),
        (Agreed(request_id="r"), "agreed to leave", ""),
        (Compacted(upto=3, summary="a\nb"), "made room: a summary replaces everything before", "a\nb"),
        (Cleared(upto=3), "made room: old results are cleared", ""),
    ],
)
def test_what_a_member_was_told_is_a_line_that_unfolds(entry: Entry, head: str, body: str) -> None:
    (piece,) = pieces(entry)
    assert (piece.kind, piece.head, piece.body, piece.foldable) == (PieceKind.TOLD, head, body, bool(body))


def test_who_was_told_nothing_at_the_beginning_has_nothing_there() -> None:
    assert pieces(Started(name="lead")) == []


def test_a_note_stands_where_the_conversation_was() -> None:
    told = Pieces("lead")
    told.add(1, Said(text="before"))
    told.note(((Cell("2 tasks"),),))
    told.add(2, Said(text="after"))
    told.note(((Cell("3 tasks"),),))
    assert [one.text for one in told.all] == ["before", "2 tasks", "after", "3 tasks"]


@pytest.mark.parametrize(("ok", "head"), [(True, "#3 completed"), (False, "#3 not completed")])
def test_a_task_is_called_completed_only_once_it_is(ok: bool, head: str) -> None:
    asked = Said(calls=(Call(tool="TaskUpdate", arguments={"taskId": 3, "status": "completed"}),))
    entries: list[Entry] = [asked, Began(calls=("alice:1.0",)), Did(call="alice:1.0", text="so", ok=ok)]
    assert [pieces(*entries[:count])[0].head for count in (1, 2, 3)] == ["completing #3 …", "completing #3 …", head]
