"""Git watch: what a command leaves in git's folder that would make the user's own git do harm.

New links and special files are removed, wherever they lead: git follows them when it writes. An index with names that
lead out of the checkout is set aside, and so is a list of conflicts with such names: git writes and reads there. What
may be meant, as a lock file, a rebase or a repository within the workspace, is told. `confined` and `command` above
have one for each command; `git_entries` and `git_lists` below find and remove.
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
from deskmate.workspaces.git_lists import Lists, linked
from deskmate.workspaces.guards import HEAD, GitFolder, git_folder, submodules
from deskmate.workspaces.paths import shown
from deskmate.workspaces.private import read_regular

log = logging.getLogger(__name__)

_IN_PROGRESS = {"rebase-merge": "rebase", "rebase-apply": "rebase", "sequencer": "cherry-pick or revert"}
_TODO_BYTES = 1_000_000
# What git runs when it goes on with one of these: exec lines, and the program for a strategy, by a path if it has a
# slash.
_RUN = {
    "rebase-merge/git-rebase-todo": re.compile(rb"^\s*(?:x|exec)\s.*$", re.MULTILINE),
    "rebase-merge/strategy": re.compile(rb"^.*/.*$", re.MULTILINE),
    "sequencer/opts": re.compile(rb"^.*strategy.*/.*$", re.MULTILINE),
}
_ALTERNATES = "objects/info/alternates"
# With core.preferSymlinkRefs, git itself makes HEAD such a link when it switches to another branch.
_BRANCH = re.compile(r"refs/heads/(?!.*\.\.)[^\0]+")
_MAX_TOP = 300
# A socket is where a program of git's own may listen; it is removed at the end, and no reason to end a command.
_ENDING = frozenset({Kind.LINK, Kind.PIPE, Kind.DEVICE})


def _planted(found: Entries, known: Entries) -> Entries:
    """Return what was not known of all that is found, and must not stay."""
    return {
        path: entry
        for path, entry in found.items()
        if entry.kind != Kind.LOCK and entry != known.get(path) and not _is_branch(path, entry, known.get(path))
    }


def _is_branch(path: str, entry: Entry, before: Entry | None) -> bool:
    is_head = path.rpartition("/")[2] == HEAD and before is not None and before.kind == Kind.LINK
    return is_head and entry.kind == Kind.LINK and _BRANCH.fullmatch(entry.target) is not None


def remove_planted(folder: str, known: Entries) -> list[str]:
    """Remove what must not stay in git's folder; return a sentence for the user, if there was any."""
    removed = _removed(folder, _planted(scan(folder), known))
    git = GitFolder(Path(folder), Path(folder))
    return [*removed, *Lists(git.path.parent).after(git)]


def _removed(folder: str, found: Entries) -> list[str]:
    gone, left = list[str](), list[str]()
    for path, entry in found.items():
        (gone if remove(folder, path, entry) else left).append(told(folder, path, entry))
    return [
        *([f"removed {together(gone)}. Your own git would have written or waited there."] if gone else []),
        *([f"could not remove {together(left)}. Remove it before you use git here."] if left else []),
    ]


def refuse_outward(folder: str, found: Entries) -> Entries:
    """Return what was found in git's folder before a command; raise ToolError where a link leads out of it."""
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
    """What of a repository is only told when a command changes it."""

    has_head: bool
    in_progress: frozenset[str]
    steps: frozenset[tuple[str, bytes]]
    within: frozenset[str]
    alternates: bytes


class Watch:
    """Git's folder of one workspace, watched while one command runs.

    `known`: what was in it before. `is_last`: tells whether no other command runs there.
    """

    def __init__(self, root: Path, git: GitFolder | None, known: Entries, is_last: Callable[[], bool]) -> None:
        self._root, self._git, self._known, self._is_last = root, git, known, is_last
        self._told = list[str]()
        self._finished = False
        self._lists = Lists(root)
        self._tell(self._lists.before(git) if git else ())
        self._before = _state(root, git) if git else None

    @property
    def told(self) -> tuple[str, ...]:
        """What the user and the model are told, a sentence each."""
        return tuple(self._told)

    def look(self) -> bool:
        """Remove what must not stay; tell whether the command is to be ended for it."""
        if (folder := self._folder()) is None:
            return False
        # What cannot be told now is told by the next look, or at the end.
        with suppress(OSError):
            found = {path: one for path, one in _planted(scan(folder), self._known).items() if one.kind in _ENDING}
            self._tell(f"in git's folder, {sentence}" for sentence in _removed(folder, found))
            self._tell(self._lists.during(self._git) if self._git else ())
            return bool(found)
        return False

    def finish(self) -> None:
        """Look once more, when all that the command started is gone, and tell what it left. The first call does it."""
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
        if git := self._git or git_folder(self._root):
            self._tell(self._lists.after(git))
        if self._git and self._before:
            self._tell(_changes(self._git, self._before, _state(self._root, self._git)))
        self._tell(self._locks(folder, found))

    def _folder(self) -> str | None:
        """Return git's folder, also one that the command itself has made."""
        git = self._git or git_folder(self._root)
        return str(git.path) if git else None

    def _locks(self, folder: str, found: Entries) -> Iterator[str]:
        locks = [path for path, entry in found.items() if entry.kind == Kind.LOCK and path not in self._known]
        # Of several commands, another may be at work with it.
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
        frozenset(name for name in _IN_PROGRESS if os.path.lexists(checkout / name)),
        frozenset((name, step) for name, pattern in _RUN.items() for step in _steps(checkout / name, pattern)),
        frozenset({*linked(git), *_repositories_at_top(root), *_module_names(git.path)}),
        _small(git.path / _ALTERNATES),
    )


def _changes(git: GitFolder, before: _State, after: _State) -> Iterator[str]:
    if before.has_head and not after.has_head:
        place = str(git.checkout / HEAD)
        yield (
            f"{shown(place)} is gone, so that git finds no repository here. "
            f"If it was on branch main, restore it with: echo 'ref: refs/heads/main' > {shown(_quoted(place))}"
        )
    for name in sorted(after.in_progress - before.in_progress):
        place = shown(str(git.checkout / name))
        yield f"a {_IN_PROGRESS[name]} is in progress: look at {place} before you continue it."
    for name in sorted({name for name, _ in after.steps - before.steps}):
        yield f"{shown(str(git.checkout / name))} has new exec lines or programs, which git would run to continue."
    if after.alternates not in (b"", before.alternates):
        yield (
            f"{shown(str(git.path / _ALTERNATES))} was changed, so that git reads another repository and its settings. "
            "Look at it before you use git."
        )
    if new := sorted(after.within - before.within):
        yield (
            f"new repositories within this one: {together([shown(path) for path in new])}. "
            "Git obeys their settings and hooks, even for a plain git status once one is added. Look at them first."
        )


def _steps(file: Path, pattern: re.Pattern[bytes]) -> list[bytes]:
    return pattern.findall(_small(file))


def _small(file: Path) -> bytes:
    """Return what a file of git's says, nothing if there is none; what cannot be read counts as a program to run."""
    try:
        return read_regular(file, _TODO_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError:
        return b"exec strategy /"


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
