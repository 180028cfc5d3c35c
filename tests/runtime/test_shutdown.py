"""Every shutdown ends, in whatever state it finds a teammate: agreed, answered, or at its deadline; nothing survives.

The teammate is a real agent, kept by a real supervisor; the lead's side is the test's hand. Time passes only where a
test says so.
"""

import os
from pathlib import Path

import anyio
import pytest

from deskmate.core.agent.entries import Did
from deskmate.core.agent.open_calls import OUTCOME_UNKNOWN
from deskmate.core.log.names import LEAD, USER
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.messages import Interrupt, ShutdownRequest, ShutdownResponse
from deskmate.core.team.status import Idle, Left, Parked, Waiting, status_word
from deskmate.core.team.tasks import Note
from deskmate.errors import ModelRejected
from deskmate.models.scripted import Step
from deskmate.ports import Ran
from deskmate.runtime.events import Recorded
from deskmate.runtime.supervisor import Supervisor
from deskmate.testing import Say, Use
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.processes import mark_of
from tests.runtime.agent_harness import AgentHarness, ScriptedWorkspace, last_told, run_forever, uses
from tests.runtime.team_process import SOON, until
from tests.runtime.teammate_harness import (
    STOP,
    BrokenLauncher,
    DeafLauncher,
    InlineLauncher,
    TeammateHarness,
    hangs,
    plays,
    teammate,
)

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("shutdown", "P1")]

WAIT = uses("bash", command="wait")
YES = uses("SendMessage", type="shutdown_response", request_id=STOP, approve=True)
NO = uses("SendMessage", type="shutdown_response", request_id=STOP, approve=False, content="not before #1 is done")
AGREED = Left("agreed to a shutdown request", agreed=True)
LATE = Left("forced: no answer to a shutdown request within 30 s")


# -- with nothing to do -----------------------------------------------------------------------------


@pytest.mark.parametrize("sender", [LEAD, USER])
async def test_idle_she_leaves_at_once_without_a_call_of_the_model(sender: str) -> None:
    async with teammate(["Ready."]) as she:
        await she.until(Idle())
        await she.ask(sender=sender)
        await she.over.wait()
    assert (she.end, she.calls) == (AGREED, 1)
    (letter,) = await she.harness.letters(sender)
    assert letter.message == ShutdownResponse(request_id=STOP, approve=True)


async def test_waiting_for_her_plan_to_be_approved_she_leaves_at_once() -> None:
    plan = uses("ExitPlanMode", plan="first this, then that")
    async with teammate([plan, "Submitted."], plan=True) as she:
        await she.until(Waiting("plan"))
        await she.ask()
        await she.over.wait()
    assert (she.end, she.calls) == (AGREED, 2)


async def test_parked_in_the_middle_of_her_task_she_leaves_at_once() -> None:
    async with teammate(["Ready.", ModelRejected("the key is wrong")], task=True) as she:
        await she.until(Parked("the key is wrong"))
        await she.ask()
        await she.over.wait()
    assert (she.end, she.calls) == (AGREED, 2)


async def test_interrupted_she_is_asked_once_more_and_answers() -> None:
    async with teammate(plays(hangs, YES)) as she:
        await until(lambda: she.calls == 1)
        await she.harness.send(Interrupt(), to="alice")
        await she.until(Idle())
        await she.ask()
        await she.over.wait()
    assert (she.end, she.calls) == (AGREED, 2)


# -- at work ----------------------------------------------------------------------------------------


async def test_with_a_task_she_answers_by_tool_and_her_task_is_free_again() -> None:
    async with teammate(["Ready.", "On it.", "Still on it.", YES], task=True) as she:
        await until(lambda: she.calls == 3)
        await she.until(Idle())
        await she.ask()
        await she.over.wait()
    assert (she.end, await she.answers()) == (AGREED, [ShutdownResponse(request_id=STOP, approve=True)])
    task = (await she.harness.team_state.board.refresh()).tasks[1]
    assert (task.owner, task.notes) == (None, (Note("alice", "alice left: agreed to a shutdown request"),))


async def test_who_refuses_goes_on_and_is_not_ended_later() -> None:
    async with teammate(["Ready.", "On it.", "Still on it.", NO, "I go on."], task=True) as she:
        await until(lambda: she.calls == 3)
        await she.until(Idle())
        await she.ask()
        await until(lambda: she.calls == 5)
        await she.until(Idle())
        for _ in range(4):
            await she.pass_by(60.0)
        assert (status_word(she.alice.status), she.over.is_set()) == ("idle", False)
    refusal = ShutdownResponse(request_id=STOP, approve=False, content="not before #1 is done")
    assert await she.answers() == [refusal]
    assert (await she.harness.team_state.board.refresh()).tasks[1].owner == "alice"


async def test_who_says_no_in_words_alone_has_said_nothing_and_is_ended_in_30_seconds() -> None:
    async with teammate(["Ready.", "On it.", "Still on it.", "No, not yet."], task=True) as she:
        await until(lambda: she.calls == 3)
        await she.until(Idle())
        await she.ask()
        await until(lambda: she.calls == 4)
        await she.until(Idle())
        await she.pass_by(29.9)
        assert not she.over.is_set()
        await she.pass_by(0.2)
        await she.over.wait()
    assert (she.end, await she.answers()) == (LATE, [])
    assert (await she.harness.team_state.board.refresh()).tasks[1].owner is None


