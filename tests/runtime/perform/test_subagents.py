"""Errands: a subagent is the same agent with a fresh context and fewer tools; its last words are the result."""

from typing import Any

import pytest

from deskmate.core.agent.actions import Rest
from deskmate.core.agent.entries import AgentParked, Began, Did, Said, Started
from deskmate.core.agent.open_calls import INTERRUPTED, OUTCOME_UNKNOWN
from deskmate.core.log.names import LEAD, USER
from deskmate.core.policy.permissions import Mode
from deskmate.core.prompt.prompts import Prompt, TextBlock
from deskmate.core.team.messages import PermissionRequest, PermissionResponse, Plain
from deskmate.core.team.status import Idle, Waiting
from deskmate.errors import ModelRejected, UnknownRecipient
from deskmate.models.scripted import Step
from deskmate.ports import Ran
from deskmate.runtime.events import Changed, Recorded, Streamed
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.testing import Say, Use
from tests.runtime.agent_harness import (
    AgentHarness,
    ScriptedWorkspace,
    is_subagent,
    last_told,
    lead_and_subagent,
    run_forever,
    uses,
)
from tests.runtime.conftest import Open
from tests.runtime.team_process import until

pytestmark = pytest.mark.anyio

CALL = "lead:3.0"
BASE = ("bash", "read_file", "write_file", "edit_file", "glob", "grep")


def mailbox(harness: AgentHarness, name: str) -> Mailbox:
    return Mailbox(name, harness.team_state.writer, harness.team_state.roster)


def sent(prompt: str = "find the parser", **more: Any) -> Say:
    return uses("Task", prompt=prompt, **more)


@pytest.mark.behaviour("subagent")
async def test_a_subagent_begins_afresh_and_its_last_text_is_the_result() -> None:
    script = lead_and_subagent(
        [sent(), "It is in parse.py."], [uses("glob", "Looking.", pattern="*"), "Found it:\n\nparse.py, line 7."]
    )
    harness = await AgentHarness.opened(script)
    assert await harness.turn("where is the parser?") == Rest()
    assert await harness.results() == [(CALL, True, "Found it:\n\nparse.py, line 7.")]
    first = next(prompt for prompt in harness.scripted.prompts if is_subagent(prompt))
    assert last_told(first) == ["find the parser"]
    assert len(first.passages) == 1
    kinds = [type(entry) for entry in await harness.entries(CALL)]
    assert kinds == [Started, Said, Began, Did, Said]


@pytest.mark.behaviour("subagent")
@pytest.mark.parametrize(
    ("agent_type", "tools"),
    [
        ("general-purpose", BASE),
        ("Explore", ("read_file", "glob", "grep")),
        ("Plan", ("read_file", "glob", "grep")),
    ],
)
async def test_its_tools_are_as_narrow_as_its_type(agent_type: str, tools: tuple[str, ...]) -> None:
    harness = await AgentHarness.opened(lead_and_subagent([sent(subagent_type=agent_type), "Done."], ["Done."]))
    await harness.turn("go")
    (errand,) = [prompt for prompt in harness.scripted.prompts if is_subagent(prompt)]
    assert tuple(spec.name for spec in errand.tools) == tools


@pytest.mark.behaviour("subagent")
async def test_an_explorer_that_tries_to_run_something_is_told_that_it_cannot() -> None:
    tries = Say("", [Use("bash", {"command": "rm -rf ."}), Use("write_file", {"path": "a", "content": "b"})])
    harness = await AgentHarness.opened(
        lead_and_subagent([sent(subagent_type="Explore"), "Done."], [tries, "I may not."])
    )
    await harness.turn("go")
    assert [(ok, text[:27]) for _, ok, text in await harness.results(CALL)] == [
        (False, "You do not have the tool 'b"),
        (False, "You do not have the tool 'w"),
    ]
    assert (harness.bench.asked, harness.bench.files) == ([], {})


@pytest.mark.behaviour("subagent")
async def test_a_subagent_can_send_no_other() -> None:
    harness = await AgentHarness.opened(lead_and_subagent([sent(), "Done."], [sent("you do it"), "By myself, then."]))
    await harness.turn("go")
    ((_, ok, text),) = await harness.results(CALL)
    assert (ok, text) == (False, "You do not have the tool 'Task' now. Use one that you were given.")
    assert await harness.results() == [(CALL, True, "By myself, then.")]


@pytest.mark.behaviour("subagent")
async def test_several_go_at_once_each_under_its_own_call() -> None:
    met = 0

    async def meet() -> Ran:
        nonlocal met
        met += 1
        await until(lambda: met == 2)
        return Ran(0, "met")

    both = Say("", [Use("Task", {"prompt": "one"}), Use("Task", {"prompt": "two"})])

    def step(prompt: Prompt) -> Step:
        if not is_subagent(prompt):
            return both if len(prompt.passages) == 1 else "Both back."
        (words,) = [block.text for block in prompt.passages[0].blocks if isinstance(block, TextBlock)]
        return uses("bash", command="meet") if len(prompt.passages) == 1 else f"{words} is back"

    harness = await AgentHarness.opened(step, workspace=ScriptedWorkspace(commands={"meet": meet}))
    assert await harness.turn("go") == Rest()
    assert sorted(await harness.results()) == [(CALL, True, "one is back"), ("lead:3.1", True, "two is back")]


