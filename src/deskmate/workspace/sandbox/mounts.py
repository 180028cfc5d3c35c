"""What a confined command sees of the machine, as a list of mounts.

Everything is read-only except the workspace and the command's own temporary folder. What could act for the user or
the team is hidden. The tables of hidden paths are in `hidden_paths`.
"""

import glob
import os
import pwd
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from enum import StrEnum
from pathlib import Path

from deskmate.core.values import frozen
from deskmate.fs.safe_files import create_file, regular_file
from deskmate.workspace.sandbox.hidden_paths import (
    HOME_SECRETS,
    KERNEL,
    MOVED,
    NAMED,
    PROGRAMS,
    SOCKETS,
    SPEAKING,
    SYSTEM_SECRETS,
)
from deskmate.workspace.sandbox.network.proxy import Resolve, resolve
from deskmate.workspace.sandbox.resource_limits import ResourceLimits
from deskmate.workspace.sandbox.sockets import Sockets, is_channel, is_new

_TEMPORARY = ("/tmp", "/var/tmp")
_RESOLVER = "/etc/resolv.conf"
# No variable can hide one of these, because nothing would work without them.
_INDISPENSABLE = (*_TEMPORARY, "/bin", "/etc", "/lib", "/proc", "/usr")
# How a path may be embedded in a variable: `unix:path=/run/bus,guid=1`, `FILE:/tmp/krb5`, `/a:/b`.
_BETWEEN = re.compile("[:;,=]+")
_NAMESPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-uts")


class Level(StrEnum):
    """How strongly commands are confined."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"


class Way(StrEnum):
    """How a path is shown to a confined command."""

    READ = "read"
    WRITE = "write"
    SCRATCH = "scratch"
    EMPTY = "empty"
    BLANK = "blank"


@frozen
class Mount:
    """One path, and how it is shown: readable, writable, as the command's own temporary folder, or as if it were empty.

    `BLANK` is a file without content. Deeper mounts cover the ones above them.
    """

    path: str
    way: Way


@frozen
class Sandbox:
    """How commands are confined on this machine. `levels.find_sandbox` makes one.

    `reason`: why the level is no better. `hint`: how to get a better one, or empty. `program`: the words that start
    bubblewrap here. `network`: off, on, or the hosts that commands may reach through a proxy. With Landlock, a list
    means off. `hidden`: paths to mask in addition to the tables. `homes`: the user's home folders. `named`: paths from
    variables, masked unless they are in the workspace. `writable`: folders outside the workspace that commands may
    write. `state`: the folder with the list of what must not be left behind. `sockets`: knows where others listen.
    `settled`: skip sockets made seconds ago, which may be gone before they are masked. `resolve`: finds the addresses
    of hosts that commands want to reach.
    """

    level: Level
    reason: str = ""
    hint: str = ""
    program: tuple[str, ...] = ()
    network: bool | tuple[str, ...] = False
    hidden: tuple[Path, ...] = ()
    homes: frozenset[Path] = frozenset()
    named: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    state: Path = Path()
    limits: ResourceLimits = field(default_factory=ResourceLimits)
    sockets: Sockets | None = field(default=None, compare=False)
    settled: bool = False
    resolve: Resolve = field(default=resolve, compare=False)

    def confines(self, root: Path) -> bool:
        """Tell whether commands in this workspace are confined to it. If it contains a home, they are not."""
        place = Path(os.path.realpath(root))
        return self.level is Level.BUBBLEWRAP and not any(home.is_relative_to(place) for home in self.homes)

    def hiding(self, paths: Iterable[Path]) -> "Sandbox":
        """Return a sandbox that masks more paths."""
        return replace(self, hidden=(*self.hidden, *paths))

    def words(self, mounts: Iterable[Mount]) -> list[str]:
        """Return the words to put before a command that should see these mounts."""
        network = () if self.network is True else ("--unshare-net",)
        return [*self.program, *_NAMESPACES, *network, *self._mounting(mounts)]

    def stand(self) -> None:
        """Create our own files that the words name. Raises OSError if that is not possible."""
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.close(create_file(self._blank, 0o400))
        except FileExistsError:
            # A link would be mounted as what it leads to.
            with regular_file(self._blank):
                pass

    @property
    def _blank(self) -> Path:
        return self.state / "blank"

    def machine(self, environ: Mapping[str, str], root: Path | None = None) -> Iterator[Mount]:
        """Yield how everything outside a workspace is shown. Sockets in the workspace `root` are its own."""
        for folder in {os.path.realpath(path) for path in _TEMPORARY}:
            yield Mount(folder, Way.SCRATCH)
        yield from _there(SOCKETS)
        yield from (Mount(path, Way.READ) for path in (*PROGRAMS, *_toolchains(environ, root)) if os.path.exists(path))
        yield from _there(path for pattern in SYSTEM_SECRETS for path in glob.glob(pattern) if os.access(path, os.R_OK))
        yield from _there(f"{home}/{name}" for home in homes(environ) for name in HOME_SECRETS)
        yield from _there(map(str, (*self.hidden, *_outside(self.named, root, homes(environ)), self.state)))
        yield from _there(self._foreign_sockets(homes(environ), root))
        yield from (Mount(os.path.realpath(path), Way.WRITE) for path in self.writable if path.is_dir())
        yield from _there(path for name in KERNEL if os.access(path := f"/proc/{name}", os.W_OK))
        yield Mount("/proc/sys", Way.READ)
        resolver = os.path.realpath(_RESOLVER)
        if self.network is True and resolver != _RESOLVER and os.path.exists(resolver):
            yield Mount(resolver, Way.READ)

    def _foreign_sockets(self, at_home: set[Path], root: Path | None) -> Iterator[str]:
        """Yield the sockets of others. If the workspace contains a home, those in it count as others'."""
        # Landlock cannot block a single socket. There the call filter blocks all of them.
        if self.sockets is None or self.level is Level.LANDLOCK:
            return
        shared = root is None or any(home.is_relative_to(root) for home in at_home)
        own = [os.path.realpath(path) for path in (*(() if shared else (root,)), *self.writable)]
        # Most sockets are in folders that are hidden as a whole. These need no mask.
        inside = tuple(f"{path}/" for path in (*own, *SOCKETS, *_TEMPORARY))
        for path in set(self.sockets.paths(at_home, own)):
            if path.startswith(inside) or not is_channel(path) or (self.settled and is_new(path)):
                continue
            if not os.path.realpath(path).startswith(inside):
                yield path

    def _mounting(self, mounts: Iterable[Mount]) -> Iterator[str]:
        """Yield the words for all mounts, upper folders first. If a path has two mounts, the last one counts."""
        yield from ("--ro-bind", "/", "/", "--dev", "/dev", *self._mount("/dev/shm", Way.SCRATCH))
        yield from ("--remount-ro", "/dev", "--proc", "/proc")
        ways = _anchored(_needed({mount.path: mount.way for mount in mounts}))
        for path in sorted(ways, key=lambda path: (path.count("/"), path)):
            yield from self._mount(path, ways[path])

    def _mount(self, path: str, way: Way) -> tuple[str, ...]:
        match way:
            case Way.READ:
                return "--ro-bind", path, path
            case Way.WRITE:
                return "--bind", path, path
            case Way.SCRATCH:
                return "--perms", "1777", "--size", str(self.limits.scratch_bytes), "--tmpfs", path
            case Way.EMPTY:
                # One page, so that it cannot be used to fill the memory.
                return "--perms", "0555", "--size", "4096", "--tmpfs", path
            case Way.BLANK:
                return "--ro-bind", str(self._blank), path


