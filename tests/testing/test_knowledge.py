"""The net finds what a model was not told, or was told wrongly: each omission planted in a prompt that was right."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from deskmate.core.entries import Compacted, Noticed
from deskmate.core.frames import SUMMARY, framed
from deskmate.core.members import Idle
from deskmate.core.messages import Envelope, PlanRequest, PlanResponse
from deskmate.core.names import LEAD
from deskmate.core.policy import Mode
from deskmate.core.prompts import CallBlock, Passage, Prompt, ResultBlock, TextBlock, ThinkingBlock, Told, ToolSpec
from deskmate.core.rendering import SUMMARISED
from deskmate.models.scripted import Step
from deskmate.testing import ScriptedModel
from deskmate.testing.knowledge import Uninformed, take_found, violations
from deskmate.testing.truth import Truth, truth_of
from tests.runtime import until
from tests.runtime.desks import Floor, uses
from tests.runtime.scenes import STOP, scene

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
    floor = await Floor.opened(watched.model(), attended=True)
    async with floor.playing("begin"):
        await until(lambda: len(watched.asked) == 6)
        await floor.until_status("idle")
        await floor.office.roster.status(Idle(name="bob", heard=1, at=1.0))
        await until(lambda: len(watched.asked) == 7)
        await floor.until_status("idle")
        await floor.send(PlanRequest(request_id="bob:3.0", content="I test it."), sender="bob")
        await until(lambda: len(watched.asked) == 8)
    return watched.asked


async def alice_asked() -> list[Asked]:
    """Let alice take a task and be asked to shut down."""
    watched = Watched(["Begun.", "Working.", uses("glob", pattern="*"), "Still working."])
    async with scene(watched.model(), attended=True) as played:
        await until(lambda: len(watched.asked) == 1)
        await played.floor.office.board.create(LEAD, "parse", description="Parse the dates.", verify="make dates")
        await until(lambda: len(watched.asked) == 2)
        await played.ask()
        await until(lambda: len(watched.asked) == 4)
    return watched.asked


# -- planting ---------------------------------------------------------------------------------------


def changed(prompt: Prompt, change: Callable[[str], str]) -> Prompt:
    """Return a prompt with every text in it changed; fail if nothing did."""

    def of(block: Block) -> Block:
        if isinstance(block, CallBlock):
            return replace(block, arguments={key: change(str(value)) for key, value in block.arguments.items()})
        return replace(block, text=change(block.text))

    passages = tuple(replace(passage, blocks=tuple(map(of, passage.blocks))) for passage in prompt.passages)
    planted = replace(prompt, system=change(prompt.system), passages=passages)
    assert planted != prompt, "nothing was planted"
    return planted


def without(prompt: Prompt, words: str) -> Prompt:
    return changed(prompt, lambda text: text.replace(words, "…"))


def told(prompt: Prompt, *texts: str) -> Prompt:
    """Return a prompt that tells more at its end."""
    last = prompt.passages[-1]
    more: Passage = replace(last, blocks=(*last.blocks, *map(TextBlock, texts)))
    return replace(prompt, passages=(*prompt.passages[:-1], more))


def noticed(asked: Asked, *notices: Noticed) -> Asked:
    """Return a prompt, and the transcript it comes from, with more notices."""
    prompt, truth = asked
    number = truth.entries[-1][0]
    entries = [*truth.entries, *((number + index, notice) for index, notice in enumerate(notices, 1))]
    return told(prompt, *(notice.text for notice in notices)), replace(truth, entries=entries)


def summed_up(prompt: Prompt, truth: Truth, summary: str) -> Asked:
    """Return a prompt in which a summary stands for all that came before."""
    text = f"{SUMMARISED}\n{framed(SUMMARY, summary)}"
    entry = Compacted(upto=truth.entries[-1][0], summary=summary)
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
    gone = replace(bob, status=replace(bob.status, word="left"))
    left = replace(asked[1], roster=replace(asked[1].roster, members={**asked[1].roster.members, "bob": gone}))
    assert found(noticed((asked[0], left), Noticed(text="Ask bob to go on."))) == ["K5"]
    assert found(noticed(asked, Noticed(text="Ask bob to go on."))) == []


@pytest.mark.behaviour("K5")
async def test_a_request_that_nobody_made_is_found() -> None:
    asked = (await alice_asked())[1]
    assert found(noticed(asked, Noticed(text="Answer request lead:99.0 now."))) == ["K5"]


@pytest.mark.behaviour("K6")
async def test_mail_that_was_said_to_be_sent_and_was_not_is_found() -> None:
    prompt, truth = (await lead_asked())[2]
    assert found((prompt, replace(truth, letters={}))) == ["K6"]


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
