"""What a menu offers for the word that is being typed: commands after `/`, members and files after `@`.

`word_at` finds the word, `command_completions` and `mention_completions` say what fits. Faces show it and insert the
chosen one. A file keeps the sign, because it is sent with the message.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deskmate.core.log.names import ALL
from deskmate.faces.common.chat.chat_commands import COMMANDS, command_named
from deskmate.faces.common.mentions.image_paths import mention_of

OFFERED = 50
# As many as `find` returns. If it returns fewer, there are no others.
_LISTED = 1000
_EVERY_FILE = "{**/*,**/.*,.*/**/*,.*/**/.*}"
# A word that begins with `@`, at the beginning or after a space. `@@` is a sign that is meant as itself.
_MENTION = re.compile(r"(?:^|(?<=\s))@(?!@)\S*$")


@dataclass(frozen=True, slots=True)
class TypedWord:
    """The word that is being typed. `start`: where it begins in the text. `sign`: what it begins with."""

    start: int
    sign: str
    rest: str


@dataclass(frozen=True, slots=True)
class Completion:
    """Something to insert for a typed word. `name`: as a menu shows it. `complete`: Enter may send it as it is."""

    name: str
    insert: str
    about: str = ""
    complete: bool = False


def word_at(before: str) -> TypedWord | None:
    """Return the word that ends a text, if it is a command or a mention. `before`: the text before the cursor."""
    if re.fullmatch(r"/(?!/)\S*", before):
        return TypedWord(0, "/", before[1:])
    found = _MENTION.search(before)
    return TypedWord(found.start(), "@", found.group()[1:]) if found else None


def command_completions(typed: str, custom: Iterable[tuple[str, str, str]] = ()) -> list[Completion]:
    """Return the commands that fit, those that begin with the typed letters first.

    `custom`: name, usage and description of the commands from files.
    """
    found = [
        Completion(command.usage, f"/{name}{' ' if command.most != 0 else ''}", command.about, not command.least)
        for name, command in COMMANDS.items()
    ]
    found += [Completion(usage, f"/{name} ", about, True) for name, usage, about in custom]
    return _ranked(typed, found, lambda one: one.insert[1:].strip())


def mention_completions(typed: str, members: Iterable[tuple[str, str]], files: Sequence[str]) -> list[Completion]:
    """Return the members and files that fit. `members`: names and what each is."""
    everyone = [*members, (ALL, "everybody on the team")]
    people = [Completion(f"@{name}", f"@{name} ", about) for name, about in everyone]
    found = _ranked(typed, people, lambda one: one.name[1:])
    return [*found, *file_completions(typed, files)]


def file_completions(typed: str, files: Sequence[str]) -> list[Completion]:
    """Return the files that fit."""
    return _ranked(typed, [Completion(path, f"{mention_of(path)} ") for path in files], lambda one: one.name)


def is_path(workspace: Path, name: str) -> bool:
    """Return whether a mentioned name is that of something in the workspace."""
    try:
        return (workspace / name.rstrip(",.:;?!")).exists()
    except (OSError, ValueError):
        # A name that is too long or has a zero byte is not a path.
        return False


def begins_with_path(text: str) -> bool:
    """Return whether a text begins with an absolute path, such as one that was pasted, and not with a command."""
    word = text.split(None, 1)[0] if text.startswith("/") else ""
    if len(word) < 2 or word.startswith("//") or command_named(word[1:]):
        return False
    return "/" in word[1:] or is_path(Path("/"), word)


def _ranked(typed: str, found: Sequence[Completion], key: Callable[[Completion], str]) -> list[Completion]:
    """Return what fits, best first. The order given decides among equals."""
    if not typed:
        return list(found[:OFFERED])
    wanted = typed.lower()
    # In a look-ahead, so that matches may overlap and the shortest one is found.
    letters = re.compile(f"(?=({'.*?'.join(map(re.escape, wanted))}))", re.DOTALL)

    def score(one: Completion) -> float:
        name = key(one).lower()
        shortest = min((len(found[1]) for found in letters.finditer(name)), default=0)
        if not shortest:
            return 0
        base = name.rpartition("/")[2]
        # What the name begins with counts more than letters anywhere in it, and those close together more than others.
        begins = 4 * (name == wanted) + 2 * (name.startswith(wanted) or base.startswith(wanted)) + (wanted in base)
        return begins + len(wanted) / shortest

    scored = [(value, one) for one in found if (value := score(one)) > 0]
    return [one for _, one in sorted(scored, key=lambda pair: -pair[0])[:OFFERED]]


class FileList:
    """The files that can be mentioned. `find`: returns the files that a glob pattern matches, newest change first."""

    def __init__(self, find: Callable[[str], Awaitable[list[str]]]) -> None:
        self._find = find
        self._every: list[str] = []
        self._partial = False

    async def load(self) -> list[str]:
        """Read the list again and return it. Raises ToolError if the files cannot be listed."""
        self._every = await self._find(_EVERY_FILE)
        self._partial = len(self._every) >= _LISTED
        return self._every

    async def like(self, typed: str) -> list[str]:
        """Return the files that may fit. In a large folder, those whose name contains the typed letters come first."""
        name = typed.rpartition("/")[2]
        if not self._partial or not name:
            return self._every
        # Anything but a letter or a digit could have a meaning in a pattern.
        letters = "".join(f"[{one.lower()}{one.upper()}]" if one.isalnum() else "?" for one in name)
        return list(dict.fromkeys([*await self._find(f"**/*{letters}*"), *self._every]))
