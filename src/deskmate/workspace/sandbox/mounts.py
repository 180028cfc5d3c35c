"""What a confined command sees of the machine, as a list of mounts.

All of it is read-only but the workspace and a temporary folder of the command's own; what speaks for the user or the
team is not there at all. `levels` finds out whether the machine can do this, `guards` what must not change in a
workspace, `confined` starts commands in it; `masks` holds the tables.
"""

import glob
import os
import pwd
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

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
from deskmate.workspace.sandbox.resource_limits import ResourceLimits
from deskmate.workspace.sandbox.sockets import Sockets, is_channel, is_new

_TEMPORARY = ("/tmp", "/var/tmp")
_RESOLVER = "/etc/resolv.conf"
# No variable can have one of these masked: nothing would work without them.
_INDISPENSABLE = (*_TEMPORARY, "/bin", "/etc", "/lib", "/proc", "/usr")
# What a variable may have around a path: `unix:path=/run/bus,guid=1`, `FILE:/tmp/krb5`, `/a:/b`.
_BETWEEN = re.compile("[:;,=]+")
_NAMESPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-uts")


class Level(StrEnum):
    """How far commands are confined."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"


class Way(StrEnum):
    """How something is shown to a confined command."""

    READ = "read"
    WRITE = "write"
    SCRATCH = "scratch"
    EMPTY = "empty"
    BLANK = "blank"


@dataclass(frozen=True, slots=True)
class Mount:
    """One place, and how it is shown: to read, to write, as a folder of the command's own, as if nothing were in it.

    `BLANK` is a file without content. What lies deeper is laid over what lies above it.
    """

    path: str
    way: Way


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How commands are confined on this machine. `levels.find_sandbox` makes one.

    `reason`: why the level is no better. `program`: the words that start bubblewrap here. `network`: off, on, or the
    hosts that commands may reach through a proxy; behind landlock a list is off. `hidden`: places masked
    besides the tables. `named`: places that variables name, masked unless they are in the workspace. `writable`:
    folders outside the workspace that commands may write. `state`: the folder in which is listed what must not be
    left behind. `sockets`: what knows where others listen. `settled`: leave out those that were made seconds ago,
    which may be gone before they are masked.
    """

    level: Level
    reason: str = ""
    program: tuple[str, ...] = ()
    network: bool | tuple[str, ...] = False
    hidden: tuple[Path, ...] = ()
    named: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    state: Path = Path()
    limits: ResourceLimits = field(default_factory=ResourceLimits)
    sockets: Sockets | None = field(default=None, compare=False)
    settled: bool = False

    def confines(self, root: Path) -> bool:
        """Tell whether commands in this workspace are kept from all else; one that holds a home is no confinement."""
        place = Path(os.path.realpath(root))
        return self.level is Level.BUBBLEWRAP and not any(home.is_relative_to(place) for home in homes(os.environ))

    def words(self, mounts: Iterable[Mount]) -> list[str]:
        """Return the words before those of a command that is to see the machine like this."""
        network = () if self.network is True else ("--unshare-net",)
        return [*self.program, *_NAMESPACES, *network, *self._mounting(mounts)]

    def stand(self) -> None:
        """Have what the words name stand in the folder of ours; raise OSError where that cannot be."""
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(self._blank, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o400))

    @property
    def _blank(self) -> Path:
        return self.state / "blank"

    def machine(self, environ: Mapping[str, str], root: Path | None = None) -> Iterator[Mount]:
        """Yield how everything outside a workspace is shown; the sockets in the workspace `root` are its own."""
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
        """Yield the sockets of others; nobody's own are in a workspace that holds a home."""
        # Landlock cannot close one socket: there a filter of calls closes all of them.
        if self.sockets is None or self.level is Level.LANDLOCK:
            return
        shared = root is None or any(home.is_relative_to(root) for home in at_home)
        own = [os.path.realpath(path) for path in (*(() if shared else (root,)), *self.writable)]
        # Those in folders that are hidden as a whole need no mask of their own: that is where most of them are.
        inside = tuple(f"{path}/" for path in (*own, *SOCKETS, *_TEMPORARY))
        for path in set(self.sockets.paths(at_home, own)):
            if path.startswith(inside) or not is_channel(path) or (self.settled and is_new(path)):
                continue
            if not os.path.realpath(path).startswith(inside):
                yield path

    def _mounting(self, mounts: Iterable[Mount]) -> Iterator[str]:
        """Yield the words for all mounts: what lies above first, and of two for one place the last."""
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
                # One page, so that it is no place to fill the memory from.
                return "--perms", "0555", "--size", "4096", "--tmpfs", path
            case Way.BLANK:
                return "--ro-bind", str(self._blank), path


def _needed(ways: dict[str, Way]) -> dict[str, Way]:
    """Return the mounts without masks over what is hidden already, together with the folder that it is in."""

    def is_hidden(path: str) -> bool:
        above = next((str(folder) for folder in Path(path).parents if str(folder) in ways), None)
        return above is not None and ways[above] in (Way.EMPTY, Way.SCRATCH)

    masks = (Way.EMPTY, Way.BLANK)
    return {path: way for path, way in ways.items() if way not in masks or not is_hidden(path)}


def _anchored(ways: dict[str, Way]) -> dict[str, Way]:
    """Return the mounts with every folder between one and a writable one above it.

    Else a folder could be moved away with what is laid over something in it, and the next command would find it bare.
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
    """Return the user's home, by the environment and by the system's own list."""
    found = {environ.get("HOME", "")}
    with suppress(KeyError):
        found.add(pwd.getpwuid(os.getuid()).pw_dir)
    # Some accounts have the top of everything for a home: that is nobody's.
    return {Path(os.path.realpath(home)) for home in found if home.startswith("/")} - {Path("/")}


def named_secrets(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield what variables name of the kind that the tables list, there or not, and any socket that one names."""
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
    """Yield the places that are not in a workspace: what a variable names in it belongs to its project.

    In a workspace that holds a home, it is the user's.
    """
    own = None if root is None or any(home.is_relative_to(root) for home in at_home) else root
    return (path for path in paths if own is None or not path.is_relative_to(own))


def _toolchains(environ: Mapping[str, str], root: Path | None) -> Iterator[str]:
    """Yield the programs on PATH that are in a temporary folder, outside the workspace `root`.

    Temporary folders are hidden, so without this a virtual environment in one of them would be missing. Of such an
    environment all is shown, of any other folder on PATH only the folder itself.
    """
    temporary = tuple(f"{os.path.realpath(path)}/" for path in _TEMPORARY)
    folders = filter(None, [environ.get("VIRTUAL_ENV"), sys.prefix, *environ.get("PATH", "").split(":")])
    for folder in map(os.path.realpath, folders):
        above = os.path.dirname(folder)
        place = above if os.path.exists(f"{above}/pyvenv.cfg") else folder
        if place.startswith(temporary) and not (root and Path(place).is_relative_to(root)):
            yield place


def _there(paths: Iterable[str]) -> Iterator[Mount]:
    """Yield a mask for each place that is there; for a link, over what it leads to."""
    for path in filter(os.path.exists, paths):
        real = os.path.realpath(path)
        yield Mount(real, Way.EMPTY if os.path.isdir(real) else Way.BLANK)
