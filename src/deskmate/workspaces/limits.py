"""Limits: what one confined command may take of the machine. `confined` binds them before it begins."""

import contextlib
import os
import re
import resource
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")
_PIDS = re.compile(r"^\d+:(?:(?P<old>[^:]*\bpids\b[^:]*)|):(?P<path>/.*)$", re.MULTILINE)
_FIRST_TO_GO = "1000"
_OWN = "deskmate-"


def _most_memory() -> int:
    """Return three quarters of what the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4 * 3


@dataclass(frozen=True, slots=True)
class Limits:
    """How many processes (threads count) a command may have, and how large one's memory, a file, temporary files."""

    processes: int = 4096
    memory_bytes: int = field(default_factory=_most_memory)
    file_bytes: int = 8 << 30
    scratch_bytes: int = 2 << 30

    @contextlib.contextmanager
    def binding(self, pid: int, *, apart: bool = True) -> Iterator[None]:
        """Bind a process that has not begun, and all it will start; at the end nothing of it may run any more.

        `apart`: the kernel does not count the user's other processes among these.
        """
        for kind, most in (
            (resource.RLIMIT_NPROC, self.processes if apart else self.processes + _running()),
            (resource.RLIMIT_DATA, self.memory_bytes),
            (resource.RLIMIT_FSIZE, self.file_bytes),
            (resource.RLIMIT_CORE, 0),
        ):
            _, hard = resource.prlimit(pid, kind)
            bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.prlimit(pid, kind, (bound, bound))
        # Where all of them together take too much, the kernel ends these before anything of the user's.
        (_PROC / str(pid) / "oom_score_adj").write_text(_FIRST_TO_GO)
        with _counting(pid, self.processes):
            yield


def _running() -> int:
    """Return how many processes and threads there are on this machine."""
    return int((_PROC / "loadavg").read_text().split()[3].partition("/")[2])


def counts_processes() -> bool:
    """Tell whether the number of processes can be bounded here: for root that takes a cgroup we may make."""
    if os.geteuid() != 0:
        return True
    with _cgroup() as folder:
        return folder is not None


@contextlib.contextmanager
def _counting(pid: int, processes: int) -> Iterator[None]:
    """Bound the number of processes by a cgroup: the kernel's other limit does not count those of root."""
    with _cgroup() if os.geteuid() == 0 else contextlib.nullcontext() as folder:
        if folder is not None:
            (folder / "pids.max").write_text(str(processes))
            (folder / "cgroup.procs").write_text(str(pid))
        yield


@contextlib.contextmanager
def _cgroup() -> Iterator[Path | None]:
    """Lend a cgroup of our own that counts processes, below the one we are in; None where there can be none."""
    folder = next((parent for parent in _parents() if (parent / "cgroup.procs").exists()), None)
    own = folder / f"{_OWN}{os.getpid()}-{secrets.token_hex(8)}" if folder else None
    try:
        if folder is not None and own is not None:
            _sweep(folder)
            own.mkdir()
    except OSError:
        own = None
    try:
        yield own if own is not None and (own / "pids.max").exists() else None
    finally:
        if own is not None:
            with contextlib.suppress(OSError):
                own.rmdir()


def _sweep(folder: Path) -> None:
    """Remove the cgroups of those that were killed before they could."""
    for left in folder.glob(f"{_OWN}*"):
        if not (_PROC / left.name.removeprefix(_OWN).partition("-")[0]).exists():
            with contextlib.suppress(OSError):
                left.rmdir()


def _parents() -> Iterator[Path]:
    """Yield the folder of the cgroup we are in, first of the older kind, where that counts processes."""
    try:
        listing = (_PROC / "self/cgroup").read_text()
    except OSError:
        return
    for found in _PIDS.finditer(listing):
        top = _CGROUPS / found["old"] if found["old"] else _CGROUPS
        yield Path(f"{top}{found['path']}")
