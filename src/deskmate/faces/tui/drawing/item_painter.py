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
from deskmate.faces.common.terminal_text import GIST_GAP, cut
from deskmate.faces.common.text_tables import CleanLine, clock
from deskmate.faces.tui.drawing.code_lines import diff_rows
from deskmate.faces.tui.drawing.live_text import LIVE_END
from deskmate.faces.tui.drawing.markdown_rows import GrowingMarkdown, markdown_rows
from deskmate.faces.tui.drawing.styled_lines import paragraphs, words
from deskmate.faces.tui.drawing.wrapped_lines import BLANK, UnwrappedLine, WrappedLine, wrapped

_MOST_LINES = 5000
# A folded command shows this many of its last lines.
_LAST_LINES = 3
# Words that are longer are kept laid out while more of them come.
_GROWING_CHARS = 8000
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


@dataclass(frozen=True, slots=True)
class PaintLook:
    """What lines are made for: their width, the colours of members, a console.

    `tints`: the styles behind added and removed lines. `growing`: keeps lines of words that grow.
    """

    width: int
    colours: Mapping[str, str]
    console: Console
    tints: tuple[str, str] = ("", "")
    growing: GrowingMarkdown = field(default_factory=GrowingMarkdown)


def style_of(member: str, colours: Mapping[str, str]) -> str:
    """Return the style of a member's name on every screen. Lead and user have no colour."""
    return colours.get(member) or "bold"


def lines_of(item: items.ShownItem, look: PaintLook, *, folded: bool) -> list[WrappedLine]:
    """Return an item as lines that are at most as wide as they may be."""
    if isinstance(item, items.WordsItem) and not folded:
        return _said_lines(item, look)
    return [line for row in _rows(item, folded, look) for line in wrapped(row, look.width, look.console)]


def _said_lines(item: items.WordsItem, look: PaintLook) -> list[WrappedLine]:
    text = item.text.removesuffix(LIVE_END)
    is_whole = text == item.text
    if is_whole and len(text) < _GROWING_CHARS:
        rows = markdown_rows(text, look.width, look.console)
        return [line for row in rows for line in wrapped(row, look.width, look.console)]
    lines = look.growing.lines(text, look.width, look.console, is_whole=is_whole)
    if not is_whole:
        last = lines.pop() if lines else BLANK
        end = last.text.copy()
        end.truncate(look.width - 1)
        lines.append(replace(last, text=end.append(LIVE_END, "bold")))
    return lines


def _rows(item: items.ShownItem, folded: bool, look: PaintLook) -> Iterator[UnwrappedLine]:
    match item:
        case items.WordsItem():
            yield from _indented(item.text, "", "", short=folded)
        case MailItem():
            yield from _mail_rows(item, folded, look)
        case items.NoteItem():
            yield from (_note_row(line) for line in item.lines)
        case items.CommandItem():
            yield from _command_rows(item, folded)
        case items.CallItem():
            yield from _call_rows(item, folded, look)
        case items.ThoughtItem():
            yield from _titled_rows(item, folded, "dim", "dim italic")
        case items.ParkedItem():
            yield from _titled_rows(replace(item, text=with_way_on(item.text, item.member)), folded, "bold red", "dim")
        case items.SummaryItem():
            yield from _titled_rows(replace(item, text="") if not folded else item, folded, "dim", "dim")
            if not folded:
                yield from markdown_rows(item.text, look.width, look.console, Text("  │ ", "dim"))
        case items.TakenTaskItem() | items.NoticeItem():
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
    if (left := len(lines) - _MOST_LINES) > 0:
        yield UnwrappedLine(
            Text(f"… {left:,} more line{'' if left == 1 else 's'}. To see all: deskmate tail --json", "dim"), edge, edge
        )


def _short(line: str) -> str:
    more = len(line) - items.LINE_CHARS
    return line if more <= 0 else f"{line[: items.LINE_CHARS]} … {more:,} more characters: F6, Enter"


def _mail_rows(item: MailItem, folded: bool, look: PaintLook) -> Iterator[UnwrappedLine]:
    style = style_of(item.sender, look.colours)
    bar = Text("▌ ", style)
    head = Text().append("you" if item.sender == USER else words(item.sender), style)
    head.append(" to you" if USER in item.recipients else "", "dim")
    head.append("".join(f" {word}" for word in (item.title, "not read yet" * (item.heard is False)) if word), "dim")
    source = head.plain
    _append_fold(head, item, folded)
    yield UnwrappedLine(head, bar, bar, source=source)
    if folded and not item.additions:
        first = next((line for line in paragraphs(item.words) if line.strip()), "")
        yield UnwrappedLine(Text(cut(words(first), _HEAD_CELLS)), bar, bar)
        return
    if item.is_markdown:
        yield from markdown_rows(item.text, look.width, look.console, bar)
    else:
        yield from _indented(item.words, "▌ ", "", margin_style=style, short=folded)
    for one in item.additions:
        yield UnwrappedLine(Text(cut(words(one.title), _HEAD_CELLS), "bold"), bar, bar)
        if not folded and one.text:
            yield from _indented(one.text, "▌ │ ", "dim", margin_style=style)


