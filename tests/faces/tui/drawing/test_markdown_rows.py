"""Markdown as lines: what it looks like, what copying returns, and text that grows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from deskmate.faces.tui.drawing.markdown_rows import GrowingMarkdown, markdown_rows
from deskmate.faces.tui.drawing.wrapped_lines import WrappedLine, joined, wrapped
from tests.chaos.files.naughty_strings import NAUGHTY
from tests.faces.disk_teams import obeyed

pytestmark = pytest.mark.behaviour("tui")
CONSOLE = Console(width=80)
MIXED = """# Title

Some **bold** words
and *more*.

- one
- two

```python
x = 1
```

| a | b |
|---|---|
| 1 | 2 |

1. first
2. second
"""


def laid(text: str, width: int = 40) -> list[WrappedLine]:
    return [line for row in markdown_rows(text, width, CONSOLE) for line in wrapped(row, width, CONSOLE)]


def plain(text: str, width: int = 40) -> list[str]:
    return [line.text.plain for line in laid(text, width)]


def copied(text: str, width: int = 40) -> str:
    return joined((line, line.part(0, None)) for line in laid(text, width))


def styles(text: str) -> set[str]:
    return {str(span.style) for line in laid(text) for span in line.text.spans}


# -- looks ----------------------------------------------------------------------------------------


def test_headings_and_emphasis_are_styles_and_their_marks_are_not_shown() -> None:
    assert plain("## Title\n\n**bold** and *this* and ~~that~~") == ["Title", "", "bold and this and that"]
    assert {"bold", "italic", "strike"} <= styles("**bold** and *this* and ~~that~~")


def test_a_line_of_code_that_is_too_long_goes_on_indented_after_a_mark_that_is_not_copied() -> None:
    code = f"```python\nif True:\n    return first_one + second_one + third_one + fourth_one\n    x = '{'y' * 60}'\n```"
    assert plain(code, 36) == [
        "  if True:",
        "      return first_one + second_one",
        "      ↳ + third_one + fourth_one",
        "      x =",
        f"      ↳ '{'y' * 27}",
        f"      ↳ {'y' * 28}",
        f"      ↳ {'y' * 5}'",
    ]
    assert copied(code, 36) == code.removeprefix("```python\n").removesuffix("\n```")


def test_lines_stay_lines() -> None:
    assert plain("one\ntwo") == ["one", "two"]


def test_lists_hang_and_nest() -> None:
    assert plain("- a word and another and more\n  - nested\n- last", 20) == [
        "• a word and another",
        "  and more",
        "  ◦ nested",
        "• last",
    ]


def test_numbered_lists_keep_their_numbers_aligned() -> None:
    assert plain("\n".join(f"{number}. x" for number in range(9, 11))) == [" 9. x", "10. x"]


def test_task_lists_have_boxes() -> None:
    assert plain("- [ ] open\n- [x] done") == ["☐ open", "☑ done"]


def test_tables_have_columns_as_wide_as_needed() -> None:
    table = "| name | count |\n|---|--:|\n| a | 1 |\n| longer | 10 |"
    assert plain(table) == ["name     count", "──────────────", "a            1", "longer      10"]


def test_a_table_that_is_too_wide_wraps_its_cells() -> None:
    lines = plain("| a | b |\n|---|---|\n| many words in a cell | more words in another |", 24)
    assert len(lines) > 3
    assert all(len(line) <= 24 for line in lines)


def test_a_link_shows_where_it_leads_unless_its_words_say_so() -> None:
    assert plain("[docs](https://x.y) <https://z.y>") == ["docs (https://x.y) https://z.y"]


def test_code_is_coloured_by_its_language_and_indented() -> None:
    assert plain("```python\ndef f():\n    return 1\n```") == ["  def f():", "      return 1"]
    assert len(styles("```python\ndef f():\n    return 1\n```")) > 1
    assert plain("```nosuch\nx  y\n```") == ["  x  y"]


def test_quotes_have_a_bar_and_html_is_text() -> None:
    assert plain("> a\n\n<b>x</b>") == ["▎ a", "", "<b>x</b>"]


@pytest.mark.parametrize("text", ["> " * 40 + "x", "- " * 40 + "x", "|a|" * 30 + "\n" + "|---|" * 30])
def test_deep_and_wide_blocks_stay_within_the_width(text: str) -> None:
    assert all(line.text.cell_len <= 20 for line in laid(text, 20))


def test_nothing_in_it_is_obeyed() -> None:
    for naughty in [*NAUGHTY, "&#27;[2J &#x202e; &#13; [a](https://x/&#27;)"]:
        for shape in ("{}", "# {}", "- {}", "```\n{}\n```", "| {} |\n|---|\n| {} |", "[{}]({})", "`{}`"):
            for line in laid(shape.replace("{}", naughty), 20):
                assert obeyed(line.text.plain) == []
                assert "\n" not in line.text.plain
                assert line.text.cell_len <= 20


# -- copies ---------------------------------------------------------------------------------------


def test_a_copy_has_no_wraps() -> None:
    long = "def __init__(self, base_url: str, *, retries: int = 3, timeout: float = 30.0) -> None:"
    assert copied(f"```python\n{long}\n    pass\n```", 30) == f"{long}\n    pass"
    assert copied("a few words that need two lines or more", 12) == "a few words that need two lines or more"


def test_a_copy_has_the_marks_of_its_blocks() -> None:
    text = "# Title\n\n- one\n  - two\n- [ ] three\n\n> quoted\n\n1. first\n2. second"
    assert copied(text) == text


def test_a_copy_of_a_table_is_a_table() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    assert copied(f"x\n\n{table}\n\ny") == f"x\n\n{table}\n\ny"


def test_a_part_of_a_line_is_copied_without_its_mark() -> None:
    (line,) = laid("- hello world")
    assert (line.part(8, 13), line.part(0, 7)) == ("world", "- hello")


# -- growing --------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 40), max_size=12))
def test_text_that_grew_looks_like_text_that_came_at_once(steps: list[int]) -> None:
    growing, end = GrowingMarkdown(), 0
    for step in steps:
        end += step
        lines = growing.lines(MIXED[:end], 40, CONSOLE, is_whole=False)
        assert lines == laid(MIXED[:end])
    assert growing.lines(MIXED, 40, CONSOLE, is_whole=True) == laid(MIXED)


def test_text_of_another_answer_or_width_starts_over() -> None:
    growing = GrowingMarkdown()
    growing.lines(MIXED, 40, CONSOLE, is_whole=False)
    assert growing.lines(MIXED, 20, CONSOLE, is_whole=False) == laid(MIXED, 20)
    assert growing.lines("other\n\nwords", 20, CONSOLE, is_whole=False) == laid("other\n\nwords", 20)


def test_a_very_large_block_is_shown_as_written_until_it_is_whole() -> None:
    growing, text = GrowingMarkdown(), "- **item**\n" * 3000
    assert growing.lines(text, 40, CONSOLE, is_whole=False)[0].text.plain == "- **item**"
    assert growing.lines(text, 40, CONSOLE, is_whole=True)[0].text.plain == "• item"
