"""One command started with Landlock, if bubblewrap is not available.

This is the second choice: the command sees the machine as it is, and may read and write only what the rules list.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from functools import partial
from pathlib import Path

from deskmate.core.values import frozen
from deskmate.workspace.git.git_watch import GitWatch
from deskmate.workspace.git.repositories import repository
from deskmate.workspace.processes import EndedProcesses, Mark, end, mark_of, start_of
from deskmate.workspace.sandbox.bubblewrap import CommandSandbox, NotBegun, Start
from deskmate.workspace.sandbox.landlock import TRUNCATE_SINCE, LandlockRule, Right, restrict, version
from deskmate.workspace.sandbox.mounts import Way
from deskmate.workspace.sandbox.seccomp import ALLOW_ALL, call_filter
from deskmate.workspace.start_gate import GATE, OPEN

_SCRATCH = "deskmate-fenced-"
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
# Allowed as a whole: it has what a command may know about itself, and that does not exist before it starts.
_KERNEL = "/proc"
# Memory and messages shared by all processes of the user. They have no path that a rule could name.
_SHARED = ("shmget", "semget", "msgget")


@frozen
class Fenced:
    """A command restricted by Landlock, with everything it has started, as far as its mark shows that.

    `refused`: always empty, because there is no proxy. `watch`: watches what it does in git's folder.
    """

    process: subprocess.Popen[bytes]
    mark: Mark
    watch: GitWatch
    refused: Mapping[str, str] = field(default_factory=dict)

    def begun(self) -> bool:
        """Tell whether the command ever started. It always did, or there would be no such object."""
        return True

    def end(self, grace_seconds: float, pause: Callable[[float], None], *, by_itself: bool) -> EndedProcesses:
        """End everything it started: SIGTERM first, SIGKILL after the grace period. `pause` waits a moment."""
        return end(self.mark, grace_seconds, pause)


@contextlib.contextmanager
def fenced(
    command_sandbox: CommandSandbox, words: Sequence[str], environ: Mapping[str, str], start: Start
) -> Iterator[Fenced]:
    """Start a command restricted by Landlock. Raises NotBegun if that is not possible.

    When the context ends, nothing of the command may be left.
    """
    with contextlib.ExitStack() as stack:
        watch = stack.enter_context(command_sandbox.watched())
        scratch = stack.enter_context(_scratch())
        reading, writing = os.pipe()
        gate, opener = stack.enter_context(open(reading, "rb", 0)), stack.enter_context(open(writing, "wb", 0))
        # Landlock cannot block single sockets by path, so all Unix sockets are blocked.
        filtered = call_filter(also=_refused(command_sandbox), unix=False) or ALLOW_ALL
        fence = partial(restrict, [*_rules(command_sandbox, environ, scratch)], filtered)
        process = _behind(fence, lambda: start([*GATE, *words], {**environ, "TMPDIR": scratch}, (), gate.fileno()))
        try:
            stack.enter_context(command_sandbox.sandbox.limits.binding(process.pid, apart=False))
            opener.write(OPEN)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, OSError):
                raise NotBegun(str(error)) from error
            raise
        yield Fenced(process, mark_of(process.pid, environ), watch)


@contextlib.contextmanager
def _scratch() -> Iterator[str]:
    """Yield a folder for temporary files, and remove it afterwards."""
    folder = tempfile.mkdtemp(prefix=f"{_SCRATCH}{os.getpid()}-")
    try:
        yield folder
    finally:
        _remove(folder)


def sweep_scratch() -> None:
    """Remove the temporary files of processes that were killed before they could do it."""
    for left in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*-*"):
        pid = left.name.removeprefix(_SCRATCH).partition("-")[0]
        with contextlib.suppress(FileNotFoundError):
            if pid.isdigit() and left.lstat().st_uid == os.getuid() and start_of(int(pid)) is None:
                _remove(str(left))


def _remove(folder: str) -> None:
    # Not with Python, which fails in very deep folders. What cannot be removed is left to the system's cleanup.
    subprocess.run(["/bin/rm", "-rf", "--", folder], stderr=subprocess.DEVNULL, check=False)


def _refused(command_sandbox: CommandSandbox) -> Iterator[str]:
    """Yield the calls that no command may make, because no rule covers what they do."""
    yield from _SHARED
    if version() < TRUNCATE_SINCE:
        yield "truncate"
    if command_sandbox.sandbox.network is not True:
        yield "socket"


def _behind(fence: Callable[[], None], start: "Callable[[], subprocess.Popen[bytes]]") -> "subprocess.Popen[bytes]":
    """Start a process from a thread that has restricted itself. The thread does nothing else afterwards."""

    def work() -> "subprocess.Popen[bytes]":
        try:
            fence()
        except OSError as error:
            raise NotBegun(f"landlock: {error.strerror}") from error
        return start()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def _rules(command_sandbox: CommandSandbox, environ: Mapping[str, str], scratch: str) -> Iterator[LandlockRule]:
    """Yield what a command may do where. It may list names everywhere, because rights can be given but not taken."""
    shown = {
        mount.path: mount.way
        for mount in command_sandbox.sandbox.machine(environ, command_sandbox.root)
        if not mount.path.startswith(f"{_KERNEL}/")
    }
    masked = {path for path, way in shown.items() if way not in (Way.READ, Way.WRITE)} | {"/dev"}
    yield LandlockRule("/", Right.LIST)
    yield from (LandlockRule(path, Right.READ) for path in _around("/", masked))
    yield from (LandlockRule(path, Right.READ) for path, way in shown.items() if way is Way.READ)
    yield from (LandlockRule(path, Right.WRITE) for path, way in shown.items() if way is Way.WRITE)
    yield from (LandlockRule(str(path), Right.READ) for path in command_sandbox.shown if path.exists())
    yield from (LandlockRule(f"/dev/{name}", Right.USE_DEVICE) for name in _DEVICES)
    yield from (
        LandlockRule(str(path), Right.WRITE)
        for path in (command_sandbox.root, scratch, *repository(command_sandbox.root))
    )


def _around(folder: str, masked: Set[str]) -> Iterator[str]:
    """Yield the fewest paths that cover a folder except masked ones. Symlinks are skipped: their targets have rules."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink() or entry.path in masked:
                continue
            if any(path.startswith(f"{entry.path}/") for path in masked):
                yield from _around(entry.path, masked)
            else:
                yield entry.path
