"""What a command leaves in git's folder that would make the user's git do harm.

New links and special files are removed, wherever they lead, because git follows them when it writes. An index with
names that lead out of the checkout is set aside, and a list of conflicts with such names is removed, because git reads
and writes there. What may be intended is only reported: a lock file, a rebase, a repository within the workspace.
"""

import logging
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.fs.safe_files import read_regular
from deskmate.workspace.git.git_entries import (
    MAX_ENTRIES,
    MAX_LOCKS,
    Entries,
    Entry,
    EntryKind,
    Size,
    glance,
    leads_out,
    remove,
    scan,
    size_of,
    together,
    told,
)
from deskmate.workspace.git.git_lists import Lists, linked
from deskmate.workspace.git.new_locks import GitFolderUser, left_locks
from deskmate.workspace.git.repositories import (
    GIT,
    HEAD,
    GitFolder,
    git_folder,
    is_git_folder,
    repositories_at_top,
    submodules,
)
from deskmate.workspace.paths import shown

log = logging.getLogger(__name__)

_IN_PROGRESS = {"rebase-merge": "rebase", "rebase-apply": "rebase", "sequencer": "cherry-pick or revert"}
_TODO_BYTES = 1_000_000
# What git runs when it continues one of these: exec lines, and the program for a merge strategy, which is a path if it
# has a slash.
_RUN = {
    "rebase-merge/git-rebase-todo": re.compile(rb"^\s*(?:x|exec)\s.*$", re.MULTILINE),
    "rebase-merge/strategy": re.compile(rb"^.*/.*$", re.MULTILINE),
    "sequencer/opts": re.compile(rb"^.*strategy.*/.*$", re.MULTILINE),
}
_ALTERNATES = "objects/info/alternates"
# With core.preferSymlinkRefs, git itself makes HEAD such a link when it switches to another branch.
_BRANCH = re.compile(r"refs/heads/(?!.*\.\.)[^\0]+")
_MAX_POINTERS, _POINTER_BYTES = 1000, 4096
# One of git's own programs may listen on a socket. It is removed at the end, but does not end a command.
_ENDING = frozenset({EntryKind.LINK, EntryKind.PIPE, EntryKind.DEVICE})
# This many new folders are reported, and this many new folders or entries end a command: they slow every check.
_TOLD_FOLDERS, _ENDING_FOLDERS, _ENDING_ENTRIES = 5_000, 20_000, 1_000_000
# Folders that git itself makes. A user who removes one of these would destroy the repository.
_OF_GIT = frozenset({"hooks", "info", "lfs", "logs", "modules", "objects", "refs", "rr-cache", "worktrees"})
_MAX_COMMAND = 1000


def _planted(found: Entries, known: Entries) -> Entries:
    """Return the entries that are new and must not stay."""
    return {
        path: entry
        for path, entry in found.items()
        if entry.kind != EntryKind.LOCK and entry != known.get(path) and not _is_branch(path, entry, known.get(path))
    }


def _is_branch(path: str, entry: Entry, before: Entry | None) -> bool:
    is_head = path.rpartition("/")[2] == HEAD and before is not None and before.kind == EntryKind.LINK
    return is_head and entry.kind == EntryKind.LINK and _BRANCH.fullmatch(entry.target) is not None


def remove_planted(folder: str, known: Entries, found: Entries | None = None) -> list[str]:
    """Remove what must not stay of what was `found` in git's folder. Return sentences for the user.

    A scan finds only a limited number of entries. If there may be more, the folder is scanned again.
    """
    found = scan(folder) if found is None else found
    gone, left = _removed(folder, _planted(found, known))
    more = gone
    while len(found) >= MAX_ENTRIES and more:
        found = scan(folder)
        more, left = _removed(folder, _planted(found, known))
        gone += more
    return _sentences(gone, left)


def remove_left(folder: str, known: Entries) -> list[str]:
    """Remove what a command left in and beside git's folder when Deskmate was killed. Return sentences for the user."""
    root = Path(folder).parent
    # Nobody keeps a git folder right beside its `.git`.
    top = _disarm(root) if os.path.basename(folder) == GIT and is_git_folder(root) else []
    git = GitFolder(Path(folder), Path(folder))
    return [*remove_planted(folder, known), *Lists(root).after(git), *top]


def _disarm(root: Path) -> list[str]:
    """Keep git from taking the top of a workspace for its own folder. Return a sentence for the user."""
    aside = root / f"{HEAD}.deskmate-removed"
    os.replace(root / HEAD, aside)
    renamed = f"Deskmate renamed HEAD at the top of the workspace to {shown(str(aside))}."
    return [f"{renamed} With it, git could have taken the workspace for its own folder and obeyed its config."]


def _removed(folder: str, found: Entries) -> tuple[list[str], list[str]]:
    """Remove entries from git's folder. Return descriptions of those that are gone, and of those that are left."""
    gone, left = list[str](), list[str]()
    for path, entry in found.items():
        (gone if remove(folder, path, entry) else left).append(told(folder, path, entry))
    return gone, left


