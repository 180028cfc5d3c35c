"""Markdown as a tree of elements, so that the page never handles HTML.

An element is `[tag, attributes, children]`, and text is a string. The page makes each of them itself, so no text of an
agent becomes markup. HTML in Markdown is text.
"""

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

Node: TypeAlias = "str | list[Any]"

# What each kind of Markdown becomes. Anything else is shown as its text.
_TAGS = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
    "strong": "strong",
    "em": "em",
    "s": "del",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
}

# What is inside a line of text.
_INLINE = ("strong", "em", "del", "code", "a", "span")


def markdown_tree(text: str) -> list[Node]:
    """Return the elements of a text in Markdown."""
    from markdown_it.tree import SyntaxTreeNode

    return _children(SyntaxTreeNode(_parser().parse(text)))


def plain_words(nodes: list[Node]) -> str:
    """Return the text of elements, without line ends."""
    return " ".join("".join(map(_text, nodes)).split())


def _text(node: Node) -> str:
    if isinstance(node, str):
        return node
    inside = "".join(map(_text, node[2]))
    return inside if node[0] in _INLINE else f" {inside} "


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    # Without "image" an image is a link: the page loads nothing from elsewhere.
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


def _children(node: "SyntaxTreeNode") -> list[Node]:
    return [made for child in node.children for made in _made(child)]


def _made(node: "SyntaxTreeNode") -> list[Node]:
    match node.type:
        case "inline":
            return _children(node)
        case "text" | "html_block" | "html_inline":
            return [node.content]
        case "softbreak":
            return ["\n"]
        case "hardbreak":
            return [["br", {}, []]]
        case "hr":
            return [["hr", {}, []]]
        case "code_inline":
            return [["code", {}, [node.content]]]
        case "fence" | "code_block":
            return [["pre", {}, [["code", {}, [node.content.rstrip("\n")]]]]]
        case "heading":
            # The page has headings of its own above these.
            return [[f"h{min(int(node.tag[1]) + 2, 6)}", {}, _children(node)]]
        case "link":
            return [_link(node)]
        case kind:
            tag = _TAGS.get(kind)
            return [[tag, {}, _children(node)]] if tag else _children(node) or [node.content]


def _link(node: "SyntaxTreeNode") -> Node:
    target = str(node.attrGet("href") or "")
    if urlsplit(target).scheme not in ("http", "https"):
        return ["span", {"title": target}, _children(node)]
    return ["a", {"href": target}, _children(node)]