def _needed(ways: dict[str, Way]) -> dict[str, Way]:
    """Return the mounts without masks for paths whose folder is hidden already."""

    def is_hidden(path: str) -> bool:
        above = next((str(folder) for folder in Path(path).parents if str(folder) in ways), None)
        return above is not None and ways[above] in (Way.EMPTY, Way.SCRATCH)

    masks = (Way.EMPTY, Way.BLANK)
    return {path: way for path, way in ways.items() if way not in masks or not is_hidden(path)}


def _anchored(ways: dict[str, Way]) -> dict[str, Way]:
    """Return the mounts, plus every folder between a mount and a writable one above it.

    Otherwise a folder could be moved away together with its mounts, and the next command would find it unprotected.
    """
    anchored = dict(ways)
    for path in ways:
        between = list[str]()
        above = path.rpartition("/")[0]
        while above and above not in anchored:
            between.append(above)
            above = above.rpartition("/")[0]
        if anchored.get(above) is Way.WRITE:
            anchored |= dict.fromkeys(between, Way.WRITE)
    return anchored


def homes(environ: Mapping[str, str]) -> set[Path]:
    """Return the user's home folders, from the environment and from the system's user list."""
    found = {environ.get("HOME", "")}
    with suppress(KeyError):
        found.add(pwd.getpwuid(os.getuid()).pw_dir)
    # Some accounts have `/` as their home. That is nobody's home.
    return {Path(os.path.realpath(home)) for home in found if home.startswith("/")} - {Path("/")}


def named_secrets(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the secrets that variables point to, existing or not, and any socket that a variable names."""
    kept = (*homes(environ), *map(Path, _INDISPENSABLE))
    for name, value in environ.items():
        places = [Path(f"/{part.lstrip('/')}") for part in _BETWEEN.split(value) if part.startswith("/")]
        if name in MOVED:
            below = MOVED[name]
            secrets = [secret.removeprefix(below) for secret in HOME_SECRETS if secret.startswith(below)]
            yield from (place / secret for place in places for secret in secrets)
        else:
            by_name = name in NAMED or SPEAKING.search(name)
            named = [Path(os.path.realpath(place)) for place in places if by_name or is_channel(str(place))]
            yield from (place for place in named if not any(one.is_relative_to(place) for one in kept))


def _outside(paths: Iterable[Path], root: Path | None, at_home: Iterable[Path]) -> Iterator[Path]:
    """Yield the paths that are not in the workspace. What a variable names in the workspace belongs to the project.

    If the workspace contains a home, everything in it is the user's.
    """
    own = None if root is None or any(home.is_relative_to(root) for home in at_home) else root
    return (path for path in paths if own is None or not path.is_relative_to(own))


def _toolchains(environ: Mapping[str, str], root: Path | None) -> Iterator[str]:
    """Yield the programs on PATH that are in a temporary folder, outside the workspace `root`.

    Temporary folders are hidden, so without this a virtual environment in one of them would be missing. A virtual
    environment is shown as a whole. Of any other folder on PATH, only the folder itself is shown.
    """
    temporary = tuple(f"{os.path.realpath(path)}/" for path in _TEMPORARY)
    folders = filter(None, [environ.get("VIRTUAL_ENV"), sys.prefix, *environ.get("PATH", "").split(":")])
    for folder in map(os.path.realpath, folders):
        above = os.path.dirname(folder)
        place = above if os.path.exists(f"{above}/pyvenv.cfg") else folder
        if place.startswith(temporary) and not (root and Path(place).is_relative_to(root)):
            yield place


def _there(paths: Iterable[str]) -> Iterator[Mount]:
    """Yield a mask for each path that exists. For a symlink, mask its target."""
    for path in filter(os.path.exists, paths):
        real = os.path.realpath(path)
        yield Mount(real, Way.EMPTY if os.path.isdir(real) else Way.BLANK)
