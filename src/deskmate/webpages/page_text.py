"""What a person would read on a page."""

import codecs
import re
from collections.abc import Iterator
from typing import Any

from deskmate.errors import ToolError
from deskmate.workspace.command_output import clean

_DROPPED = "script, style, noscript, template, svg, canvas, iframe, object, nav, header, footer, aside, form, [hidden]"
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_BLOCKS = frozenset(
    {
        *("address", "article", "blockquote", "body", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption"),
        *("figure", "hr", "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "thead", "tr", "ul"),
    }
)
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXTS = frozenset({"application/json", "application/xml", "application/javascript", "application/yaml"})
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})")
_META_BYTES = 1024
# Python has these under the name of encodings, but no page is written in them.
_ODD = frozenset({"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem", "utf_7"})
_USUAL = "utf-8"
_BLANKS = re.compile(r"[ \t\u00a0\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")


def text_of(content_type: str, body: bytes) -> str:
    """Return what is written on a page. Raises ToolError if it is not a text."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind in _HTML or (not kind and b"<html" in body[:_META_BYTES].lower()):
        return _of_html(_decoded(content_type, body, is_html=True))
    if kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml")):
        return clean(_decoded(content_type, body, is_html=False)).strip()
    raise ToolError(f"This is not a page with text, but {kind[:80] or 'of an unknown type'} ({len(body):,} bytes).")


def _decoded(content_type: str, body: bytes, *, is_html: bool) -> str:
    marks = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
    for mark, name in marks:
        if body.startswith(mark):
            return body.decode(name, "replace")
    told = _CHARSET.search(content_type)
    if not told and is_html:
        told = _CHARSET.search(body[:_META_BYTES].decode("ascii", "replace"))
    return body.decode(_known(told[1]) if told else _USUAL, "replace")


def _known(name: str) -> str:
    """Return the name of an encoding of texts, or the usual one if there is none of this name."""
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return _USUAL
    is_text = getattr(found, "_is_text_encoding", True)
    return found.name if is_text and found.name.replace("-", "_") not in _ODD else _USUAL


def _of_html(text: str) -> str:
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError:
        raise ToolError("Pages cannot be read: selectolax is not installed. Tell the user.") from None
    page = LexborHTMLParser(text)
    found = page.css_first("title")
    title = clean(found.text()) if found is not None else ""
    for node in page.css(_DROPPED):
        node.decompose()
    # The largest part that says that it is the content.
    parts = page.css("main, article, [role=main]")
    root = max(parts, key=lambda node: len(node.text()), default=page.body)
    if root is None:
        return title.strip()
    lines = clean("".join(_pieces(root))).split("\n")
    kept = re.sub(r"\n{3,}", "\n\n", "\n".join(_BLANKS.sub(" ", line).strip() for line in lines)).strip()
    head = f"# {_BLANKS.sub(' ', title).strip()}\n\n" if title.strip() and not kept.startswith("# ") else ""
    return f"{head}{kept}"


def _pieces(root: Any) -> Iterator[str]:
    """Yield the text of a page, with the ends of lines and the marks of headings, lists and cells."""
    last_block: int | None = None
    for node in root.traverse(include_text=True):
        tag = node.tag
        if tag == "-text":
            block = _block_of(node)
            if last_block is not None and block != last_block:
                yield "\n"
            last_block = block
            is_code = node.parent is not None and node.parent.tag in ("pre", "code", "textarea")
            yield node.text_content or "" if is_code else re.sub(r"\s+", " ", node.text_content or "")
        elif mark := _mark(tag):
            yield mark
            last_block = None


def _mark(tag: str) -> str:
    """Return what is written before the text of an element."""
    if tag in _HEADINGS:
        return f"\n\n{_HEADINGS[tag]} "
    if tag in ("td", "th"):
        return " | "
    if tag == "li":
        return "\n- "
    if tag in ("p", "table", "pre"):
        return "\n\n"
    return "\n" if tag == "br" or tag in _BLOCKS else ""


def _block_of(node: Any) -> int:
    """Return which block a text is in. Deeply nested text counts as in the block that is not too far above."""
    for _ in range(20):
        node = node.parent
        if node is None or node.tag in _BLOCKS or node.tag in _HEADINGS or node.tag == "li":
            break
    return 0 if node is None else int(node.mem_id)
