"""Duties: what an agent does between two steps of its model, among them asking a person to allow a call."""

from collections.abc import Iterator
from functools import partial

import pytest

from deskmate.core.agent.actions import Agree, Duty, Notice, Nudge, Report, Rest, Take
from deskmate.core.agent.entries import (
    AgentParked,
    Agreed,
    Began,
    Did,
    Heard,
    Noticed,
    Nudged,
    PermissionAsked,
    Reported,
    Started,
    Took,
)
from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.prompt.prompts import Prompt
from deskmate.core.team.members import Member
from deskmate.core.team.messages import PermissionRequest, Plain, ShutdownRequest, ShutdownResponse
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import TaskStatus
from deskmate.models.scripted import Step
from deskmate.runtime.events import Recorded
from deskmate.runtime.perform.team_duties import TeamDuties
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.transcript import Transcript
from deskmate.testing import Say, Use
from tests.runtime.agent_harness import AgentHarness, ScriptedWorkspace, last_told, uses
from tests.runtime.conftest import Open
from tests.runtime.team_process import until

pytestmark = pytest.mark.anyio

CALL = "lead:3.0"
LS = uses("bash", command="ls -l")
WRITE = uses("write_file", path="new.txt", content="hello")
NOBODY = "nobody is here to answer. Continue without this call. The user can allow more with another --permission-mode."


# -- nobody attends ---------------------------------------------------------------------------------


@pytest.mark.behaviour("permission", "P5")
@pytest.mark.parametrize(
    ("step", "reason"),
    [(LS, "bash runs a command outside a sandbox"), (WRITE, "write_file edits files")],
)
async def test_in_the_default_mode_nobody_there_means_no_in_words_that_name_the_flag(step: Say, reason: str) -> None:
    harness = await AgentHarness.opened([step, "I may not."], mode=Mode.DEFAULT)
    assert await harness.turn("go") == Rest()
    assert await harness.results() == [(CALL, False, f"Denied: {reason}, and {NOBODY}")]
    assert (harness.bench.asked, harness.bench.files, await harness.letters()) == ([], {}, [])


@pytest.mark.behaviour("permission", "P5")
async def test_plan_mode_only_reads() -> None:
    tries = Say(
        "",
        [
            Use("read_file", {"path": "a"}),
            Use("write_file", {"path": "a", "content": ""}),
            Use("bash", {"command": "rm a"}),
            Use("Task", {"prompt": "do it for me"}),
        ],
    )
    harness = await AgentHarness.opened([tries, "So be it."], mode=Mode.PLAN, workspace=ScriptedWorkspace({"a": b"1"}))
    await harness.turn("go")
    assert [(ok, text.partition(" does not work")[0]) for _, ok, text in await harness.results()] == [
        (True, "1\t1"),
        (False, "write_file"),
        (False, "bash"),
        (False, "Task"),
    ]
    assert (harness.bench.asked, harness.bench.files) == ([], {"a": b"1"})


@pytest.mark.behaviour("permission")
async def test_a_rule_that_denies_holds_in_every_mode() -> None:
    harness = await AgentHarness.opened([WRITE, "I may not."], mode=Mode.BYPASS)
    await harness.permit(add_rules=("deny write_file(*.txt)",))
    await harness.turn("go")
    ((_, ok, text),) = await harness.results()
    assert (ok, "the rule 'deny write_file(*.txt)'" in text, harness.bench.files) == (False, True, {})


# -- a person attends -------------------------------------------------------------------------------


@pytest.mark.behaviour("permission", "P5")
async def test_who_attends_is_asked_by_mail_and_a_yes_runs_exactly_that_call(open_store: Open) -> None:
    harness = await AgentHarness.opened([LS, "Listed."], mode=Mode.DEFAULT, attended=True, store=open_store())
    async with harness.playing("go") as agent:
        await harness.until_status("waiting", "permission")
        (letter,) = await harness.letters()
        assert letter.sender == LEAD
        assert letter.message == PermissionRequest(
            request_id=CALL,
            tool="bash",
            arguments={"command": "ls -l"},
            reason="bash runs a command outside a sandbox",
            rule="allow bash(ls -l)",
        )
        assert (len(harness.scripted.prompts), harness.bench.asked) == (1, [])
        await harness.answer(CALL, approve=True)
        await until(lambda: agent.transcript.last_words == "Listed.")
        await harness.until_status("idle")
    assert [asked[0] for asked in harness.bench.asked] == ["ls -l"]
    assert await harness.statuses() == ["working", "waiting(permission)", "working", "idle"]


