"""What a command must not change in the workspace.

These are our own records and settings, and what git runs: its settings, its hooks, and the files that say where those
are. Git's folder itself stays writable, so that commits work.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path

from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.workspace.git.git_config import Named, named_paths
from deskmate.workspace.git.repositories import (
    COMMON,
    GIT,
    HEAD,
    NEEDED,
    git_folder,
    is_found,
    is_git_folder,
    is_repository,
    named_by,
    nested_git,
    submodules,
    worktree_of,
)
from deskmate.workspace.paths import OURS, Identity, Place, plain, shown
from deskmate.workspace.sandbox.mounts import Mount, Way

# Deskmate or other agents' tools read these when they start here, and run what they say. No agent may write them.
DEFINITIONS = (".deskmate", ".mcp.json")
# Files and folders from which the user's tools run commands without asking for each one: hooks and servers of other
# agents, tasks and programs of editors, hooks of git. A file tool asks the user before it writes there.
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
# Says where Git LFS sends the user's large files.
_LFS_SETTINGS = ".lfsconfig"
_FOLDER = None
# Variables that name git's settings files, and where the system's settings are.
_FILES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
_SYSTEM = (Path("/etc/gitconfig"), Path("/usr/local/etc/gitconfig"))
_SETTINGS = ("config", "config.worktree", "hooks", "commondir", "worktrees", "remotes", "branches")


@frozen
class Guard:
    """A path that must not change. If it is missing, `content` is put there as a placeholder. None is a folder."""

    path: str
    content: bytes | None = _FOLDER


@frozen
class Guarded:
    """How a workspace is shown to its commands. `mounts`: as they are. `guards`: read-only, existing or not.

    `links`: symlinks, which cannot be guarded and are only compared after a command.
    """

    mounts: tuple[Mount, ...]
    guards: tuple[Guard, ...]
    links: tuple[str, ...] = ()


def is_guarded(parts: Sequence[str]) -> bool:
    """Tell whether a path in a workspace leads to what git or agents obey. No file tool may write there."""
    names = list(map(plain, parts))
    return GIT in names or not {*names[:1]}.isdisjoint(DEFINITIONS)


def would_be_bare(root: Path, parts: Sequence[str]) -> bool:
    """Tell whether a path is part of what makes a workspace a git folder itself, or of what git obeys in one."""
    top = {*map(plain, parts[:1])}
    if is_git_folder(root):
        return not is_found(root / GIT) and not top.isdisjoint(map(plain, (HEAD, *_SETTINGS)))
    return not top.isdisjoint(plain(Path(guard.path).name) for guard in _of_top(root))


def is_autorun(root: Path, place: Place, environ: Mapping[str, str]) -> bool:
    """Tell whether a place is, or is in, something that the user's tools run commands from, by any name.

    `environ`: the user's variables, which say where git's settings are.
    """
    if plain("".join(place.parts[:1])) in AUTORUN:
        return True
    paths = [*(root / name for name in AUTORUN), *(named.path for named in _named_by_settings(root, environ))]
    lexical = root.joinpath(*place.parts)
    return place.passes(_identities(paths)) or any(lexical.is_relative_to(path) for path in paths)


def obeyed_names(root: Path, names: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    """Return the names in a repository of what git, agents or the user's tools obey, now or once it is there."""
    tops = {*AUTORUN, *DEFINITIONS, *OURS, _LFS_SETTINGS}
    paths = [named.path for named in _named_by_settings(root, environ)]
    return [
        name
        for name in names
        if plain(name.partition("/")[0]) in tops or any((root / name).is_relative_to(path) for path in paths)
    ]


def obeyed(root: Path) -> frozenset[Identity]:
    """Return the identities of what no agent may write: through symlinks, or in the folder that `.git` names."""
    return _identities(filter(None, (root / GIT, named_by(root / GIT), *(root / name for name in DEFINITIONS))))


