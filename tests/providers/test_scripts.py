"""What a script says to whom, and what it sees of a request."""

from collections.abc import Mapping
from typing import Any

import pytest

from deskmate.core.prompt.prompts import CallBlock, Prompt, ResultBlock, Spoke, TextBlock, ThinkingBlock, Told, ToolSpec
from deskmate.errors import BadInput
from deskmate.testing import Asked, Say
from deskmate.testing.formats import anthropic_format, openai_format
from deskmate.testing.formats.anthropic_format import sealed, signature
from deskmate.testing.scripts import Player, ScriptEnded
from tests.providers.test_anthropic_rules import SCHEMA
from tests.providers.test_anthropic_rules import good as good_anthropic
from tests.providers.test_openai_rules import good as good_openai


def asked(system: str = "", **body: Any) -> Asked:
    messages = [{"role": "user", "content": "hi"}]
    whole: Mapping[str, Any] = {"model": "m", "system": system, "messages": messages, **body}
    return Asked(0, "anthropic", {}, whole, anthropic_format.read)


def test_a_list_is_played_in_order_and_then_ends() -> None:
    player = Player([Say("one"), Say("two")])
    heard = []
    for number in range(2):
        heard.append(player.next(asked(), str(number)))
        player.take(asked(), str(number))
    assert heard == [Say("one"), Say("two")]
    with pytest.raises(ScriptEnded):
        player.next(asked(), "2")


def test_a_text_is_a_step_in_a_list_and_from_a_callable() -> None:
    assert Player(["one"]).next(asked(), "0") == Player(lambda _: "one").next(asked(), "0") == Say("one")


def test_a_step_of_another_kind_is_named() -> None:
    with pytest.raises(BadInput):
        Player([7]).next(asked(), "0")  # type: ignore[list-item]


def test_a_reply_that_was_not_taken_comes_again() -> None:
    player = Player([Say("one"), Say("two")])
    assert [player.next(asked(), "0"), player.next(asked(), "another model")] == [Say("one"), Say("one")]


def test_a_callable_is_called_once_for_a_request_and_its_repeats() -> None:
    replies = iter([Say("one"), Say("two")])
    player = Player(lambda _: next(replies))
    assert [player.next(asked(), "0"), player.next(asked(), "0")] == [Say("one"), Say("one")]
    player.take(asked(), "0")
    assert player.next(asked(), "0") == Say("two")


def test_each_agent_has_its_own_part_found_by_its_key_in_the_system_prompt() -> None:
    player = Player({"You are alice": [Say("a")], "You are bob": lambda ask: Say(f"b of {ask.model}")})
    assert player.next(asked("You are bob. alice is here too."), "0") == Say("b of m")
    assert player.next(asked("You are alice."), "1") == Say("a")
    player.take(asked("You are alice."), "1")
    with pytest.raises(ScriptEnded):
        player.next(asked("You are alice."), "2")
    with pytest.raises(ScriptEnded):
        player.next(asked("You are carol."), "3")


def test_a_rule_may_tell_who_asks() -> None:
    player = Player({"m": [Say("small")], "l": [Say("large")]}, who=lambda ask: ask.model)
    assert player.next(asked(model="l"), "0") == Say("large")


def test_an_anthropic_request_is_read_in_neutral_words() -> None:
    request = Asked(3, "anthropic", {}, good_anthropic(), anthropic_format.read)
    assert request.prompt == Prompt(
        system="You are alice.",
        passages=(
            Told((TextBlock("read both"),)),
            Spoke(
                (
                    ThinkingBlock("both", signature("both")),
                    ThinkingBlock("", sealed("secret"), sealed=True),
                    TextBlock("Reading. "),
                    CallBlock("a-1", "read_file", {"path": "a"}),
                    CallBlock("a_2", "read_file", {"path": "a"}),
                )
            ),
            Told(
                (
                    ResultBlock("a_2", "no such file", ok=False),
                    ResultBlock("a-1", "a picture"),
                    TextBlock("go on"),
                )
            ),
            Spoke((ThinkingBlock("", "sig of another life"), TextBlock("done"))),
            Told((TextBlock("thanks"),)),
        ),
        tools=(ToolSpec("read_file", "Reads.", SCHEMA), ToolSpec("bash", "Runs.", SCHEMA)),
    )
    assert (request.tools, request.texts, request.results) == (("read_file", "bash"), ("thanks",), ())


def test_an_openai_request_is_read_in_the_same_words() -> None:
    request = Asked(3, "openai", {}, good_openai(), openai_format.read)
    flaw = "the arguments are not a JSON object"
    assert request.prompt == Prompt(
        system="You are alice.\n\nbe brief",
        passages=(
            Told((TextBlock("read both"),)),
            Spoke((CallBlock("a-1", "read_file", {}), CallBlock("a.2", "read_file", {}, flaw))),
            Told((ResultBlock("a.2", ""), ResultBlock("a-1", "one"), TextBlock("see"))),
            Spoke((TextBlock("ok"),)),
            Told((TextBlock("thanks"),)),
        ),
        tools=(
            ToolSpec("read_file", "", {"type": "object"}),
            ToolSpec("bash", "", {"type": "object", "properties": {}}),
        ),
    )


def test_the_results_of_the_last_step_are_at_hand() -> None:
    body = good_openai()
    body["messages"] = body["messages"][:6]
    request = Asked(0, "openai", {}, body, openai_format.read)
    assert request.results == (ResultBlock("a.2", ""), ResultBlock("a-1", "one"))
    assert request.texts == ("see",)
