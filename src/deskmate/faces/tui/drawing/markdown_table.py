"""Tables of Markdown."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from markdown_it.tree import SyntaxTreeNode
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deskmate.faces.tui.drawing.inline_text import inline_lines

_BOX = box.SIMPLE_HEAD
Justify: TypeAlias = Literal["left", "center", "right"]


def table_rows(node: SyntaxTreeNode, width: int, console: Console) -> Iterator[tuple[Text, str]]:
    """Yield the lines of a table that is at most `width` wide, each with its Markdown: all of it is at the first."""
    head, *body = [row for part in node.children for row in part.children]
    cells = [[_cell(cell) for cell in row.children] for row in (head, *body)]
    table = Table(box=_BOX, pad_edge=False, header_style="bold", border_style="dim", show_edge=False)
    for cell, text in zip(head.children, cells[0], strict=True):
        table.add_column(text, justify=_justify(str(cell.attrGet("style") or "")), overflow="fold")
    for row in cells[1:]:
        table.add_row(*row)
    source = "\n".join([_source(cells[0]), "|---" * len(cells[0]) + "|", *map(_source, cells[1:])])
    lines = console.render_lines(table, console.options.update(width=width, highlight=False), pad=False)
    for n, segments in enumerate(lines):
        line = Text(no_wrap=True)
        for segment in segments:
            line.append(segment.text, segment.style)
        line.rstrip()
        line.truncate(width)
        yield line, "" if n else source


def _cell(cell: SyntaxTreeNode) -> Text:
    return Text(" ").join(inline_lines(cell.children[0])) if cell.children else Text()


def _justify(style: str) -> Justify:
    return "right" if "right" in style else "center" if "center" in style else "left"


def _source(cells: list[Text]) -> str:
    return f"| {' | '.join(cell.plain for cell in cells)} |"
