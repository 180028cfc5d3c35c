"""Tables at any width, coloured or not; where the window is narrow words give way, and what it cost stays."""

import fcntl
import os
import struct
import termios

import pytest

from deskmate.core.prompt.prompts import Usage
from deskmate.core.team.spending import Sum
from deskmate.faces.cli.output.team_output import team_lines
from deskmate.faces.common.listings import cost_lines
from deskmate.faces.common.terminal_text import cut_middle, width
from deskmate.faces.common.text_tables import Cell, Sheet, ago, clock, sheet_for
from deskmate.queries.team_view import SeenCost, SeenTeam
from tests.faces.fake_app import paper

SPENT = Sum(1234, Usage(1_234_567, 89_012, 0, 0), 12.3456)
COST = SeenCost("main", (("alice", "anthropic:claude-sonnet-5-5", SPENT),), SPENT, Sum(), ())
TEAM = SeenTeam("main", "", None, True, "process 4711", "bubblewrap", (), 2, 3, SPENT, 0.0, ())


@pytest.mark.parametrize(
    ("cells", "line"),
    [
        (80, "alice   anthropic:claude-sonnet-5-5  1,234        1,234,567  89,012  $12.3456"),
        (60, "alice   anthropic…  1,234        1,234,567  89,012  $12.3456"),
        (50, "alice   1,234        1,234,567  89,012  $12.3456"),
        (40, "alice   1,234        1,234,567  $12.3456"),
        (20, "alice   $12.3456"),
        (10, "alice   $…"),
    ],
)
def test_the_cost_is_shown_at_any_width_and_the_model_gives_way_first(cells: int, line: str) -> None:
    sheet = Sheet(cells, colour=False)
    lines = [sheet.painted(line) for line in cost_lines(COST, sheet)]
    assert lines[2] == line
    assert [one for one in lines if width(one) > cells] == []


@pytest.mark.parametrize(
    ("cells", "head"),
    [
        (None, "main: idle (process 4711), sandbox bubblewrap, 3 of 5 tasks done, $12.3456, never active"),
        (88, "main: idle (process 4711), sandbox bubblewrap, 3 of 5 tasks done, $12.3456, never active"),
        (87, "main: idle (process 4711), sandbox bubblewrap, 3 of 5 tasks done, $12.3456"),
        (60, "main: idle, sandbox bubblewrap, 3 of 5 tasks done, $12.3456"),
        (40, "main: idle, 3 of 5 tasks done, $12.3456"),
        (38, "main: idle, $12.3456"),
        (15, "main: $12.3456"),
        (8, "main: $…"),
    ],
)
def test_the_head_of_a_team_tells_what_it_cost_at_any_width(cells: int | None, head: str) -> None:
    assert team_lines(TEAM, Sheet(cells, colour=False), 0.0) == [head]


@pytest.mark.parametrize("cells", [1, 2, 7, 20, 40, 80, 200])
def test_a_table_fits_any_window(cells: int) -> None:
    rows: list[list[Cell | str]] = [
        ["#1", "in progress", "漢字" * 30, Cell("@bob", "cyan")],
        ["#1000", "", "short", ""],
    ]
    lines = Sheet(cells, colour=False).table(rows, gives=2, indent="")
    assert [line for line in lines if width(line) > cells] == []


def test_a_table_in_a_pipe_is_neither_cut_nor_coloured() -> None:
    with paper() as stream:
        sheet = sheet_for(stream)
    assert sheet == Sheet(None, colour=False)
    assert sheet.table([["x" * 500, Cell("@bob", "cyan")]], gives=0) == ["x" * 500 + "  @bob"]


@pytest.mark.parametrize(("value", "colour"), [(None, True), ("", True), ("1", False)])
def test_a_terminal_gives_its_width_and_colours_unless_it_is_told_not_to(
    monkeypatch: pytest.MonkeyPatch, value: str | None, colour: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if value is not None:
        monkeypatch.setenv("NO_COLOR", value)
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 61, 0, 0))
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "w") as stream:
        sheet = sheet_for(stream)
    assert sheet == Sheet(61, colour=colour)
    (line,) = sheet.table([[Cell("bob", "cyan")]], gives=0)
    assert line == ("\x1b[36mbob\x1b[0m" if colour else "bob")


@pytest.mark.parametrize(
    ("seconds", "words"), [(-5, "0 s"), (59.9, "59 s"), (60, "1 min"), (7199, "1 h"), (90000, "1 d")]
)
def test_ages_are_told_in_the_largest_unit_they_fill(seconds: float, words: str) -> None:
    assert ago(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0:00"), (42.9, "0:42"), (61, "1:01"), (3600, "1:00:00"), (-3, "0:00")]
)
def test_a_clock_shows_minutes_and_hours_if_there_are_any(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


def test_a_name_that_is_cut_keeps_both_ends() -> None:
    names = ["backend-service-one", "backend-service-two"]
    assert [cut_middle(name, 12) for name in names] == ["backen…e-one", "backen…e-two"]
    assert cut_middle("short", 12) == "short"
    for cells in range(1, 19):
        assert width(cut_middle(names[0], cells)) <= cells
        assert width(cut_middle("漢字" * 9, cells)) <= cells