async def test_thinking_she_is_cut_after_150_seconds_hears_it_and_answers() -> None:
    async with teammate(plays(hangs, YES)) as she:
        await until(lambda: she.calls == 1)
        await she.ask()
        await she.pass_by(149.0)
        assert (she.calls, she.over.is_set()) == (1, False)
        await she.pass_by(1.0)
        await she.over.wait()
    assert (she.end, she.calls) == (AGREED, 2)


async def test_thinking_without_an_end_she_is_ended_30_seconds_after_hearing_it() -> None:
    async with teammate(plays(hangs, hangs)) as she:
        await until(lambda: she.calls == 1)
        await she.ask()
        await she.pass_by(150.0)
        await until(lambda: she.calls == 2)
        await she.pass_by(29.9)
        assert not she.over.is_set()
        await she.pass_by(0.2)
        await she.over.wait()
    assert (she.end, she.calls) == (LATE, 2)


async def test_what_runs_comes_to_its_end_and_what_has_not_begun_is_skipped() -> None:
    release = anyio.Event()

    async def lasts() -> Ran:
        await release.wait()
        return Ran(0, "")

    bench = ScriptedWorkspace(commands={"wait": lasts})
    two = Say("", [Use("bash", {"command": "wait"}), Use("bash", {"command": "rm -r ."})])
    async with teammate(plays(two, YES), workspace=bench) as she:
        await until(lambda: bench.running)
        await she.ask()
        assert (bench.running, she.calls) == (["wait"], 1)
        release.set()
        await she.over.wait()
    assert (she.end, await outcomes(she.harness)) == (
        AGREED,
        [True, "Skipped: something more urgent came in. Read that first.", True],
    )


async def outcomes(harness: AgentHarness) -> list[bool | str]:
    """Return for each call of alice that it went well, or why it did not."""
    return [ok or text for _, ok, text in await harness.results("alice")]


async def test_a_call_without_an_end_is_cut_after_150_seconds_and_told_as_cut() -> None:
    bench = ScriptedWorkspace(commands={"wait": run_forever})
    async with teammate(plays(WAIT, YES), workspace=bench) as she:
        await until(lambda: bench.running)
        await she.ask()
        await she.pass_by(149.0)
        assert bench.running == ["wait"]
        await she.pass_by(1.0)
        await she.over.wait()
    assert (she.end, bench.running) == (AGREED, [])
    assert await outcomes(she.harness) == [
        f"Interrupted. {OUTCOME_UNKNOWN}",
        True,
    ]


async def test_a_call_begun_after_hearing_it_is_cut_at_the_deadline() -> None:
    bench = ScriptedWorkspace(commands={"wait": run_forever})
    async with teammate(["Ready.", "On it.", "Still on it.", WAIT], workspace=bench, task=True) as she:
        await until(lambda: she.calls == 3)
        await she.until(Idle())
        await she.ask()
        await until(lambda: bench.running)
        await she.pass_by(29.9)
        assert bench.running == ["wait"]
        await she.pass_by(0.2)
        await she.over.wait()
    assert (she.end, bench.running) == (LATE, [])


async def test_a_command_that_ignores_being_terminated_is_killed(tmp_path: Path) -> None:
    stubborn = uses("bash", command="trap '' TERM; echo $$ > pid; sleep 60")
    workspace = LocalWorkspace(tmp_path, "team", "alice", grace_seconds=0.2, environ=os.environ)
    async with teammate(plays(stubborn, YES), workspace=workspace) as she:
        await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n"))
        group = int((tmp_path / "pid").read_text())
        os.killpg(group, 0)
        await she.ask()
        she.harness.clock.advance(150.0)
        await she.over.wait()
        assert she.end == AGREED
        # One that nobody has collected yet does not count.
        assert mark_of(group, {}).living() == {}
    assert await outcomes(she.harness) == [
        f"Interrupted. {OUTCOME_UNKNOWN}",
        True,
    ]


@pytest.mark.behaviour("permission")
async def test_waiting_for_a_person_the_question_is_withdrawn_and_she_answers() -> None:
    async with teammate(plays(WAIT, YES), mode=Mode.DEFAULT, attended=True) as she:
        await she.until(Waiting("permission"))
        await she.ask()
        await she.over.wait()
    assert (she.end, she.calls, she.harness.bench.asked) == (AGREED, 2, [])
    assert await outcomes(she.harness) == ["Not run: you were asked to shut down before the user answered.", True]


@pytest.mark.behaviour("plan")
async def test_planning_she_answers_by_tool() -> None:
    async with teammate(plays(hangs, YES), plan=True) as she:
        await until(lambda: she.calls == 1)
        await she.ask()
        await she.pass_by(150.0)
        await she.over.wait()
    assert she.end == AGREED


# -- nobody there -----------------------------------------------------------------------------------


