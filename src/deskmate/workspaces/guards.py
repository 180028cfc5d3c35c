"""Guards: what a confined command must not change in its workspace, for something outside reads it and obeys.

That is our own records and settings, and what git runs: its settings, its hooks, and the files that say where those
are. The folder of git itself stays writable, so that commits work. `confined` above lays them over the workspace;
`placeholders` makes the ones that are missing.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from deskmate.errors import ToolError
from deskmate.workspaces.git_config import Named, named_paths
from deskmate.workspaces.paths import OURS, Identity, Place, plain, shown
from deskmate.workspaces.private import read_regular
from deskmate.workspaces.sandbox import Mount, Way

GIT, HEAD = ".git", "HEAD"
# Read by Deskmate or by other agents' tools when they start here, and then run. No agent may write these.
DEFINITIONS = (".deskmate", ".mcp.json")
# Files and folders in which a tool of the user's finds commands that it runs without asking for each one: hooks and
# servers of other agents, tasks and programs of editors, hooks of git. A file tool asks the person before it writes
# there.
AUTORUN = (
    ".claude",
    ".codex",
    ".cursor",
    ".devcontainer",
    ".devcontainer.json",
    ".envrc",
    ".gemini",
    ".husky",
    ".idea",
    ".vscode",
    ".windsurf",
    ".zed",
)
_MAX_POINTER = 4096
_MAX_MODULES = 30
_MAX_MODULE_FOLDERS = 300
_FOLDER = None
_CONTENT = ("objects", "refs", "logs")
_SETTINGS = ("config", "config.worktree", "hooks", "commondir", "worktrees", "remotes", "branches")
_COMMON = "commondir"
# Without one of these, git does not take a folder for its own.
_NEEDED = ("refs", "objects")


@dataclass(frozen=True, slots=True)
class Guard:
    """A place that must stay as it is, the absence of it too: then `content` stands in for it, None is a folder."""

    path: str
    content: bytes | None = _FOLDER


@dataclass(frozen=True, slots=True)
class GitFolder:
    """Where git keeps a repository. `checkout`: the folder with the HEAD and the index of this very checkout."""

    path: Path
    checkout: Path


@dataclass(frozen=True, slots=True)
class Guarded:
    """How a workspace is shown to its commands: `mounts` as they are, `guards` only to read, there or not.

    `links`: what cannot be guarded because it is a link, and is only compared after a command.
    """

    mounts: tuple[Mount, ...]
    guards: tuple[Guard, ...]
    links: tuple[str, ...] = ()


def is_guarded(parts: Sequence[str]) -> bool:
    """Tell whether a path in a workspace leads to what git or agents obey; no file tool may write there."""
    names = list(map(plain, parts))
    return GIT in names or not {*names[:1]}.isdisjoint(DEFINITIONS)


def would_be_bare(root: Path, parts: Sequence[str]) -> bool:
    """Tell whether a path leads to what makes a workspace a folder of git itself, or to what git obeys in one."""
    top = {*map(plain, parts[:1])}
    if _is_git_folder(root):
        return not _is_found(root / GIT) and not top.isdisjoint(map(plain, (HEAD, *_SETTINGS)))
    return not top.isdisjoint(plain(Path(guard.path).name) for guard in _of_top(root))


def is_autorun(root: Path, place: Place) -> bool:
    """Tell whether a place is, or lies in, what a tool of the user's runs commands from, by whatever name."""
    if plain("".join(place.parts[:1])) in AUTORUN:
        return True
    paths = [*(root / name for name in AUTORUN), *(named.path for named in _named_by_settings(root, _settings(root)))]
    lexical = root.joinpath(*place.parts)
    return place.passes(_identities(paths)) or any(lexical.is_relative_to(path) for path in paths)


def obeyed(root: Path) -> frozenset[Identity]:
    """Return where what no agent may write lies by other names: behind links, or in the folder that `.git` names."""
    return _identities(filter(None, (root / GIT, _named(root / GIT), *(root / name for name in DEFINITIONS))))


def _identities(paths: Iterable[Path]) -> frozenset[Identity]:
    found = set[Identity]()
    for path in paths:
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
        guards += (*_of_repository(git), *_of_modules(git))
    else:
        guards.append(Guard(str(git)))
        if worktree := _worktree(git):
            mounts += (Mount(str(folder), Way.WRITE) for folder in (worktree.common, worktree.own))
            guards += (*_of_repository(worktree.common), *_of_worktree(worktree.own))
            # Of checkouts outside this workspace: what git runs in a submodule of theirs.
            guards.append(Guard(str(worktree.common / "modules")))
        elif (named := _named(git)) and root in named.parents:
            mounts.append(Mount(str(named), Way.WRITE))
            guards += (*_of_repository(named), *_of_modules(named))
    guards += _of_repository(root) if _is_git_folder(root) and not _is_found(git) else _of_top(root)
    for guard in guards:
        if os.path.islink(guard.path):
            raise ToolError(
                f"{shown(guard.path)} is a link, which a sandbox cannot guard; have the user put in its place "
                "what it leads to"
            )
    others, links = _of_autorun(root, {guard.path for guard in guards})
    return Guarded(tuple(mounts), (*guards, *others), links)


