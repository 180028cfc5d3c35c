"""Paths that git's settings name.

Commands must not change those that are in the workspace: see `sandbox.protected_paths`.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from deskmate.core.values import frozen
from deskmate.fs.safe_files import read_regular

_MAX_BYTES = 1_000_000
_MAX_FILES = 20
_MAX_CACHED = 200
_INCLUDES = frozenset({"include", "includeif"})
# The last part of keys whose value is a program, or a command with its arguments.
# fmt: off
_PROGRAMS = frozenset({
    "askpass", "clean", "cmd", "command", "defaultkeycommand", "difffilter", "driver", "editor", "external",
    "fsmonitor", "gitproxy", "helper", "pager", "path", "process", "program", "receivepack", "smudge",
    "sshcommand", "templatedir", "textconv", "uploadpack",
})
# fmt: on
_HOOKS = ("core", "hookspath")
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(=?)")
_WORD = re.compile(r"[^\s;&|<>()'\"`$]+")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


@frozen
class Setting:
    """One line of git's settings: section and key in lower case, without the subsection."""

    section: str
    key: str
    value: str


@frozen
class Named:
    """A path that settings name. `is_folder`: whether git reads it as a folder, or None if it may be either."""

    path: Path
    is_folder: bool | None


def named_paths(files: list[Path], top: Path, environ: Mapping[str, str]) -> Iterator[Named]:
    """Yield everything that git would run or obey because of these settings files and the files they include.

    `top`: the folder of the checkout, where git runs programs.
    """
    todo, seen = list(files), set[Path]()
    while todo and len(seen) < _MAX_FILES:
        file = todo.pop()
        if file in seen:
            continue
        seen.add(file)
        for setting in settings(file):
            if setting.section in _INCLUDES and setting.key == "path":
                included = _resolved(setting.value, file.parent, environ)
                todo.append(included)
                yield Named(included, is_folder=False)
            elif (setting.section, setting.key) == _HOOKS:
                yield Named(_resolved(setting.value, top, environ), is_folder=True)
            else:
                yield from (Named(_resolved(word, top, environ), is_folder=None) for word in _program_words(setting))


def _program_words(setting: Setting) -> Iterator[str]:
    """Yield the words of a command that may be files of the checkout: paths, and arguments with an extension."""
    command = setting.value
    if setting.section == "alias":
        # Without a `!`, an alias is one of git's own commands.
        command = command[1:] if command.startswith("!") else ""
    elif setting.key not in _PROGRAMS and setting.section != "pager":
        command = ""
    for number, word in enumerate(_WORD.findall(command)):
        if "/" in word or (number and "." in word):
            yield word


def _resolved(text: str, base: Path, environ: Mapping[str, str]) -> Path:
    if text.startswith("~/"):
        text = environ.get("HOME", "/") + text[1:]
    return Path(os.path.normpath(base / text))


_CACHE: dict[Path, tuple[tuple[int, ...], tuple[Setting, ...]]] = {}


def settings(file: Path) -> tuple[Setting, ...]:
    """Return the settings in a file, or nothing if it cannot be read."""
    with suppress(OSError, ValueError):
        found = os.stat(file)
        stamp = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        known = _CACHE.get(file)
        if known is None or known[0] != stamp:
            text = read_regular(os.path.realpath(file), _MAX_BYTES).decode(errors="surrogateescape")
            known = stamp, tuple(_parsed(text))
            if len(_CACHE) < _MAX_CACHED:
                _CACHE[file] = known
        return known[1]
    return ()


def _parsed(text: str) -> Iterator[Setting]:
    """Yield the settings in a text. What git would not understand is skipped."""
    section = ""
    lines = iter(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"))
    for line in lines:
        rest = line.lstrip()
        while found := _SECTION.match(rest):
            section, rest = found[1].partition(".")[0].lower(), rest[found.end() :].lstrip()
        found = _KEY.match(rest)
        if not found or not section:
            continue
        value, more = _value(rest[found.end() :])
        while more:
            tail, more = _value(next(lines, ""))
            value += tail
        if found[2]:
            yield Setting(section, found[1].lower(), value.strip())


def _value(text: str) -> tuple[str, bool]:
    """Return the value of a line after its `=`, and whether the next line continues it."""
    value, quoted, at = "", False, 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            if at + 1 == len(text):
                return value, True
            at += 1
            value += _ESCAPES.get(text[at], text[at])
        elif char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            break
        else:
            value += char
        at += 1
    return value, False
