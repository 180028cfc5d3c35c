"""Items as lines: nothing in them that a terminal would obey, none wider than the room."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from deskmate.core.agent.entries import Call, Did, Said
from deskmate.core.team.caps import Caps
from deskmate.core.team.messages import Envelope, Plain, Undeliverable
from deskmate.core.team.spending import Spending, Sum, over
from deskmate.faces.common.items.entry_items import ItemHistory
from deskmate.faces.common.items.mail_items import MailItem
from deskmate.faces.common.items.transcript_items import (
    CallItem,
    CallState,
    Fold,
    NoteItem,
    NoticeItem,
    ParkedItem,
    ShownItem,
    SummaryItem,
    TakenTaskItem,
    ThoughtItem,
    WordsItem,
    fold_of,
)
from deskmate.faces.common.text_tables import Cell
from deskmate.faces.tui.drawing.item_painter import PaintLook, lines_of, style_of
from deskmate.faces.tui.drawing.line_layout import Layout
from deskmate.faces.tui.drawing.wrapped_lines import WrappedLine, joined
from tests.chaos.files.naughty_strings import NAUGHTY
from tests.faces.disk_teams import obeyed

pytestmark = pytest.mark.behaviour("tui")
CONSOLE = Console(width=80)
COLOURS = {"bob": "yellow"}
MAKE = {"command": "make"}


def painted(item: ShownItem, *, folded: bool = False, width: int = 40) -> list[Text]:
    return [line.text for line in laid(item, folded=folded, width=width)]


def laid(item: ShownItem, *, folded: bool = False, width: int = 40) -> list[WrappedLine]:
    return lines_of(item, PaintLook(width, COLOURS, CONSOLE), folded=folded)


def plain(item: ShownItem, *, folded: bool = False, width: int = 40) -> list[str]:
    return [line.plain for line in painted(item, folded=folded, width=width)]


def mail(text: str, sender: str = "bob") -> MailItem:
    return MailItem("1", Envelope("1", sender, "alice", 1.0, Plain(content=text)), ("alice",))


KINDS: list[Callable[[str], ShownItem]] = [
    lambda odd: WordsItem("1", odd),
    lambda odd: ThoughtItem("1", odd),
    lambda odd: CallItem("1", odd, {odd: odd}, CallState.DONE, odd),
    lambda odd: CallItem("1", "edit_file", {}, CallState.DONE, diff=odd),
    lambda odd: CallItem("1", "bash", {"command": odd}, CallState.FAILED, odd),
    lambda odd: mail(odd, odd),
    lambda odd: replace(mail(odd), envelope=Envelope("1", "a", "b", 1.0, Undeliverable(reason=odd, original={}))),
    lambda odd: TakenTaskItem("1", 3, odd, odd, odd),
    lambda odd: NoticeItem("1", odd, odd),
    lambda odd: ParkedItem("1", odd),
    lambda odd: SummaryItem("1", odd),
    lambda odd: NoteItem("1", ((Cell("x"),),)),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("folded", [True, False])
def test_no_text_moves_the_cursor_or_leaves_its_line(kind: Callable[[str], ShownItem], folded: bool) -> None:
    for naughty in NAUGHTY:
        for line in painted(kind(naughty), folded=folded, width=20):
            assert obeyed(line.plain) == []
            assert "\n" not in line.plain
            assert line.cell_len <= 20


def test_markup_is_shown_as_it_was_written() -> None:
    assert plain(WordsItem("1", "[bold]no[/] [@click=app.exit]x[/]")) == ["[bold]no[/] [@click=app.exit]x[/]"]


def test_a_line_that_is_too_long_goes_on_below_its_margin() -> None:
    assert plain(mail("a word and another word and more"), width=20) == [
        "▌ bob",
        "▌ a word and another",
        "▌ word and more",
    ]


def test_a_message_that_nobody_has_heard_says_so() -> None:
    assert plain(replace(mail("go", "user"), heard=False)) == ["▌ you not read yet", "▌ go"]


def test_a_folded_message_shows_its_first_line() -> None:
    item = mail("\nFix this:\n" + "line\n" * 60, sender="user")
    assert plain(item, folded=True) == ["▌ you  ▸ 61 lines", "▌ Fix this:"]


def test_a_folded_command_shows_its_last_three_lines_and_all_of_them_unfolded() -> None:
    item = CallItem("1", "bash", MAKE, CallState.DONE, "a\nb")
    assert plain(item, folded=True) == ["✓ bash make  ▸ 2 lines", "  │ a", "  │ b"]
    longer = CallItem("1", "bash", MAKE, CallState.DONE, "a\nb\n\nc\nd\n")
    assert plain(longer, folded=True) == ["✓ bash make  ▸ 5 lines", "  │ b", "  │ c", "  │ d"]
    assert plain(item) == ["✓ bash make  ▾ 2 lines", "  │ command: make", "  │ a", "  │ b"]


def test_the_lines_that_a_command_printed_are_counted_not_those_that_the_model_read() -> None:
    history = ItemHistory("bob")
    history.add(1, Said(calls=(Call(tool="bash", arguments={"command": "seq 100000"}),)))
    history.add(2, Did(call="bob:1.0", text="1\n[575,000 bytes left out]\n100000", lines=100_000))
    (item,) = history.all
    assert plain(item, folded=True)[0] == "✓ bash seq 100000  ▸ 100,000 lines"


def test_a_call_with_much_to_say_says_the_beginning_until_it_is_unfolded() -> None:
    item = CallItem("1", "bash", {"command": "x" * 500}, CallState.FAILED, "cc\n" * 3)
    (head, why, *_) = plain(item, folded=True, width=400)
    assert head == f"✗ bash {'x' * 199}…  ▸ 3 lines"
    assert why == "  cc"
    assert "x" * 300 in plain(item, width=600)[1]


def test_a_short_result_is_shown_at_once() -> None:
    assert plain(CallItem("1", "bash", MAKE, CallState.DONE, "done\n"), folded=True) == ["✓ bash make  ▸ done"]


def test_why_a_call_failed_is_shown_once() -> None:
    item = CallItem("1", "read_file", {"path": "nope.py"}, CallState.FAILED, "nope.py is not there")
    assert plain(item, folded=True) == ["✗ read_file nope.py  ▸", "  nope.py is not there"]


def test_a_call_that_failed_shows_why_while_folded() -> None:
    item = CallItem("1", "bash", MAKE, CallState.FAILED, "cc\nerror: x")
    assert plain(item, folded=True) == ["✗ bash make  ▸ 2 lines", "  error: x", "  │ cc"]


def test_a_failed_command_shows_the_line_of_its_traceback_that_says_why() -> None:
    printed = (
        "collecting\nTraceback (most recent call last):\n  File 'a.py', line 3\n    f()\nValueError: no\nexit status 1"
    )
    item = CallItem("1", "bash", MAKE, CallState.FAILED, printed)
    head, why, *last = plain(item, folded=True, width=60)
    assert (head, why) == ("✗ bash make  ▸ 6 lines", "  ValueError: no (exit status 1)")
    assert last == ["  │ Traceback (most recent call last):", "  │   File 'a.py', line 3", "  │     f()"]


def test_a_running_command_shows_a_clock_and_what_it_has_printed_last() -> None:
    item = CallItem("1", "bash", MAKE, CallState.RUNNING, "1\n2\n3\n4\n", seconds=42)
    assert plain(item, folded=True) == ["… bash make  0:42  ▸", "  │ 2", "  │ 3", "  │ 4"]


def test_a_diff_has_line_numbers_colours_and_is_counted() -> None:
    diff = "@@ -9,3 +9,3 @@\n import os\n-one = 1\n+two = 'x'\n three\n@@ -90 +90 @@\n+end"
    lines = painted(CallItem("1", "edit_file", {"path": "a.py"}, CallState.DONE, diff=diff))
    assert [line.plain for line in lines] == [
        "✓ edit_file a.py  ▾ +2 -1",
        "  │  9   import os",
        "  │ 10 - one = 1",
        "  │ 10 + two = 'x'",
        "  │ 11   three",
        "  │ ⋯",
        "  │ 90 + end",
    ]
    styles = [{str(span.style) for span in line.spans} for line in lines]
    assert "bold red" in styles[2]
    assert {"bold green", "yellow"} <= styles[3]


def test_a_line_of_a_diff_that_is_too_long_goes_on_after_a_mark_and_is_copied_as_it_was() -> None:
    code = "    total = first_number + second_number"
    lines = laid(CallItem("1", "edit_file", {"path": "a.py"}, CallState.DONE, diff=f"@@ -9 +9 @@\n+{code}"), width=36)
    assert [line.text.plain for line in lines[1:]] == [
        "  │ 9 +     total = first_number +",
        "  │         ↳ second_number",
    ]
    assert joined((line, line.part(0, None)) for line in lines[1:]) == code


def test_a_result_without_end_is_cut_and_says_how_to_see_it_all() -> None:
    lines = plain(CallItem("1", "bash", {}, CallState.DONE, "x\n" * 6000), width=100)
    assert len(lines) == 5002
    assert lines[-1].startswith("  │ … 1,000 more lines")


def test_a_long_line_is_cut_until_it_is_unfolded() -> None:
    item = WordsItem("1", "x" * 2100)
    (line,) = plain(item, folded=True, width=5000)
    assert (fold_of(item), line) == (Fold.CLOSED, f"{'x' * 2000} … 100 more characters: F6, Enter")
    assert plain(item, width=5000) == ["x" * 2100]
    assert fold_of(WordsItem("1", "short\nlines")) is Fold.NEVER


def test_a_brief_text_is_beside_its_title_and_a_longer_one_below() -> None:
    assert plain(NoticeItem("1", "was told", "bob left")) == ["· was told: bob left"]
    assert plain(NoticeItem("1", "was told", "a\nb"), folded=True) == ["· was told  ▸ 2 lines"]
    assert plain(NoticeItem("1", "was told", "a\nb")) == ["· was told  ▾ 2 lines", "  │ a", "  │ b"]


def test_a_member_that_is_parked_by_a_cap_shows_how_to_raise_it() -> None:
    reached = over(Caps(cost=1.0), Spending(team=Sum(calls=1, cost=2.0)), "lead", 0, 0.0) or ""
    assert "/budget money" in " ".join(plain(ParkedItem("1", reached)))


def test_members_have_their_colours_and_the_lead_and_the_user_are_bold() -> None:
    assert [style_of(name, COLOURS) for name in ("bob", "lead", "user")] == ["yellow", "bold", "bold"]


# -- layouts --------------------------------------------------------------------------------------

KEYS, TEXTS = st.integers(0, 30).map(str), st.sampled_from(["", "a", "a\nb\nc"])
ITEMS: st.SearchStrategy[list[ShownItem]] = st.lists(
    st.one_of(
        st.builds(WordsItem, KEYS, TEXTS),
        st.builds(NoticeItem, KEYS, st.sampled_from(["", "x"]), TEXTS),
        st.builds(lambda key, text: replace(mail(text), key=key), KEYS, TEXTS),
        st.builds(lambda key, text: CallItem(key, "bash", {}, CallState.DONE, text), KEYS, TEXTS),
    ),
    unique_by=lambda item: item.key,
)


def is_folded(item: ShownItem) -> bool:
    return fold_of(item) is Fold.CLOSED


@given(ITEMS, ITEMS)
def test_what_is_laid_out_over_something_else_is_as_if_laid_out_anew(
    before: list[ShownItem], after: list[ShownItem]
) -> None:
    anew, over = (
        Layout(lambda item, folded: laid(item, folded=folded)),
        Layout(lambda item, folded: laid(item, folded=folded)),
    )
    over.lay(before, is_folded)
    over.lay(after, is_folded)
    anew.lay(after, is_folded)
    assert over.height == anew.height
    assert [over.line(line) for line in range(-1, over.height + 1)] == [
        anew.line(n) for n in range(-1, anew.height + 1)
    ]


@given(ITEMS)
def test_every_line_belongs_to_the_item_whose_span_it_is_in(items: list[ShownItem]) -> None:
    layout = Layout(lambda item, folded: laid(item, folded=folded))
    layout.lay(items, is_folded)
    for item in items:
        first, last = layout.span(item.key) or (0, 0)
        found = [layout.at(line) for line in range(first, last)]
        assert [one.item.key for one in found if one] == [item.key] * (last - first)
    assert layout.span("none") is None
    assert layout.at(layout.height) is None


def test_what_did_not_change_is_not_painted_again() -> None:
    drawn: list[str] = []

    def paint(item: ShownItem, folded: bool) -> list[WrappedLine]:
        drawn.append(item.key)
        return laid(item, folded=folded)

    layout = Layout(paint)
    first = [WordsItem(str(n), "x") for n in range(5)]
    layout.lay(first, is_folded)
    layout.lay([*first, WordsItem("5", "new")], is_folded)
    assert drawn == ["0", "1", "2", "3", "4", "5"]
