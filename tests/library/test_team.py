"""A program runs a team, resumes it, talks to it, and cancels it."""

import subprocess
import sys
from collections.abc import AsyncIterable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

from deskmate import (
    BadInput,
    BadSettings,
    Event,
    ModelRejected,
    NewTask,
    NoResult,
    QuestionAsked,
    Refused,
    RunStopped,
    TaskUpdated,
    Team,
    Teammate,
    TextFinished,
    TextStreamed,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    run,
    run_sync,
    tool,
)
from deskmate.core.prompt.prompts import Prompt, TextBlock, Told
from deskmate.testing import Say, ScriptedModel, Use
from deskmate.testing.team_scripts import complete_task
from tests.runtime.team_process import until
from tests.sample_images import png

pytestmark = pytest.mark.anyio
SOON = 30.0


def done(task: int) -> Say:
    return Say("", [complete_task(task)])


def test_a_program_that_is_not_async_gets_the_answer(place: Path) -> None:
    outcome = run_sync("Say hello.", model=ScriptedModel(["Hello."]), workspace=place)
    assert (outcome.text, outcome.end, outcome.team, outcome.kept) == ("Hello.", "answered", "main", True)


async def test_run_sync_in_async_code_says_what_to_use_instead(place: Path) -> None:
    with pytest.raises(BadInput, match="await"):
        run_sync("Say hello.", model=ScriptedModel([]), workspace=place)


def test_without_a_model_or_a_key_nothing_is_created(place: Path) -> None:
    with pytest.raises(BadSettings):
        run_sync("Say hello.", workspace=place)
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("options", [{"max_cost": -1.0}, {"permission_mode": "sometimes"}, {"model": "a b"}])
def test_a_wrong_argument_is_named(place: Path, options: dict[str, object]) -> None:
    with pytest.raises(BadSettings, match=f"argument {next(iter(options))}"):
        Team(workspace=place, **options)  # type: ignore[arg-type]


def test_an_empty_goal_is_refused(place: Path) -> None:
    with pytest.raises(BadInput):
        Team(model=ScriptedModel([]), workspace=place).run_sync(" ")


def test_a_limit_on_cost_needs_a_price(place: Path) -> None:
    with pytest.raises(BadSettings, match="scripted:model"):
        run_sync("Go.", model=ScriptedModel([]), workspace=place, max_cost=1.0)


async def test_the_outcome_names_the_files_that_were_changed(place: Path) -> None:
    (place / "old.txt").write_text("old")
    calls = [Use("write_file", {"path": "new.txt", "content": "new"}), Use("read_file", {"path": "old.txt"})]
    model = ScriptedModel([Say("", calls), "Written."])
    outcome = await run("Write.", model=model, workspace=place, permission_mode="acceptEdits")
    assert outcome.files == ("new.txt",)


async def test_teammates_take_the_tasks_that_are_there_from_the_start(place: Path) -> None:
    schema = NewTask("Write the schema", role="backend")
    page = NewTask("Port the page", role="frontend", blocked_by=[schema], verify="test -f schema.txt")
    model = ScriptedModel(
        {
            "lead": ["They are at work.", "Both are done.", "They are done.", "That is all."],
            "ada": [
                Say("", [Use("write_file", {"path": "schema.txt", "content": "x"})]),
                done(1),
                "The schema is there.",
            ],
            "bob": [done(2), "The page is ported."],
        }
    )
    team = Team(
        "web",
        model=model,
        teammates=[Teammate("ada", "backend"), Teammate("bob", "frontend")],
        tasks=[schema, page],
        workspace=place,
        permission_mode="dontAsk",
        settings=None,
    )
    with anyio.fail_after(SOON):
        outcome = await team.run("Move the app.")
    assert [(task.subject, task.status, task.owner) for task in outcome.tasks] == [
        ("Write the schema", "completed", "ada"),
        ("Port the page", "completed", "bob"),
    ]
    assert outcome.files == ("schema.txt",)