def git_folder(root: Path) -> GitFolder | None:
    """Return where git keeps the repository of a workspace, if commands there can write to it."""
    git = root / GIT
    if _is_repository(git):
        return GitFolder(git, git)
    if worktree := _worktree(git):
        return GitFolder(worktree.common, worktree.own)
    if (named := _named(git)) and root in named.parents:
        return GitFolder(named, named)
    return GitFolder(root, root) if named is None and _is_git_folder(root) else None


def _of_repository(git: Path) -> Iterator[Guard]:
    """Yield what git obeys in the folder of a repository."""
    yield Guard(str(git / "config"), b"")
    yield Guard(str(git / "config.worktree"), b"")
    yield Guard(str(git / "hooks"))
    # To git, a folder that says of itself that all is in it is the same as one that says nothing.
    yield Guard(str(git / _COMMON), b".\n")
    # For every other worktree, this says where its settings are.
    yield Guard(str(git / "worktrees"))
    # Where remotes were set before there was a file of settings; git still reads them. A file is made faster.
    yield Guard(str(git / "remotes"), b"")
    yield Guard(str(git / "branches"), b"")


def _of_modules(git: Path) -> Iterator[Guard]:
    """Yield what git obeys in the folders of submodules, and of theirs; of too many the folder as a whole."""
    modules = submodules(git)
    if modules is None:
        yield Guard(str(git / "modules"))
        return
    for module in modules:
        yield from (guard for guard in _of_repository(module) if not guard.path.endswith(("remotes", "branches")))


def submodules(git: Path) -> list[Path] | None:
    """Return the folders that a repository keeps for its submodules, None if there are too many to look at."""
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


def _of_top(root: Path) -> Iterator[Guard]:
    """Yield what keeps a workspace from becoming a folder of git itself, also with its `.git` broken.

    Git takes a folder with HEAD, refs and objects for one. A folder in the place of its commondir makes git stop at
    once while a command runs, and keeps commands from naming another folder there.
    """
    missing = [name for name in _NEEDED if not _is_there(root / name)]
    yield from (Guard(str(root / name)) for name in missing[:1])
    if not _is_there(root / _COMMON):
        yield Guard(str(root / _COMMON))
    if not missing and not _is_found(root / GIT):
        yield Guard(str(root / HEAD))


def _is_there(path: str | Path) -> bool:
    """Tell whether something is there; an empty folder may be its placeholder while a command runs."""
    try:
        return bool(os.listdir(path))
    except NotADirectoryError:
        return True
    except OSError:
        return os.path.lexists(path)


def _of_autorun(root: Path, known: Set[str]) -> tuple[list[Guard], tuple[str, ...]]:
    """Return what else a tool of the user's runs, to be guarded, and the links among it.

    A link cannot be guarded: what it leads to is, and the link itself is compared after a command.
    """
    top = f"{root}/"
    places = [(top + name, True) for name in AUTORUN]
    places += ((str(named.path), bool(named.is_folder)) for named in _named_by_settings(root, _settings(root)))
    guards, links = dict[str, Guard](), list[str]()
    for path, is_folder in places:
        content = _FOLDER if is_folder else b""
        if on_the_way := _links_to(path, top):
            links += on_the_way
            path = os.path.realpath(path)
            if not os.path.exists(path):
                continue
        above = os.path.dirname(path)
        if above != str(root) and not os.path.isdir(above):
            # One folder replaces all that is missing.
            path, content = _first_missing(path), _FOLDER
        if path.startswith(top) and {GIT, *OURS}.isdisjoint(path.removeprefix(top).split("/")):
            guards.setdefault(path, Guard(path, content))
    return [guard for path, guard in guards.items() if path not in known], tuple(links)


def _links_to(path: str, top: str) -> list[str]:
    """Return the links on the way to a path below the workspace, itself among them."""
    found = list[str]()
    while path.startswith(top):
        found += [path] * os.path.islink(path)
        path = os.path.dirname(path)
    return found


def _first_missing(path: str) -> str:
    """Return the highest folder above a path that is not there."""
    above = os.path.dirname(path)
    return path if os.path.lexists(above) else _first_missing(above)


def _settings(root: Path) -> list[Path]:
    """Return the files of settings that git reads in a workspace, the user's own among them."""
    git, home = git_folder(root), Path(os.environ.get("HOME", "/"))
    own = [folder / name for folder in {git.path, git.checkout} for name in _SETTINGS[:2]] if git else []
    return [*own, home / ".gitconfig", home / ".config/git/config"]


def _named_by_settings(root: Path, files: list[Path]) -> Iterator[Named]:
    """Yield what git's settings name in a workspace: all that is a file, and of the rest what git would read."""
    for named in named_paths(files, root, os.environ):
        if root in named.path.parents and (named.is_folder is not None or named.path.is_file()):
            yield named


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


def _is_git_folder(folder: Path) -> bool:
    """Tell whether git may take a folder for its own, or for one that says where the rest of it is."""
    head = folder / HEAD
    is_head = os.path.lexists(head) and (head.is_symlink() or not head.is_dir())
    return is_head and ((folder / _COMMON).is_file() or all((folder / name).is_dir() for name in _NEEDED))


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
        return os.fsdecode(read_regular(file, _MAX_POINTER)).strip()
    except OSError:
        return None
