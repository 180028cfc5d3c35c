"""What holds for both formats, and for whatever a client may send."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.testing.formats.conversations import flaws, unwelcome
from deskmate.testing.scripts import Format
from tests.providers.test_anthropic_rules import good as good_anthropic
from tests.providers.test_openai_rules import good as good_openai

FORMATS: list[Format] = ["anthropic", "openai"]
GOOD = {"anthropic": good_anthropic, "openai": good_openai}
FIELDS = st.sampled_from(["role", "content", "type", "id", "tool_calls", "function"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["user", "text", "tool_use"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(
    ("body", "flaw"),
    [
        ([], "the body is no object"),
        ({"model": "m"}, "messages: must be a list of at least one message"),
        ({"messages": []}, "messages: must be a list of at least one message"),
    ],
)
def test_what_is_no_conversation_at_all_is_named(format_: Format, body: Any, flaw: str) -> None:
    assert flaws(format_, body) == [flaw]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every place within a value as its holder and the key there."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in pairs for place in [(value, key), *places(inner)]]


@pytest.mark.parametrize("format_", FORMATS)
@given(data=st.data())
def test_a_conversation_with_anything_anywhere_gets_an_answer(format_: Format, data: st.DataObject) -> None:
    body = copy.deepcopy(GOOD[format_]())
    holder, key = data.draw(st.sampled_from(places(body)))
    holder[key] = data.draw(JSON)
    assert all(isinstance(flaw, str) for flaw in flaws(format_, body))


@pytest.mark.parametrize(
    ("headers", "refusal"),
    [
        ({"x-api-key": "k", "anthropic-version": "2026-10-21"}, None),
        ({"authorization": "Bearer k", "anthropic-version": "2026-10-21"}, None),
        ({"authorization": "Bearer ", "anthropic-version": "2026-10-21"}, (401, "headers: x-api-key is missing")),
        ({"anthropic-version": "2026-10-21"}, (401, "headers: x-api-key is missing")),
        ({"x-api-key": "k"}, (400, "headers: anthropic-version is missing")),
    ],
)
def test_a_request_needs_a_key_and_a_version(headers: dict[str, str], refusal: tuple[int, str] | None) -> None:
    assert unwelcome("anthropic", headers) == refusal
    assert unwelcome("openai", headers) is None