@pytest.mark.behaviour("permission", "P5")
async def test_a_no_gives_the_model_its_reason_and_the_next_call_is_asked_about_again() -> None:
    harness = await AgentHarness.opened([LS, LS, "I give up."], mode=Mode.DEFAULT, attended=True)
    async with harness.playing("go") as agent:
        await harness.until_status("waiting", "permission")
        await harness.answer(CALL, approve=False, content="not in this folder")
        await until(lambda: len(harness.scripted.prompts) == 2)
        await harness.until_status("waiting", "permission")
        await harness.answer("lead:7.0", approve=False)
        await until(lambda: agent.transcript.last_words == "I give up.")
    assert [(ok, text) for _, ok, text in await harness.results()] == [
        (False, "The user refused this call: not in this folder"),
        (False, "The user refused this call. Do not try it again in another form."),
    ]
    assert harness.bench.asked == []


@pytest.mark.behaviour("permission", "P5")
async def test_an_answer_of_another_or_to_another_call_allows_nothing() -> None:
    harness = await AgentHarness.opened([LS], mode=Mode.DEFAULT, attended=True)
    async with harness.playing("go"):
        await harness.until_status("waiting", "permission")
        await harness.answer("lead:3.1", approve=True)
        await harness.send(Plain(content="yes, do it"), sender=LEAD)
        await until(lambda: agent_heard(harness) == 3)
        assert (await harness.results(), len(harness.scripted.prompts)) == ([], 1)
    assert harness.bench.asked == []


def agent_heard(harness: AgentHarness) -> int:
    """Return how much of its mail the lead has heard."""
    return max(told.entry.upto for told in harness.told if isinstance(told, Recorded) and isinstance(told.entry, Heard))


@pytest.mark.behaviour("permission", "P5")
async def test_a_question_outlives_a_restart_and_costs_no_call_of_the_model() -> None:
    harness = await AgentHarness.opened([LS], mode=Mode.DEFAULT, attended=True)
    async with harness.playing("go"):
        await harness.until_status("waiting", "permission")
    again = harness.restarted(["Listed."])
    async with again.playing() as agent:
        await again.until_status("waiting", "permission")
        assert again.scripted.prompts == []
        await again.answer(CALL, approve=True)
        await until(lambda: agent.transcript.last_words == "Listed.")
    assert [letter.id for letter in await again.letters()] == [f"ask/{CALL}"]
    assert [asked[0] for asked in again.bench.asked] == ["ls -l"]


@pytest.mark.behaviour("permission", "urgent")
async def test_other_words_of_the_user_are_read_after_the_call_that_is_answered() -> None:
    harness = await AgentHarness.opened([LS, "As you wish."], mode=Mode.DEFAULT, attended=True)
    async with harness.playing("go") as agent:
        await harness.until_status("waiting", "permission")
        await harness.say("mind the cache")
        await harness.answer(CALL, approve=True)
        await until(lambda: agent.transcript.last_words == "As you wish.")
    assert [(call, ok) for call, ok, _ in await harness.results()] == [(CALL, True)]
    assert last_told(harness.scripted.prompts[1])[-1] == "mind the cache"
    assert [asked[0] for asked in harness.bench.asked] == ["ls -l"]


@pytest.mark.behaviour("permission")
async def test_a_read_after_an_edit_that_waits_for_a_person_sees_the_edit_also_after_a_restart() -> None:
    both = Say("", [Use("write_file", {"path": "a", "content": "new"}), Use("read_file", {"path": "a"})])
    harness = await AgentHarness.opened([both], mode=Mode.DEFAULT, attended=True)
    async with harness.playing("go"):
        await harness.until_status("waiting", "permission")
        assert await harness.results() == []
    again = harness.restarted(["Done."])
    async with again.playing() as agent:
        await again.until_status("waiting", "permission")
        assert await again.results() == []
        await again.answer(CALL, approve=True)
        await until(lambda: agent.transcript.last_words == "Done.")
    assert (await again.results())[-1] == ("lead:3.1", True, "1\tnew")


