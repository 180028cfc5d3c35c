r"""Images in a typed text: `@shot.png`, or a path as a terminal inserts it for a dropped file.

Terminals put such a path in quotes, write a backslash before each space, or write a `file://` address. A path without
`@` must be absolute and that of a file, so that words about a file that does not exist stay words.
"""

import os.path
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from deskmate.errors import Refused

_SUFFIX = r"\.(?:png|jpe?g|gif|webp)"
_IS_IMAGE = re.compile(rf".*{_SUFFIX}", re.IGNORECASE | re.DOTALL)
# A word, or a path in quotes, at the beginning or after a space. `@@` is a sign that is meant as itself.
_WORD = re.compile(
    rf"""(?:^|(?<=\s))(?P<sign>@(?!@))?
    (?:"(?P<double>[^"\n]+{_SUFFIX})" | '(?P<single>[^'\n]+{_SUFFIX})' | (?P<bare>(?:\\.|[^\s\\])+))""",
    re.IGNORECASE | re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)")
_PUNCTUATION = ",.:;?!)"
# Characters that would end a path or change it if they were typed as they are.
_SPECIAL = re.compile(r"""([\s"'\\])""")


class _Named(NamedTuple):
    start: int
    path: Path


def is_image(path: str) -> bool:
    """Return whether a path ends like that of an image."""
    return _IS_IMAGE.fullmatch(path) is not None


def images_in(text: str, workspace: Path) -> tuple[Path, ...]:
    """Return the images that a text names, each once. Raises Refused if one that is named with `@` is not there."""
    found = [path for _, path in _named(text, workspace)]
    for path in found:
        if not os.path.isfile(path):
            raise Refused(f"There is no image {path}", "Check the path. To write about it only, leave out the @.")
    return tuple(dict.fromkeys(found))


def begins_with_image(text: str, workspace: Path) -> bool:
    """Return whether a text begins with an image, and so with neither a command nor the name of a member."""
    return any(start == 0 for start, _ in _named(text, workspace))


def as_mention(pasted: str) -> str | None:
    """Return a pasted text as the mention of an image, or None if it is anything but the path of one."""
    text = pasted.strip()
    named = list(_named(text, Path("/"), whole=True))
    return mention_of(str(named[0].path)) if named and os.path.isfile(named[0].path) else None


def mention_of(path: str) -> str:
    """Return what to type for a file."""
    if not _SPECIAL.search(path):
        return f"@{path}"
    return f'@"{path}"' if '"' not in path and "\n" not in path else "@" + _SPECIAL.sub(r"\\\1", path)


def _named(text: str, workspace: Path, *, whole: bool = False) -> Iterator[_Named]:
    """Yield the images that a text names. `whole`: only one that is all of the text."""
    if path := _whole_path(text):
        yield _Named(0, path)
        return
    for word in _WORD.finditer(text):
        typed = word["double"] or word["single"]
        if typed is None:
            typed = _ESCAPED.sub(r"\1", word["bare"].rstrip(_PUNCTUATION))
        if not is_image(typed) or (whole and word.span() != (0, len(text))):
            continue
        path = _path(typed)
        if word["sign"] or (path.is_absolute() and os.path.isfile(path)):
            yield _Named(word.start(), workspace / path)


def _whole_path(text: str) -> Path | None:
    """Return the absolute path that a whole text is, spaces included, if it is that of an image."""
    if not is_image(text) or "\n" in text:
        return None
    path = _path(text)
    return path if path.is_absolute() and os.path.isfile(path) else None


def _path(typed: str) -> Path:
    if typed.lower().startswith("file://"):
        return Path(unquote(urlsplit(typed).path))
    return Path(os.path.expanduser(typed))
