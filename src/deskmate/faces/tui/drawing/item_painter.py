"""Items as coloured lines.

The conversation panel shows the lines. No text is ever read as markup.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from deskmate.core.log.names import USER
from deskmate.faces.common.chat.budget_command import with_way_on
from deskmate.faces.common.items import transcript_items as items
from deskmate.faces.common.items.mail_items import MailItem
from deskmate.faces.common.terminal_text import TAB_CELLS, cut
from deskmate.faces.common.text_tables import CleanLine
from deskmate.faces.tui.drawing.styled_lines import paragraphs, words

_MOST_LINES = 400
_SHORT_CELLS = 60
# The most that the head of a call shows. Its arguments are below it.
_HEAD_CELLS = 200
_TITLE_CELLS = 1000
_MARKS = {
    items.CallState.SAID: ("· ", "dim"),
    items.CallState.ASKED: ("? ", "bold yellow"),
    items.CallState.RUNNING: ("… ", "bold yellow"),
    items.CallState.DONE: ("✓ ", "green"),
    items.CallState.FAILED: ("✗ ", "bold red"),
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
    return "bold" if member == USER else colours.get(member) or "bold white"


def lines_of(
    item: items.ShownItem, *, folded: bool, width: int, colours: Mapping[str, str], console: Console
) -> list[Text]:
    """Return an item as lines that are at most `width` wide."""
    return [line for row in _rows(item, folded, colours) for line in _wrapped(row, width, console)]


def _wrapped(row: UnwrappedLine, width: int, console: Console) -> Iterator[Text]:
    room = max(2, width - row.first.cell_len)
    for index, line in enumerate(row.text.wrap(console, room, overflow="fold", tab_size=TAB_CELLS)):
        line.rstrip()
        joined = Text(no_wrap=True, end="")
        yield joined.append_text(row.rest if index else row.first).append_text(line)


def _rows(item: items.ShownItem, folded: bool, colours: Mapping[str, str]) -> Iterator[UnwrappedLine]:
    match item:
        case items.WordsItem():
            yield from _indented(item.text, "", "", short=folded)
        case MailItem():
            yield from _mail_rows(item, folded, style_of(item.sender, colours))
        case items.NoteItem():
            yield from (_note_row(line) for line in item.lines)
        case items.CallItem():
            yield from _call_rows(item, folded)
        case items.ThoughtItem():
            yield from _titled_rows(item, folded, "dim", "dim italic")
        case items.ParkedItem():
            yield from _titled_rows(replace(item, text=with_way_on(item.text)), folded, "bold red", "dim")
        case items.TakenTaskItem() | items.NoticeItem() | items.SummaryItem():
            yield from _titled_rows(item, folded, "dim", "dim")
        case unreachable:
            assert_never(unreachable)


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
    more = len(line) - items.LINE_CHARS
    return line if more <= 0 else f"{line[: items.LINE_CHARS]} … {more:,} more characters: F6, Enter"


def _mail_rows(item: MailItem, folded: bool, style: str) -> Iterator[UnwrappedLine]:
    bar = Text("▌ ", style)
    head = Text().append("you" if item.sender == USER else words(item.sender), style)
    head.append("".join(f" {word}" for word in (item.title, "not read yet" * (item.heard is False)) if word), "dim")
    _append_fold(head, item, folded)
    yield UnwrappedLine(head, bar, bar)
    if not folded:
        yield from _indented(item.text, "▌ ", "", margin_style=style)


def _call_rows(call: items.CallItem, folded: bool) -> Iterator[UnwrappedLine]:
    mark, style = _MARKS[call.state]
    tool, _, about = words(call.title).partition(" ")
    head = Text().append(tool, "bold")
    head.append(f" {cut(about, _HEAD_CELLS)}")
    _append_fold(head, call, folded)
    yield UnwrappedLine(head, Text(mark, style), Text("  "))
    if folded:
        if call.failure:
            yield UnwrappedLine(Text(cut(words(call.failure), _HEAD_CELLS), "red"), Text("  "), Text("  "))
        return
    yield from _indented(call.details, "  │ ", "dim")
    yield from _diff_rows(call.diff) if call.diff else _indented(call.text, "  │ ", "")


def _diff_rows(diff: str) -> Iterator[UnwrappedLine]:
    for row in _indented(diff, "  │ ", ""):
        row.text.stylize(_DIFF.get(row.text.plain[:1], "dim"))
        yield row


def _titled_rows(item: items.TitledItem, folded: bool, style: str, text_style: str) -> Iterator[UnwrappedLine]:
    """Yield a title with a brief text beside it, or with the text below."""
    beside = items.fold_of(item) is items.Fold.NEVER and item.text.strip()
    title = words(f"{item.title}: {item.text}" if beside else item.title)
    head = Text().append(cut(title, _TITLE_CELLS), style)
    _append_fold(head, item, folded)
    yield UnwrappedLine(head, Text("· ", "dim"), Text("  "))
    if not folded and not beside:
        yield from _indented(item.text, "  │ ", text_style)


def _append_fold(head: Text, item: items.ShownItem, folded: bool) -> None:
    """Add how much there is to unfold. A single short line is shown at once instead."""
    if items.fold_of(item) is not items.Fold.NEVER:
        size = _diff_size(item.diff) if isinstance(item, items.CallItem) and item.diff else _size(item, folded)
        head.append(f"  {'▸' if folded else '▾'} {size}".rstrip(), "dim")


def _diff_size(diff: str) -> str:
    changed = [line[:1] for line in diff.split("\n")]
    return f"+{changed.count('+')} -{changed.count('-')}"


def _size(item: items.ShownItem, folded: bool) -> str:
    lines = paragraphs(item.text.strip("\n")) if item.text.strip() else []
    call = item if isinstance(item, items.CallItem) else None
    if len(lines) == 1 and cell_len(lines[0]) <= _SHORT_CELLS:
        # The reason of a failed call is shown below its head.
        return lines[0].strip() if folded and not (call and call.failure) else ""
    count = (call.lines if call else None) or len(lines)
    return f"{count:,} line{'' if count == 1 else 's'}" if lines else ""
