"""What agents are told of tasks and plans while a team works: at once, in full, and before they go on."""

import pytest

from deskmate.core.agent.entries import Took
from deskmate.core.log.names import BOARD, LEAD, ROSTER, USER, mail
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentKind, AgentType, tools_of
from deskmate.core.team.messages import PlanResponse
from deskmate.core.team.roster_records import Joined, MemberIdle
from deskmate.core.team.status import Idle, Parked, Waiting
from deskmate.core.team.task_fields import NewTask, TaskChange
from deskmate.models.scripted import Step
from deskmate.ports import Ran
from deskmate.runtime.departure import leave
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.transcript import Transcript
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import Say, ScriptedModel, Use
from tests.runtime.agent_harness import AgentHarness, last_told, turns, uses
from tests.runtime.team_process import FaultyStore, until
from tests.runtime.teammate_harness import BrokenLauncher, plays, teammate

pytestmark = pytest.mark.anyio


# -- the lead ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("lead-wake")
@pytest.mark.parametrize("how", ["added", "assigned"])
async def test_a_task_that_the_user_gives_to_the_lead_wakes_it_with_its_text(how: str) -> None:
    harness = await AgentHarness.opened(["Hello.", "I see."])
    async with harness.playing("begin") as agent:
        await harness.until_status("idle")
        board = harness.team_state.board
        task = await board.create(
            USER, NewTask("parse", description="the whole grammar", owner=LEAD if how == "added" else None)
        )
        if how == "assigned":
            await board.assign(USER, task.id, LEAD)
        await until(lambda: agent.transcript.last_words == "I see.")
        await turns()
    (told,) = last_told(harness.scripted.prompts[1])
    assert told.startswith("Task #1 is yours now.")
    assert "the whole grammar" in told
    assert len(harness.scripted.prompts) == 2


@pytest.mark.behaviour("task-tools")
async def test_a_lead_that_creates_a_task_nobody_can_take_is_told_at_once() -> None:
    create = uses("TaskCreate", subject="test it", role="tester")
    harness = await AgentHarness.opened([create, "I see."])
    await harness.team_state.roster.join(Joined(name="bob", role="Backend", at=0.0))
    await harness.team_state.roster.status(MemberIdle(name="bob", at=1.0))
    async with harness.playing("begin") as agent:
        await until(lambda: agent.transcript.last_words == "I see.")
    ((_, ok, told),) = await harness.results()
    assert ok
    assert told == (
        'Created #1 [role "tester"] test it\nNobody here has the role "tester". Roles here: "Backend". '
        "Spawn a teammate with that role, or change the task with TaskUpdate."
    )


@pytest.mark.behaviour("task-tools")
async def test_a_role_that_is_set_later_lets_a_teammate_take_the_task() -> None:
    update = uses("TaskUpdate", taskId=1, role="back-end")
    harness = await AgentHarness.opened([uses("TaskCreate", subject="s", role="tester"), update, "I see."])
    await harness.team_state.roster.join(Joined(name="bob", role="Back end", at=0.0))
    async with harness.playing("begin") as agent:
        await until(lambda: agent.transcript.last_words == "I see.")
    assert (await harness.results())[1][2] == '#1 [pending, role "back-end"] s\nedited'
    bob = harness.team_state.roster.state.members["bob"]
    claimed = await harness.team_state.board.claim_next(bob)
    assert claimed
    assert claimed.owner == "bob"


@pytest.mark.behaviour("plan", "lead-wake")
async def test_the_lead_is_told_that_the_user_answered_a_plan_with_the_next_thing_it_hears() -> None:
    plan = uses("ExitPlanMode", plan="I rename it.")
    async with teammate(plays(plan, "I wait.", "Then I begin."), plan=True, attended=True) as played:
        await played.until(Waiting("plan"))
        harness = played.harness
        (request,) = [letter.message.request_id for letter in await harness.letters(LEAD)]
        await Mailbox(USER, harness.team_state.writer, harness.team_state.roster).answer(
            "alice", PlanResponse(request_id=request, approve=True)
        )
        await played.until(Idle())
        verdict = played.alice.verdict
        assert verdict
        assert (verdict.request_id, verdict.by, verdict.approve) == (request, USER, True)
    lead = harness.restarted(["I see."])
    async with lead.playing("how is it going?") as agent:
        await until(lambda: agent.transcript.last_words == "I see.")
    assert f"The user approved plan {request} of alice" in "\n".join(last_told(lead.scripted.prompts[0]))


