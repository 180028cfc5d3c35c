"""Searching a conversation: every place is found, across wraps and marks, and little is painted for it."""

import pytest
from rich.console import Console

from deskmate.faces.common.items.transcript_items import CallItem, CallState, ShownItem, WordsItem
from deskmate.faces.tui.drawing.item_painter import PaintLook, lines_of
from deskmate.faces.tui.drawing.wrapped_lines import WrappedLine
from deskmate.faces.tui.panels.search_hits import ConversationSearch, hits_in

pytestmark = pytest.mark.behaviour("tui")


class Painter:
    """Paints items, and counts them."""

    def __init__(self) -> None:
        self.width, self.painted = 20, list[str]()

    def __call__(self, item: ShownItem) -> list[WrappedLine]:
        self.painted.append(item.key)
        return lines_of(item, PaintLook(self.width, {}, Console(width=80)), folded=False)


def steps(search: ConversationSearch, items: list[ShownItem], *ways: int) -> list[tuple[str, str]]:
    """Return the item of each chosen hit, and the count."""
    found = [(search.step(items, by), search.count) for by in ways]
    return [(one[0].key, count) for one, count in found if one]


def test_a_text_is_found_where_its_line_is_wrapped_in_any_case() -> None:
    lines = Painter()(WordsItem("1", "The first words and the last words"))
    assert [line.text.plain for line in lines] == ["The first words and", "the last words"]
    assert hits_in(lines, "AND THE") == [((0, 16, 19), (1, 0, 3))]
    assert hits_in(lines, "words") == [((0, 10, 15),), ((1, 9, 14),)]
    assert hits_in(lines, "") == []


def test_how_much_can_be_unfolded_is_not_searched() -> None:
    item = CallItem("1", "bash", {"command": "make"}, CallState.DONE, "a\nb")
    lines = Painter()(item)
    assert [line.text.plain for line in lines[:2]] == ["✓ bash make  ▾ 2", "  lines"]
    assert hits_in(lines, "lines") == []


def test_only_items_with_a_chosen_hit_are_painted() -> None:
    items: list[ShownItem] = [WordsItem(str(number), "word and word") for number in range(100)]
    search = ConversationSearch(painter := Painter())
    search.seek("word")
    assert steps(search, items, -1, -1, -1, 1) == [
        ("99", "1 of 200"),
        ("99", "2 of 200"),
        ("98", "3 of 200"),
        ("99", "2 of 200"),
    ]
    assert painter.painted == ["99", "98"]


def test_words_with_marks_between_them_are_found_and_what_is_not_shown_is_found_at_its_item() -> None:
    items: list[ShownItem] = [WordsItem("1", "a **bold** word"), WordsItem("2", "[here](https://example.org/page)")]
    search = ConversationSearch(Painter())
    search.seek("bold word")
    assert steps(search, items, -1) == [("1", "1 of 1")]
    search.seek("](https")
    assert steps(search, items, -1, -1) == [("2", "1 of 1"), ("2", "1 of 1")]
    search.seek("word bold")
    assert (search.step(items, -1), search.count) == (None, "nothing found")


def test_after_a_change_of_the_width_the_search_goes_on_from_its_place() -> None:
    items: list[ShownItem] = [WordsItem("1", "word " * 20)]
    search = ConversationSearch(painter := Painter())
    search.seek("word")
    assert steps(search, items, -1, -1, -1)[-1] == ("1", "3 of 20")
    painter.width = 60
    search.forget()
    assert steps(search, items, -1) == [("1", "4 of 20")]