def _command_rows(item: items.CommandItem, folded: bool) -> Iterator[UnwrappedLine]:
    """Yield a command of the user, and the last lines that it printed."""
    bar = Text("▌ ", "bold")
    yield UnwrappedLine(Text("you", "bold"), bar, bar)
    head = Text(cut(words(item.title), _HEAD_CELLS), "bold")
    source = head.plain
    if item.seconds is not None:
        head.append(f"  {clock(item.seconds)}", "yellow").append("  Esc stops it", "dim")
    _append_fold(head, item, folded)
    yield UnwrappedLine(head, bar, bar, source=source)
    lines = paragraphs(item.ran.output)
    output = "\n".join(lines[-items.COMMAND_LINES :] if folded else lines)
    if output:
        yield from _indented(output, "▌ │ ", "", margin_style="bold", short=folded)
    if item.ran.ending:
        yield UnwrappedLine(Text(item.ran.ending, "red"), bar, bar)


def _call_rows(call: items.CallItem, folded: bool, look: PaintLook) -> Iterator[UnwrappedLine]:
    mark, style = _MARKS[call.state]
    tool, _, about = words(call.title).partition(" ")
    head = Text().append(tool, "bold")
    head.append(f" {cut(about, _HEAD_CELLS)}")
    source = head.plain
    if call.seconds is not None:
        head.append(f"  {clock(call.seconds)}", "yellow")
    _append_fold(head, call, folded)
    yield UnwrappedLine(head, Text(mark, style), Text("  "), source=source)
    if folded:
        yield from _end_rows(call)
        return
    edge = Text("  │ ", "dim")
    if call.plan:
        yield from markdown_rows(call.plan, look.width, look.console, edge)
    else:
        yield from _indented(call.details, "  │ ", "dim")
    if call.diff:
        yield from diff_rows(call.diff, call.path, edge, look.tints)
    else:
        yield from _indented(call.text, "  │ ", "")


def _end_rows(call: items.CallItem) -> Iterator[UnwrappedLine]:
    """Yield why a folded call failed, and the last lines that its command printed."""
    why = cut(words(call.failure), _HEAD_CELLS)
    # If no line says why, the last ones are the best there is.
    is_told = bool(why) and not (call.prints and GIST_GAP in why)
    if is_told:
        yield UnwrappedLine(Text(why, "red"), Text("  "), Text("  "))
    if not call.prints:
        return
    lines = [line for line in paragraphs(call.text) if line.strip()]
    # A single short line is beside the title, and the reason has its own line.
    told = {why, why.partition(" (")[0], why.rpartition(" (")[2].rstrip(")")} if is_told else set()
    last = [line for line in lines if words(line) not in told][-_LAST_LINES:]
    style = "red" if why and not is_told else "dim"
    for line in last if len(lines) > 1 or call.seconds is not None else []:
        yield UnwrappedLine(Text(cut(line, _HEAD_CELLS), style), Text("  │ ", "dim"), Text("  │ ", "dim"))


def _titled_rows(item: items.TitledItem, folded: bool, style: str, text_style: str) -> Iterator[UnwrappedLine]:
    """Yield a title with a brief text beside it, or with the text below."""
    beside = items.fold_of(item) is items.Fold.NEVER and item.text.strip()
    title = words(f"{item.title}: {item.text}" if beside else item.title)
    head = Text().append(cut(title, _TITLE_CELLS), style)
    source = head.plain
    _append_fold(head, item, folded)
    yield UnwrappedLine(head, Text("· ", "dim"), Text("  "), source=source)
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
    call = item if isinstance(item, items.CallItem) else None
    text = (call.plan if call else "") or item.text
    lines = paragraphs(text.strip("\n")) if text.strip() else []
    if call and call.seconds is not None:
        return ""
    if len(lines) == 1 and cell_len(lines[0]) <= _SHORT_CELLS:
        # The reason of a failed call is shown below its head.
        return lines[0].strip() if folded and not (call and call.failure) else ""
    count = (call.lines if call else None) or len(lines)
    return f"{count:,} line{'' if count == 1 else 's'}" if lines else ""