def _sentences(gone: list[str], left: list[str]) -> list[str]:
    told = list[str]()
    if gone:
        why = "Your own git could have written through it or hung on it."
        told.append(f"Deskmate removed {together(gone)} from git's folder. {why}")
    if left:
        told.append(f"Deskmate could not remove {together(left)} from git's folder. Remove it before you use git here.")
    return told


def refuse_outward(folder: str, found: Entries) -> Entries:
    """Return what was found in git's folder before a command. Raises ToolError if a link leads out of it."""
    for path, entry in found.items():
        if entry.kind == EntryKind.DEEP or (entry.kind == EntryKind.LINK and leads_out(folder, path)):
            how = _removal(folder, path, entry)
            why = (
                f"No command runs here: git's folder has {told(folder, path, entry)}, and git could write through it "
                f"to a place outside. Ask the user to look at it, and to remove it with: {how}"
            )
            log.warning("%s", why)
            raise ToolError(why)
    return found


def _removal(folder: str, path: str, entry: Entry) -> str:
    """Return the command with which a user removes an entry from git's folder, by inode if its name is unusual."""
    if entry.kind == EntryKind.DEEP:
        path = _top_of(path)
    place = os.path.join(folder, path).rstrip("/")
    if place.isprintable() and len(place) <= _MAX_COMMAND:
        name = _quoted(place)
        return f"chmod -R u+rwx {name} && rm -rf {name}" if entry.kind == EntryKind.DEEP else f"rm -r {name}"
    how = "-exec chmod -R u+rwx {} + -exec rm -rf {} +" if entry.kind == EntryKind.DEEP else "-delete"
    kind = "d" if entry.kind == EntryKind.DEEP else "l"
    return f"find {_quoted(shown(folder))} -type {kind} -inum {_number(place)} {how}"


def _top_of(path: str) -> str:
    """Return the folder to remove in order to remove one that is too deep, without anything else that git needs."""
    parts = path.split("/")
    if parts[0] not in _OF_GIT:
        return parts[0]
    while len("/".join(parts)) > _MAX_COMMAND // 2:
        parts.pop()
    return "/".join(parts)


def _number(place: str) -> int:
    """Return the inode number of a path, 0 if it does not exist."""
    try:
        return os.lstat(place).st_ino
    except OSError:
        return 0


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'"


@frozen
class _State:
    """The parts of a repository that are only reported if a command changes them."""

    has_head: bool
    in_progress: frozenset[str]
    steps: frozenset[tuple[str, bytes]]
    within: frozenset[str]
    pointers: Mapping[str, str]
    all_looked_at: bool
    alternates: bytes


