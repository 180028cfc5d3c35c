"""From a transcript to a prompt: well formed whatever happened, the same after a restart, and only ever added to."""

import os
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.agent.entries import (
    AgentParked,
    Agreed,
    Began,
    Call,
    Cleared,
    Compacted,
    Did,
    Ended,
    Entry,
    Heard,
    Noticed,
    Nudged,
    PermissionAsked,
    PicturesRefused,
    Reported,
    Said,
    Started,
    Took,
)
from deskmate.core.log.names import USER
from deskmate.core.prompt.call_texts import call_text
from deskmate.core.prompt.prompts import (
    CallBlock,
    Given,
    Image,
    Passage,
    Passages,
    ResultBlock,
    Spoke,
    Spoken,
    TextBlock,
    ThinkingBlock,
    Told,
)
from deskmate.core.prompt.rendering import (
    CLEARED,
    CUT_TO_NOTHING,
    EMPTY_RESULT,
    GO_ON,
    GO_ON_WHERE_CUT,
    NO_RESULT,
    SUMMARISED,
    Rendered,
    passages,
    spoken,
)
from deskmate.core.team.messages import Envelope, Interrupt, Message, Plain, SentImage
from tests.core.random_histories import flaws, history, stored

HISTORIES = 100_000 if os.environ.get("DESKMATE_SOAK") == "1" else 2_500
LS = Call(tool="bash", arguments={"command": "ls"})


def rendered(*entries: Entry) -> Sequence[Passage]:
    return passages(list(enumerate(entries, start=1)), "alice")


def told(*blocks: str | Given) -> Told:
    return Told(tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks))


def spoke(*blocks: str | Spoken) -> Spoke:
    return Spoke(tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks))


def ls(said: int, index: int = 0) -> CallBlock:
    return CallBlock(f"call_{said}_{index}", "bash", {"command": "ls"})


def heard(number: int, message: Message | str, sender: str = "bob") -> Heard:
    message = Plain(content=message) if isinstance(message, str) else message
    mail = Envelope(f"m{number}", sender, "alice", 0.0, message).body()
    return Heard(box="mail/alice", after=number - 1, upto=number, mail=(mail,))


def framed(text: str) -> str:
    return f'<teammate-message sender="bob" type="message">{text}</teammate-message>'


START = Started(name="alice", prompt="begin")


# -- turns ------------------------------------------------------------------------------------------


def test_a_turn_is_told_and_spoken_in_turn() -> None:
    assert rendered(
        START, Said(text="on it", calls=(LS,)), Began(calls=("alice:2.0",)), Did(call="alice:2.0", text="a.py")
    ) == (told("begin"), spoke("on it", ls(2)), told(ResultBlock("call_2_0", "a.py")))


def test_everything_that_is_news_is_told_and_nothing_else() -> None:
    assert rendered(
        START,
        Took(task=3, epoch=1, text="task #3"),
        Noticed(text="news"),
        Nudged(task=3, epoch=1, text="still there?"),
        Nudged(task=3, epoch=1),
        Ended(background="b1", status="done"),
        PermissionAsked(call="alice:1.0", request_id="r"),
        Reported(task=3, epoch=1),
        Agreed(request_id="r"),
        AgentParked(reason="money"),
        heard(1, Interrupt(content="stop"), USER),
        heard(2, "hi"),
        Noticed(text=" "),
    ) == (
        told(
            "begin",
            "task #3",
            "news",
            "still there?",
            "Task #3 is still in progress. Continue with it now. "
            f"When it is done: {call_text('TaskUpdate', taskId=3, status='completed')}. "
            f"If you cannot do it: {call_text('TaskUpdate', taskId=3, status='pending')}.",
            '<task-notification id="b1" status="done"></task-notification>',
            framed("hi"),
        ),
    )


def test_results_come_first_in_the_order_asked_and_mail_heard_meanwhile_after_them() -> None:
    assert rendered(
        START,
        Said(calls=(LS, LS)),
        heard(1, "hi"),
        Did(call="alice:2.1", text="second", ok=False),
        Noticed(text="news"),
        Did(call="alice:2.0", text="first"),
    )[2] == told(ResultBlock("call_2_0", "first"), ResultBlock("call_2_1", "second", ok=False), framed("hi"), "news")


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    assert rendered(START, Said(calls=(LS,)), Said(text="done"), heard(1, "hi")) == (
        told("begin"),
        spoke(ls(2)),
        told(ResultBlock("call_2_0", NO_RESULT, ok=False)),
        spoke("done"),
        told(framed("hi")),
    )


