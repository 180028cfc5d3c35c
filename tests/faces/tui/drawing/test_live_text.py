"""What is being said this moment: it is there until its entry is shown, never twice and never lost."""

import pytest

from deskmate.core.agent.entries import AgentParked, Compacted, Said
from deskmate.core.prompt.prompts import CallDelta, RetryDelta, TextDelta, ThinkingDelta
from deskmate.faces.tui.drawing.live_text import Live

pytestmark = pytest.mark.behaviour("tui")


def seen(live: Live) -> list[str]:
    return ["\n".join(filter(None, [item.title, item.text])) for item in live.items]


def test_words_grow_as_they_come() -> None:
    live = Live()
    live.hear(TextDelta("All "))
    live.hear(TextDelta("green."))
    assert seen(live) == ["All green.▍"]


def test_thoughts_are_seen_until_words_come() -> None:
    live = Live()
    live.hear(ThinkingDelta("Hm."))
    assert seen(live) == ["thinking\nHm."]
    live.hear(TextDelta("Yes."))
    assert seen(live) == ["Yes.▍"]


def test_calls_are_seen_by_their_tools() -> None:
    live = Live()
    live.hear(TextDelta("I look."))
    live.hear(CallDelta("bash"))
    live.hear(CallDelta("glob"))
    assert seen(live) == ["I look.▍", "bash", "glob"]


def test_a_summary_that_is_recorded_is_no_longer_being_said() -> None:
    live = Live()
    live.hear(TextDelta("We planned."))
    live.show(7, Compacted(upto=6, summary="We planned.\n\nYour mode:\n- attended"))
    assert seen(live) == []


def test_a_member_that_is_parked_is_not_asked_again() -> None:
    live = Live()
    live.hear(RetryDelta(2.0, "no connection", "claude"))
    live.show(7, AgentParked(reason="no connection"))
    assert seen(live) == []


def test_an_answer_that_is_asked_for_again_is_void() -> None:
    live = Live()
    live.hear(TextDelta("All gr"))
    live.hear(RetryDelta(3.4, "the connection broke", "claude"))
    assert seen(live) == ["trying claude again in 3 s: the connection broke"]
    live.hear(TextDelta("All"))
    assert seen(live) == ["All▍"]


def test_what_was_recorded_stays_until_its_entry_is_shown_while_the_next_answer_comes() -> None:
    live = Live()
    live.hear(TextDelta("one"))
    live.record(4)
    live.hear(TextDelta("two"))
    assert seen(live) == ["one", "two▍"]
    live.show(4, Said(text="one"))
    assert seen(live) == ["two▍"]


def test_what_was_shown_before_it_was_told_that_it_is_recorded_does_not_come_back() -> None:
    live = Live()
    live.hear(TextDelta("one"))
    live.show(4, Said(text="one"))
    live.record(4)
    assert seen(live) == []


def test_words_that_nobody_told_were_recorded_go_with_the_entry_that_holds_them() -> None:
    live = Live()
    live.hear(TextDelta("of the middle"))
    live.show(4, Said(text="the words of the middle and the end"))
    assert seen(live) == []
    live.hear(TextDelta("two"))
    live.show(5, Said(text="one"))
    assert seen(live) == ["two▍"]