def _identities(paths: Iterable[Path]) -> frozenset[Identity]:
    found = set[Identity]()
    for path in paths:
        with contextlib.suppress(OSError):
            status = path.stat()
            found.add((status.st_dev, status.st_ino))
    return frozenset(found)


def guarded(root: Path, environ: Mapping[str, str]) -> Guarded:
    """Return how to show a workspace to its commands. Raises ToolError if it cannot be guarded.

    `environ`: the user's variables, which say where git's settings are.
    """
    mounts = [Mount(str(root), Way.WRITE), *(Mount(str(root / name), Way.EMPTY) for name in sorted(OURS))]
    guards = [Guard(str(root / name)) for name in DEFINITIONS]
    git = root / GIT
    if is_repository(git):
        mounts.append(Mount(str(git), Way.WRITE))
        guards += (*_of_repository(git), *_of_modules(git))
    else:
        guards.append(Guard(str(git)))
        if worktree := worktree_of(git):
            mounts += (Mount(str(folder), Way.WRITE) for folder in (worktree.common, worktree.own))
            guards += (*_of_repository(worktree.common), *_of_worktree(worktree.own), *_of_modules(worktree.own))
            # For checkouts outside this workspace: what git runs in their submodules.
            guards.append(Guard(str(worktree.common / "modules")))
        elif (named := named_by(git)) and root in named.parents:
            mounts.append(Mount(str(named), Way.WRITE))
            guards += (*_of_repository(named), *_of_modules(named))
    guards += _of_repository(root) if is_git_folder(root) and not is_found(git) else _of_top(root)
    for guard in guards:
        if os.path.islink(guard.path):
            raise ToolError(
                f"{shown(guard.path)} is a link, and a sandbox cannot guard a link. Ask the user to put a copy of "
                "what it leads to in its place."
            )
    others, links = _of_autorun(root, {guard.path for guard in guards}, environ)
    nested, nested_links = _of_nested(root)
    return Guarded(tuple(mounts), (*guards, *others, *nested), (*links, *nested_links))


def _of_repository(git: Path) -> Iterator[Guard]:
    """Yield what git obeys in the folder of a repository."""
    yield Guard(str(git / "config"), b"")
    yield Guard(str(git / "config.worktree"), b"")
    yield Guard(str(git / "hooks"))
    # For git, a folder whose commondir is itself is the same as a folder without one.
    yield Guard(str(git / COMMON), b".\n")
    # It says where the settings of every other worktree are.
    yield Guard(str(git / "worktrees"))
    # Old places for remotes, from before the config file. Git still reads them. A file is faster to make than a folder.
    yield Guard(str(git / "remotes"), b"")
    yield Guard(str(git / "branches"), b"")


def _of_modules(git: Path) -> Iterator[Guard]:
    """Yield what git obeys in the folders of submodules, nested ones too. If there are too many, the whole folder."""
    modules = submodules(git)
    if modules is None:
        yield Guard(str(git / "modules"))
        return
    for module in modules:
        yield from _of_module(module)


def _of_module(module: Path) -> Iterator[Guard]:
    yield from (guard for guard in _of_repository(module) if not guard.path.endswith(("remotes", "branches")))


def _of_nested(root: Path) -> tuple[list[Guard], list[str]]:
    """Return what git obeys in repositories within the workspace, to be guarded, and the symlinks among it.

    A plain `git status` at the top enters each submodule, so its `.git` must keep pointing to the same folder.
    """
    guards, links = list[Guard](), list[str]()
    for git in nested_git(root):
        found = [*_of_module(git)] if is_repository(git) else [Guard(str(git))]
        guards += (guard for guard in found if not os.path.islink(guard.path))
        links += (guard.path for guard in found if os.path.islink(guard.path))
    return guards, links


