"""The net finds what a model was not told, or was told wrongly: each omission planted in a prompt that was right."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pytest

from deskmate.core.agent.entries import Compacted, Noticed
from deskmate.core.log.names import LEAD, log
from deskmate.core.log.records import Record
from deskmate.core.policy.permissions import Mode
from deskmate.core.prompt.compaction import summary_text
from deskmate.core.prompt.frames import SUMMARY, framed
from deskmate.core.prompt.prompts import (
    CallBlock,
    Prompt,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    Told,
    ToolSpec,
)
from deskmate.core.prompt.rendering import SUMMARISED
from deskmate.core.team import roster_fold
from deskmate.core.team.messages import Envelope, PlanRequest, PlanResponse
from deskmate.core.team.roster_records import Joined, MemberIdle, MemberLeft
from deskmate.core.team.status import Left
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import Created
from deskmate.models.scripted import Step
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import Say, ScriptedModel
from deskmate.testing.knowledge.knowledge_checks import Uninformed, take_found, violations
from deskmate.testing.knowledge.truth import TeamHistory, Truth, truth_of
from tests.runtime.agent_harness import AgentHarness, last_told, uses
from tests.runtime.team_process import FaultyStore, let_pass, until
from tests.runtime.teammate_harness import STOP, teammate

pytestmark = [pytest.mark.anyio]

Asked = tuple[Prompt, Truth]
Block = TextBlock | ResultBlock | CallBlock | ThinkingBlock


@dataclass
class Watched:
    """A scripted model that keeps each prompt with the truth of that moment."""

    steps: Sequence[Step]
    asked: list[Asked] = field(default_factory=list)

    def model(self) -> ScriptedModel:
        left = iter(self.steps)

        async def step(prompt: Prompt) -> Step:
            assert prompt.origin
            truth = await truth_of(prompt, prompt.origin)
            self.asked.append((prompt, replace(truth, entries=tuple(truth.entries))))
            return next(left, "Nothing more.")

        return ScriptedModel(step, check=False)


# -- scenes -----------------------------------------------------------------------------------------


async def lead_asked() -> list[Asked]:
    """Let a lead spawn bob, write to him, do a task, hear that he rests, and read his plan."""
    watched = Watched(
        [
            uses("Task", name="bob", role="tester", prompt="test it"),
            uses("SendMessage", recipient="bob", content="begin"),
            uses("TaskCreate", subject="parse", description="Parse the dates.", verify="make dates"),
            uses("TaskUpdate", taskId="1", status="in_progress"),
            uses("TaskUpdate", taskId="1", status="completed"),
            "All is done.",
            "I see.",
        ]
    )
    harness = await AgentHarness.opened(watched.model(), attended=True)
    async with harness.playing("begin"):
        await until(lambda: len(watched.asked) == 6)
        await harness.until_status("idle")
        await harness.team_state.roster.status(MemberIdle(name="bob", heard=1, at=1.0))
        await until(lambda: len(watched.asked) == 7)
        await harness.until_status("idle")
        await harness.send(PlanRequest(request_id="bob:3.0", content="I test it."), sender="bob")
        await until(lambda: len(watched.asked) == 8)
    return watched.asked


async def alice_asked() -> list[Asked]:
    """Let alice take a task and be asked to shut down."""
    watched = Watched(["Begun.", "Working.", uses("glob", pattern="*"), "Still working."])
    async with teammate(watched.model(), attended=True) as played:
        await until(lambda: len(watched.asked) == 1)
        await played.harness.team_state.board.create(
            LEAD, NewTask("parse", description="Parse the dates.", verify="make dates")
        )
        await until(lambda: len(watched.asked) == 2)
        await played.ask()
        # She is asked once more, because her task is still in progress, and perhaps before this looks.
        await until(lambda: len(watched.asked) >= 4)
    return watched.asked[:4]


# -- planting ---------------------------------------------------------------------------------------


def changed(prompt: Prompt, change: Callable[[str], str]) -> Prompt:
    """Return a prompt with every text in it changed; fail if nothing did."""

    def of(block: Block) -> Block:
        if isinstance(block, CallBlock):
            return replace(block, arguments={key: change(str(value)) for key, value in block.arguments.items()})
        return replace(block, text=change(block.text))

    passages = tuple(replace(passage, blocks=tuple(map(of, passage.blocks))) for passage in prompt.passages)  # type: ignore[arg-type]
    planted = replace(prompt, system=change(prompt.system), passages=passages)
    assert planted != prompt, "nothing was planted"
    return planted


def without(prompt: Prompt, words: str) -> Prompt:
    return changed(prompt, lambda text: text.replace(words, "…"))


def told(prompt: Prompt, *texts: str) -> Prompt:
    """Return a prompt that tells more at its end."""
    last = prompt.passages[-1]
    assert isinstance(last, Told)
    more = replace(last, blocks=(*last.blocks, *map(TextBlock, texts)))
    return replace(prompt, passages=(*prompt.passages[:-1], more))


def noticed(asked: Asked, *notices: Noticed) -> Asked:
    """Return a prompt, and the transcript it comes from, with more notices."""
    prompt, truth = asked
    number = truth.entries[-1][0]
    entries = [*truth.entries, *((number + index, notice) for index, notice in enumerate(notices, 1))]
    return told(prompt, *(notice.text for notice in notices)), replace(truth, entries=entries)


def summed_up(prompt: Prompt, truth: Truth, summary: str, roster: int | None = None) -> Asked:
    """Return a prompt in which a summary stands for all that came before, made from a record of the roster."""
    text = f"{SUMMARISED}\n{framed(SUMMARY, summary)}"
    entry = Compacted(upto=truth.entries[-1][0], summary=summary, roster=roster)
    told_since = replace(truth, entries=[*truth.entries, (truth.entries[-1][0] + 1, entry)])
    return replace(prompt, passages=(Told((TextBlock(text),)),)), told_since


def texts(prompt: Prompt) -> list[str]:
    blocks = (block for passage in prompt.passages for block in passage.blocks)
    return [block.text for block in blocks if isinstance(block, TextBlock | ResultBlock)]


def found(asked: Asked) -> list[str]:
    return [flaw.partition(":")[0] for flaw in violations(*asked)]


# -- without a plant --------------------------------------------------------------------------------


@pytest.mark.parametrize("scene_of", [lead_asked, alice_asked])
async def test_nothing_is_found_in_what_agents_are_told(scene_of: Callable[[], Awaitable[list[Asked]]]) -> None:
    assert [flaw for asked in await scene_of() for flaw in violations(*asked)] == []


# -- with one ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("K1")
async def test_a_member_that_is_named_nowhere_is_found() -> None:
    prompt, truth = (await lead_asked())[1]
    assert violations(without(prompt, "bob"), truth)[0] == (
        "K1: bob (tester) is on the team, and nothing names it with its role"
    )


@pytest.mark.behaviour("K1")
async def test_a_member_without_its_role_is_found() -> None:
    prompt, truth = (await lead_asked())[1]
    assert found((without(prompt, "tester"), truth)) == ["K1"]


@pytest.mark.behaviour("K1")
async def test_a_member_that_only_a_person_speaks_of_is_found() -> None:
    prompt, truth = (await lead_asked())[1]
    assert found((told(without(prompt, "tester"), "Let bob (tester) do it."), truth)) == ["K1"]


@pytest.mark.behaviour("K1")
async def test_a_status_that_was_never_so_is_found() -> None:
    asked = (await lead_asked())[6]
    number = asked[1].roster.number
    assert found(noticed(asked, Noticed(text="bob is parked (no key)", roster=number))) == ["K1"]
    assert found(noticed(asked, Noticed(text="bob is left", roster=number))) == ["K1"]


@pytest.mark.behaviour("K1", "K7")
async def test_a_team_that_a_summary_forgets_is_found() -> None:
    prompt, truth = (await lead_asked())[6]
    forgets, knows = "I led bob.", "I led bob.\n\nOn your team now:\n- bob (tester): idle"
    assert "K1" in found(summed_up(prompt, truth, forgets))
    assert "K1" not in found(summed_up(prompt, truth, knows))


@pytest.mark.behaviour("K1", "K7")
@pytest.mark.parametrize(
    ("line", "flaw"),
    [
        ("- bob (tester): idle", ""),
        ("- bob (tester): working", "the summary says that bob is working, and it was idle then"),
        ("- bob (tester): left", "the summary says that bob is left, and it was idle then"),
        ("- bob (baker): idle", "bob was on the team, and the summary has no line with its status"),
        ("- bob: idle", "the summary names bob without its role: - bob: idle"),
        ("- bob (tester)", "bob was on the team, and the summary has no line with its status"),
        ("- … and 1 more members. Ask somebody.", "bob was on the team, and the summary has no line with its status"),
        ('- … and 1 more members. To see all: read_file(path="x").', ""),
    ],
)
async def test_a_summary_that_tells_of_the_team_what_was_not_so_is_found(line: str, flaw: str) -> None:
    prompt, truth = (await lead_asked())[6]
    asked = summed_up(prompt, truth, f"I led bob.\n\nOn your team now:\n{line}", truth.roster.number)
    assert (f"K1: {flaw}" in violations(*asked)) if flaw else (violations(*asked) == [])


@pytest.mark.behaviour("K1", "K7")
async def test_a_member_that_left_since_a_summary_and_of_which_no_notice_tells_is_found() -> None:
    prompt, truth = (await lead_asked())[6]
    number = truth.roster.number
    summary = "I led bob.\n\nOn your team now:\n- bob (tester): idle"
    prompt, truth = summed_up(prompt, truth, summary, number)
    left = Record(number + 1, MemberLeft(name="bob", reason="done", at=2.0).body())
    after = roster_fold.fold(truth.roster, [left])
    history = replace(truth.history, roster=[*truth.history.roster, left])
    unaware = replace(truth, roster=after, history=history)
    # It could not know of that yet.
    assert violations(prompt, unaware) == []
    untold = replace(unaware, memory=replace(truth.memory, noticed=(number + 1, 0)))
    assert violations(prompt, untold) == [
        "K1: bob has left, the summary lists it, and no notice since says that it left"
    ]
    told_since = noticed((prompt, untold), Noticed(text="Since you last looked:\nbob left (done)", roster=number + 1))
    assert violations(*told_since) == []


@pytest.mark.behaviour("K1", "K7")
async def test_a_team_that_is_too_large_for_a_list_is_told_if_the_list_says_how_to_see_the_rest() -> None:
    prompt, truth = (await lead_asked())[6]
    number, last = truth.roster.number, truth.memory
    many = [Joined(name=f"m{n}", role="worker", at=2.0, cause=f"lead:90.{n}").body() for n in range(120)]
    items = [Record(number + place, body) for place, body in enumerate(many, 1)]
    truth = replace(
        truth,
        roster=roster_fold.fold(truth.roster, items),
        history=replace(truth.history, roster=[*truth.history.roster, *items]),
    )
    summary = summary_text("I led them.", last, truth.entries, truth.board, truth.roster)
    asked = summed_up(prompt, truth, summary, truth.roster.number)
    assert violations(*asked) == []
    without_tool = replace(asked[0], tools=tuple(tool for tool in asked[0].tools if tool.name != "read_file"))
    assert [flaw for flaw in violations(without_tool, asked[1]) if flaw.startswith("K1")]
    uncounted = changed(asked[0], lambda text: text.replace("… and 21 more members", "… and 20 more members"))
    assert [flaw for flaw in violations(uncounted, asked[1]) if flaw.startswith("K1")]


@pytest.mark.behaviour("K2")
async def test_a_shutdown_request_without_its_id_is_found() -> None:
    prompt, truth = (await alice_asked())[2]
    assert found((without(prompt, STOP), truth)) == ["K2"]


@pytest.mark.behaviour("K2")
async def test_a_plan_without_its_id_is_found() -> None:
    prompt, truth = (await lead_asked())[7]
    assert found((without(prompt, "bob:3.0"), truth)) == ["K2"]


@pytest.mark.behaviour("K2", "K7")
async def test_an_answered_plan_that_is_called_open_is_found() -> None:
    prompt, truth = (await lead_asked())[7]
    team, plan = "- bob (tester): idle", "- plan request bob:3.0 from bob, waiting for your answer: I test it."
    text = f"Done.\n\nOn your team now:\n{team}\n\nOpen requests:\n{plan}"
    yes = Envelope("lead:20.0", LEAD, "bob", 0.0, PlanResponse(request_id="bob:3.0", approve=True))
    answered = replace(truth, letters={"bob": {yes.id: yes}})
    assert found(summed_up(prompt, answered, text)) == ["K2"]
    assert found(summed_up(prompt, truth, text)) == []


@pytest.mark.behaviour("K3")
@pytest.mark.parametrize("words", ["Parse the dates.", "make dates"])
async def test_a_task_in_progress_without_its_text_or_its_command_is_found(words: str) -> None:
    prompt, truth = (await alice_asked())[1]
    assert found((without(prompt, words), truth)) == ["K3"]


@pytest.mark.behaviour("K4")
async def test_a_tool_that_would_always_be_refused_is_found() -> None:
    prompt, truth = (await alice_asked())[1]
    offered = replace(prompt, tools=(*prompt.tools, ToolSpec("TeamDelete", "", {})))
    assert found((offered, truth)) == ["K4"]


@pytest.mark.behaviour("K4")
async def test_a_mode_that_is_not_stated_is_found() -> None:
    prompt, truth = (await lead_asked())[1]
    nobody = replace(truth, roster=replace(truth.roster, attended=False))
    assert found((prompt, nobody)) == ["K4"]
    assert "K4: delegating: true now, and the prompt does not say so" in violations(
        prompt, replace(truth, roster=replace(truth.roster, delegate=True))
    )
    assert "K4: plan mode: true now, and the prompt does not say so" in violations(
        prompt, replace(truth, roster=replace(truth.roster, mode=Mode.PLAN))
    )


@pytest.mark.behaviour("K5")
async def test_advice_to_use_a_tool_that_is_not_on_offer_is_found() -> None:
    asked = (await alice_asked())[1]
    assert found(noticed(asked, Noticed(text="Look with TaskOutput."))) == ["K5"]
    assert found(noticed(asked, Noticed(text="Look with TaskList."))) == []


@pytest.mark.behaviour("K5")
async def test_advice_to_write_to_somebody_who_left_is_found() -> None:
    asked = (await lead_asked())[6]
    bob = asked[1].roster.members["bob"]
    gone = replace(bob, status=Left())
    left = replace(asked[1], roster=replace(asked[1].roster, members={**asked[1].roster.members, "bob": gone}))
    assert found(noticed((asked[0], left), Noticed(text="Ask bob to go on."))) == ["K5"]
    assert found(noticed(asked, Noticed(text="Ask bob to go on."))) == []


@pytest.mark.behaviour("K5")
async def test_who_is_on_the_team_is_judged_as_of_the_record_at_which_it_was_told() -> None:
    watched = Watched(
        [
            uses("Task", name="bob", role="tester", prompt="test it"),
            uses("SendMessage", recipient="bbo", content="begin"),
            "I see.",
        ]
    )
    wire = FaultyStore(MemoryStore())
    harness = await AgentHarness.opened(watched.model(), attended=True, store=wire)
    # The result is recorded, and in the same moment bob leaves.
    leaves = partial(harness.team_state.roster.leave, "bob", "done", heard=0)
    wire.at("before append", log(LEAD), *[let_pass] * 8, leaves)
    async with harness.playing("begin"):
        await until(lambda: len(watched.asked) == 3)
    prompt, truth = watched.asked[2]
    (refusal,) = [text for text in last_told(prompt) if "is not on this team" in text]
    assert refusal.endswith("On the team: lead, bob, user.")
    assert not truth.roster.here("bob")
    assert violations(prompt, truth) == []
    planted = changed(prompt, lambda text: text.replace("On the team: lead, bob, user", "On the team: lead, user"))
    assert found((planted, truth)) == ["K5"]


@pytest.mark.behaviour("K5")
async def test_a_request_that_nobody_made_is_found() -> None:
    asked = (await alice_asked())[1]
    assert found(noticed(asked, Noticed(text="Answer request lead:99.0 now."))) == ["K5"]


@pytest.mark.behaviour("K6")
async def test_mail_that_was_said_to_be_sent_and_was_not_is_found() -> None:
    prompt, truth = (await lead_asked())[2]
    assert found((prompt, replace(truth, letters={}))) == ["K6"]


@pytest.mark.behaviour("K6")
@pytest.mark.parametrize(
    "call",
    [
        uses("SendMessage", recipient="bob", content="begin"),
        uses("SendMessage", type="broadcast", content="begin"),
        uses("SendMessage", type="shutdown_request", recipient="bob"),
        uses("SendMessage", type="plan_approval_response", recipient="bob", request_id="bob:3.0", approve=True),
    ],
    ids=["message", "broadcast", "shutdown", "answer"],
)
async def test_every_kind_of_mail_that_was_not_sent_is_found(call: Say) -> None:
    watched = Watched([uses("Task", name="bob", role="tester", prompt="test it"), "I wait.", call, "I see."])
    harness = await AgentHarness.opened(watched.model(), attended=True)
    async with harness.playing("begin"):
        await until(lambda: len(watched.asked) == 2)
        await harness.send(PlanRequest(request_id="bob:3.0", content="I test it."), sender="bob")
        await until(lambda: len(watched.asked) == 4)
    prompt, truth = watched.asked[3]
    assert violations(prompt, truth) == []
    assert "K6" in found((prompt, replace(truth, letters={})))


@pytest.mark.behaviour("K6")
async def test_a_broadcast_that_did_not_reach_somebody_it_names_is_found() -> None:
    spawn = [uses("Task", name=name, role="tester", prompt="test it") for name in ("bob", "amy")]
    watched = Watched([*spawn, uses("SendMessage", type="broadcast", content="begin"), "I see."])
    harness = await AgentHarness.opened(watched.model(), attended=True)
    async with harness.playing("begin"):
        await until(lambda: len(watched.asked) == 4)
    prompt, truth = watched.asked[3]
    assert violations(prompt, truth) == []
    assert found((prompt, replace(truth, letters={"bob": truth.letters["bob"]}))) == ["K6"]


@pytest.mark.behaviour("K6")
async def test_a_plan_that_was_not_sent_is_found() -> None:
    watched = Watched([uses("ExitPlanMode", plan="I write it."), "I wait."])
    async with teammate(watched.model(), plan=True, attended=True):
        await until(lambda: len(watched.asked) == 2)
    prompt, truth = watched.asked[1]
    assert violations(prompt, truth) == []
    assert found((prompt, replace(truth, letters={}))) == ["K6"]


@pytest.mark.behaviour("K6")
async def test_an_answer_to_a_shutdown_request_that_was_not_sent_is_found() -> None:
    refuse = uses("SendMessage", type="shutdown_response", request_id=STOP, approve=False, content="not yet")
    watched = Watched(["Begun.", "Working.", refuse, "I go on."])
    async with teammate(watched.model(), attended=True) as played:
        await until(lambda: len(watched.asked) == 1)
        await played.harness.team_state.board.create(LEAD, NewTask("parse"))
        await until(lambda: len(watched.asked) == 2)
        await played.ask()
        await until(lambda: len(watched.asked) >= 4)
    prompt, truth = watched.asked[3]
    assert violations(prompt, truth) == []
    assert found((prompt, replace(truth, letters={}))) == ["K6"]


@pytest.mark.behaviour("K6")
async def test_a_task_that_is_said_to_be_created_and_is_not_is_found() -> None:
    asked = await lead_asked()
    prompt, truth = asked[3]
    assert found((prompt, replace(truth, board=asked[2][1].board))) == ["K6"]
    assert found((changed(prompt, lambda text: text.replace("Created #1", "There is #1")), truth)) == ["K6"]


@pytest.mark.behaviour("K6")
@pytest.mark.parametrize(
    "line", ['bob completed task #1 by lead "parse"', 'task #1 by lead [in progress] "parse" @bob']
)
async def test_a_notice_of_a_task_that_was_not_so_is_found(line: str) -> None:
    asked = (await lead_asked())[3]
    truth = replace(
        asked[1], history=TeamHistory(board=[Record(1, Created(by=LEAD, at=0.0, task=1, subject="p").body())])
    )
    assert "K6" in found(noticed((asked[0], truth), Noticed(text=line, roster=1, board=1)))


@pytest.mark.behaviour("K6")
async def test_a_task_that_is_said_to_be_completed_and_is_not_is_found() -> None:
    asked = await lead_asked()
    under_way = replace(asked[5][1], board=asked[4][1].board)
    assert found((asked[5][0], under_way)) == ["K6"]


@pytest.mark.behaviour("K8")
async def test_the_same_news_told_twice_is_found() -> None:
    asked = (await lead_asked())[6]
    digest = next(entry for _, entry in reversed(asked[1].entries) if isinstance(entry, Noticed))
    assert found(noticed(asked, digest.model_copy())) == ["K8"]


@pytest.mark.behaviour("K8")
async def test_a_message_told_twice_is_found() -> None:
    prompt, truth = (await lead_asked())[7]
    mail = next(text for text in texts(prompt) if text.startswith("<teammate-message"))
    assert found((told(prompt, mail), truth)) == ["K8"]


# -- the model that checks --------------------------------------------------------------------------


async def test_a_scripted_model_refuses_to_play_without_what_it_needs() -> None:
    prompt, _ = (await alice_asked())[1]
    assert prompt.origin
    # The board has moved on and the prompt has not: nothing of task #1 is in it.
    bare = replace(prompt, passages=(Told((TextBlock("begin"),)),))
    with pytest.raises(Uninformed, match="K3: #1 is in progress"):
        await anext(ScriptedModel(["Hello."]).stream(bare))
    assert [flaw[:3] for flaw in take_found()] == ["K3:"] * 3
    assert await anext(ScriptedModel(["Hello."], check=False).stream(bare))
