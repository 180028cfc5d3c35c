"""Which processes belong to a command, and ending them."""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from deskmate.core.values import frozen

PROC = Path("/proc")
_PATIENCE_SECONDS = 2.0
_LOOK_SECONDS = 0.02

log = logging.getLogger(__name__)

# Process id → the id of its group.
Living: TypeAlias = Mapping[int, int]


@frozen
class Mark:
    """How to recognise our processes: by their group, or by entries of the environment they were started with."""

    group: int | None = None
    entries: frozenset[bytes] = frozenset()

    def living(self) -> Living:
        """Return those that are alive, but never this process or its ancestors."""
        found = self.by_proc() if sys.platform == "linux" else dict(self.by_ps())
        for above in _ancestry() if found else ():
            found.pop(above, None)
        return found

    def by_proc(self) -> dict[int, int]:
        """Return them as /proc shows them."""
        found = {}
        for entry in os.listdir(PROC):
            # A process may end while we look. Then it is not alive.
            with contextlib.suppress(OSError):
                if entry.isdigit() and (group := self._group_of(PROC / entry)) is not None:
                    found[int(entry)] = group
        return found

    def _group_of(self, process: Path) -> int | None:
        """Return the group of a process, or None if it is not alive or not ours."""
        fields = _fields(process)
        state, group = fields[0], int(fields[2])
        if state in (b"Z", b"X"):
            return None
        if group == self.group:
            return group
        carries = self.entries and self.entries <= set((process / "environ").read_bytes().split(b"\0"))
        return group if carries else None

    def by_ps(self) -> Iterator[tuple[int, int]]:
        """Yield what is known without /proc: only those of the group."""
        listing = subprocess.run(["ps", "-axo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True)
        for line in listing.stdout.splitlines():
            pid, group, state = line.split(maxsplit=2)
            if int(group) == self.group and not state.startswith("Z"):
                yield int(pid), int(group)


def mark_of(group: int, environ: Mapping[str, str]) -> Mark:
    """Return the mark of a command that was started in a group with our environment."""
    ours = (f"{key}={value}" for key, value in environ.items() if key.startswith("DESKMATE_"))
    return Mark(group, frozenset(map(os.fsencode, ours)))


def start_of(pid: int) -> str | None:
    """Return when a process was started, as the system shows it. It tells a process from a later one with its id."""
    return start_by_proc(pid) if sys.platform == "linux" else start_by_ps(pid)


def is_living(pid: int, start: str | None) -> bool:
    """Tell whether the process with this start time is alive. A zombie is not."""
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
    """Return the fields of a process from its state on. The name before them may contain anything."""
    return (process / "stat").read_bytes().rpartition(b")")[2].split()


def _ancestry() -> list[int]:
    """Return this process and its ancestors, as far as they are visible."""
    line = [os.getpid()]
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            while line[-1] > 1:
                line.append(int(_fields(PROC / str(line[-1]))[1]))
    else:
        line.append(os.getppid())
    return line


@frozen
class EndedProcesses:
    """How many processes were ended, and those that even SIGKILL did not end."""

    ended: int
    left: tuple[int, ...]


def end(mark: Mark, grace_seconds: float, pause: Callable[[float], None] = time.sleep) -> EndedProcesses:
    """End all processes with a mark, and those they start meanwhile: SIGTERM first, SIGKILL after the grace period.

    `pause` waits a moment. What SIGKILL does not end within seconds is stuck in the kernel. It is reported.
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
    """Signal whole groups, so that no process escapes by forking. In our own group, signal each process."""
    mine = os.getpgrp()
    for number in signals:
        for group in set(living.values()) - {mine}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
        for pid in (pid for pid, group in living.items() if group == mine):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
