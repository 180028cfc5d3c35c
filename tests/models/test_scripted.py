"""The scripted model: what it plays, how it streams, and what it says when it is asked for too much."""

import itertools

import anyio
import pytest

from deskmate.core.prompt.prompts import (
    CallBlock,
    CallDelta,
    Delta,
    Prompt,
    Reply,
    ResultBlock,
    Spoke,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    Told,
    Usage,
)
from deskmate.errors import BadInput, ModelRejected, ModelTrouble
from deskmate.models.scripted import RehearsedModel, Step
from deskmate.ports import Model, ModelLimits
from deskmate.testing import FakeClock, Say, Use

pytestmark = pytest.mark.anyio


def asking(*texts: str) -> Prompt:
    return Prompt("be brief", (Told(tuple(map(TextBlock, texts))),))


async def played(model: Model, prompt: Prompt | None = None) -> list[Delta | Reply]:
    return [part async for part in model.stream(prompt or asking("hello"))]


async def reply_of(model: Model, prompt: Prompt | None = None) -> Reply:
    *_, reply = await played(model, prompt)
    assert isinstance(reply, Reply)
    return reply


USAGE = Usage(10, 20, 30, 40)
WHOLE = Reply((TextBlock("a"), CallBlock("mine", "bash", {}), TextBlock("b")), USAGE, "length", "other:model", 0.5)


@pytest.mark.parametrize(
    ("step", "reply"),
    [
        ("hi", Reply((TextBlock("hi"),), model="scripted:model")),
        ("", Reply((), model="scripted:model")),
        (WHOLE, WHOLE),
        (Reply((TextBlock("a"),)), Reply((TextBlock("a"),), model="scripted:model")),
        (
            Say("so", [Use("grep", {"pattern": "x"}), Use("glob", {})], thinking="hm", usage=USAGE, end="refused"),
            Reply(
                (
                    ThinkingBlock("hm"),
                    TextBlock("so"),
                    CallBlock("call_1", "grep", {"pattern": "x"}),
                    CallBlock("call_2", "glob", {}),
                ),
                USAGE,
                "refused",
                "scripted:model",
            ),
        ),
    ],
)
async def test_a_step_becomes_the_reply_it_describes(step: Step, reply: Reply) -> None:
    assert await reply_of(RehearsedModel([step])) == reply


async def test_arguments_that_are_not_json_are_a_flaw_as_with_a_real_model() -> None:
    model = RehearsedModel([Say("", [Use("glob", raw='{"pattern": "*"}'), Use("glob", raw='{"pattern": ', id="cut")])])
    whole, cut = (await reply_of(model)).calls
    assert (whole.arguments, whole.flaw) == ({"pattern": "*"}, "")
    assert (cut.id, cut.arguments, bool(cut.flaw)) == ("cut", {}, True)


async def test_sealed_thoughts_are_not_shown() -> None:
    parts = await played(RehearsedModel([Say("Yes.", thinking="a secret thought", sealed=True)]))
    assert "secret" not in str(parts)
    assert [
        block.sealed
        for part in parts
        if isinstance(part, Reply)
        for block in part.blocks
        if isinstance(block, ThinkingBlock)
    ] == [True]


async def test_words_come_in_pieces_that_make_up_the_reply() -> None:
    *deltas, reply = await played(RehearsedModel([Say("abcdefghij", [Use("bash", {})], thinking="xy")]))
    assert deltas == [
        ThinkingDelta("x"),
        ThinkingDelta("y"),
        TextDelta("abc"),
        TextDelta("def"),
        TextDelta("ghi"),
        TextDelta("j"),
        CallDelta("bash"),
    ]
    assert isinstance(reply, Reply)


