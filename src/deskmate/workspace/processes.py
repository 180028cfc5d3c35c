"""Which processes belong to a command, and ending them.

`command` ends what it started, `sweep` what a predecessor left; the kernel's own table stands below.
"""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

PROC = Path("/proc")
_PATIENCE_SECONDS = 2.0
_LOOK_SECONDS = 0.02

log = logging.getLogger(__name__)

# Process id → the id of its group.
Living: TypeAlias = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Mark:
    """How processes of ours are known: by their group, or by entries of the environment they were started with."""

    group: int | None = None
    entries: frozenset[bytes] = frozenset()

    def living(self) -> Living:
        """Return those that are alive, this process and those above it never among them."""
        found = self.by_proc() if sys.platform == "linux" else dict(self.by_ps())
        for above in _ancestry() if found else ():
            found.pop(above, None)
        return found

    def by_proc(self) -> dict[int, int]:
        """Return them as /proc shows them."""
        found = {}
        for entry in os.listdir(PROC):
            # It may end while we look: then it is not alive.
            with contextlib.suppress(OSError):
                if entry.isdigit() and (group := self._group_of(PROC / entry)) is not None:
                    found[int(entry)] = group
        return found

    def _group_of(self, process: Path) -> int | None:
        """Return the group of a process that is alive and ours."""
        fields = _fields(process)
        state, group = fields[0], int(fields[2])
        if state in (b"Z", b"X"):
            return None
        if group == self.group:
            return group
        carries = self.entries and self.entries <= set((process / "environ").read_bytes().split(b"\0"))
        return group if carries else None

    def by_ps(self) -> Iterator[tuple[int, int]]:
        """Yield what can be known where there is no /proc: the group alone."""
        listing = subprocess.run(["ps", "-axo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True)
        for line in listing.stdout.splitlines():
            pid, group, state = line.split(maxsplit=2)
            if int(group) == self.group and not state.startswith("Z"):
                yield int(pid), int(group)


def mark_of(group: int, environ: Mapping[str, str]) -> Mark:
    """Return how the processes of a command are known that was started in a group, with an environment of ours."""
    ours = (f"{key}={value}" for key, value in environ.items() if key.startswith("DESKMATE_"))
    return Mark(group, frozenset(map(os.fsencode, ours)))


def start_of(pid: int) -> str | None:
    """Return when a process was started, as its system tells it, so that its id is not mistaken for another's."""
    return start_by_proc(pid) if sys.platform == "linux" else start_by_ps(pid)


def is_living(pid: int, start: str | None) -> bool:
    """Tell whether a process that was started then still is: one that nobody has collected yet is not."""
    if start is None or start_of(pid) != start:
        return False
    if sys.platform != "linux":
        return True
    try:
        return _fields(PROC / str(pid))[0] not in (b"Z", b"X")
    except OSError:
        return False


def start_by_proc(pid: int) -> str | None:
    """Return when a process was started, as /proc shows it."""
    try:
        return _fields(PROC / str(pid))[19].decode()
    except (FileNotFoundError, ProcessLookupError):
        return None


def start_by_ps(pid: int) -> str | None:
    """Return when a process was started, as ps shows it."""
    told = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return " ".join(told.stdout.split()) or None


def _fields(process: Path) -> list[bytes]:
    """Return the fields of a process from its state on; its name, which may hold anything, stands before them."""
    return (process / "stat").read_bytes().rpartition(b")")[2].split()


def _ancestry() -> list[int]:
    """Return this process and those above it, as far as they can be seen."""
    line = [os.getpid()]
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            while line[-1] > 1:
                line.append(int(_fields(PROC / str(line[-1]))[1]))
    else:
        line.append(os.getppid())
    return line


@dataclass(frozen=True, slots=True)
class EndedProcesses:
    """How many processes were ended, and those that even SIGKILL did not end."""

    ended: int
    left: tuple[int, ...]


def end(mark: Mark, grace_seconds: float, pause: Callable[[float], None] = time.sleep) -> EndedProcesses:
    """End all processes that a mark knows: asked first, killed once their grace is over, and what they start meanwhile.

    `pause` waits a moment. What a kill does not end within seconds is stuck in the kernel: it is told, not waited for.
    """
    living = mark.living()
    seen = set(living)
    _signal(living, signal.SIGTERM, signal.SIGCONT)
    deadline = time.monotonic() + grace_seconds
    while living and time.monotonic() < deadline:
        pause(_LOOK_SECONDS)
        living = mark.living()
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while living and time.monotonic() < deadline:
        seen |= set(living)
        _signal(living, signal.SIGKILL)
        pause(_LOOK_SECONDS)
        living = mark.living()
    if living:
        log.warning("processes %s could not be ended", sorted(living))
    return EndedProcesses(len(seen), tuple(sorted(living)))


def _signal(living: Living, *signals: signal.Signals) -> None:
    """Signal whole groups, so that none of them can escape by forking; our own group only one by one."""
    mine = os.getpgrp()
    for number in signals:
        for group in set(living.values()) - {mine}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
        for pid in (pid for pid, group in living.items() if group == mine):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