@pytest.mark.behaviour("permission", "P5")
async def test_what_is_too_large_to_be_asked_about_is_refused() -> None:
    large = uses("write_file", path="a", content="x" * 300_000)
    harness = await AgentHarness.opened([large, "Smaller, then."], mode=Mode.DEFAULT, attended=True)
    assert await harness.turn("go") == Rest()
    ((_, ok, text),) = await harness.results()
    assert (ok, "The user could not be asked." in text, harness.bench.files) == (False, True, {})
    assert [entry for entry in await harness.entries() if isinstance(entry, AgentParked | Began)] == []


@pytest.mark.behaviour("permission", "tools-errors")
async def test_nobody_is_asked_about_a_call_that_cannot_be_read() -> None:
    harness = await AgentHarness.opened([uses("bash", cmd="ls"), "I see."], mode=Mode.DEFAULT, attended=True)
    assert await harness.turn("go") == Rest()
    ((_, ok, text),) = await harness.results()
    assert (ok, "command: Field required" in text, await harness.letters()) == (False, True, [])


NOTES = {"a": b"one\ntwo\ntwo\n"}
EDITS = [
    (uses("edit_file", path="a", old_text="three", new_text="3"), "old_text does not occur in the 3 lines of a"),
    (uses("edit_file", path="a", old_text="two", new_text="2"), "old_text occurs 2 times in a"),
    (uses("edit_file", path="b", old_text="two", new_text="2"), "b"),
]


@pytest.mark.behaviour("permission", "tools-errors")
@pytest.mark.parametrize(("edit", "told"), EDITS)
async def test_nobody_is_asked_about_an_edit_that_cannot_apply(edit: Say, told: str) -> None:
    steps: list[Step] = [uses("read_file", path="a"), edit, "I see."]
    harness = await AgentHarness.opened(steps, mode=Mode.DEFAULT, attended=True, workspace=ScriptedWorkspace(NOTES))
    assert await harness.turn("go") == Rest()
    _, (_, ok, text) = await harness.results()
    assert (ok, told in text, await harness.letters()) == (False, True, [])


@pytest.mark.parametrize("tool", ["edit_file", "write_file"])
async def test_nobody_is_asked_about_a_change_of_a_file_that_was_not_read_or_changed_since(tool: str) -> None:
    arguments = {"content": "2"} if tool == "write_file" else {"old_text": "one", "new_text": "1"}
    change = uses(tool, path="a", **arguments)
    steps: Iterator[Step] = iter([change, uses("read_file", path="a"), change, "I see."])
    bench = ScriptedWorkspace(dict(NOTES))

    def play(prompt: Prompt) -> Step:
        """Play the steps, and let somebody else change the file once it was read."""
        if "1\tone" in last_told(prompt)[-1]:
            bench.files["a"] = b"one, two\n"
        return next(steps)

    harness = await AgentHarness.opened(play, mode=Mode.DEFAULT, attended=True, workspace=bench)
    assert await harness.turn("go") == Rest()
    told = [text for _, ok, text in await harness.results() if not ok]
    assert ("you have not read it" in told[0], "was changed since you read it" in told[1]) == (True, True)
    assert await harness.letters() == []


async def test_writing_what_a_file_holds_already_asks_nobody_and_says_that_nothing_changes() -> None:
    steps: list[Step] = [uses("read_file", path="a"), uses("write_file", path="a", content="one\ntwo\ntwo\n"), "I see."]
    harness = await AgentHarness.opened(steps, mode=Mode.DEFAULT, attended=True, workspace=ScriptedWorkspace(NOTES))
    assert await harness.turn("go") == Rest()
    assert (await harness.results())[1:] == [
        ("lead:6.0", True, "a already has exactly this content. Nothing was written.")
    ]
    assert await harness.letters() == []


async def test_a_person_is_asked_under_the_names_of_the_schema() -> None:
    write = uses("write_file", file_path="a", content="1")
    harness = await AgentHarness.opened([write], mode=Mode.DEFAULT, attended=True)
    async with harness.playing("go"):
        await harness.until_status("waiting", "permission")
    (letter,) = await harness.letters()
    assert isinstance(letter.message, PermissionRequest)
    assert letter.message.arguments == {"path": "a", "content": "1"}


