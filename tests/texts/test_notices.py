"""Every notice, reminder and message as a model reads it, reviewed as text: a changed sentence shows up in review."""

from collections.abc import Mapping

import pytest

from deskmate.core.advice import PlannedTask, board_advice
from deskmate.core.agent.entries import Ended, Heard, Nudged, WorkMode
from deskmate.core.agent.memory import Memory
from deskmate.core.agent.notices import (
    changes_text,
    cut_text,
    digest,
    forked_text,
    joins_and_leaves,
    lost_text,
    moved_text,
    no_plan_text,
    nudge_text,
    plan_nudge_text,
    taken,
)
from deskmate.core.agent.work_mode import change_text, planning_text
from deskmate.core.log.names import LEAD, USER
from deskmate.core.prompt.frames import message_text, notification_text
from deskmate.core.prompt.rendering import (
    CLEARED,
    CUT_TO_NOTHING,
    GO_ON,
    GO_ON_WHERE_CUT,
    NO_RESULT,
    damage_texts,
    told_texts,
)
from deskmate.core.radar.overlap_texts import overlap_news
from deskmate.core.radar.overlaps import Overlap
from deskmate.core.team.messages import (
    KINDS,
    Broadcast,
    Envelope,
    InputRequest,
    InputResponse,
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
from deskmate.core.team.roster_records import Event, Joined, MemberIdle, MemberLeft
from deskmate.core.team.tasks import Created, OverlapsSeen, TaskEdited
from deskmate.texts import filled, text
from tests.texts.golden import compare
from tests.texts.sample_team import BOARD, CREATED, FOUNDED, JOINED, JOINS, LOST, TEAM, WORK, board_of, roster_of

FREE = WorkMode(attended=True, barred=())
PLANS = WorkMode(planning=True, attended=True, barred=())
DELEGATES = WorkMode(delegating=True, attended=True, barred=())
BOTH = WorkMode(planning=True, delegating=True, attended=True, barred=())
BARRED = WorkMode(attended=True, barred=("bash", "write_file"))
ALONE = WorkMode(attended=False, barred=("bash", "edit_file", "write_file"))


def titled(texts: Mapping[str, str]) -> str:
    """Return texts as a person reads them, each below its title."""
    return "\n\n".join(f"-- {title}\n{told}" for title, told in texts.items())


def test_a_digest_for_the_lead() -> None:
    compare("notices/digest", digest(TEAM, BOARD, (JOINED, CREATED)))


def test_what_a_digest_says_of_what_does_not_fit() -> None:
    many = [Joined(name=f"m{number}", at=0) for number in range(100)]
    spoken = [MemberIdle(name=one.name, words="x" * 2_000, only_words=True, at=1) for one in many]
    work = [Created(by=USER, at=0, task=number, subject="parse") for number in range(1, 101)]
    whole = digest(roster_of(FOUNDED, *many, *spoken), board_of(*work), (1 + len(many), 0))
    lines = [line for line in whole.splitlines() if line.startswith(("…", "What they"))]
    compare("notices/digest-too-long", "\n".join(lines))


def test_what_a_teammate_hears_of_its_team() -> None:
    crowd = [Joined(name=f"m{number}", at=0) for number in range(41)]
    lonely: list[Event] = [Joined(name="hank", role="loaders", at=0), MemberLeft(name="dave", at=1)]
    own = board_of(*WORK, Created(by="alice", at=0, task=7, subject="Compare libraries", role="research"))
    many = joins_and_leaves(roster_of(FOUNDED, *crowd), own, 1, "alice").splitlines()
    told = {
        "somebody joined, somebody left, and a task of its own lost its taker": joins_and_leaves(
            roster_of(FOUNDED, *JOINS, *lonely), own, JOINED, "alice"
        ),
        "very many joined": many[-1],
    }
    compare("notices/team", titled(told))


def test_what_an_owner_hears_of_its_tasks() -> None:
    edited = board_of(*WORK, TaskEdited(by=USER, at=1, task=1, description="All types.", add_blocked_by=frozenset({3})))
    changed = changes_text(edited.tasks[1], "alice", Memory(words_known={1: CREATED}))
    told = {
        "it took a task": told_texts(taken(BOARD.tasks[2]))[0],
        "others changed its task": told_texts(taken(edited.tasks[1], edited.number, changed))[0],
        "tasks are no longer its own": lost_text(LOST, (1, 2, 4, 5, 9)),
        "it stopped with a task in progress": nudge_text(BOARD.tasks[2]),
        "it stopped, in a transcript of an earlier version": told_texts(Nudged(task=2, epoch=1))[0],
    }
    compare("notices/tasks", titled(told))


@pytest.mark.behaviour("radar")
def test_what_a_member_hears_of_work_that_meets_its_own() -> None:
    files = ("src/app.py", "src/größe.py")
    meets = {
        "somebody else changes the same files": Overlap(kind="edits", members=("alice", "bob"), files=files),
        "its commits conflict with those of another": Overlap(kind="conflict", members=("alice", "bob"), files=files),
        "its commits conflict with the branch": Overlap(kind="conflict", members=("alice",), files=files),
        "the branch has changes in its files": Overlap(kind="moved", members=("alice",), files=files),
    }
    boards = {what: board_of(OverlapsSeen(by=LEAD, at=0, overlaps=(one,))) for what, one in meets.items()}
    told = {what: overlap_news(board, TEAM, 0, "alice", runs=True)[0] for what, board in boards.items()}
    moved = boards["the branch has changes in its files"]
    told["the same, if it cannot run commands"] = overlap_news(moved, TEAM, 0, "alice", runs=False)[0]
    compare("notices/overlaps", titled(told))


@pytest.mark.behaviour("advice")
def test_what_a_lead_hears_of_its_board_before_it_starts_teammates() -> None:
    chain = [PlannedTask(1, "", frozenset()), PlannedTask(2, "", frozenset({1}))]
    free = [PlannedTask(id_, f"Change src/app.py, part {id_}", frozenset()) for id_ in (1, 2, 3)]
    told = {
        "its tasks wait for each other": board_advice(chain, 0),
        "the same, while it delegates": board_advice(chain, 0, delegating=True),
        "some of them need not wait": board_advice([*chain, PlannedTask(3, "", frozenset())], 0),
        "they name the same file, and teammates have worked": board_advice(free, 1, [0.12]),
    }
    compare("notices/advice", titled(told))


@pytest.mark.behaviour("plan")
def test_what_is_said_about_plans() -> None:
    told = {
        "a lead plans": planning_text(LEAD, attended=True),
        "a lead plans in a run that nobody attends": planning_text(LEAD, attended=False),
        "a teammate plans": planning_text("bob", attended=True),
        "a subagent plans": planning_text("lead:3.0", attended=True),
        "a lead stopped without a plan": plan_nudge_text(LEAD),
        "a teammate stopped without a plan": plan_nudge_text("bob"),
        "to the user, after the lead stopped twice": no_plan_text(LEAD, []),
        "to the lead, after a teammate stopped twice": no_plan_text("bob", ["I would test the schema.", "As I said."]),
    }
    compare("notices/plans", titled(told))


@pytest.mark.behaviour("tiers")
def test_what_is_said_when_the_way_to_work_changes() -> None:
    told = {
        "the user came": change_text(LEAD, ALONE, FREE),
        "the user left": change_text(LEAD, FREE, ALONE),
        "delegating began": change_text(LEAD, FREE, DELEGATES),
        "delegating ended": change_text(LEAD, DELEGATES, FREE),
        "delegating ended, plan mode did not": change_text(LEAD, BOTH, PLANS),
        "plan mode ended": change_text("bob", PLANS, FREE),
        "plan mode ended, delegating did not": change_text(LEAD, BOTH, DELEGATES),
        "calls of some tools are denied": change_text("bob", FREE, BARRED),
        "they are allowed again": change_text("bob", BARRED, FREE),
    }
    compare("notices/modes", titled(told))


def test_what_a_lead_hears_of_its_run_and_its_teams() -> None:
    told = {
        "it leads another team": moved_text(roster_of(FOUNDED.model_copy(update={"team": "web", "home": "main"}))),
        "it is back": moved_text(TEAM),
        "its conversation was copied": forked_text("main-2", "main"),
        "its whole team is idle": text("reminder"),
        "its team was dismissed": filled("dismissed", {"names": "alice, bob"}, ()),
        "commands still run": filled("running", {"commands": "- b000001: make test"}, ()),
        "the end of its transcript is lost": cut_text(),
    }
    compare("notices/runs", titled(told))


def test_what_stands_for_something_that_is_not_there() -> None:
    told = {
        "nothing new": GO_ON,
        "an answer was too long": GO_ON_WHERE_CUT,
        "an answer was too long and nothing of it is left": CUT_TO_NOTHING,
        "a call has no result": NO_RESULT,
        "a result was cleared": CLEARED,
        "mail that cannot be read": "\n".join(
            damage_texts(Heard(box="mail/bob", after=0, upto=1, damage=("record 3: torn",)))
        ),
        "a command ended": notification_text(
            Ended(background="b000001", status="completed", text="exit status 0", blob=".teams/main/blobs/lead-7-0.txt")
        ),
    }
    compare("notices/placeholders", titled(told))


MAIL: dict[str, tuple[str, str, Message]] = {
    "the user to the lead": (USER, LEAD, Plain(content="Move the service to GraphQL.")),
    "the user to a teammate": (USER, "bob", Plain(content="Hurry.")),
    "a message": ("alice", LEAD, Plain(content="Which port?", summary="asks for the port")),
    "an empty message": (USER, LEAD, Plain(content=" ")),
    "a broadcast": (LEAD, "bob", Broadcast(content="The schema is final.")),
    "a plan": ("bob", LEAD, PlanRequest(request_id="bob:7.0", content="I test the schema first.")),
    "a plan is approved": (LEAD, "bob", PlanResponse(request_id="bob:7.0", approve=True)),
    "a plan is refused": (LEAD, "bob", PlanResponse(request_id="bob:7.0", approve=False, content="Test more.")),
    "a request to leave": (LEAD, "bob", ShutdownRequest(request_id="lead:9.0", content="We are done.")),
    "a request to leave that cannot be refused": (LEAD, "bob", ShutdownRequest(request_id="lead:9.0", force=True)),
    "a teammate stays": ("bob", LEAD, ShutdownResponse(request_id="lead:9.0", approve=False, content="I am not done.")),
    "a schedule of the user": (
        USER,
        LEAD,
        Scheduled(schedule=1, content="Is the build green?", due="2026-11-19 09:00:00 CET"),
    ),
    "a schedule of the lead that was missed": (
        LEAD,
        LEAD,
        Scheduled(schedule=2, content="Look at the queue.", due="2026-11-19 09:00:00 UTC", missed=3),
    ),
    "mail that came back": (
        "bob",
        LEAD,
        Undeliverable(
            reason="'bob' left before reading it",
            original=Envelope("m1", LEAD, "bob", 0.0, Plain(content="One more test.")).body(),
        ),
    ),
}
# Only the runtime reads these.
UNREAD = {PermissionRequest, PermissionResponse, InputRequest, InputResponse, Interrupt}


def test_mail_of_every_kind() -> None:
    assert {type(message) for _, _, message in MAIL.values()} == set(KINDS) - UNREAD
    told = {
        title: message_text(Envelope("m1", sender, recipient, 0.0, message)) or ""
        for title, (sender, recipient, message) in MAIL.items()
    }
    compare("notices/mail", titled(told))
