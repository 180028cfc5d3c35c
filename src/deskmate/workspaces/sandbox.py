"""The sandbox: what a confined command sees of the machine, as a list of mounts, and the words that have it so.

All of it is read-only but the workspace and a temporary folder of the command's own; what speaks for the user or the
team is not there at all. `levels` finds out whether the machine can do this, `guards` what must not change in a
workspace, `confined` starts commands in it; `masks` holds the tables.
"""

import glob
import os
import pwd
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from deskmate.workspaces.limits import Limits
from deskmate.workspaces.masks import HOME_SECRETS, KERNEL, PROGRAMS, SOCKETS, SYSTEM_SECRETS

_TEMPORARY = ("/tmp", "/var/tmp")
_RESOLVER = "/etc/resolv.conf"
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
    besides the tables. `writable`: folders outside the workspace that commands may write. `state`: the folder in which
    is listed what must not be left behind.
    """

    level: Level
    reason: str = ""
    program: tuple[str, ...] = ()
    network: bool | tuple[str, ...] = False
    hidden: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    state: Path = Path()
    limits: Limits = field(default_factory=Limits)

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

    def machine(self, environ: Mapping[str, str]) -> Iterator[Mount]:
        """Yield how everything outside the workspace is shown."""
        for folder in {os.path.realpath(path) for path in _TEMPORARY}:
            yield Mount(folder, Way.SCRATCH)
        yield from _there(SOCKETS)
        yield from (Mount(path, Way.READ) for path in PROGRAMS if os.path.exists(path))
        yield from _there(path for pattern in SYSTEM_SECRETS for path in glob.glob(pattern) if os.access(path, os.R_OK))
        yield from _there(f"{home}/{name}" for home in homes(environ) for name in HOME_SECRETS)
        yield from _there(map(str, (*self.hidden, self.state)))
        yield from (Mount(os.path.realpath(path), Way.WRITE) for path in self.writable if path.is_dir())
        yield from _there(path for name in KERNEL if os.access(path := f"/proc/{name}", os.W_OK))
        yield Mount("/proc/sys", Way.READ)
        resolver = os.path.realpath(_RESOLVER)
        if self.network is True and resolver != _RESOLVER and os.path.exists(resolver):
            yield Mount(resolver, Way.READ)

    def _mounting(self, mounts: Iterable[Mount]) -> Iterator[str]:
        """Yield the words for all mounts: what lies above first, and of two for one place the last."""
        yield from ("--ro-bind", "/", "/", "--dev", "/dev", *self._mount("/dev/shm", Way.SCRATCH))
        yield from ("--remount-ro", "/dev", "--proc", "/proc")
        ways = _anchored({mount.path: mount.way for mount in mounts})
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


def _there(paths: Iterable[str]) -> Iterator[Mount]:
    """Yield a mask for each place that is there; for a link, over what it leads to."""
    for path in filter(os.path.exists, paths):
        real = os.path.realpath(path)
        yield Mount(real, Way.EMPTY if os.path.isdir(real) else Way.BLANK)