def was_asked(harness: AgentHarness, call: str) -> bool:
    asked = [told.entry for told in harness.told if isinstance(told, Recorded)]
    return any(isinstance(entry, PermissionAsked) and entry.call == call for entry in asked)


async def test_an_edit_of_what_a_call_before_it_makes_is_asked_about_in_its_turn() -> None:
    both = Say(
        "",
        [
            Use("write_file", {"path": "a", "content": "one\n"}),
            Use("edit_file", {"path": "a", "old_text": "one", "new_text": "1"}),
            Use("edit_file", {"path": "a", "old_text": "nothing", "new_text": "2"}),
        ],
    )
    harness = await AgentHarness.opened([both, "Done."], mode=Mode.DEFAULT, attended=True)
    async with harness.playing("go") as agent:
        for call in ("lead:3.0", "lead:3.1"):
            await until(partial(was_asked, harness, call))
            await harness.answer(call, approve=True)
        await until(lambda: agent.transcript.last_words == "Done.")
    assert [(call, ok) for call, ok, _ in await harness.results()] == [
        ("lead:3.0", True),
        ("lead:3.1", True),
        ("lead:3.2", False),
    ]
    assert (harness.bench.files, len(await harness.letters())) == ({"a": b"1\n"}, 2)


# -- of a teammate ----------------------------------------------------------------------------------


class Alice:
    """A teammate at her desk, with nothing but her duties."""

    def __init__(self, harness: AgentHarness, transcript: Transcript) -> None:
        self.harness, self.transcript = harness, transcript
        mailbox = Mailbox("alice", harness.team_state.writer, harness.team_state.roster)
        self._duties = TeamDuties(harness.team_state, transcript, mailbox)
        self.mailbox = mailbox

    @property
    def member(self) -> Member:
        return self.harness.team_state.roster.state.members["alice"]

    async def do(self, *duties: Duty) -> None:
        for duty in duties:
            await self.harness.team_state.board.refresh()
            await self._duties.do(duty, self.member)

    @property
    def news(self) -> tuple[str, int, int]:
        """What she was told last of her team, and how far into roster and board that reaches."""
        noticed = self.last(Noticed)
        assert isinstance(noticed, Noticed)
        return noticed.text, noticed.roster, noticed.board

    def last(self, kind: type) -> object:
        return next(entry for _, entry in reversed(self.transcript.entries) if isinstance(entry, kind))


@pytest.fixture
async def alice() -> Alice:
    harness = await AgentHarness.opened([])
    await harness.team_state.roster.join(Joined(name="alice", at=0.0))
    transcript = await Transcript.load(harness.team_state.writer, "alice")
    await transcript.record(Started(name="alice", roster=harness.team_state.roster.state.number))
    return Alice(harness, transcript)


async def test_taking_a_task_claims_it_and_its_words_enter_the_context(alice: Alice) -> None:
    board = alice.harness.team_state.board
    await board.create(LEAD, NewTask("parse", description="the whole grammar", verify="make test"))
    await alice.do(Take(1))
    task = board.state.tasks[1]
    assert (task.owner, task.status) == ("alice", TaskStatus.IN_PROGRESS)
    took = alice.last(Took)
    assert isinstance(took, Took)
    assert (took.task, took.epoch) == (1, task.epoch)
    assert (took.created_by, took.edited_by, took.notes) == (LEAD, None, None)
    assert took.text.splitlines() == [
        "parse",
        "completing it runs this command, which must succeed: make test",
        "the whole grammar",
    ]
    assert alice.transcript.memory.tasks == {1: task.epoch}


async def test_a_task_that_is_hers_already_is_only_taken_in(alice: Alice) -> None:
    board = alice.harness.team_state.board
    await board.create(LEAD, NewTask("parse"))
    claimed = await board.claim(alice.member, 1)
    await alice.do(Take(1))
    assert board.state.tasks[1] == claimed
    assert alice.transcript.memory.tasks == {1: claimed.epoch}