def test_a_result_that_comes_after_the_model_was_asked_without_it_changes_nothing() -> None:
    late = Did(call="alice:2.0", text="late")
    missed = told(ResultBlock("call_2_0", NO_RESULT, ok=False))
    assert rendered(START, Said(calls=(LS,)), Said(), late) == (told("begin"), spoke(ls(2)), missed)
    assert rendered(START, Said(calls=(LS,)), Said(text="on"), late)[2:] == (missed, spoke("on"), told(GO_ON))


def test_the_first_result_of_a_call_counts_and_one_for_no_call_does_not() -> None:
    assert rendered(
        START,
        Said(calls=(LS,)),
        Did(call="alice:2.0", text="first"),
        Did(call="alice:2.0", text="again"),
        Did(call="bob:2.0", text="not mine"),
        Did(call="alice:2.7", text="never asked"),
    )[2:] == (told(ResultBlock("call_2_0", "first")),)


def test_an_empty_result_says_that_it_is_and_pictures_come_along() -> None:
    images = ({"media_type": "image/png", "blob": "a.png"}, {"odd": "one"})
    assert rendered(START, Said(calls=(LS,)), Did(call="alice:2.0", text=" \n", images=images))[2] == told(
        ResultBlock("call_2_0", EMPTY_RESULT, images=(Image("image/png", "a.png"),))
    )


SHOT = SentImage(media_type="image/png", blob="a.png", name="my\nshot</summary>.png", size=84_000, width=40, height=30)


def mail_with(image: SentImage, sender: str, recipient: str, id_: str = "1") -> Heard:
    envelope = Envelope(id_, sender, recipient, 1.0, Plain(content="see", images=(image,)))
    return Heard(box=f"mail/{recipient}", after=0, upto=1, mail=(envelope.body(),))


def test_images_of_the_user_come_with_the_words_and_a_line_that_says_where_they_are() -> None:
    line = "[image: my shot&lt;/summary>.png, 40x30, 84 kB, saved in a.png]"
    frame = '<teammate-message sender="user" type="message">see</teammate-message>'
    images = (Image("image/png", "a.png"),)
    assert rendered(mail_with(SHOT, "user", "lead"))[-1].blocks == (TextBlock(f"see\n{line}", images),)
    assert rendered(mail_with(SHOT, "user", "alice"))[-1].blocks == (TextBlock(f"{frame}\n{line}", images),)


def test_an_image_that_no_model_takes_or_that_is_not_of_the_user_is_not_shown() -> None:
    odd = SHOT.model_copy(update={"media_type": "image/tiff"})
    for entry in (mail_with(odd, "user", "lead"), mail_with(SHOT, "bob", "alice")):
        (block,) = rendered(entry)[-1].blocks
        assert isinstance(block, TextBlock)
        assert block.images == ()


def test_a_compaction_removes_images_of_the_user_from_the_prompt() -> None:
    rendered_ = Rendered("lead")
    rendered_.add(1, mail_with(SHOT, "user", "lead"))
    rendered_.add(2, Said(text="nice"))
    assert set(rendered_.pictures) == {"a.png"}
    rendered_.add(3, Compacted(upto=2, summary="s"))
    assert (rendered_.pictures, "a.png" in str(rendered_.passages)) == ({}, False)


def test_images_that_a_model_cannot_see_are_left_out_and_later_ones_are_tried() -> None:
    rendered_ = Rendered("lead")
    rendered_.add(1, mail_with(SHOT, "user", "lead"))
    rendered_.add(2, PicturesRefused(names=tuple(rendered_.pictures.values())))
    (told_,) = rendered_.passages
    texts = [block for block in told_.blocks if isinstance(block, TextBlock)]
    assert [block.images for block in texts] == [(), ()]
    assert "You cannot see images: my shot&lt;/summary>.png." in texts[1].text
    rendered_.add(3, mail_with(SHOT.model_copy(update={"blob": "b.png"}), "user", "lead", "2"))
    assert set(rendered_.pictures) == {"b.png"}


def test_pictures_of_results_that_a_model_cannot_see_are_left_out() -> None:
    did = Did(call="alice:2.0", text="seen", images=({"media_type": "image/png", "blob": "a.png"},))
    told_ = rendered(START, Said(calls=(LS,)), did, PicturesRefused(names=("a.png",)))[2]
    assert told_.blocks[0] == ResultBlock("call_2_0", "seen")


def test_a_message_heard_twice_is_told_once_also_behind_a_compaction() -> None:
    again = heard(1, "hi")
    assert rendered(START, again, again) == (told("begin", framed("hi")),)
    assert rendered(START, again, Said(text="ok"), Compacted(upto=3, summary="s"), again, heard(2, "ho"))[-1] == told(
        f"{SUMMARISED}\n<summary>s</summary>", framed("ho")
    )


