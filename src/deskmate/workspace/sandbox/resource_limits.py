"""What one command may take of the machine."""

import contextlib
import os
import re
import resource
import secrets
import signal
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from deskmate.core.values import frozen
from deskmate.workspace.descriptors import give_back

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")
_COUNTED = re.compile(r"^\d+:(?P<old>(?:[^:]*\b(?:pids|memory)\b[^:]*)?):(?P<path>/.*)$", re.MULTILINE)
_FIRST_TO_GO = "1000"
_OWN = "deskmate-"
# A shell reports a signal as a status of its own.
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
_TOO_LARGE = (-signal.SIGXFSZ, 128 + signal.SIGXFSZ)
# What programs print when the kernel refused them something.
_WANTS_MEMORY = re.compile(r"MemoryError|Cannot allocate memory|bad_alloc|[Oo]ut of memory")
_WANTS_FILE = re.compile(r"File too large|File size limit exceeded")
_WANTS_PROCESSES = re.compile(r"Resource temporarily unavailable|can't start new thread")


def _most_memory() -> int:
    """Return three quarters of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4 * 3


@frozen
class ResourceLimits:
    """How many processes and threads a command may have, and how large a process, a file and temporary files may be."""

    processes: int = 4096
    memory_bytes: int = field(default_factory=_most_memory)
    file_bytes: int = 8 << 30
    scratch_bytes: int = 2 << 30

    @contextlib.contextmanager
    def binding(self, pid: int, *, apart: bool = True) -> Iterator[None]:
        """Limit a process that has not started its command yet, and all it will start.

        At the end, nothing of it may run any more. `apart`: the kernel does not count the user's other processes.
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
        give_back(pid)
        # If memory runs out, the kernel ends these before anything of the user's.
        (_PROC / str(pid) / "oom_score_adj").write_text(_FIRST_TO_GO)
        bounds = {
            "pids.max": self.processes,
            "memory.max": self.memory_bytes,
            "memory.limit_in_bytes": self.memory_bytes,
        }
        with _counting(pid, bounds):
            yield

    def met(self, status: int | None, output: str) -> str:
        """Return which limits a command seems to have reached, judged by its status and output."""
        if status == 0:
            return ""
        memory, file = _size(self.memory_bytes), _size(self.file_bytes)
        met = {
            f"the kernel probably ended it for lack of memory: a command may use {memory}": status in _KILLED,
            f"a process may use {memory} of memory": _WANTS_MEMORY.search(output),
            f"a file may not be larger than {file}": status in _TOO_LARGE or _WANTS_FILE.search(output),
            f"a command may have {self.processes:,} processes and threads": _WANTS_PROCESSES.search(output),
        }
        return "; ".join(words for words, found in met.items() if found)


def _size(count: int) -> str:
    return f"{count / (1 << 30):.3g} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.3g} MiB"


def _running() -> int:
    """Return how many processes and threads there are on this machine."""
    return int((_PROC / "loadavg").read_text().split()[3].partition("/")[2])


def counts_processes() -> bool:
    """Tell whether the number of processes can be limited here. For root, that takes a cgroup we may create."""
    if os.geteuid() != 0:
        return True
    with contextlib.ExitStack() as stack:
        return any((stack.enter_context(_cgroup(parent)) / "pids.max").exists() for parent in _parents())


@contextlib.contextmanager
def _counting(pid: int, bounds: Mapping[str, int]) -> Iterator[None]:
    """Limit what all processes of a command of root take together, with cgroups, if we may create some.

    Of the kernel's other limits, one does not count root's processes, and none counts the memory of several.
    """
    with contextlib.ExitStack() as stack:
        for parent in _parents() if os.geteuid() == 0 else ():
            folder = stack.enter_context(_cgroup(parent))
            held = [name for name in bounds if (folder / name).exists()]
            for name in held:
                (folder / name).write_text(str(bounds[name]))
            if held:
                (folder / "cgroup.procs").write_text(str(pid))
        yield


@contextlib.contextmanager
def _cgroup(parent: Path) -> Iterator[Path]:
    """Yield a cgroup of our own below another. If it cannot be created, the path does not exist."""
    own = parent / f"{_OWN}{os.getpid()}-{secrets.token_hex(8)}"
    with contextlib.suppress(OSError):
        own.mkdir()
    try:
        yield own
    finally:
        with contextlib.suppress(OSError):
            own.rmdir()


def sweep_cgroups() -> None:
    """Remove the cgroups of processes that were killed before they could do it."""
    for parent in _parents():
        for left in parent.glob(f"{_OWN}*"):
            if not (_PROC / left.name.removeprefix(_OWN).partition("-")[0]).exists():
                with contextlib.suppress(OSError):
                    left.rmdir()


def _parents() -> list[Path]:
    """Return our cgroups that may count processes or memory. A cgroup of version 1 counts one thing."""
    try:
        listing = (_PROC / "self/cgroup").read_text()
    except OSError:
        return []
    found = (f"{_CGROUPS / one['old']}{one['path']}" for one in _COUNTED.finditer(listing))
    return [folder for folder in map(Path, found) if (folder / "cgroup.procs").exists()]
