"""Here-documents.

If the grammar ended a here-document at another line than the shell, it would take text for commands, or commands for
text. So the end is searched again here, and anything ambiguous raises Untold.
"""

import re
from typing import TYPE_CHECKING

from deskmate.tools.shell.shell_words import Untold

if TYPE_CHECKING:
    from tree_sitter import Node

_START = re.compile(rb"(?P<quote>['\"]?)(?P<word>[A-Za-z_][A-Za-z0-9_]*)(?P=quote)")
_REST = re.compile(rb"[A-Za-z0-9_./|&> \t=:@%+,-]*")
_EXPANSIONS = ("simple_expansion", "expansion", "command_substitution")


def check_heredoc(node: "Node", source: bytes) -> list["Node"]:
    """Return what remains to be read of a here-document: the rest of its first line, and expansions in its body."""
    sign, start, *others, end = node.children
    found = _START.fullmatch(start.text or b"")
    if sign.type not in ("<<", "<<-") or start.type != "heredoc_start" or not found or end.type != "heredoc_end":
        raise Untold
    line_end = source.find(b"\n", start.end_byte)
    if line_end < 0 or not _REST.fullmatch(source[start.end_byte : line_end]):
        raise Untold
    ends = _end(source, line_end + 1, found["word"], tabs=sign.type == "<<-")
    if end.end_byte != ends + len(found["word"]) or source[ends : end.end_byte] != found["word"]:
        raise Untold
    bodies = [part for part in others if part.type == "heredoc_body"]
    rest = [part for part in others if part.type != "heredoc_body"]
    if any(part.end_byte > line_end for part in rest):
        raise Untold
    expansions = [part for body in bodies for part in body.children if part.type in _EXPANSIONS]
    if not found["quote"]:
        _check_body(source, line_end + 1, ends, expansions)
    return [*rest, *expansions]


def _end(source: bytes, at: int, word: bytes, *, tabs: bool) -> int:
    """Return the offset of the word that ends a body. It must be alone on its line."""
    for line in source[at:].split(b"\n"):
        bare = line.lstrip(b"\t") if tabs else line
        if bare == word:
            return at + len(line) - len(bare)
        at += len(line) + 1
    raise Untold


def _check_body(source: bytes, at: int, ends: int, expansions: list["Node"]) -> None:
    """Raise Untold if a shell would expand anything in a body except these expansions."""
    for part in expansions:
        start = part.end_byte - len((part.text or b"").lstrip())
        if start < at or part.end_byte > ends or re.search(rb"[$`\\]", source[at:start]):
            raise Untold
        at = part.end_byte
    if re.search(rb"[$`\\]", source[at:ends]):
        raise Untold