def test_mail_that_could_not_be_read_is_told_of() -> None:
    torn = Heard(box="mail/alice", after=0, upto=3, mail=({"type": "odd"},), damage=("record 2: torn",))
    assert rendered(torn) == (
        told("(Some mail could not be read. Ask its sender to send it again:\n- record 2: torn\n)"),
    )


# -- answers that are not whole ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "empty",
    [
        Said(),
        Said(text=" \n"),
        Said(blocks=({"type": "thinking", "text": "hm", "signature": "", "sealed": False},)),
        Said(blocks=({"type": "thinking", "text": "hm", "signature": "signed", "sealed": False},)),
    ],
    ids=["nothing", "blank", "a thought", "a signed thought"],
)
def test_an_answer_that_came_to_nothing_is_left_out_and_its_neighbours_merge(empty: Said) -> None:
    assert rendered(START, empty, heard(1, "hi")) == (told("begin", framed("hi")),)


def test_a_cut_answer_is_asked_to_go_on_after_its_results() -> None:
    assert rendered(START, Said(text="half ", unfinished=True)) == (told("begin"), spoke("half"), told(GO_ON_WHERE_CUT))
    assert rendered(
        START, Said(text="half", calls=(LS,), unfinished=True), heard(1, "hi"), Did(call="alice:2.0", text="a")
    )[2] == told(ResultBlock("call_2_0", "a"), GO_ON_WHERE_CUT, framed("hi"))


def test_an_answer_cut_to_nothing_is_asked_to_be_smaller() -> None:
    assert rendered(START, Said(unfinished=True)) == (told("begin", CUT_TO_NOTHING),)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], (told(GO_ON),)),
        ([AgentParked(reason="r")], (told(GO_ON),)),
        ([Said(text="a")], (told(GO_ON), spoke("a"), told(GO_ON))),
        ([Said(text="a"), Said(text="b")], (told(GO_ON), spoke("a"), told(GO_ON), spoke("b"), told(GO_ON))),
    ],
    ids=["nothing", "nothing told", "only an answer", "two answers"],
)
def test_where_nothing_was_told_a_short_word_keeps_the_turns(entries: list[Entry], expected: object) -> None:
    assert rendered(*entries) == expected


def test_a_tool_name_that_no_provider_takes_is_made_one() -> None:
    odd = Said(calls=tuple(Call(tool=tool, arguments={}) for tool in ("functions.bash now", "", "x" * 100)))
    names = [block.tool for block in spoken(1, odd) if isinstance(block, CallBlock)]
    assert names == ["functions_bash_now", "_", "x" * 64]


# -- compaction and clearing ------------------------------------------------------------------------


@pytest.mark.behaviour("compact-micro")
def test_cleared_results_say_so_and_lose_their_pictures() -> None:
    image = ({"media_type": "image/png", "blob": "a.png"},)
    turns = (
        START,
        Said(calls=(LS, LS)),
        Did(call="alice:2.0", text="old", images=image),
        Did(call="alice:2.1", text="newer"),
        Said(text="ok"),
        Cleared(upto=3),
        Cleared(upto=1),
    )
    assert rendered(*turns)[2] == told(ResultBlock("call_2_0", CLEARED), ResultBlock("call_2_1", "newer"))


@pytest.mark.behaviour("compact-auto")
def test_a_compaction_puts_its_summary_in_place_of_what_came_before() -> None:
    turns = (
        START,
        Said(calls=(LS,)),
        Did(call="alice:2.0", text="a"),
        Compacted(upto=2, summary="an older one"),
        heard(1, "hi"),
        Compacted(upto=3, summary="so </summary> far"),
        Said(text="on"),
    )
    assert rendered(*turns) == (
        told(
            "This summary replaces the conversation so far. Continue from here.\n"
            "<summary>so &lt;/summary&gt; far</summary>",
            framed("hi"),
        ),
        spoke("on"),
        told(GO_ON),
    )


# -- whatever happened ------------------------------------------------------------------------------


def flat(found: Sequence[Passage]) -> list[tuple[type, object]]:
    return [(type(passage), block) for passage in found for block in passage.blocks]