# -- owners -----------------------------------------------------------------------------------------


@pytest.mark.behaviour("task-authors")
async def test_an_owner_reads_what_the_lead_changed_in_its_task_before_it_goes_on() -> None:
    steps: list[Step] = ["Ready.", uses("bash", command="one"), uses("bash", command="two"), "Done for now."]
    async with teammate(plays(*steps, "Still here.", "And again."), task=True) as played:
        harness, board = played.harness, played.harness.team_state.board

        async def change() -> Ran:
            await board.edit(LEAD, 1, TaskChange(description="only the head", verify="make test"))
            return await harness.bench.run("other", timeout_seconds=1, blob="b")

        harness.bench.commands["one"] = change
        await until(lambda: played.calls >= 4)
        texts = [last_told(prompt) for prompt in harness.scripted.prompts]
        took = [entry for entry in await harness.entries("alice") if isinstance(entry, Took)]
    assert [entry.changes for entry in took] == [None, "lead changed your task #1: description, verify. It now says:"]
    (changed,) = [one for told in texts for one in told if "changed your task" in one]
    assert "only the head" in changed
    assert "make test" in changed


# -- leaving and parking ----------------------------------------------------------------------------


@pytest.mark.behaviour("release")
async def test_when_the_roster_says_that_a_member_left_its_task_is_free() -> None:
    store = FaultyStore(MemoryStore())
    harness = await AgentHarness.opened([], store=store)
    team_state = harness.team_state
    await team_state.roster.join(Joined(name="alice", at=0.0))
    await team_state.board.create(LEAD, NewTask("parse"))
    await team_state.board.claim(team_state.roster.state.members["alice"], 1)
    transcript = await Transcript.load(team_state.writer, "alice")
    store.appended.clear()
    await leave(transcript, team_state.writer, team_state.roster, team_state.board, reason="done")
    assert store.appended == [BOARD, ROSTER]


@pytest.mark.behaviour("release")
async def test_when_the_roster_says_that_a_member_is_parked_its_task_is_free() -> None:
    async with teammate(plays(), launcher=BrokenLauncher, task=True) as played:
        team_state = played.harness.team_state
        seen: list[str | None] = []
        await team_state.board.claim(played.alice, 1)

        def is_parked() -> bool:
            seen.append(team_state.board.state.tasks[1].owner)
            return isinstance(played.alice.status, Parked)

        await until(is_parked)
    assert seen[-1] is None


# -- modes ------------------------------------------------------------------------------------------


@pytest.mark.behaviour("K4")
async def test_a_mode_that_changes_after_an_agent_decided_to_ask_changes_no_tool_of_that_prompt() -> None:
    wire = FaultyStore(MemoryStore())
    harness = await AgentHarness.opened(["Done.", "I plan.", "I plan."], store=wire, attended=True)
    # While the lead shows that it works, somebody else in its process takes in that it is to plan.
    wire.at("after append", ROSTER, lambda: harness.permit(mode=Mode.PLAN))
    await harness.turn("begin")
    await harness.turn("go on")
    first, second, *_ = harness.scripted.prompts
    offered = [{tool.name for tool in prompt.tools} for prompt in (first, second)]
    working, planning = (set(tools_of(AgentKind.LEAD, AgentType.GENERAL, planning=plans)) for plans in (False, True))
    assert offered == [working - {"Skill"}, planning]
    assert not any("You are in plan mode" in text for text in last_told(first))
    assert any("You are in plan mode" in text for text in last_told(second))


@pytest.mark.behaviour("K5")
async def test_a_plan_may_be_approved_before_its_planner_reads_what_was_refused_in_plan_mode() -> None:
    wire = FaultyStore(MemoryStore())
    too_early = Use("write_file", {"path": "a.txt", "content": "a"})
    model = ScriptedModel([Say("", [too_early, Use("ExitPlanMode", {"plan": "I write it."})]), "I write it now."])
    async with teammate(model, store=wire, plan=True) as played:
        yes = PlanResponse(request_id="alice:2.1", approve=True)
        wire.at("after append", mail(LEAD), lambda: played.harness.send(yes, sender=LEAD, to="alice"))
        await until(lambda: len(model.prompts) == 2)
    told = last_told(model.prompts[1])
    assert any("submit your plan with ExitPlanMode" in text for text in told)
    assert any("Plan mode is over for you." in text for text in told)
    assert "ExitPlanMode" not in {tool.name for tool in model.prompts[1].tools}
