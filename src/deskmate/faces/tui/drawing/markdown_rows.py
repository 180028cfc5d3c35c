"""Markdown as lines: headings, lists with hanging indents, tables, code.

Lines instead of a widget for each block: Textual's `Markdown` makes 2,000 widgets of 30,000 characters and takes
seconds for them. Here only what is visible is drawn, and text that grows at its end costs only its last block.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from rich.console import Console
from rich.text import Text

from deskmate.faces.common.terminal_text import clean
from deskmate.faces.tui.drawing.code_lines import code_lines
from deskmate.faces.tui.drawing.inline_text import inline_lines
from deskmate.faces.tui.drawing.markdown_table import table_rows
from deskmate.faces.tui.drawing.styled_lines import Line, line_of, paragraphs, words_kept
from deskmate.faces.tui.drawing.wrapped_lines import BLANK, UnwrappedLine, WrappedLine, wrapped

# While it grows, a block that is larger is shown as it is written. Parsing it for every word would take too long.
_GROWING_CHARS = 20_000
_TASKS = {"[ ] ": ("☐ ", "- [ ] "), "[x] ": ("☑ ", "- [x] "), "[X] ": ("☑ ", "- [x] ")}
_HEADINGS = {1: "bold underline cyan", 2: "bold cyan", 3: "bold"}
_BULLETS = ("• ", "◦ ", "▪ ")
_RULE_CELLS = 40
_NO_MARGIN = Text()


def markdown_lines(text: str, cells: int, console: Console) -> list[Line]:
    """Return Markdown as lines of a list, at most `cells` wide."""
    rows = markdown_rows(text, cells, console)
    return [line_of(line.text, console) for row in rows for line in wrapped(row, cells, console)]


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    # HTML is shown as it is written.
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a block is. `first`, `rest`: what goes before its first line and the others. `copied`: see UnwrappedLine.

    `indent`: what a copy has before every line.
    """

    width: int
    console: Console
    first: Text
    rest: Text
    copied: str = ""
    indent: str = ""
    depth: int = 0

    def row(self, text: Text, *, first: bool, copied: str = "", source: str | None = None) -> UnwrappedLine:
        """Return a line of the block."""
        copied = f"{self.copied if first else self.indent}{copied}"
        return UnwrappedLine(text, self.first if first else self.rest, self.rest, copied, source)

    @property
    def room(self) -> int:
        """How many cells a line has."""
        return max(2, self.width - self.rest.cell_len)

    def inner(self, first: Text, rest: Text, copied: str, indent: str) -> "_Place":
        """Return the place of a block in this one. If there is no room to indent it, it is not indented."""
        if self.room - rest.cell_len < self.width // 2:
            first, rest = Text(), Text()
        return replace(
            self,
            first=self.first.copy().append_text(first),
            rest=self.rest.copy().append_text(rest),
            copied=f"{self.copied}{copied}",
            indent=f"{self.indent}{indent}",
            depth=self.depth + 1,
        )

    def on(self) -> "_Place":
        """Return the place of what follows the first block."""
        return replace(self, first=self.rest, copied=self.indent)


def markdown_rows(text: str, width: int, console: Console, margin: Text | None = None) -> Iterator[UnwrappedLine]:
    """Yield Markdown as lines. Nothing in it is obeyed. `margin` goes before each line and is not copied."""
    yield from _rows(_nodes(text), width, console, margin or Text())


def _nodes(text: str) -> list[SyntaxTreeNode]:
    return SyntaxTreeNode(_parser().parse(clean(text))).children


def _rows(
    nodes: Sequence[SyntaxTreeNode], width: int, console: Console, edge: Text = _NO_MARGIN
) -> Iterator[UnwrappedLine]:
    yield from _blocks(nodes, _Place(width, console, edge, edge), loose=True)


def _blocks(nodes: Sequence[SyntaxTreeNode], place: _Place, *, loose: bool) -> Iterator[UnwrappedLine]:
    for index, node in enumerate(nodes):
        if index and loose:
            yield UnwrappedLine(Text(), place.rest, place.rest)
        yield from _block(node, place.on() if index else place)


