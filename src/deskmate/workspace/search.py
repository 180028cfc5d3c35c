"""Finding files, and the command that searches them."""

import heapq
import os
import re
import stat
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from anyio import from_thread

from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.workspace.globs import GlobPattern, alternatives
from deskmate.workspace.paths import Outside, is_ours, resolved

MAX_FOUND = 1000
MAX_DEPTH = 100
_GIT = ".git"
_HIT = re.compile(rb"(?:\./)?(?P<path>[^\0]+)\0(?P<line>\d+):(?P<offset>\d+):(?P<text>[^\n]*)\n?")
# Ends with 1 if grep knows -P: it finds nothing.
PERL_CHECK = ("grep", "-qP", "x", os.devnull)
_ESCAPE = re.compile(r"\\.")
_ESCAPE_OR_SET = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")
# What ripgrep prints instead of the rest of a long line.
_CUT = re.compile(rb" \[\.\.\. (?:omitted end of long line|\d+ more match(?:es)?)\]$")


class Found:
    """The matching files, most recently changed first, up to a maximum.

    Git's list can be added as it arrives (`add`): names, each followed by a zero byte.
    """

    def __init__(self, root: Path, pattern: str) -> None:
        self.heard = False
        self._root, self._glob = root, GlobPattern(_relative(root, pattern))
        self._latest: list[tuple[int, str]] = []
        self._cut = b""
        self._folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def add(self, data: bytes) -> bool:
        """Add some names. The last one may be incomplete."""
        self.heard = True
        *names, self._cut = (self._cut + data).split(b"\0")
        for name in names:
            self._offer_listed(os.fsdecode(name).rstrip("/"))
        return True

    def walk(self, top: str = "") -> None:
        """Look at all files below a folder. Run it in a thread. It checks for cancellation at every folder."""
        for path, folders, names, fd in os.fwalk(top or ".", dir_fd=self._folder):
            from_thread.check_cancelled()
            parts = [part for part in path.split("/") if part != "."]
            folders[:] = [name for name in folders if self._enters([*parts, name])]
            for name in names:
                self._offer([*parts, name], fd)

    def paths(self) -> list[str]:
        """Return the files. A name that is not UTF-8 has replacement characters.

        Each is resolved again without leaving the root, because the program that listed them followed paths by itself.
        """
        return [shown_name(path) for _, path in sorted(self._latest, key=_order) if self._leads_to_file(path)]

    def close(self) -> None:
        """Close the root folder."""
        os.close(self._folder)

    def _enters(self, parts: Sequence[str]) -> bool:
        return len(parts) < MAX_DEPTH and not _is_skipped(parts) and self._glob.reaches(parts)

    def _offer_listed(self, path: str) -> None:
        """Add a file that git lists. A folder is a nested repository, whose files git does not list."""
        parts = path.split("/")
        # Git never prints such a name, but a program that pretends to be git may.
        if not {"", ".", ".."}.isdisjoint(parts):
            return
        try:
            mode = os.stat(path, dir_fd=self._folder, follow_symlinks=False).st_mode
        except OSError:
            return
        if stat.S_ISDIR(mode):
            if self._enters(parts):
                self.walk(path)
        else:
            self._offer(parts, None)

    def _offer(self, parts: list[str], folder: int | None) -> None:
        """Add a file if it matches. `folder`: its folder, if that is open."""
        if _is_skipped(parts) or not self._glob.matches(parts):
            return
        path = "/".join(parts)
        name, fd = (path, self._folder) if folder is None else (parts[-1], folder)
        try:
            found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except OSError:
            # It was removed meanwhile.
            return
        if stat.S_ISREG(found.st_mode) or (stat.S_ISLNK(found.st_mode) and self._leads_to_file(path)):
            (heapq.heappush if len(self._latest) < MAX_FOUND else heapq.heappushpop)(
                self._latest, (found.st_mtime_ns, path)
            )

    def _leads_to_file(self, link: str) -> bool:
        try:
            with resolved(self._root, link) as place:
                if place.ours or len(place.rest) != 1:
                    return False
                return stat.S_ISREG(os.stat(place.rest[0], dir_fd=place.folder, follow_symlinks=False).st_mode)
        except ToolError:
            return False


def shown_name(path: str) -> str:
    """Return a path as text, whatever bytes its names have."""
    return os.fsencode(path).decode("utf-8", "replace")


