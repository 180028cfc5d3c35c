"""Guards: what a confined command must not change in its workspace, for something outside reads it and obeys.

That is our own records and settings, and what git runs: its settings, its hooks, and the files that say where those
are. The folder of git itself stays writable, so that commits work. `confined` above lays them over the workspace;
`placeholders` makes the ones that are missing.
"""

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deskmate.errors import ToolError
from deskmate.workspaces.paths import OURS, Identity, plain, shown
from deskmate.workspaces.sandbox import Mount, Way

GIT, HEAD = ".git", "HEAD"
# Read by Deskmate or by other agents' tools when they start here, and then run.
DEFINITIONS = (".deskmate", ".mcp.json")
_MAX_POINTER = 4096
_FOLDER = None
_CONTENT = ("objects", "refs", "logs")
_SETTINGS = ("config", "config.worktree", "hooks", "commondir", "worktrees")


@dataclass(frozen=True, slots=True)
class Guard:
    """A place that must stay as it is, the absence of it too: then `content` stands in for it, None is a folder."""

    path: str
    content: bytes | None = _FOLDER


@dataclass(frozen=True, slots=True)
class Guarded:
    """How a workspace is shown to its commands: `mounts` as they are, `guards` only to read, there or not."""

    mounts: tuple[Mount, ...]
    guards: tuple[Guard, ...]


def is_guarded(parts: Sequence[str]) -> bool:
    """Tell whether a path in a workspace leads to what git or agents obey; no file tool may write there."""
    names = list(map(plain, parts))
    return GIT in names or not {*names[:1]}.isdisjoint(DEFINITIONS)


def would_be_bare(root: Path, parts: Sequence[str]) -> bool:
    """Tell whether a path leads to what makes a workspace a folder of git itself, or to what git obeys in one."""
    names = {HEAD, *_SETTINGS} if _is_bare(root) else {HEAD}
    return not {*map(plain, parts[:1])}.isdisjoint(map(plain, names)) and not _is_found(root / GIT)


def obeyed(root: Path) -> frozenset[Identity]:
    """Return where the same lies where it has other names: behind links, or in the folder that `.git` names."""
    found = set[Identity]()
    for path in filter(None, (root / GIT, _named(root / GIT), *(root / name for name in DEFINITIONS))):
        with contextlib.suppress(OSError):
            status = path.stat()
            found.add((status.st_dev, status.st_ino))
    return frozenset(found)


def guarded(root: Path) -> Guarded:
    """Return how a workspace is to be shown; raise ToolError where it cannot be guarded."""
    mounts = [Mount(str(root), Way.WRITE), *(Mount(str(root / name), Way.EMPTY) for name in sorted(OURS))]
    guards = [Guard(str(root / name)) for name in DEFINITIONS]
    git = root / GIT
    if _is_repository(git):
        mounts.append(Mount(str(git), Way.WRITE))
        guards += _of_repository(git)
    else:
        guards.append(Guard(str(git)))
        if worktree := _worktree(git):
            mounts += (Mount(str(folder), Way.WRITE) for folder in (worktree.common, worktree.own))
            guards += (*_of_repository(worktree.common), *_of_worktree(worktree.own))
            # Of checkouts outside this workspace: what git runs in a submodule of theirs.
            guards.append(Guard(str(worktree.common / "modules")))
        elif (named := _named(git)) and root in named.parents:
            mounts.append(Mount(str(named), Way.WRITE))
            guards += _of_repository(named)
        if not _is_found(git):
            guards += _of_top(root)
    for guard in guards:
        if os.path.islink(guard.path):
            raise ToolError(
                f"{shown(guard.path)} is a link, which a sandbox cannot guard; have the user put in its place "
                "what it leads to"
            )
    return Guarded(tuple(mounts), tuple(guards))


def _of_repository(git: Path) -> Iterator[Guard]:
    """Yield what git obeys in the folder of a repository."""
    yield Guard(str(git / "config"), b"")
    yield Guard(str(git / "config.worktree"), b"")
    yield Guard(str(git / "hooks"))
    # To git, a folder that says of itself that all is in it is the same as one that says nothing.
    yield Guard(str(git / "commondir"), b".\n")
    # In there stands for every other worktree where its settings are.
    yield Guard(str(git / "worktrees"))


def _of_top(root: Path) -> Iterator[Guard]:
    """Yield what keeps a workspace from becoming a folder of git itself, or what git obeys where it is one."""
    if _is_bare(root):
        yield from _of_repository(root)
    else:
        yield Guard(str(root / HEAD))


def _of_worktree(own: Path) -> Iterator[Guard]:
    """Yield what git obeys in the folder that a repository keeps for one of its worktrees."""
    yield Guard(str(own / "commondir"))
    yield Guard(str(own / "gitdir"))
    yield Guard(str(own / "config.worktree"), b"")


def repository(root: Path) -> tuple[Path, ...]:
    """Return what git writes outside a workspace that is a worktree: of the repository only what nobody obeys."""
    worktree = _worktree(root / GIT)
    return (worktree.own, *(worktree.common / name for name in _CONTENT)) if worktree else ()


@dataclass(frozen=True, slots=True)
class _Worktree:
    common: Path
    own: Path


def _worktree(git: Path) -> _Worktree | None:
    """Return where the repository of a worktree lies, if both sides say so.

    What stands in a workspace may lead anywhere. Only who could write to the repository before can have it point back.
    """
    own = _named(git)
    if own is None:
        return None
    common, back = own.parent.parent, _line(own / "gitdir")
    agrees = back is not None and os.path.realpath(own / back) == str(git)
    beside = own.parent.name == "worktrees" and _line(own / "commondir") == "../.."
    whole = (common / "HEAD").is_file() and (common / "objects").is_dir()
    return _Worktree(common, own) if agrees and beside and whole else None


def _is_repository(git: Path) -> bool:
    """Tell whether git may take a folder for a repository; a placeholder it does not."""
    return git.is_dir() and not git.is_symlink() and os.path.lexists(git / HEAD)


def _is_bare(root: Path) -> bool:
    """Tell whether git may take a workspace itself for its folder: not where a folder is in the place of its HEAD."""
    head = root / HEAD
    return os.path.lexists(head) and (head.is_symlink() or not head.is_dir())


def _is_found(git: Path) -> bool:
    """Tell whether git finds a repository there, so that it looks no further."""
    return _is_repository(git) or _named(git) is not None


def _named(git: Path) -> Path | None:
    """Return the folder that a file in the place of git's own names, if it is one."""
    pointer = _line(git) or ""
    named = Path(os.path.realpath(git.parent / pointer.removeprefix("gitdir:").strip()))
    return named if pointer.startswith("gitdir:") and named.is_dir() else None


def _line(file: Path) -> str | None:
    """Return what a small file says, None where none can be read."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        regular = stat.S_ISREG(os.fstat(fd).st_mode)
        return os.fsdecode(os.read(fd, _MAX_POINTER)).strip() if regular else None
    finally:
        os.close(fd)
