"""Pieces as lines: nothing in them that a terminal would obey, none wider than the room."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from deskmate.core.agent.entries import Call, Did, Said
from deskmate.faces.common.text_tables import Cell
from deskmate.faces.tui.drawing.line_layout import Layout
from deskmate.faces.tui.drawing.piece_painter import lines_of, style_of
from deskmate.faces.tui.drawing.transcript_pieces import PieceKind, Pieces, State, TranscriptPiece, words_piece
from tests.chaos.files.naughty_strings import NAUGHTY
from tests.faces.disk_teams import obeyed

pytestmark = pytest.mark.behaviour("tui")
CONSOLE = Console(width=80)
COLOURS = {"bob": "yellow"}


def painted(piece: TranscriptPiece, *, folded: bool = False, width: int = 40) -> list[Text]:
    return lines_of(piece, folded=folded, width=width, colours=COLOURS, console=CONSOLE)


def plain(piece: TranscriptPiece, *, folded: bool = False, width: int = 40) -> list[str]:
    return [line.plain for line in painted(piece, folded=folded, width=width)]


@pytest.mark.parametrize("kind", PieceKind)
@pytest.mark.parametrize("folded", [True, False])
def test_no_text_moves_the_cursor_or_leaves_its_line(kind: PieceKind, folded: bool) -> None:
    for naughty in NAUGHTY:
        piece = TranscriptPiece(
            "1", kind, f"x {naughty}", naughty, naughty, naughty, lines=((Cell("x"),),), is_diff=False
        )
        for line in painted(piece, folded=folded, width=20):
            assert obeyed(line.plain) == []
            assert "\n" not in line.plain
            assert line.cell_len <= 20


def test_markup_is_shown_as_it_was_written() -> None:
    assert plain(TranscriptPiece("1", PieceKind.WORDS, body="[bold]no[/] [@click=app.exit]x[/]")) == [
        "[bold]no[/] [@click=app.exit]x[/]"
    ]


def test_a_line_that_is_too_long_goes_on_below_its_margin() -> None:
    piece = TranscriptPiece("1", PieceKind.MAIL, "bob", "a word and another word and more", sender="bob")
    assert plain(piece, width=20) == ["▌ bob", "▌ a word and another", "▌ word and more"]


def test_a_call_is_one_line_while_folded_and_all_of_it_unfolded() -> None:
    piece = TranscriptPiece("1", PieceKind.CALL, "bash make", "a\nb", "command: make", state=State.DONE, folded=True)
    assert plain(piece, folded=True) == ["✓ bash make  ▸ 2 lines"]
    assert plain(piece) == ["✓ bash make  ▾ 2 lines", "  │ command: make", "  │ a", "  │ b"]


def test_the_lines_that_a_command_printed_are_counted_not_those_that_the_model_read() -> None:
    pieces = Pieces("bob")
    pieces.add(1, Said(calls=(Call(tool="bash", arguments={"command": "seq 100000"}),)))
    pieces.add(2, Did(call="bob:1.0", text="1\n[575,000 bytes left out]\n100000", lines=100_000))
    (piece,) = pieces.all
    assert plain(piece, folded=True) == ["✓ bash seq 100000  ▸ 100,000 lines"]


def test_a_call_with_much_to_say_says_the_beginning_until_it_is_unfolded() -> None:
    piece = TranscriptPiece(
        "1", PieceKind.CALL, f"bash {'x' * 500}", "cc\n" * 3, "y" * 300, state=State.FAILED, folded=True
    )
    (head, why) = plain(piece, folded=True, width=400)
    assert head == f"✗ bash {'x' * 199}…  ▸ 3 lines"
    assert why == "  cc"
    assert "y" * 300 in plain(piece, width=400)[1]


def test_a_short_result_is_shown_at_once() -> None:
    piece = TranscriptPiece("1", PieceKind.CALL, "bash make", "done\n", state=State.DONE, folded=True)
    assert plain(piece, folded=True) == ["✓ bash make  ▸ done"]


def test_why_a_call_failed_is_shown_once() -> None:
    piece = TranscriptPiece(
        "1", PieceKind.CALL, "read_file nope.py", "nope.py is not there", state=State.FAILED, folded=True
    )
    assert plain(piece, folded=True) == ["✗ read_file nope.py  ▸", "  nope.py is not there"]


def test_a_call_that_failed_shows_why_while_folded() -> None:
    piece = TranscriptPiece("1", PieceKind.CALL, "bash make", "cc\nerror: x", state=State.FAILED, folded=True)
    assert plain(piece, folded=True) == ["✗ bash make  ▸ 2 lines", "  error: x"]


def test_a_diff_is_green_and_red_and_counted() -> None:
    piece = TranscriptPiece(
        "1", PieceKind.CALL, "edit_file a.py", "@@ -1 +1 @@\n-one\n+two\n three", state=State.DONE, is_diff=True
    )
    lines = painted(piece)
    assert lines[0].plain == "✓ edit_file a.py  ▾ +1 -1"
    styles = [str(line.spans[-1].style) for line in lines[1:]]
    assert styles == ["dim cyan", "red", "green", "dim"]


def test_a_result_without_end_is_cut_and_says_how_to_see_it_all() -> None:
    lines = plain(TranscriptPiece("1", PieceKind.CALL, "bash make", "x\n" * 1000, state=State.DONE), width=100)
    assert len(lines) == 402
    assert lines[-1].startswith("  │ … 600 more lines")


def test_a_long_line_is_cut_until_it_is_unfolded() -> None:
    piece = words_piece("1", "x" * 2100)
    (line,) = plain(piece, folded=True, width=5000)
    assert (piece.foldable, piece.folded, line) == (True, True, f"{'x' * 2000} … 100 more characters: F6, Enter")
    assert plain(piece, width=5000) == ["x" * 2100]
    assert not words_piece("1", "short\nlines").foldable


def test_members_have_their_colours_the_lead_and_the_user_their_own() -> None:
    assert [style_of(name, COLOURS) for name in ("bob", "lead", "user")] == ["yellow", "bold white", "bold"]


# -- layouts --------------------------------------------------------------------------------------

PIECES = st.lists(
    st.builds(
        TranscriptPiece,
        key=st.integers(0, 30).map(str),
        kind=st.sampled_from(PieceKind),
        head=st.sampled_from(["", "x"]),
        body=st.sampled_from(["", "a", "a\nb\nc"]),
        folded=st.booleans(),
    ),
    unique_by=lambda piece: piece.key,
)


def is_folded(piece: TranscriptPiece) -> bool:
    return piece.folded and piece.foldable


@given(PIECES, PIECES)
def test_what_is_laid_out_over_something_else_is_as_if_laid_out_anew(
    before: list[TranscriptPiece], after: list[TranscriptPiece]
) -> None:
    anew, over = (
        Layout(lambda piece, folded: painted(piece, folded=folded)),
        Layout(lambda piece, folded: painted(piece, folded=folded)),
    )
    over.lay(before, is_folded)
    over.lay(after, is_folded)
    anew.lay(after, is_folded)
    assert over.height == anew.height
    assert [over.line(line) for line in range(-1, over.height + 1)] == [
        anew.line(n) for n in range(-1, anew.height + 1)
    ]


@given(PIECES)
def test_every_line_belongs_to_the_piece_whose_span_it_is_in(pieces: list[TranscriptPiece]) -> None:
    layout = Layout(lambda piece, folded: painted(piece, folded=folded))
    layout.lay(pieces, is_folded)
    for piece in pieces:
        first, last = layout.span(piece.key) or (0, 0)
        found = [layout.at(line) for line in range(first, last)]
        assert [one.piece.key for one in found if one] == [piece.key] * (last - first)
    assert layout.span("none") is None
    assert layout.at(layout.height) is None


def test_what_did_not_change_is_not_painted_again() -> None:
    drawn: list[str] = []

    def paint(piece: TranscriptPiece, folded: bool) -> list[Text]:
        drawn.append(piece.key)
        return painted(piece, folded=folded)

    layout = Layout(paint)
    first = [TranscriptPiece(str(n), PieceKind.WORDS, body="x") for n in range(5)]
    layout.lay(first, is_folded)
    layout.lay([*first, TranscriptPiece("5", PieceKind.WORDS, body="new")], is_folded)
    assert drawn == ["0", "1", "2", "3", "4", "5"]
