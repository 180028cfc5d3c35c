"""Commands that can be seen in a text that is unclear as a whole.

No rule allows a command because of a hint. Hints let a rule that denies `git push *` refuse `X=1 git push` instead of
asking about it. So they may be wrong or incomplete. Only `shell_commands` must be right.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from deskmate.core.policy.patterns import HOLE
from deskmate.tools.shell.shell_commands import MAX_CHARS, parsed
from deskmate.tools.shell.shell_programs import runs_others
from deskmate.tools.shell.shell_words import Word

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_DEPTH = 3
_MAX_HINTS = 200
# How many words of a command are searched for the command that it runs.
_MAX_WORDS = 30
_QUOTING = re.compile(r"\\(.)|['\"]", re.DOTALL)
_OPENING = re.compile(r"[$`*?{~]")
# An option with its command attached, without a space.
_OPTION = re.compile(r"^(?:--[\w-]+=|-\w*x(?=\S))")
_OTHERS = frozenset({"variable_assignment", "file_redirect", "heredoc_redirect", "herestring_redirect", "comment"})


def hints_of(text: str) -> tuple[str, ...]:
    """Return commands that a shell text seems to run, and files that it seems to open."""
    return tuple(dict.fromkeys(islice(_hints(text, 0), _MAX_HINTS)))


def _hints(text: str, depth: int) -> Iterator[str]:
    if len(text) > MAX_CHARS or depth > _MAX_DEPTH:
        return
    nodes = [parsed(text.encode(errors="replace"))]
    while nodes:
        node = nodes.pop()
        nodes += reversed(node.children)
        if node.type == "command":
            yield from _of_words([_word(part) for part in node.children if part.type not in _OTHERS], depth)
        elif node.type == "file_redirect" and len(node.children) > 1:
            sign, target = node.children[-2:]
            yield f"{'<' if sign.type.startswith('<') else '>'} {_word(target)}"


def _word(node: "Node") -> Word:
    """Return a word without its quotes, up to the first part that is known only at run time."""
    text = (node.text or b"").decode(errors="replace").replace(HOLE, "")
    opens = None if text.startswith("'") else _OPENING.search(text)
    return Word(_QUOTING.sub(r"\1", text[: opens.start()] if opens else text), open=opens is not None)


def _of_words(words: Sequence[Word], depth: int) -> Iterator[str]:
    """Yield a command. If it runs others, also yield everything these could be: what follows each of its words."""
    yield " ".join(map(str, words))
    if not words or not runs_others(words):
        return
    for at, word in enumerate(words[1:_MAX_WORDS], 1):
        yield " ".join(map(str, words[at:]))
        if " " in word.text:
            yield from _hints(_OPTION.sub("", word.text), depth + 1)
