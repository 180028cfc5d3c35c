"""Git watch: what a command leaves in git's folder that would make the user's own git do harm.

New links and special files are removed, wherever they lead: git follows them when it writes. What may be intended, such
as a lock file, a rebase or a repository within the workspace, is only reported. `confined` and `command` above have one
for each command; `git_entries` below finds and removes.
"""

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from deskmate.errors import ToolError
from deskmate.workspaces.git_entries import Entries, Entry, Kind, leads_out, remove, scan, together, told
from deskmate.workspaces.git_index import gitlinks, read_index
from deskmate.workspaces.guards import HEAD, GitFolder, git_folder, submodules
from deskmate.workspaces.paths import shown
from deskmate.workspaces.private import read_regular

log = logging.getLogger(__name__)

_REBASES = ("rebase-merge", "rebase-apply")
_TODO = "rebase-merge/git-rebase-todo"
_TODO_BYTES = 1_000_000
_EXEC = re.compile(rb"^\s*(?:x|exec)\s.*$", re.MULTILINE)
# With core.preferSymlinkRefs, git itself makes HEAD such a link when it switches to another branch.
_BRANCH = re.compile(r"refs/heads/(?!.*\.\.)[^\0]+")
_MAX_TOP, _MAX_SHARED, _MAX_CACHED = 300, 3, 200
# A program of git's own may listen on a socket: it is removed at the end and does not end the command.
_ENDING = frozenset({Kind.LINK, Kind.PIPE, Kind.DEVICE})


def _planted(found: Entries, known: Entries) -> Entries:
    """Return the entries found that were not known before and must not stay."""
    return {
        path: entry
        for path, entry in found.items()
        if entry.kind != Kind.LOCK and entry != known.get(path) and not _is_branch(path, entry, known.get(path))
    }


def _is_branch(path: str, entry: Entry, before: Entry | None) -> bool:
    is_head = path.rpartition("/")[2] == HEAD and before is not None and before.kind == Kind.LINK
    return is_head and entry.kind == Kind.LINK and _BRANCH.fullmatch(entry.target) is not None


def remove_planted(folder: str, known: Entries) -> list[str]:
    """Remove what must not stay in git's folder; return sentences for the user about it."""
    return _removed(folder, _planted(scan(folder), known))


def _removed(folder: str, found: Entries) -> list[str]:
    gone, left = list[str](), list[str]()
    for path, entry in found.items():
        (gone if remove(folder, path, entry) else left).append(told(folder, path, entry))
    return [
        *([f"removed {together(gone)}. Your own git could have written through it or hung on it."] if gone else []),
        *([f"could not remove {together(left)}. Remove it before you use git here."] if left else []),
    ]


def refuse_outward(folder: str, found: Entries) -> Entries:
    """Return what was found in git's folder before a command; raise ToolError if a link leads out of it."""
    for path, entry in found.items():
        if entry.kind == Kind.DEEP or (entry.kind == Kind.LINK and leads_out(folder, path)):
            why = (
                f"No command runs here: git's folder has {told(folder, path, entry)}, and git could write through it "
                f"to a place outside. Ask the user to look at it, and to remove it with: {_removal(folder, path)}"
            )
            log.warning("%s", why)
            raise ToolError(why)
    return found


def _removal(folder: str, path: str) -> str:
    """Return the command by which a user removes something from git's folder, or finds it if its name is odd."""
    place = os.path.join(folder, path).rstrip("/")
    return f"rm -r {_quoted(place)}" if shown(place) == place else f"find {_quoted(shown(folder))} -type l -delete"


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'"


@dataclass(frozen=True, slots=True)
class _State:
    """The parts of a repository that are only reported if a command changes them."""

    has_head: bool
    rebases: frozenset[str]
    steps: frozenset[bytes]
    within: frozenset[str]