def _of_top(root: Path) -> Iterator[Guard]:
    """Yield what keeps a workspace without a repository from becoming a git folder itself.

    Git takes a folder with HEAD, refs and objects for one. A folder in the place of its commondir makes git stop at
    once while a command runs, and keeps commands from naming another folder there. In a repository nothing is put at
    the top, because build tools would take it for a part of the project. There `git_watch` looks afterwards.
    """
    if is_found(root / GIT):
        return
    missing = [name for name in NEEDED if not _is_there(root / name)]
    yield from (Guard(str(root / name)) for name in missing[:1])
    if not _is_there(root / COMMON):
        yield Guard(str(root / COMMON))
    if not missing:
        yield Guard(str(root / HEAD))


def _is_there(path: str | Path) -> bool:
    """Tell whether something is there. An empty folder does not count: it may be a placeholder of a running command."""
    try:
        return bool(os.listdir(path))
    except NotADirectoryError:
        return True
    except OSError:
        return os.path.lexists(path)


def _of_autorun(root: Path, known: Set[str], environ: Mapping[str, str]) -> tuple[list[Guard], tuple[str, ...]]:
    """Return what else the user's tools run, to be guarded, and the symlinks among it.

    A symlink cannot be guarded. Its target is, and the symlink itself is compared after a command.
    """
    top = f"{root}/"
    places = [(top + name, True) for name in AUTORUN]
    places += ((str(named.path), bool(named.is_folder)) for named in _named_by_settings(root, environ))
    places += ((path, not os.path.isfile(path)) for path in _linked_hooks(root))
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
            # One placeholder folder replaces everything that is missing.
            path, content = _first_missing(path), _FOLDER
        if path.startswith(top) and {GIT, *OURS}.isdisjoint(path.removeprefix(top).split("/")):
            guards.setdefault(path, Guard(path, content))
    return [guard for path, guard in guards.items() if path not in known], tuple(links)


def _links_to(path: str, top: str) -> list[str]:
    """Return the symlinks on the way to a path below the workspace, including the path itself."""
    found = list[str]()
    while path.startswith(top):
        found += [path] * os.path.islink(path)
        path = os.path.dirname(path)
    return found


def _first_missing(path: str) -> str:
    """Return the highest missing folder above a path, or the path itself if none is missing."""
    above = os.path.dirname(path)
    return path if os.path.lexists(above) else _first_missing(above)


def _settings(root: Path, environ: Mapping[str, str]) -> list[Path]:
    """Return the settings files that git reads in a workspace, including the user's own."""
    git, home = git_folder(root), Path(environ.get("HOME", "/"))
    own = [folder / name for folder in {git.path, git.checkout} for name in _SETTINGS[:2]] if git else []
    moved = environ.get("XDG_CONFIG_HOME")
    users = [home / ".gitconfig", home / ".config/git/config", *([Path(moved, "git/config")] if moved else [])]
    named = [Path(path) for name in _FILES if (path := environ.get(name))]
    return [*own, *users, *named, *_SYSTEM]


def _linked_hooks(root: Path) -> Iterator[str]:
    """Yield the targets of symlinks among git's hooks. Users share hooks that are kept in the workspace this way."""
    if git := git_folder(root):
        hooks = git.path / "hooks"
        with contextlib.suppress(OSError), os.scandir(hooks) as entries:
            for entry in entries:
                if entry.is_symlink():
                    yield os.path.normpath(hooks / os.readlink(entry.path))


def _named_by_settings(root: Path, environ: Mapping[str, str]) -> Iterator[Named]:
    """Yield the paths in a workspace that git's settings name: existing files, and whatever else git would read."""
    for named in named_paths(_settings(root, environ), root, environ):
        if root in named.path.parents and (named.is_folder is not None or named.path.is_file()):
            yield named


def _of_worktree(own: Path) -> Iterator[Guard]:
    """Yield what git obeys in the folder that a repository keeps for one of its worktrees."""
    yield Guard(str(own / "commondir"))
    yield Guard(str(own / "gitdir"))
    yield Guard(str(own / "config.worktree"), b"")