async def test_a_task_that_someone_else_was_faster_to_take_is_left(alice: Alice) -> None:
    harness = alice.harness
    await harness.team_state.board.create(LEAD, NewTask("parse"))
    await harness.team_state.board.refresh()
    other = harness.restarted([])
    bob = await other.team_state.roster.join(Joined(name="bob", at=0.0))
    await other.team_state.board.claim(bob, 1)
    await alice._duties.do(Take(1), alice.member)
    assert alice.transcript.memory.tasks == {}
    assert (await harness.team_state.board.refresh()).tasks[1].owner == "bob"


async def test_who_rests_on_a_task_is_reminded_and_then_the_lead_is_told_once(alice: Alice) -> None:
    await alice.harness.team_state.board.create(LEAD, NewTask("parse"))
    await alice.do(Take(1), Nudge(1), Report(1))
    nudged = alice.last(Nudged)
    assert isinstance(nudged, Nudged)
    assert "task #1 is still in progress" in nudged.text
    reported = alice.last(Reported)
    assert isinstance(reported, Reported)
    assert (reported.task, reported.epoch) == (1, nudged.epoch)
    # Done again, as after a crash before it was recorded, the lead hears it once.
    await alice.do(Report(1))
    letters = await alice.harness.letters(LEAD)
    assert {letter.id for letter in letters} == {f"rests/1.{nudged.epoch}"}
    assert letters[0].message == Plain(
        content="I am idle, and my task #1 is unfinished.", summary="idle, #1 unfinished"
    )


async def test_a_lost_task_is_noticed_with_what_became_of_it(alice: Alice) -> None:
    board = alice.harness.team_state.board
    await board.create(LEAD, NewTask("parse"))
    await alice.do(Take(1))
    await board.assign(LEAD, 1, LEAD)
    await alice.do(Notice((1,)))
    noticed = alice.last(Noticed)
    assert isinstance(noticed, Noticed)
    text = "Task #1 is no longer yours. It belongs to lead now. Do not work on it unless you take it again."
    assert (noticed.text, noticed.tasks) == (text, (1,))
    assert alice.transcript.memory.tasks == {}


@pytest.mark.behaviour("prompt")
async def test_a_teammate_is_told_who_came_and_went_and_up_to_where_that_reaches(alice: Alice) -> None:
    team_state = alice.harness.team_state
    await team_state.board.create(LEAD, NewTask("parse"))
    await team_state.roster.join(Joined(name="bob", role="backend", at=0.0))
    await alice.do(Notice())
    assert alice.news == ("bob (backend) joined the team.", team_state.roster.state.number, 1)
    await team_state.roster.join(Joined(name="carol", at=0.0))
    await team_state.roster.leave("bob", "done", heard=0)
    await alice.do(Notice())
    assert alice.news == ("carol joined the team.\nbob (backend) left the team.", team_state.roster.state.number, 1)


async def test_the_lead_is_told_what_everyone_does_and_up_to_where_that_reaches(alice: Alice) -> None:
    team_state = alice.harness.team_state
    await team_state.board.create("alice", NewTask("parse"))
    transcript = await Transcript.load(team_state.writer, LEAD)
    duties = TeamDuties(team_state, transcript, Mailbox(LEAD, team_state.writer, team_state.roster))
    await duties.do(Notice(), team_state.roster.state.members[LEAD])
    ((_, noticed),) = transcript.entries
    assert isinstance(noticed, Noticed)
    assert (noticed.roster, noticed.board) == (team_state.roster.state.number, 1)
    assert noticed.text.splitlines() == [
        "Since you last looked:",
        "alice is working",
        'task #1 by alice [pending] "parse"',
    ]


async def test_agreeing_to_stop_answers_who_asked_and_is_recorded(alice: Alice) -> None:
    await alice.harness.send(ShutdownRequest(request_id="lead:9.0"), sender=LEAD, to="alice")
    await alice.mailbox.hear(alice.transcript)
    await alice.do(Agree("lead:9.0"))
    assert isinstance(alice.last(Agreed), Agreed)
    assert alice.transcript.memory.stopping == "lead:9.0"
    (letter,) = await alice.harness.letters(LEAD)
    assert letter.message == ShutdownResponse(request_id="lead:9.0", approve=True)
    assert not [entry for _, entry in alice.transcript.entries if isinstance(entry, Did)]