@pytest.mark.behaviour("subagent")
async def test_one_that_ends_without_a_word_says_so() -> None:
    harness = await AgentHarness.opened(lead_and_subagent([sent(), "Hm."], [""]))
    await harness.turn("go")
    assert await harness.results() == [(CALL, True, "(the subagent ended without an answer)")]


@pytest.mark.behaviour("subagent", "P6")
async def test_one_that_is_parked_is_a_failed_call_and_the_sender_goes_on() -> None:
    harness = await AgentHarness.opened(
        lead_and_subagent([sent(), "By myself, then."], [ModelRejected("no such model")])
    )
    assert await harness.turn("go") == Rest()
    assert await harness.results() == [(CALL, False, "The subagent could not continue: no such model")]
    assert [type(entry) for entry in await harness.entries(CALL)] == [Started, AgentParked]
    assert await harness.statuses() == ["working", "idle"]


@pytest.mark.behaviour("subagent")
async def test_after_a_restart_it_goes_on_where_it_was(open_store: Open) -> None:
    workspace = ScriptedWorkspace(commands={"hang": run_forever})
    looks = uses("glob", "Looking.", pattern="*")
    script = lead_and_subagent([sent()], [looks, uses("bash", command="hang")])
    harness = await AgentHarness.opened(script, store=open_store(), workspace=workspace)
    async with harness.playing("go"):
        await until(lambda: workspace.running)
    again = harness.restarted(lead_and_subagent(["It says so."], ["I looked, then was cut."]), store=open_store())
    assert await again.turn() == Rest()
    first = again.scripted.prompts[0]
    assert is_subagent(first)
    assert last_told(first) == [f"Interrupted. {OUTCOME_UNKNOWN}"]
    assert first.system == next(prompt.system for prompt in harness.scripted.prompts if is_subagent(prompt))
    assert await again.results() == [(CALL, True, "I looked, then was cut.")]
    assert len([entry for entry in await again.entries(CALL) if isinstance(entry, Started)]) == 1


@pytest.mark.behaviour("subagent")
async def test_one_that_had_ended_is_not_asked_again_after_a_restart() -> None:
    harness = await AgentHarness.opened(lead_and_subagent([sent()], ["Found it."]))
    async with harness.playing("go"):
        await until(lambda: Changed(CALL, Idle()) in harness.told)
    assert await harness.results() == []
    again = harness.restarted(lead_and_subagent(["I know now."], []))
    assert await again.turn() == Rest()
    assert await again.results() == [(CALL, True, "Found it.")]


@pytest.mark.behaviour("subagent", "urgent")
async def test_an_interrupt_of_the_sender_cuts_its_subagent_and_what_that_one_runs() -> None:
    script = lead_and_subagent([sent()], [uses("bash", command="hang")])
    harness = await AgentHarness.opened(script, workspace=ScriptedWorkspace(commands={"hang": run_forever}))
    async with harness.playing("go"):
        await until(lambda: harness.bench.running)
        await harness.interrupt()
        await harness.until_status("idle")
        assert harness.bench.running == []
        assert await harness.results() == [(CALL, False, INTERRUPTED)]


async def test_what_it_does_is_told_under_its_own_name_and_not_on_the_roster() -> None:
    harness = await AgentHarness.opened(lead_and_subagent([sent(), "Done."], ["Hm."]))
    await harness.turn("go")
    told = {type(one) for one in harness.told if one.member == CALL}
    assert told == {Streamed, Recorded, Changed}
    assert list((await harness.team_state.roster.refresh()).members) == [LEAD]


@pytest.mark.behaviour("permission", "P5")
async def test_the_mode_of_the_sender_holds_for_its_subagents() -> None:
    script = lead_and_subagent([sent(), "Done."], [uses("bash", command="ls"), "I may not."])
    harness = await AgentHarness.opened(script, mode=Mode.DEFAULT)
    await harness.turn("go")
    ((_, ok, text),) = await harness.results(CALL)
    assert (ok, "--permission-mode" in text, harness.bench.asked) == (False, True, [])


@pytest.mark.behaviour("permission", "P5")
async def test_a_subagent_asks_the_person_who_attends_and_goes_on_with_the_verdict() -> None:
    runs = uses("bash", command="ls -l")
    harness = await AgentHarness.opened(
        lead_and_subagent([sent(), "Done."], [runs, "Two files."]), mode=Mode.DEFAULT, attended=True
    )
    async with harness.playing("go"):
        await until(
            lambda: any(isinstance(told, Changed) and isinstance(told.status, Waiting) for told in harness.told)
        )
        (letter,) = await harness.letters()
        assert isinstance(letter.message, PermissionRequest)
        asked = letter.message.request_id
        assert (letter.sender, letter.message.tool, harness.bench.asked) == (CALL, "bash", [])
        await mailbox(harness, USER).send(CALL, PermissionResponse(request_id=asked, approve=True))
        await harness.until_status("idle")
    assert [command for command, *_ in harness.bench.asked] == ["ls -l"]
    assert await harness.results() == [(CALL, True, "Two files.")]


async def test_nobody_but_the_user_writes_to_a_subagent_and_the_user_only_verdicts() -> None:
    harness = await AgentHarness.opened([])
    with pytest.raises(UnknownRecipient):
        await mailbox(harness, LEAD).send(CALL, PermissionResponse(request_id=CALL, approve=True))
    with pytest.raises(UnknownRecipient):
        await mailbox(harness, USER).send(CALL, Plain(content="hello"))
    with pytest.raises(UnknownRecipient):
        await mailbox(harness, USER).send("bob:3.0", PermissionResponse(request_id="bob:3.0", approve=True))
