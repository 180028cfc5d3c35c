"""Words within a block of Markdown: bold, code, links."""

from collections.abc import Sequence

from markdown_it.tree import SyntaxTreeNode
from rich.errors import StyleSyntaxError
from rich.style import Style
from rich.text import Text

from deskmate.faces.tui.drawing.styled_lines import words_kept

CODE = "cyan"
LINK = "underline"
_STYLES = {"strong": "bold", "em": "italic", "s": "strike"}
# Only these are made clickable. Anything else that a model links to is shown as text.
_SCHEMES = ("http://", "https://")


def inline_lines(node: SyntaxTreeNode, style: str = "") -> list[Text]:
    """Return the inline content of a block, one text for each of its lines."""
    lines = [Text(style=style)]
    _add(lines, node.children, Style())
    return lines


def _add(lines: list[Text], nodes: Sequence[SyntaxTreeNode], style: Style) -> None:
    for node in nodes:
        match node.type:
            case "softbreak" | "hardbreak":
                lines.append(Text(style=lines[0].style))
            case "strong" | "em" | "s":
                _add(lines, node.children, style + Style.parse(_STYLES[node.type]))
            case "code_inline":
                lines[-1].append(words_kept(node.content), style + Style.parse(CODE))
            case "link":
                _add_link(lines, node, style)
            case "image":
                lines[-1].append(words_kept(node.content) or "image", style + Style.parse("italic"))
                _add_address(lines[-1], node.attrGet("src"), node.content)
            case _:
                lines[-1].append(words_kept(node.content), style)


def _add_link(lines: list[Text], node: SyntaxTreeNode, style: Style) -> None:
    address = str(node.attrGet("href") or "")
    look = Style.parse(LINK)
    if address.startswith(_SCHEMES):
        try:
            look += Style(link=words_kept(address))
        except StyleSyntaxError:
            look = Style.parse(LINK)
    shown = "".join(one.content for one in node.walk() if one.type in ("text", "code_inline"))
    _add(lines, node.children, style + look)
    _add_address(lines[-1], address, shown)


def _add_address(line: Text, address: object, shown: str) -> None:
    """Add where a link leads, unless its words say so: they could say anything."""
    address = words_kept(str(address or ""))
    if address and address.removeprefix("mailto:") != shown:
        line.append(f" ({address})", "dim")