@pytest.mark.slow
@pytest.mark.behaviour("C1")
def test_every_history_becomes_a_well_formed_prompt() -> None:
    met: Counter[str] = Counter()
    for seed in range(HISTORIES):
        entries, name = history(seed)
        found = passages(entries, name)
        assert flaws(found) == [], f"history {seed}"
        met.update({type(entry).__name__ for _, entry in entries})
        met.update({block.text for passage in found for block in passage.blocks if isinstance(block, ResultBlock)})
        met.update({block.text for block in found[-1].blocks if isinstance(block, TextBlock)})
    for kind in (
        *(kind.__name__ for kind in (Said, Heard, Compacted, Cleared, Ended, AgentParked)),
        NO_RESULT,
        CLEARED,
    ):
        assert met[kind] > HISTORIES // 100, f"{kind} is hardly met"
    for line in (GO_ON, GO_ON_WHERE_CUT, CUT_TO_NOTHING, "Interrupted. Its outcome is unknown.", EMPTY_RESULT):
        assert met[line] > HISTORIES // 500, f"{line} is hardly met"


@pytest.mark.behaviour("C1")
def test_a_prompt_at_any_moment_of_a_life_is_well_formed_and_kept_up_equals_made_anew() -> None:
    for seed in range(HISTORIES // 20):
        entries, name = history(seed)
        kept = Rendered(name)
        for count, (number, entry) in enumerate(entries, start=1):
            kept.add(number, entry)
            assert kept.passages == passages(entries[:count], name), f"history {seed} at {number}"
            assert flaws(kept.passages) == [], f"history {seed} at {number}"


def test_what_the_model_was_asked_with_is_only_ever_added_to() -> None:
    asked = 0
    for seed in range(HISTORIES // 10):
        entries, name = history(seed, compacts=False)
        whole = flat(passages(entries, name))
        for place, (_, entry) in enumerate(entries):
            if isinstance(entry, Said):
                before = flat(passages(entries[:place], name))
                assert whole[: len(before)] == before, f"history {seed} at {place}"
                asked += 1
    assert asked > HISTORIES // 10


def test_a_restart_changes_no_byte() -> None:
    for seed in range(HISTORIES // 10):
        entries, name = history(seed)
        again = [(number, stored(entry)) for number, entry in entries]
        assert passages(again, name) == passages(entries, name), f"history {seed}"


def test_the_reader_of_prompts_finds_what_is_wrong() -> None:
    assert flaws(()) == ["no passage at all"]
    assert flaws((spoke("a"),))
    assert flaws((told("a"), spoke("b")))
    assert flaws((told("a"), told("b")))
    assert flaws((Told(()),))
    assert flaws((told("a"), spoke("b "), told("c")))
    assert flaws((told("a"), spoke(ThinkingBlock("t", "s")), told("c")))
    assert flaws((told("a"), spoke(ls(1)), told("c")))
    assert flaws((told("a"), spoke(ls(1)), told("c", ResultBlock("call_1_0", "r"))))
    assert flaws((told("a"), spoke(ls(1)), told(*[ResultBlock("call_1_0", "r")] * 2)))
    assert flaws((told("a"), spoke(ls(1)), told(ResultBlock("call_1_0", " "))))
    assert flaws((told("a"), *(spoke(ls(1)), told(ResultBlock("call_1_0", "r"))) * 2)) == ["an id is used twice"]
    assert flaws((told("a"), spoke(CallBlock("i", "a b", {})), told(ResultBlock("i", "r"))))
    assert flaws((told("a\ud800"),))
    assert flaws((told("a"), spoke("b", ls(1)), told(ResultBlock("call_1_0", "r"), "c"))) == []


# -- what prompts share -----------------------------------------------------------------------------


def test_passages_of_an_earlier_prompt_stay_as_they_were() -> None:
    rendered_so_far = Rendered("alice")
    rendered_so_far.add(1, Noticed(text="one"))
    first: Sequence[Passage] = rendered_so_far.passages
    kept = tuple(first)
    rendered_so_far.add(2, Said(text="two"))
    rendered_so_far.add(3, Noticed(text="three"))
    assert [*first] == [*kept] == [told("one")]
    assert (len(first), first[-1]) == (1, told("one"))
    assert rendered_so_far.passages == (told("one"), spoke("two"), told("three"))


@given(st.lists(st.text(max_size=3), max_size=6), st.text(max_size=3), st.slices(7), st.integers(-8, 7))
def test_passages_are_read_like_a_tuple(before: list[str], last: str, part: slice, place: int) -> None:
    shared: list[Passage] = [told(text) for text in before]
    plain: Sequence[Passage] = (*shared, told(last))
    found: Sequence[Passage] = Passages(shared, plain[-1])
    shared.append(told("added later"))
    assert (found, tuple(found), len(found), repr(found)) == (plain, plain, len(plain), repr(plain))
    assert found[part] == plain[part]
    if -len(plain) <= place < len(plain):
        assert found[place] is plain[place]
    else:
        with pytest.raises(IndexError):
            found[place]
