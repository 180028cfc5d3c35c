"""Pieces as coloured lines.

`transcript_pieces` says what there is, and the conversation panel shows the lines. No text is ever read as markup.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from deskmate.faces.common.call_summaries import reason
from deskmate.faces.common.terminal_text import TAB_CELLS, cut
from deskmate.faces.common.text_tables import CleanLine
from deskmate.faces.tui.drawing.styled_lines import paragraphs, words
from deskmate.faces.tui.drawing.transcript_pieces import LINE_CHARS, PieceKind, State, TranscriptPiece

_MOST_LINES = 400
_SHORT_CELLS = 60
# The most that the head of a foldable piece shows. The whole text is below it.
_HEAD_CELLS = 200
_TOLD_CELLS = 1000
_MARKS = {
    State.SAID: ("· ", "dim"),
    State.ASKED: ("? ", "bold yellow"),
    State.RUNNING: ("… ", "bold yellow"),
    State.DONE: ("✓ ", "green"),
    State.FAILED: ("✗ ", "bold red"),
}
_DIFF = {"+": "green", "-": "red", "@": "dim cyan"}


@dataclass(frozen=True, slots=True)
class UnwrappedLine:
    """A line before it is wrapped. `first` goes before its first row, `rest` before the others."""

    text: Text
    first: Text = field(default_factory=Text)
    rest: Text = field(default_factory=Text)


def style_of(member: str, colours: Mapping[str, str]) -> str:
    """Return the style of a member's name on every screen."""
    return "bold" if member == "user" else colours.get(member) or "bold white"


def lines_of(
    piece: TranscriptPiece, *, folded: bool, width: int, colours: Mapping[str, str], console: Console
) -> list[Text]:
    """Return a piece as lines that are at most `width` wide."""
    return [line for row in _rows(piece, folded, colours) for line in _wrapped(row, width, console)]


def _wrapped(row: UnwrappedLine, width: int, console: Console) -> Iterator[Text]:
    room = max(2, width - row.first.cell_len)
    for index, line in enumerate(row.text.wrap(console, room, overflow="fold", tab_size=TAB_CELLS)):
        line.rstrip()
        joined = Text(no_wrap=True, end="")
        yield joined.append_text(row.rest if index else row.first).append_text(line)


def _rows(piece: TranscriptPiece, folded: bool, colours: Mapping[str, str]) -> Iterator[UnwrappedLine]:
    match piece.kind:
        case PieceKind.WORDS:
            yield from _indented(piece.body, "", "", short=folded)
        case PieceKind.MAIL:
            yield from _mail_rows(piece, folded, style_of(piece.sender, colours))
        case PieceKind.NOTE:
            yield from (_note_row(line) for line in piece.lines)
        case PieceKind.CALL:
            yield from _call_rows(piece, folded)
        case PieceKind.TOLD | PieceKind.THOUGHT:
            yield from _folding_rows(piece, folded)


def _note_row(line: CleanLine) -> UnwrappedLine:
    edge = Text("│ ", "blue")
    text = Text()
    for cell in line:
        text.append(cell.text, cell.colour or "")
    return UnwrappedLine(text, edge, edge)


def _indented(
    text: str, margin: str, style: str, *, margin_style: str = "dim", short: bool = False
) -> Iterator[UnwrappedLine]:
    """Yield the lines of a text after a margin, without the end of a long text. `short`: cut long lines."""
    lines = paragraphs(text)
    edge = Text(margin, margin_style)
    for line in lines[:_MOST_LINES]:
        yield UnwrappedLine(Text(_short(line) if short else line, style), edge, edge)
    if len(lines) > _MOST_LINES:
        yield UnwrappedLine(
            Text(f"… {len(lines) - _MOST_LINES:,} more lines. To see all: deskmate tail --json", "dim"), edge, edge
        )


def _short(line: str) -> str:
    more = len(line) - LINE_CHARS
    return line if more <= 0 else f"{line[:LINE_CHARS]} … {more:,} more characters: F6, Enter"


def _mail_rows(piece: TranscriptPiece, folded: bool, style: str) -> Iterator[UnwrappedLine]:
    bar = Text("▌ ", style)
    name, _, kind = words(piece.head).partition(" ")
    head = Text().append("you" if name == "user" else name, style)
    head.append(f" {kind}" if kind else "", "dim")
    if piece.folded:
        _append_fold(head, piece, folded)
    yield UnwrappedLine(head, bar, bar)
    if not folded:
        yield from _indented(piece.body, "▌ ", "", margin_style=style)


def _call_rows(piece: TranscriptPiece, folded: bool) -> Iterator[UnwrappedLine]:
    mark, style = _MARKS[piece.state]
    tool, _, about = words(piece.head).partition(" ")
    head = Text().append(tool, "bold")
    head.append(f" {cut(about, _HEAD_CELLS)}")
    _append_fold(head, piece, folded)
    yield UnwrappedLine(head, Text(mark, style), Text("  "))
    if folded:
        if piece.state is State.FAILED:
            yield UnwrappedLine(Text(cut(words(reason(piece.body)), _HEAD_CELLS), "red"), Text("  "), Text("  "))
        return
    yield from _indented(piece.more, "  │ ", "dim")
    yield from _diff_rows(piece.body) if piece.is_diff else _indented(piece.body, "  │ ", "")


def _diff_rows(diff: str) -> Iterator[UnwrappedLine]:
    for row in _indented(diff, "  │ ", ""):
        row.text.stylize(_DIFF.get(row.text.plain[:1], "dim"))
        yield row


def _folding_rows(piece: TranscriptPiece, folded: bool) -> Iterator[UnwrappedLine]:
    style = "bold red" if piece.state is State.FAILED else "dim"
    head = Text().append(cut(words(piece.head), _TOLD_CELLS), style)
    _append_fold(head, piece, folded)
    yield UnwrappedLine(head, Text("· ", "dim"), Text("  "))
    if not folded:
        yield from _indented(piece.body, "  │ ", "dim italic" if piece.kind is PieceKind.THOUGHT else "dim")


def _append_fold(head: Text, piece: TranscriptPiece, folded: bool) -> None:
    """Add how much there is to unfold. A single short line is shown at once instead."""
    if piece.foldable:
        size = _size(piece, folded)
        head.append(f"  {'▸' if folded else '▾'} {size}".rstrip(), "dim")


def _size(piece: TranscriptPiece, folded: bool) -> str:
    lines = paragraphs(piece.body.strip("\n")) if piece.body.strip() else []
    if piece.is_diff:
        changed = [line[:1] for line in lines]
        return f"+{changed.count('+')} -{changed.count('-')}"
    if len(lines) == 1 and cell_len(lines[0]) <= _SHORT_CELLS:
        # The reason of a failed call is shown below its head.
        return lines[0].strip() if folded and piece.state is not State.FAILED else ""
    count = piece.count or len(lines)
    return f"{count:,} line{'' if count == 1 else 's'}" if lines else ""