async def test_a_task_from_the_start_goes_to_its_owner_after_the_task_with_that_number(place: Path) -> None:
    model = ScriptedModel({"lead": ["Wait."] * 4, "ada": [done(1), "Done."], "bob": [done(2), "Done."]})
    team = Team(
        model=model,
        teammates=[Teammate("ada"), Teammate("bob")],
        tasks=[NewTask("Look", owner="ada"), NewTask("Tell", owner="bob", blocked_by=[1])],
        workspace=place,
    )
    with anyio.fail_after(SOON):
        outcome = await team.run("Go.")
    assert [(task.subject, task.status, task.owner) for task in outcome.tasks] == [
        ("Look", "completed", "ada"),
        ("Tell", "completed", "bob"),
    ]


async def test_a_resumed_team_gets_only_the_tasks_that_are_new_and_its_teammates_back(place: Path) -> None:
    def team(mate: str, *tasks: NewTask) -> Team:
        model = ScriptedModel({"lead": ["Wait.", "Done.", "Done.", "Done."], mate: [done(len(tasks)), "Done."]})
        return Team("web", model=model, teammates=[Teammate("ada")], tasks=tasks, workspace=place)

    with anyio.fail_after(SOON):
        await team("ada", NewTask("Look")).run("Go.")
        outcome = await team("ada-2", NewTask("Look"), NewTask("Look again")).resume("And?")
    assert [(task.subject, task.owner) for task in outcome.tasks] == [("Look", "ada"), ("Look again", "ada-2")]


def test_a_task_must_be_listed_after_what_blocks_it(place: Path) -> None:
    first = NewTask("first")
    with pytest.raises(BadInput, match="second"):
        Team(tasks=[NewTask("second", blocked_by=[first]), first], workspace=place)


async def test_each_run_is_a_team_of_its_own_and_the_last_one_is_resumed(place: Path) -> None:
    def team(*script: str) -> Team:
        return Team("web", model=ScriptedModel(list(script)), workspace=place)

    first, second = await team("One.").run("Go."), await team("Two.").run("Go.")
    again = await team("Three.").resume("And?")
    assert [one.team for one in (first, second, again)] == ["web", "web-2", "web-2"]


async def test_a_team_that_never_ran_cannot_be_resumed(place: Path) -> None:
    await run("Go.", name="website", model=ScriptedModel(["Done."]), workspace=place)
    with pytest.raises(Refused, match="web"):
        await Team("web", model=ScriptedModel([]), workspace=place).resume()


async def test_a_run_that_cannot_go_on_raises_why_and_can_be_resumed(place: Path) -> None:
    broken = ScriptedModel([Say("I look.", [Use("glob", {"pattern": "*"})]), ModelRejected("The key is wrong")])
    with pytest.raises(RunStopped, match="The key is wrong") as caught:
        await Team("web", model=broken, workspace=place).run("Go.", result_type=Report)
    assert caught.value.outcome.end == "parked"  # type: ignore[attr-defined]
    outcome = await Team("web", model=ScriptedModel(["I went on."]), workspace=place).resume()
    assert outcome.text == "I went on."