def _order(found: tuple[int, str]) -> tuple[int, str]:
    return -found[0], found[1]


def _is_skipped(parts: Sequence[str]) -> bool:
    return _GIT in parts or is_ours(parts[0])


def _relative(root: Path, pattern: str) -> str:
    """Return a pattern relative to the root. It may begin with the absolute path of the root."""
    if not pattern.strip("/. "):
        raise ToolError("This pattern matches nothing. Write one like **/*.py.")
    if not pattern.startswith("/"):
        return pattern
    above = root.parts[1:]
    parts = tuple(part for part in pattern.split("/") if part)
    if parts[: len(above)] != above:
        raise Outside(f"This pattern leads outside the workspace. Write it relative to {root}.")
    return "/".join(parts[len(above) :])


def listing_words(git: str) -> list[str]:
    """Return the command that lists what git does not ignore. It runs nothing that the repository configures."""
    return [git, "-c", "core.fsmonitor=false", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]


def searching_words(
    rg: str | None, pattern: str, file: str, glob: str, paths: Sequence[str], *, perl: bool = False
) -> list[str]:
    """Return the command that searches these paths. It prints what `hits_by_file` reads.

    `file`: where it reads the pattern from. A pattern of several lines would be several patterns there. `perl`: whether
    grep knows the option -P, see `PERL_CHECK`.
    """
    several = not {"\n", "\r"}.isdisjoint(pattern)
    # With -P, grep takes only one pattern.
    words = _by_rg(rg, glob) if rg else list(_by_grep(glob, perl=perl and not several))
    what = ["-e", pattern] if several else [f"--file={file}"]
    return [*words, *what, "--", *paths]


def with_plain_digits(pattern: str) -> str:
    """Return a pattern for a grep without -P, which does not know `\\d` and `\\D`."""
    return _ESCAPE_OR_SET.sub(lambda found: _plain_digits(found[0]), pattern)


def _plain_digits(part: str) -> str:
    if part.startswith("["):
        return _ESCAPE.sub(lambda found: "0-9" if found[0] == r"\d" else found[0], part)
    return {r"\d": "[0-9]", r"\D": "[^0-9]"}.get(part, part)


@frozen
class Hit:
    """A line that a search printed: its number, its byte offset in the file, and its text."""

    line: int
    offset: int
    text: bytes

    @property
    def shown(self) -> str:
        """The text, decoded."""
        return self.text.decode("utf-8", "replace")

    def stands_in(self, fd: int) -> bool:
        """Tell whether an open file has this text at this offset. Ripgrep does not count a byte order mark."""
        text = _CUT.sub(b"", self.text)
        mark = len(BOM_UTF8) if os.pread(fd, len(BOM_UTF8), 0) == BOM_UTF8 else 0
        return any(os.pread(fd, len(text), self.offset + skipped) == text for skipped in {0, mark})


def hits_by_file(printed: bytes) -> Iterator[tuple[str, list[Hit]]]:
    """Yield the files of a search in order, each with its complete lines."""
    found = [(os.fsdecode(hit["path"]), hit) for hit in _HIT.finditer(printed)]
    for path, hits in groupby(found, key=itemgetter(0)):
        yield path, [Hit(int(hit["line"]), int(hit["offset"]), hit["text"]) for _, hit in hits]


def _by_rg(rg: str, glob: str) -> list[str]:
    words = [rg, "--line-number", "--no-heading", "--color=never", "--with-filename", "--hidden", "--no-messages"]
    words += ["--null", "--byte-offset"]
    words += ["--max-columns=500", "--max-columns-preview"]
    # The last matching glob counts, so our folders are always left out.
    globs = [*([glob] if glob else []), "!.git", "!/.teams", "!/.tasks"]
    return [*words, *(f"--glob={one}" for one in globs)]


def _by_grep(glob: str, *, perl: bool) -> Iterator[str]:
    if "/" in glob:
        raise ToolError("Without ripgrep, glob can only name files, like *.py. Name the folder in path.")
    yield from (
        "grep",
        "-rnbHIPs" if perl else "-rnbHIEs",
        "--null",
        "--color=never",
        "--exclude-dir=.git",
        "--exclude-dir=.teams",
        "--exclude-dir=.tasks",
    )
    if glob:
        yield from (f"--include={one}" for one in alternatives(glob))
