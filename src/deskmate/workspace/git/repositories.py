"""Where git keeps the repository of a workspace, and those inside it."""

import contextlib
import os
from functools import lru_cache
from pathlib import Path

from deskmate.core.values import frozen
from deskmate.fs.safe_files import read_regular
from deskmate.workspace.git.git_index import Contents, contents, hash_size, read_index
from deskmate.workspace.paths import OURS

GIT, HEAD, COMMON = ".git", "HEAD", "commondir"
# Git takes a folder for its own only if it has both of these.
NEEDED = ("refs", "objects")
_MAX_POINTER = 4096
_MAX_MODULES = 30
_MAX_MODULE_FOLDERS = 300
# If there are more repositories within the workspace, changes in the rest are only reported after the command.
_MAX_NESTED = 30
_MAX_TOP_FOLDERS, _MAX_TOP_ENTRIES = 1000, 100_000
_MAX_SHARED = 3
_CONTENT = ("objects", "refs", "logs")


@frozen
class GitFolder:
    """Where git keeps a repository. `checkout`: the folder with the HEAD and the index of this checkout."""

    path: Path
    checkout: Path


def git_folder(root: Path) -> GitFolder | None:
    """Return where git keeps the repository of a workspace, if commands there can write to it."""
    git = root / GIT
    if is_repository(git):
        return GitFolder(git, git)
    if worktree := worktree_of(git):
        return GitFolder(worktree.common, worktree.own)
    if (named := named_by(git)) and root in named.parents:
        return GitFolder(named, named)
    return GitFolder(root, root) if named is None and is_git_folder(root) else None


def submodules(git: Path) -> list[Path] | None:
    """Return the folders that a repository keeps for its submodules, or None if there are too many to look at."""
    found, todo, seen = list[Path](), [git / "modules"], 0
    while todo:
        with contextlib.suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    continue
                seen += 1
                # The name of a submodule may have several parts.
                is_module = os.path.lexists(os.path.join(entry.path, HEAD))
                found += [Path(entry.path)] * is_module
                todo.append(Path(entry.path, "modules") if is_module else Path(entry.path))
                if seen > _MAX_MODULE_FOLDERS or len(found) > _MAX_MODULES:
                    return None
    return sorted(found)


def nested_git(root: Path) -> list[Path]:
    """Return the `.git` of repositories within the workspace and of their submodules, none behind a symlink."""
    own, names = git_folder(root), frozenset(repositories_at_top(root)[0])
    found, todo = list[Path](), [(root, names | _gitlinks(own.checkout) if own else names)]
    while todo and len(found) < _MAX_NESTED:
        folder, names = todo.pop(0)
        # Commands write the index, so a name in it may be anything.
        safe = (name for name in sorted(names) if {GIT, "", ".", "..", *OURS}.isdisjoint(name.split("/")))
        for git in (folder / name / GIT for name in safe):
            if os.path.lexists(git) and os.path.realpath(git.parent) == str(git.parent):
                found.append(git)
                todo.append((git.parent, _gitlinks(named_by(git) or git)))
    return found[:_MAX_NESTED]


def repositories_at_top(root: Path) -> tuple[list[str], bool]:
    """Return the repositories directly below the workspace, and whether all folders were checked."""
    found, folders = list[str](), 0
    with contextlib.suppress(OSError), os.scandir(root) as entries:
        for number, entry in enumerate(entries):
            if number >= _MAX_TOP_ENTRIES or folders >= _MAX_TOP_FOLDERS:
                return found, False
            if entry.name != GIT and entry.is_dir(follow_symlinks=False):
                folders += 1
                found += [entry.name] * os.path.lexists(f"{entry.path}/{GIT}")
    return found, True


def _gitlinks(checkout: Path) -> frozenset[str]:
    """Return the paths of other repositories in the index, or nothing if it cannot be read."""
    found, todo = set[str](), ["index"]
    with contextlib.suppress(OSError):
        for name in todo:
            status = os.lstat(checkout / name)
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            part = _contents(checkout, name, *stamp)
            found |= set(map(os.fsdecode, part.gitlinks))
            # An index may be split in two.
            todo += sorted(part.shared - {*todo})[:_MAX_SHARED]
    return frozenset(found)


@lru_cache(maxsize=200)
def _contents(checkout: Path, name: str, *_stamp: int) -> Contents:
    return contents(read_index(checkout, name), hash_size(checkout))


def repository(root: Path) -> tuple[Path, ...]:
    """Return what git writes outside a workspace that is a worktree: of the repository, only what nobody obeys."""
    worktree = worktree_of(root / GIT)
    return (worktree.own, *(worktree.common / name for name in _CONTENT)) if worktree else ()


@frozen
class Worktree:
    common: Path
    own: Path


def worktree_of(git: Path) -> Worktree | None:
    """Return the repository of a worktree, if both sides refer to each other.

    A file in the workspace may name any folder. Only somebody who can write to the repository can make it point back.
    """
    own = named_by(git)
    if own is None:
        return None
    common, back = own.parent.parent, _line(own / "gitdir")
    agrees = back is not None and os.path.realpath(own / back) == str(git)
    beside = own.parent.name == "worktrees" and _line(own / "commondir") == "../.."
    whole = (common / "HEAD").is_file() and (common / "objects").is_dir()
    return Worktree(common, own) if agrees and beside and whole else None


def is_repository(git: Path) -> bool:
    """Tell whether git may take a folder for a repository. A placeholder is not one."""
    return git.is_dir() and not git.is_symlink() and os.path.lexists(git / HEAD)


def is_git_folder(folder: Path) -> bool:
    """Tell whether git may take a folder for its own, or for one that says where the rest of it is."""
    head = folder / HEAD
    is_head = os.path.lexists(head) and (head.is_symlink() or not head.is_dir())
    return is_head and ((folder / COMMON).is_file() or all((folder / name).is_dir() for name in NEEDED))


def is_found(git: Path) -> bool:
    """Tell whether git finds a repository there, so that it does not search further."""
    return is_repository(git) or named_by(git) is not None


def named_by(git: Path) -> Path | None:
    """Return the folder that a `.git` file names, if it is such a file."""
    pointer = _line(git) or ""
    named = Path(os.path.realpath(git.parent / pointer.removeprefix("gitdir:").strip()))
    return named if pointer.startswith("gitdir:") and named.is_dir() else None


def _line(file: Path) -> str | None:
    """Return the text of a small file, or None if it cannot be read."""
    try:
        return os.fsdecode(read_regular(file, _MAX_POINTER)).strip()
    except OSError:
        return None
