"""What of a prompt is read from a provider's cache, with and without breakpoints."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from deskmate.testing.formats.prefix_caches import LEAST, LOOK_BACK, UNIT, ExplicitCache, ImplicitCache, tokens

EPHEMERAL = {"type": "ephemeral"}


def text(words: str, *, marked: bool = False) -> dict[str, Any]:
    return {"type": "text", "text": words} | ({"cache_control": EPHEMERAL} if marked else {})


def explicit(*blocks: dict[str, Any], model: str = "m", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": list(blocks)}], **more}


def test_a_token_is_four_bytes() -> None:
    assert [tokens(words) for words in ("", "a", "abcd", "abcde", "äää")] == [0, 1, 1, 2, 2]


def test_a_breakpoint_is_written_once_and_read_afterwards_while_the_rest_is_counted_afresh() -> None:
    cache = ExplicitCache()
    first = cache.count(explicit(text("a" * 400, marked=True), text("b" * 40)))
    second = cache.count(explicit(text("a" * 400, marked=True), text("c" * 80)))
    assert (first.read, second.written) == (0, 0)
    assert first.written == second.read > 100
    assert first.tokens - first.written > 10
    assert second.tokens - second.read > 20


def test_a_breakpoint_that_moves_on_reads_what_the_last_one_wrote_and_writes_what_is_new() -> None:
    cache = ExplicitCache()
    first = cache.count(explicit(text("a" * 400, marked=True)))
    second = cache.count(explicit(text("a" * 400), text("b" * 400, marked=True)))
    assert (second.read, second.written) == (first.tokens, second.tokens - first.tokens)


def test_a_text_given_bare_and_as_a_block_is_the_same_prompt() -> None:
    bare = {"model": "m", "messages": [{"role": "user", "content": "a"}], "cache_control": EPHEMERAL}
    cache = ExplicitCache()
    written = cache.count(bare).written
    assert cache.count(explicit(text("a", marked=True))).read == written


def test_without_breakpoints_nothing_is_read_or_written() -> None:
    cache = ExplicitCache()
    counts = [cache.count(explicit(text("a" * 400))) for _ in range(2)]
    assert [(count.read, count.written) for count in counts] == [(0, 0), (0, 0)]


def test_whatever_changes_before_a_breakpoint_makes_it_another() -> None:
    tools = [{"name": "a"}]
    cache = ExplicitCache()
    cache.count(explicit(text("a"), text("b", marked=True), system="s", tools=tools))
    changed = [
        explicit(text("A"), text("b", marked=True), system="s", tools=tools),
        explicit(text("a"), text("b", marked=True), system="S", tools=tools),
        explicit(text("a"), text("b", marked=True), system="s", tools=[{"name": "A"}]),
        explicit(text("a"), text("b", marked=True), system="s", tools=tools, model="M"),
    ]
    assert [cache.count(body).read for body in changed] == [0, 0, 0, 0]


def test_a_provider_looks_back_twenty_blocks_and_no_further() -> None:
    def read_after(distance: int) -> int:
        cache = ExplicitCache()
        cache.count(explicit(text("start", marked=True)))
        later = [text(str(index)) for index in range(distance - 1)]
        return cache.count(explicit(text("start"), *later, text("end", marked=True))).read

    assert read_after(LOOK_BACK - 1) > 0
    assert read_after(LOOK_BACK) == 0


def implicit(*words: str) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": each} for each in words]}


def test_without_a_say_in_it_a_common_start_is_read_in_units() -> None:
    cache = ImplicitCache()
    first = cache.count(implicit("a" * 8000, "b" * 900))
    second = cache.count(implicit("a" * 8000, "c" * 900))
    assert (first.read, first.written, second.written) == (0, 0, 0)
    assert second.read == 2000 // UNIT * UNIT
    assert cache.count(implicit("a" * 8000, "c" * 900)).read == second.tokens // UNIT * UNIT


def test_a_common_start_below_the_least_is_not_read() -> None:
    cache = ImplicitCache()
    counts = [cache.count(implicit("a" * 4 * (LEAST - UNIT))) for _ in range(2)]
    assert [count.read for count in counts] == [0, 0]


@given(st.lists(st.tuples(st.text("ab", max_size=2), st.booleans()), min_size=1, max_size=30), st.integers(1, 30))
def test_what_is_read_and_written_never_exceeds_the_prompt(blocks: list[tuple[str, bool]], cut: int) -> None:
    cache = ExplicitCache()
    for part in (blocks[:cut], blocks):
        count = cache.count(explicit(*(text(words, marked=marked) for words, marked in part)))
        assert count.read >= 0
        assert count.written >= 0
        assert count.read + count.written <= count.tokens