class GitWatch:
    """Watches the git folder of one workspace while one command runs.

    `known`: what was in it before. `is_last`: tells whether no other command runs there.
    """

    def __init__(self, root: Path, git: GitFolder | None, known: Entries, is_last: Callable[[], bool]) -> None:
        self._root, self._git, self._known, self._is_last = root, git, known, is_last
        # The caller has just scanned the folder.
        self._size = size_of(str(git.path)) if git else Size()
        self._checks = list[Callable[[], Iterable[str]]]()
        if git and git.path != root and not is_git_folder(root):
            self.also(lambda: _disarm(root) if is_git_folder(root) else [])
        self._told = list[str]()
        self._running = GitFolderUser(git.path if git else None)
        self._lists = Lists(root)
        self._tell(self._lists.before(git) if git else ())
        self._before = _state(root, git) if git else None

    @property
    def told(self) -> tuple[str, ...]:
        """What to tell the user and the model, one sentence each."""
        return tuple(self._told)

    def also(self, check: Callable[[], Iterable[str]]) -> None:
        """Add a check for each glance and for the end. A sentence from it is reported and ends the command.

        A check must report the same thing only once.
        """
        self._checks.append(check)

    def glance(self) -> bool:
        """Check only the names that git opens in place, which is quick. Return whether to end the command."""
        ending = self._check_all()
        for folder in {str(self._git.path), str(self._git.checkout)} if self._git else ():
            base = os.path.relpath(folder, self._git.path) if self._git else "."
            known = self._known if base == "." else _below(self._known, base)
            # What cannot be removed now is removed by the next look, or at the end.
            with suppress(OSError):
                ending = self._end_for(folder, _planted(glance(folder), known)) or ending
        return ending

    def look(self) -> bool:
        """Remove what must not stay. Return whether to end the command because of it."""
        if self.glance():
            return True
        if (folder := self._folder()) is None:
            return False
        # If the folder cannot be read now, the next check or the last one reports it.
        with suppress(OSError):
            if self._end_for(folder, _planted(scan(folder), self._known)):
                return True
            self._tell(self._lists.during(self._git) if self._git else ())
            size = size_of(folder)
            return (
                size.folders - self._size.folders > _ENDING_FOLDERS
                or size.entries - self._size.entries > _ENDING_ENTRIES
            )
        return False

    def _end_for(self, folder: str, found: Entries) -> bool:
        ending = {path: one for path, one in found.items() if one.kind in _ENDING}
        self._tell(_sentences(*_removed(folder, ending)))
        return bool(ending)

    def _check_all(self) -> bool:
        sentences = [sentence for check in self._checks for sentence in check()]
        self._tell(sentences)
        return bool(sentences)

    def finish(self) -> None:
        """Check once more, after the command and its processes are gone, and report the rest. Only once."""
        if self._running.ended:
            return
        self._running.ended = True
        self._check_all()
        if (folder := self._folder()) is None:
            return
        try:
            self._check(folder)
        except OSError as error:
            why = f"{shown(folder)} could not be checked for links: {error.strerror}. Check it before you use git."
            self._tell([why])

    def _check(self, folder: str) -> None:
        found = scan(folder)
        size = size_of(folder)
        self._tell(remove_planted(folder, self._known, found))
        if git := self._git or git_folder(self._root):
            self._tell(self._lists.after(git))
        folders, entries = size.folders - self._size.folders, size.entries - self._size.entries
        if folders > _TOLD_FOLDERS or entries > _ENDING_ENTRIES:
            self._tell([f"{folders:,} new folders with {entries:,} entries in {shown(folder)} slow git. Look at them."])
        if self._git and self._before:
            self._tell(_changes(self._git, self._before, _state(self._root, self._git)))
        self._tell(self._locks(folder, found))

    def _folder(self) -> str | None:
        """Return git's folder, even if the command itself has made it."""
        git = self._git or git_folder(self._root)
        return str(git.path) if git else None

    def _locks(self, folder: str, found: Entries) -> Iterator[str]:
        locks = [path for path, entry in found.items() if entry.kind == EntryKind.LOCK and path not in self._known]
        if sum(entry.kind == EntryKind.LOCK for entry in self._known.values()) >= MAX_LOCKS:
            # It is unknown which of them are new.
            return
        new = [os.path.join(folder, path) for path in locks]
        if left := left_locks(new, lambda: self._running.is_alone and self._is_last()):
            places = together([shown(place) for place in left])
            yield f"The command left {places}. Git does not work there until it is gone. If no git runs, remove it."

    def _tell(self, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            log.warning("After a command in %s: %s", self._root, sentence)
            self._told.append(sentence)


def _below(entries: Entries, base: str) -> Entries:
    return {path.removeprefix(f"{base}/"): one for path, one in entries.items() if path.startswith(f"{base}/")}


def _state(root: Path, git: GitFolder) -> _State:
    checkout = git.checkout
    at_top, all_looked_at = repositories_at_top(root)
    within = frozenset({*linked(git), *at_top})
    return _State(
        os.path.lexists(checkout / HEAD),
        frozenset(name for name in _IN_PROGRESS if os.path.lexists(checkout / name)),
        frozenset((name, step) for name, pattern in _RUN.items() for step in _steps(checkout / name, pattern)),
        within | frozenset(_module_names(git.path)),
        {name: _pointer(root, name) for name in islice(sorted(within), _MAX_POINTERS)},
        all_looked_at,
        _small(git.path / _ALTERNATES),
    )


def _changes(git: GitFolder, before: _State, after: _State) -> Iterator[str]:
    if before.has_head and not after.has_head:
        place = str(git.checkout / HEAD)
        yield (
            f"{shown(place)} is missing, so git finds no repository here. "
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
    changed = [name for name, one in after.pointers.items() if one and one != before.pointers.get(name, one)]
    if changed:
        places = together([shown(os.path.join(name, GIT)) for name in changed])
        yield (
            f"these were replaced or made: {places}. A plain git status obeys the settings of the repository that each "
            "leads to. Look at them before you use git here."
        )
    if before.all_looked_at and not after.all_looked_at:
        yield "the workspace now has too many folders to look for new repositories in all of them."


def _steps(file: Path, pattern: re.Pattern[bytes]) -> list[bytes]:
    return pattern.findall(_small(file))


def _small(file: Path) -> bytes:
    """Return the content of a git file, empty if it is missing. An unreadable file counts as a program to run."""
    try:
        return read_regular(file, _TODO_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError:
        return b"exec strategy /"


def _pointer(root: Path, name: str) -> str:
    """Return what tells a `.git` of a repository within the workspace from another one at the same path."""
    file = os.path.join(root, name, GIT)
    try:
        found = os.lstat(file)
        if stat.S_ISREG(found.st_mode):
            return f"file {read_regular(file, _POINTER_BYTES)!r}"
        return f"link {os.readlink(file)}" if stat.S_ISLNK(found.st_mode) else f"folder {found.st_ino}"
    except (OSError, ValueError):
        return ""


def _module_names(git: Path) -> Iterator[str]:
    modules = submodules(git)
    if modules is None:
        with suppress(OSError), os.scandir(git / "modules") as entries:
            yield from (entry.path for entry in islice(entries, _MAX_POINTERS))
    else:
        yield from map(str, modules)