async def test_dead_she_leaves_at_once_in_her_own_name() -> None:
    async with teammate([], launcher=BrokenLauncher) as she:
        await until(lambda: isinstance(she.alice.status, Parked))
        await she.harness.send(ShutdownRequest(request_id=STOP), sender=LEAD, to="alice")
        await she.over.wait()
    assert she.end == Left("forced: asked to shut down while it could not run")


async def test_deaf_she_is_ended_by_her_supervisor_in_185_seconds() -> None:
    async with teammate([], launcher=DeafLauncher) as she:
        await she.harness.send(ShutdownRequest(request_id=STOP), sender=LEAD, to="alice")
        await until(lambda: she.harness.clock.sleeping)
        await she.pass_by(184.0)
        assert not she.over.is_set()
        await she.pass_by(1.0)
        await she.over.wait()
    assert she.end == Left("forced: still running 185 s after a shutdown request")


# -- asked more than once ---------------------------------------------------------------------------


async def test_asked_twice_while_idle_she_agrees_once_and_leaves_once() -> None:
    async with teammate(["Ready."]) as she:
        await she.until(Idle())
        await she.harness.send(ShutdownRequest(request_id=STOP), sender=LEAD, to="alice")
        await she.harness.send(ShutdownRequest(request_id="lead:11.0"), sender=LEAD, to="alice")
        await she.over.wait()
    assert (she.end, she.calls) == (AGREED, 1)
    assert (await she.answers())[0] == ShutdownResponse(request_id=STOP, approve=True)
    assert len({letter.id for letter in await she.harness.letters(LEAD)}) == len(await she.harness.letters(LEAD))


async def test_a_yes_to_one_of_two_requests_is_enough() -> None:
    async with teammate(plays(hangs, YES)) as she:
        await until(lambda: she.calls == 1)
        await she.ask()
        await she.ask("lead:11.0")
        await she.pass_by(150.0)
        await she.over.wait()
    assert (she.end, she.calls) == (AGREED, 2)


async def test_each_request_wants_an_answer_of_its_own() -> None:
    script: list[Step] = ["Ready.", "On it.", "Still on it.", NO, "I go on."]
    async with teammate(script, task=True) as she:
        await until(lambda: she.calls == 3)
        await she.until(Idle())
        await she.ask()
        await until(lambda: she.calls == 5)
        await she.pass_by(29.0)
        assert not she.over.is_set()
        # It wakes her model, whose script is used up: so she is parked, and agrees as who is parked does.
        await she.ask("lead:11.0")
        await she.over.wait()
    assert she.end == AGREED
    assert [(answer.request_id, answer.approve) for answer in await she.answers()] == [
        (STOP, False),
        ("lead:11.0", True),
    ]


async def test_an_answer_sent_twice_is_sent_once() -> None:
    again = uses("SendMessage", type="shutdown_response", request_id=STOP, approve=True)
    async with teammate(["Ready.", "On it.", "Still on it.", NO, again, "So be it."], task=True) as she:
        await until(lambda: she.calls == 3)
        await she.until(Idle())
        await she.ask()
        await until(lambda: she.calls == 6)
        await she.until(Idle())
    assert [answer.approve for answer in await she.answers()] == [False]
    assert (await outcomes(she.harness))[-1].endswith(f"'{STOP}'. None is open.")


# -- killed meanwhile -------------------------------------------------------------------------------


async def test_killed_before_she_answered_she_is_asked_again_by_what_she_remembers() -> None:
    async with teammate(plays("Ready.", "On it.", "Still on it.", hangs), task=True) as she:
        await until(lambda: she.calls == 3)
        await she.until(Idle())
        await she.ask()
        await until(lambda: she.calls == 4)
    again = TeammateHarness(she.harness.restarted(plays(YES)))
    await again.harness.team_state.roster.refresh()
    with anyio.fail_after(SOON):
        await Supervisor(again.harness.team_state, "alice", InlineLauncher(again.harness)).keep()
    assert (again.end, again.calls) == (AGREED, 1)
    assert STOP in "".join(last_told(again.harness.scripted.prompts[0]))


async def test_killed_between_saying_yes_and_leaving_she_leaves_when_she_comes_back() -> None:
    async with teammate(plays("Ready.", "On it.", "Still on it.", YES), task=True) as she:
        await until(lambda: she.calls == 3)
        await she.until(Idle())
        await she.harness.send(ShutdownRequest(request_id=STOP), sender=LEAD, to="alice")
        await until(lambda: she.calls == 4)
        await until(lambda: any(is_yes(told) for told in she.harness.told))
    assert (await she.harness.team_state.roster.refresh()).here("alice")
    again = TeammateHarness(she.harness.restarted([]))
    await again.harness.team_state.roster.refresh()
    with anyio.fail_after(SOON):
        await Supervisor(again.harness.team_state, "alice", InlineLauncher(again.harness)).keep()
    assert (again.end, again.calls) == (AGREED, 0)
    assert len(await again.answers()) == 1


def is_yes(told: object) -> bool:
    return isinstance(told, Recorded) and isinstance(told.entry, Did) and bool(told.entry.answered)