def _block(node: SyntaxTreeNode, place: _Place) -> Iterator[UnwrappedLine]:
    match node.type:
        case "heading":
            level = int(node.tag[1:])
            style = _HEADINGS.get(level, "italic")
            for n, line in enumerate(inline_lines(node.children[0], style)):
                yield place.row(line, first=not n, copied="" if n else f"{'#' * level} ")
        case "paragraph":
            for n, line in enumerate(inline_lines(node.children[0])):
                yield place.row(line, first=not n)
        case "fence" | "code_block":
            yield from _code(node, place)
        case "bullet_list" | "ordered_list":
            yield from _list(node, place)
        case "blockquote":
            bar = Text("▎ ", "dim")
            yield from _blocks(node.children, place.inner(bar, bar, "> ", "> "), loose=True)
        case "table":
            for n, (line, source) in enumerate(table_rows(node, place.room, place.console)):
                yield place.row(line, first=not n, source=source)
        case "hr":
            yield place.row(Text("─" * min(place.room, _RULE_CELLS), "dim"), first=True, source="---")
        case _:
            for n, raw in enumerate(paragraphs(node.content)):
                yield place.row(Text(raw), first=not n)


def _code(node: SyntaxTreeNode, place: _Place) -> Iterator[UnwrappedLine]:
    language = words_kept(node.info).split(maxsplit=1)[0] if node.info.strip() else ""
    inner = place.inner(Text("  "), Text("  "), "", "")
    for n, line in enumerate(code_lines(node.content, language) or [Text()]):
        yield replace(inner.row(line, first=not n), hangs=True)


def _list(node: SyntaxTreeNode, place: _Place) -> Iterator[UnwrappedLine]:
    # In a tight list, paragraphs are hidden.
    loose = any(child.type == "paragraph" and not child.hidden for item in node.children for child in item.children)
    ordered = node.type == "ordered_list"
    start = int(node.attrGet("start") or 1) if ordered else 1
    digits = len(f"{start + len(node.children) - 1}. ")
    for index, item in enumerate(node.children):
        if index and loose:
            yield UnwrappedLine(Text(), place.rest, place.rest)
        outer = place.on() if index else place
        if ordered:
            mark = source = f"{start + index}. ".rjust(digits)
        else:
            mark, source = _task(item) or (_BULLETS[place.depth % len(_BULLETS)], "- ")
        first, rest = Text(mark, "green" if source == "- [x] " else "dim"), Text(" " * len(mark))
        inner = outer.inner(first, rest, source, " " * len(source))
        if item.children:
            yield from _blocks(item.children, inner, loose=loose)
        else:
            yield inner.row(Text(), first=True)


def _task(item: SyntaxTreeNode) -> tuple[str, str] | None:
    """Return the marks of an item of a task list, and remove them from its text; None for another item."""
    inline = next(iter(item.children[0].children), None) if item.children else None
    text = inline.children[0] if inline is not None and inline.type == "inline" and inline.children else None
    if text is None or text.type != "text" or text.token is None or text.content[:4] not in _TASKS:
        return None
    marks = _TASKS[text.content[:4]]
    text.token.content = text.content[4:]
    return marks


class GrowingMarkdown:
    """Markdown that grows at its end. Blocks before the last are laid out once."""

    def __init__(self) -> None:
        self._done, self._width, self._tried = "", 0, 0
        self._lines: list[WrappedLine] = []

    def lines(self, text: str, width: int, console: Console, *, is_whole: bool) -> list[WrappedLine]:
        """Return the text so far as lines that are at most `width` wide. `is_whole`: it does not grow any more."""
        if width != self._width or not text.startswith(self._done):
            self._done, self._width, self._tried, self._lines = "", width, 0, []
        rest = text[len(self._done) :]
        is_large = len(rest) > _GROWING_CHARS and not is_whole
        # A large block is looked at again only after it grew by a fourth.
        nodes = [] if is_large and len(rest) < self._tried * 5 // 4 else _nodes(rest)
        self._tried = len(rest) if nodes else self._tried
        if len(nodes) > 1 and nodes[-1].map:
            rest = self._finish(rest, nodes, console)
            is_large, nodes = is_large and len(rest) > _GROWING_CHARS, nodes[-1:]
        if is_large:
            return self._with((UnwrappedLine(Text(line)) for line in paragraphs(rest)), console)
        return self._with(_rows(nodes, width, console), console)

    def _finish(self, rest: str, nodes: Sequence[SyntaxTreeNode], console: Console) -> str:
        """Keep the lines of all blocks but the last, which alone can still change. Return the text of that one."""
        start = nodes[-1].map[0] if nodes[-1].map else 0
        whole = "".join(f"{line}\n" for line in rest.split("\n")[:start])
        self._lines = self._with(_rows(nodes[:-1], self._width, console), console)
        self._done, self._tried = self._done + whole, 0
        return rest[len(whole) :]

    def _with(self, rows: Iterator[UnwrappedLine], console: Console) -> list[WrappedLine]:
        new = [line for row in rows for line in wrapped(row, self._width, console)]
        return [*self._lines, *([BLANK] if self._lines and new else []), *new]