async def test_steps_are_played_in_order_and_every_prompt_is_kept() -> None:
    model = RehearsedModel(
        ["one", ModelTrouble("overloaded", 3.0), "two"], name="scripted:bob", limits=ModelLimits(9, 5)
    )
    first, second, third = asking("a"), asking("b"), asking("c")
    assert (await reply_of(model, first)).text == "one"
    with pytest.raises(ModelTrouble, match="overloaded"):
        await played(model, second)
    assert (await reply_of(model, third)).text == "two"
    assert model.prompts == [first, second, third]
    assert (model.name, model.limits) == ("scripted:bob", ModelLimits(9, 5))


async def test_a_list_changed_after_it_was_handed_in_does_not_change_the_script() -> None:
    steps: list[Step] = ["one"]
    model = RehearsedModel(steps)
    steps[0] = "two"
    assert (await reply_of(model)).text == "one"


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        (asking("do it", "now"), "'now'"),
        (
            Prompt(
                "",
                (
                    Told((TextBlock("do it"),)),
                    Spoke((CallBlock("1", "bash", {}),)),
                    Told((ResultBlock("1", "x" * 500 + "end"),)),
                ),
            ),
            repr("x" * 197 + "end"),
        ),
    ],
)
async def test_a_used_up_script_says_how_long_it_was_and_what_it_was_asked(prompt: Prompt, words: str) -> None:
    model = RehearsedModel(["one", "two"])
    await played(model)
    await played(model)
    with pytest.raises(ModelRejected) as rejected:
        await played(model, prompt)
    assert "scripted:model has ended: it had 2 steps" in str(rejected.value)
    assert f"after {words}. " in str(rejected.value)


async def test_a_function_answers_what_it_is_asked() -> None:
    model = RehearsedModel(lambda prompt: f"{len(prompt.passages)} of {prompt.system}")
    assert [(await reply_of(model)).text for _ in range(2)] == ["1 of be brief"] * 2


async def test_a_coroutine_may_take_its_time_to_answer() -> None:
    asked, answered = anyio.Event(), anyio.Event()

    async def answer(prompt: Prompt) -> Step:
        asked.set()
        await answered.wait()
        return Say("late")

    replies: list[Reply] = []

    async def listen() -> None:
        replies.append(await reply_of(RehearsedModel(answer)))

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await asked.wait()
        assert replies == []
        answered.set()
    assert [reply.text for reply in replies] == ["late"]


async def test_no_two_calls_share_an_id_whatever_the_script_says() -> None:
    twice = Reply((CallBlock("call_2", "bash", {}), CallBlock("call_2", "bash", {}), CallBlock("", "bash", {})))
    model = RehearsedModel([Say(calls=[Use("glob", {})]), twice, twice])
    ids = [call.id for _ in range(3) for call in (await reply_of(model)).calls]
    assert ids[:2] == ["call_1", "call_2"]
    assert "" not in ids
    assert len(set(ids)) == len(ids) == 7


async def test_with_a_clock_the_pieces_come_one_pause_apart() -> None:
    clock = FakeClock()
    heard: list[tuple[float, Delta | Reply]] = []

    async def listen() -> None:
        model = RehearsedModel(["ab"], clock=clock, pause_seconds=0.5)
        heard.extend([(clock.monotonic(), part) async for part in model.stream(asking("hello"))])

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        for _ in range(3):
            await anyio.wait_all_tasks_blocked()
            clock.advance(0.5)
    reply = Reply((TextBlock("ab"),), model="scripted:model")
    assert heard == [(0.5, TextDelta("a")), (1.0, TextDelta("b")), (1.5, reply)]


def test_pausing_without_a_clock_is_refused() -> None:
    with pytest.raises(BadInput, match="clock"):
        RehearsedModel([], pause_seconds=1.0)


async def test_others_get_their_turn_between_the_pieces() -> None:
    order = itertools.count()
    turns: dict[str, list[int]] = {}

    async def listen(name: str) -> None:
        turns[name] = [next(order) async for _ in RehearsedModel(["ab"]).stream(asking("hello"))]

    async with anyio.create_task_group() as group:
        group.start_soon(listen, "alice")
        group.start_soon(listen, "bob")
    assert turns["alice"][0] < turns["bob"][-1]
    assert turns["bob"][0] < turns["alice"][-1]