class Watch:
    """Git's folder of one workspace, watched while one command runs.

    `known`: what was in it before. `is_last`: tells whether no other command runs there.
    """

    def __init__(self, root: Path, git: GitFolder | None, known: Entries, is_last: Callable[[], bool]) -> None:
        self._root, self._git, self._known, self._is_last = root, git, known, is_last
        self._before = _state(root, git) if git else None
        self._told = list[str]()
        self._finished = False

    @property
    def told(self) -> tuple[str, ...]:
        """What to tell the user and the model, one sentence each."""
        return tuple(self._told)

    def look(self) -> bool:
        """Remove what must not stay; return whether that is a reason to end the command."""
        if (folder := self._folder()) is None:
            return False
        # If the folder cannot be read now, the next check or the last one reports it.
        with suppress(OSError):
            found = {path: one for path, one in _planted(scan(folder), self._known).items() if one.kind in _ENDING}
            self._tell(f"in git's folder, {sentence}" for sentence in _removed(folder, found))
            return bool(found)
        return False

    def finish(self) -> None:
        """Check once more, after the command and its processes are gone, and report the rest. Only once."""
        finished, self._finished = self._finished, True
        if finished or (folder := self._folder()) is None:
            return
        try:
            self._check(folder)
        except OSError as error:
            why = f"{shown(folder)} could not be checked for links: {error.strerror}. Check it before you use git."
            self._tell([why])

    def _check(self, folder: str) -> None:
        found = scan(folder)
        self._tell(f"in git's folder, {sentence}" for sentence in _removed(folder, _planted(found, self._known)))
        if self._git and self._before:
            self._tell(_changes(self._git, self._before, _state(self._root, self._git)))
        self._tell(self._locks(folder, found))

    def _folder(self) -> str | None:
        """Return git's folder, also one that the command itself has made."""
        git = self._git or git_folder(self._root)
        return str(git.path) if git else None

    def _locks(self, folder: str, found: Entries) -> Iterator[str]:
        locks = [path for path, entry in found.items() if entry.kind == Kind.LOCK and path not in self._known]
        # If several commands run, another one may be using the lock.
        if locks and self._is_last():
            places = together([shown(os.path.join(folder, path)) for path in locks])
            yield f"left {places}: git does not work there until it is removed. First make sure that no git is running."

    def _tell(self, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            log.warning("A command in %s: %s", self._root, sentence)
            self._told.append(sentence)


def _state(root: Path, git: GitFolder) -> _State:
    checkout = git.checkout
    return _State(
        os.path.lexists(checkout / HEAD),
        frozenset(name for name in _REBASES if os.path.lexists(checkout / name)),
        _exec_steps(checkout / _TODO),
        frozenset({*_linked(checkout), *_repositories_at_top(root), *_module_names(git.path)}),
    )


def _changes(git: GitFolder, before: _State, after: _State) -> Iterator[str]:
    if before.has_head and not after.has_head:
        place = str(git.checkout / HEAD)
        yield (
            f"{shown(place)} is missing, so git finds no repository here. "
            f"If it was on branch main, restore it with: echo 'ref: refs/heads/main' > {shown(_quoted(place))}"
        )
    for name in sorted(after.rebases - before.rebases):
        yield f"a rebase is in progress: look at {shown(str(git.checkout / name))} before you continue it."
    if after.steps - before.steps:
        yield f"{shown(str(git.checkout / _TODO))} has new exec lines, which git rebase --continue would run."
    if new := sorted(after.within - before.within):
        yield (
            f"new repositories within this one: {together([shown(path) for path in new])}. "
            "Git obeys their settings and hooks, even for a plain git status once one is added. Look at them first."
        )


def _exec_steps(todo: Path) -> frozenset[bytes]:
    try:
        return frozenset(_EXEC.findall(read_regular(todo, _TODO_BYTES)))
    except OSError:
        return frozenset()


_CACHE: dict[str, tuple[tuple[int, ...], frozenset[str]]] = {}


def _linked(checkout: Path) -> Iterator[str]:
    """Yield the repositories that the index names, and the parts that it may be split into."""
    yield from _linked_in(checkout, "index")
    for path in islice(checkout.glob("sharedindex.*"), _MAX_SHARED):
        yield from _linked_in(checkout, path.name)


def _linked_in(checkout: Path, name: str) -> frozenset[str]:
    """Return what one file of the index names; it is read again only once it has changed."""
    file = str(checkout / name)
    try:
        found = os.lstat(file)
        stamp = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        known = _CACHE.get(file)
        if known is None or known[0] != stamp:
            known = stamp, frozenset(map(os.fsdecode, gitlinks(read_index(checkout, name))))
            if len(_CACHE) < _MAX_CACHED:
                _CACHE[file] = known
    except OSError:
        return frozenset()
    return known[1]


def _repositories_at_top(root: Path) -> Iterator[str]:
    """Yield the folders right below the workspace that are repositories; no tree is walked for that."""
    try:
        with os.scandir(root) as entries:
            folders = [entry for entry in islice(entries, _MAX_TOP) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for entry in folders:
        if entry.name != ".git" and os.path.lexists(f"{entry.path}/.git"):
            yield entry.name


def _module_names(git: Path) -> Iterator[str]:
    for module in submodules(git) or ():
        yield str(module)
