"""Text files in a typed text: `@src/app.py` or `@"my notes.txt"`. They are attached to a message to the lead.

A word with `@` that names no file of the workspace stays a word, and so does the name of a member.
"""

import os.path
import re
from collections.abc import Container, Iterator
from pathlib import Path

from deskmate.faces.common.mentions.image_paths import is_image

# At the beginning or after a space. `@@` is a sign that is meant as itself.
_MENTION = re.compile(
    r"""(?:^|(?<=\s))@(?!@)(?:"(?P<double>[^"\n]+)" | '(?P<single>[^'\n]+)' | (?P<bare>(?:\\.|[^\s\\])+))""",
    re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)")
_PUNCTUATION = ",.:;?!)"


def files_in(text: str, workspace: Path, names: Container[str]) -> tuple[str, ...]:
    """Return the files that a text mentions, each once. `names`: words that mean somebody."""
    return tuple(dict.fromkeys(path for _, path in _mentioned(text, workspace, names)))


def begins_with_file(text: str, workspace: Path, names: Container[str]) -> bool:
    """Return whether a text begins with a file, and so not with the name of a member."""
    return any(start == 0 for start, _ in _mentioned(text, workspace, names))


def _mentioned(text: str, workspace: Path, names: Container[str]) -> Iterator[tuple[int, str]]:
    for found in _MENTION.finditer(text):
        bare = _ESCAPED.sub(r"\1", found["bare"] or "")
        typed = [found["double"] or found["single"]] if not bare else [bare, bare.rstrip(_PUNCTUATION)]
        path = next((one for one in typed if one and _is_file(workspace, one)), None)
        if path is not None and path not in names and not is_image(path):
            yield found.start(), path


def _is_file(workspace: Path, path: str) -> bool:
    try:
        return os.path.isfile(workspace / path)
    except ValueError:
        # A name with a zero byte is no path.
        return False