def test_agents_work_in_the_current_folder_by_default(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = place / "inner"
    (place / ".git").mkdir()
    inner.mkdir()
    monkeypatch.chdir(inner)
    write = Say(calls=[Use("write_file", {"path": "a.txt", "content": "a"})])
    run_sync("Write.", model=ScriptedModel([write, "Written."]), permission_mode="acceptEdits")
    assert (inner / "a.txt").exists()


async def test_a_step_that_is_none_is_named(place: Path) -> None:
    model = ScriptedModel([("glob", {"pattern": "*"})])  # type: ignore[list-item]
    with pytest.raises(RunStopped, match="not a step of a script"):
        await run("Go.", model=model, workspace=place)


# -- results of a type ----------------------------------------------------------------------------


class Report(BaseModel):
    late: list[str]
    total: int


class Node(BaseModel):
    name: str
    children: list["Node"] = []


def submit(result: object) -> Say:
    return Say("", [Use("submit_result", {"result": result})])


async def test_a_result_of_a_type_is_checked_and_tried_again(place: Path) -> None:
    model = ScriptedModel([submit({"late": "7", "total": 1}), submit({"late": ["7"], "total": 1}), "Handed in."])
    outcome = await run("Which are late?", model=model, workspace=place, result_type=Report)
    assert (outcome.result, outcome.text) == (Report(late=["7"], total=1), "Handed in.")


async def test_a_lead_that_forgets_the_result_is_reminded(place: Path) -> None:
    model = ScriptedModel(["Order 7 is late.", submit(["7"]), "Handed in."])
    outcome = await run("Which are late?", model=model, workspace=place, result_type=list[str])
    assert (outcome.result, outcome.text, outcome.steps) == (["7"], "Order 7 is late.\n\nHanded in.", 3)


async def test_a_result_may_be_none_and_may_contain_itself(place: Path) -> None:
    nothing = await run("Go.", model=ScriptedModel([submit(None), "Done."]), workspace=place, result_type=int | None)
    assert (nothing.result, nothing.has_result) == (None, True)
    tree = {"name": "a", "children": [{"name": "b", "children": []}]}
    model = ScriptedModel([submit({"children": []}), submit(tree), "Done."])
    assert (await run("Go.", model=model, workspace=place, result_type=Node)).result == Node.model_validate(tree)


async def test_a_result_counts_even_if_the_model_fails_after_it(place: Path) -> None:
    model = ScriptedModel([submit(1), ModelRejected("The key is wrong")])
    outcome = await run("Go.", model=model, workspace=place, result_type=int)
    assert (outcome.result, outcome.end) == (1, "parked")


def test_a_type_that_cannot_be_checked_is_refused(place: Path) -> None:
    with pytest.raises(BadInput):
        run_sync("Go.", model=ScriptedModel([]), workspace=place, result_type=object())


async def test_a_lead_that_never_submits_a_result_is_an_error(place: Path) -> None:
    with pytest.raises(NoResult) as caught:
        await run("Go.", model=ScriptedModel(["No."] * 3), workspace=place, result_type=Report)
    assert caught.value.outcome.team == "main"  # type: ignore[attr-defined]


async def test_a_result_survives_the_process_that_heard_it(place: Path) -> None:
    def team(*script: str | Say) -> Team:
        return Team("web", model=ScriptedModel(list(script)), workspace=place)

    first = await team(submit({"late": [], "total": 0}), "Handed in.").run("Go.", result_type=Report)
    again = await team().resume(result_type=Report)
    assert again.result == first.result == Report(late=[], total=0)


async def test_a_lead_that_delegates_can_submit_its_result(place: Path) -> None:
    (place.parent / "home/.config/deskmate").mkdir(parents=True)
    (place.parent / "home/.config/deskmate/settings.toml").write_text("delegate = true\n")
    model = ScriptedModel([submit(3), "Handed in."])
    assert (await run("How many?", model=model, workspace=place, result_type=int)).result == 3


# -- conversations --------------------------------------------------------------------------------


async def test_a_session_streams_typed_events_and_ends_each_turn_with_its_outcome(place: Path) -> None:
    @tool
    def lookup(order_id: str) -> str:
        """Return the status of an order."""
        return "late"

    model = ScriptedModel([Say("I look.", [Use("lookup", {"order_id": "7"})]), "It is late.", "You are welcome."])
    team = Team(model=model, tools=[lookup], workspace=place)
    with anyio.fail_after(SOON):
        async with team.session() as session:
            events = [event async for event in session.stream("Is 7 late?")]
            thanks = await session.ask("Thank you.")
    shown = [event for event in events if isinstance(event, TextFinished | ToolCalled | ToolReturned)]
    assert shown == [
        TextFinished("lead", "I look."),
        ToolCalled("lead", "lead:3.0", "lookup", {"order_id": "7"}),
        ToolReturned("lead", "lead:3.0", "lookup", "late", ok=True),
        TextFinished("lead", "It is late."),
    ]
    assert "".join(event.text for event in events if isinstance(event, TextStreamed)) == "I look.It is late."
    assert isinstance(events[-1], TurnEnded)
    assert (events[-1].outcome.text, thanks.text) == ("It is late.", "You are welcome.")


async def test_a_slow_reader_of_a_stream_misses_nothing_and_reaches_the_end(place: Path) -> None:
    create = Say("", [Use("TaskCreate", {"subject": "Look"})])
    found: list[Event] = []
    with anyio.fail_after(SOON):
        async with Team(model=ScriptedModel([create, "It is on the board."]), workspace=place).session() as session:
            async for event in session.stream("Put it on the board."):
                found.append(event)
                # Long enough for the team to finish meanwhile.
                await until(lambda: session.spent.calls == 2)
    assert [event.task.subject for event in found if isinstance(event, TaskUpdated)] == ["Look"]
    assert isinstance(found[-1], TurnEnded)


async def test_a_question_is_streamed_and_its_answer_belongs_to_the_same_turn(place: Path) -> None:
    model = ScriptedModel([Say("", [Use("refund", {})]), "Refunded."])
    found: list[Event] = []
    with anyio.fail_after(SOON):
        async with Team(model=model, tools=[refund], workspace=place).session() as session:
            async for event in session.stream("Refund it."):
                found.append(event)
                if isinstance(event, QuestionAsked):
                    await session.answer(event.question, "yes")
    assert isinstance(found[-1], TurnEnded)
    assert (found[-1].outcome.text, found[-1].outcome.end) == ("Refunded.", "answered")


async def test_a_turn_that_waits_for_an_answer_says_so_and_can_be_waited_for(place: Path) -> None:
    model = ScriptedModel([Say("", [Use("refund", {})]), "Refunded."])
    with anyio.fail_after(SOON):
        async with Team(model=model, tools=[refund], workspace=place).session() as session:
            asking = await session.ask("Refund it.")
            (question,) = session.questions
            await session.answer(question, "yes")
            outcome = await session.ask(None)
    assert (asking.end, outcome.end, outcome.text) == ("asking", "answered", "Refunded.")


async def test_two_turns_of_a_session_do_not_mix(place: Path) -> None:
    async with Team(model=ScriptedModel(["One."]), workspace=place).session() as session:
        stream = session.stream("One?")
        await anext(stream)
        with pytest.raises(Refused):
            await session.ask("Two?")
        await stream.aclose()


async def test_events_end_with_the_session(place: Path) -> None:
    async def watch(events: AsyncIterable[Event]) -> None:
        found.extend([event async for event in events])

    found: list[Event] = []
    with anyio.fail_after(SOON):
        team = Team(model=ScriptedModel(["Hello."]), workspace=place)
        async with anyio.create_task_group() as tasks, team.session() as session:
            tasks.start_soon(watch, session.events)
            await anyio.lowlevel.checkpoint()
            await session.ask("Hello?")
    assert TextFinished("lead", "Hello.") in found


# -- callbacks ------------------------------------------------------------------------------------


@tool(asks=True)
def refund() -> str:
    """Refund an order."""
    REFUNDS.append("refund")
    return "refunded"


REFUNDS: list[str] = []


@pytest.mark.parametrize("answer", [None, False, True, "No", "maybe", ""])
async def test_what_is_not_an_answer_allows_nothing(place: Path, answer: Any) -> None:
    REFUNDS.clear()
    team = Team(model=ScriptedModel([Say("", [Use("refund", {})]), "Done."]), tools=[refund], workspace=place)
    with anyio.fail_after(SOON), pytest.raises(BadInput):
        await team.run("Refund it.", on_question=lambda question: answer)
    assert REFUNDS == []


async def test_always_is_a_yes_if_no_rule_covers_the_question(place: Path) -> None:
    REFUNDS.clear()
    model = ScriptedModel([Say("", [Use("refund", {})]), Say("", [Use("refund", {})]), "Done."])
    await Team(model=model, tools=[refund], workspace=place).run("Refund it.", on_question=lambda question: "always")
    assert REFUNDS == ["refund", "refund"]


async def test_an_error_in_a_callback_ends_the_run_as_it_is(place: Path) -> None:
    def fail(event: Event) -> None:
        if isinstance(event, TextFinished):
            raise ZeroDivisionError

    with anyio.fail_after(SOON), pytest.raises(ZeroDivisionError):
        await run("Go.", model=ScriptedModel(["Hello."]), workspace=place, on_event=fail)


async def test_a_callback_hears_of_the_tasks_from_the_start_and_of_the_end(place: Path) -> None:
    found: list[Event] = []
    model = ScriptedModel(["There is a task."])
    team = Team(model=model, tasks=[NewTask("Look", role="nobody")], workspace=place)
    outcome = await team.run("Go.", on_event=found.append)
    assert [event.task.subject for event in found if isinstance(event, TaskUpdated)] == ["Look"]
    assert found[-1] == TurnEnded(outcome)


async def test_a_tool_that_does_not_ask_any_more_is_allowed_from_the_next_run_on(place: Path) -> None:
    def team(asks: bool) -> Team:
        model = ScriptedModel([Say("", [Use("refund", {})]), "Done."])
        return Team("web", model=model, tools=[tool(name="refund", asks=asks)(refund.function)], workspace=place)

    REFUNDS.clear()
    await team(asks=True).run("Refund it.")
    assert REFUNDS == []
    await team(asks=False).resume("Again.")
    assert REFUNDS == ["refund"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Teammate("ada", mode="sometimes"),
        lambda: Teammate("ada", plans_first=True),
        lambda: Team(tasks=[NewTask(" ")]),
        lambda: Team(teammates=[Teammate("ada"), Teammate("ada", role="x")]),
        lambda: Team(tools=[tool(name="submit_result")(refund.function)]),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_created(make: Callable[[], object]) -> None:
    with pytest.raises(BadInput):
        make()


# -- cancelling -----------------------------------------------------------------------------------


async def test_a_cancelled_run_can_be_resumed(place: Path) -> None:
    running = anyio.Event()

    @tool
    async def wait() -> str:
        """Wait forever."""
        running.set()
        await anyio.sleep_forever()
        return "never"

    team = Team("web", model=ScriptedModel([Say("", [Use("wait", {})])]), tools=[wait], workspace=place)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(team.run, "Wait.")
            await running.wait()
            tasks.cancel_scope.cancel()
        again = Team("web", model=ScriptedModel(["I was interrupted, and go on."]), tools=[wait], workspace=place)
        outcome = await again.resume()
    assert outcome.text == "I was interrupted, and go on."


def test_importing_a_name_imports_no_screen_and_no_command_line() -> None:
    words = "import sys; from deskmate import Team, tool; print(*(n for n in ('textual', 'click') if n in sys.modules))"
    ended = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == []


async def test_images_are_sent_with_the_goal_of_a_run_and_of_its_continuation(place: Path) -> None:
    (place / "shot.png").write_bytes(png(40, 30))
    model = ScriptedModel(["A grey square.", "Still grey."])
    team = Team(model=model, workspace=place)
    await team.run("What is this?", images=[place / "shot.png"])
    await team.resume("And this?", images=[str(place / "shot.png")])
    assert [len(prompt.pictures) for prompt in model.prompts] == [1, 1]
    assert [block.images != () for block in _texts(model.prompts[1])] == [True, True]


async def test_images_without_a_goal_or_without_a_file_are_refused(place: Path) -> None:
    team = Team(model=ScriptedModel([]), workspace=place)
    with pytest.raises(BadInput, match=r"gone\.png"):
        await team.run("What is this?", images=[place / "gone.png"])
    with pytest.raises(BadInput, match="goal"):
        await team.resume(images=[place / "gone.png"])
    assert not (place / ".teams").exists()


def _texts(prompt: Prompt) -> list[TextBlock]:
    told = (block for passage in prompt.passages if isinstance(passage, Told) for block in passage.blocks)
    return [block for block in told if isinstance(block, TextBlock)]
