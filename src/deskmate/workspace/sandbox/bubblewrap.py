"""One command started in bubblewrap."""

import contextlib
import io
import logging
import os
import re
import select
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.fs.safe_files import private_folder
from deskmate.workspace.blobs import TASKS
from deskmate.workspace.git.git_watch import GitWatch
from deskmate.workspace.git.repositories import git_folder
from deskmate.workspace.paths import shown
from deskmate.workspace.processes import EndedProcesses
from deskmate.workspace.sandbox.mount_placeholders import Placeholders
from deskmate.workspace.sandbox.mounts import Mount, Sandbox, Way
from deskmate.workspace.sandbox.network.allowed_hosts import allowed
from deskmate.workspace.sandbox.network.host_gate import HostGate
from deskmate.workspace.sandbox.network.proxy import PORT, Proxy, proxy_environ
from deskmate.workspace.sandbox.protected_paths import Guard, Guarded, guarded
from deskmate.workspace.sandbox.seccomp import ALLOW_ALL, call_filter
from deskmate.workspace.start_gate import GATE, OPEN, listening_gate

log = logging.getLogger(__name__)

_START_SECONDS = 10.0
_PATIENCE_SECONDS = 2.0
_LOOK_SECONDS = 0.02
_LINE = 4096
_GLANCE_SECONDS = 0.0005
_CHILD = re.compile(rb'"child-pid": *(\d+)[^\n]*\n')
_BOUND = re.compile(rb"^Seccomp:\t2$", re.MULTILINE)

# Takes words, an environment, descriptors to inherit, and stdin. Starts them in their own session.
Start: TypeAlias = Callable[[Sequence[str], Mapping[str, str], Sequence[int], int], "subprocess.Popen[bytes]"]


class NotBegun(ToolError):
    """The sandbox could not be set up, so the command never started."""


@frozen
class CommandSandbox:
    """The sandbox for commands of one workspace. `user`: the user's variables, which say where git's settings are.

    `shown`: the team's records, and folders of skills, that commands may read nevertheless. `gate`: asks about hosts
    that the sandbox keeps the command from.
    """

    sandbox: Sandbox
    root: Path
    user: Mapping[str, str]
    shown: tuple[Path, ...] = ()
    gate: HostGate | None = None

    @contextlib.contextmanager
    def around(self, environ: Mapping[str, str]) -> Iterator[tuple[list[str], GitWatch]]:
        """Yield the words to put before a command, and the watch on git's folder, with everything in place."""
        found = self._found()
        with self.watched(found.guards) as watch:
            mounts = [*self.sandbox.machine(environ, self.root), *found.mounts, *map(_only_read, found.guards)]
            # A folder that is gone cannot be mounted.
            mounts += (Mount(str(path), Way.READ) for path in self.shown if path.exists())
            watch.also(_Replaced([*(guard.path for guard in found.guards), *found.links]))
            yield [*self.sandbox.words(mounts), "--chdir", str(self.root)], watch

    @contextlib.contextmanager
    def watched(self, guards: Sequence[Guard] = ()) -> Iterator[GitWatch]:
        """Watch git's folder inside the context, with all guards in place. Raises ToolError if that is impossible."""
        git, list_ = git_folder(self.root), Placeholders(self.sandbox.state)
        path = str(git.path) if git else None
        with contextlib.ExitStack() as stack:
            known = stack.enter_context(list_.standing(guards, path)) if guards or path else {}
            watch = GitWatch(self.root, git, known, lambda: path is not None and list_.is_last(path))
            try:
                yield watch
            finally:
                watch.finish()

    def _found(self) -> Guarded:
        try:
            self.sandbox.stand()
            with private_folder(self.root, TASKS):
                return guarded(self.root, self.user)
        except OSError as error:
            if not self.root.is_dir():
                raise ToolError(f"The folder {self.root} is gone: somebody deleted it. Tell the user.") from error
            raise ToolError(
                f"The command could not be started: {error.strerror}. Try again, and tell the user if it keeps failing."
            ) from error


class _Replaced:
    """Reports, once each, which paths are no longer what they were.

    The kernel removes a mount together with the file under it, for example when the user runs `git config`. From then
    on commands can write there. Nothing can be mounted over a symlink.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._before = {path: _identity(path) for path in paths}

    def __call__(self) -> Iterator[str]:
        for path in [path for path, before in self._before.items() if _identity(path) != before]:
            del self._before[path]
            yield (
                f"{shown(path)} was replaced while a command ran, by you or by the command, and could be changed by "
                "it from then on. Look at it before you use git or open this folder in an editor."
            )


def _identity(path: str) -> tuple[object, ...] | None:
    """Return what tells an entry from another at the same path. A disk may reuse an inode number at once."""
    try:
        found = os.lstat(path)
        target = os.readlink(path) if stat.S_ISLNK(found.st_mode) else ""
    except OSError:
        return None
    return found.st_dev, found.st_ino, stat.S_IFMT(found.st_mode), target


def _only_read(guard: Guard) -> Mount:
    return Mount(guard.path, Way.EMPTY if _is_empty(guard.path) else Way.READ)


def _is_empty(path: str) -> bool:
    """Tell whether this is an empty folder. For a folder that cannot be read, the answer is no."""
    try:
        return os.path.isdir(path) and not os.listdir(path)
    except PermissionError:
        return False


@frozen
class ConfinedProcess:
    """A command in its sandbox. `process`: bubblewrap outside. `first`: the first process inside. All end with it.

    `refused`: the hosts that it wanted to reach and may not, so far, with reasons. `watch`: watches what it does in
    git's folder.
    """

    process: subprocess.Popen[bytes]
    first: int
    refused: Mapping[str, str]
    watch: GitWatch
    _life: int
    _status: io.FileIO

    def begun(self) -> bool:
        """Tell, after it is over, whether the command ever started."""
        return b"exit-code" in self._status.readall()

    def end(self, grace_seconds: float, pause: Callable[[float], None], *, by_itself: bool) -> EndedProcesses:
        """End everything inside: SIGTERM first, SIGKILL after the grace period. `pause` waits a moment.

        If the command has ended `by_itself`, everything else ends with it.
        """
        if not by_itself:
            if self._asked():
                deadline = time.monotonic() + grace_seconds
                while not self._over(0) and time.monotonic() < deadline:
                    pause(_LOOK_SECONDS)
            self.process.kill()
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._life, signal.SIGKILL)
        return EndedProcesses(0, () if self._over(_PATIENCE_SECONDS) else (self.first,))

    def _asked(self) -> bool:
        """Ask the command to end. Return whether it is running."""
        if self._over(0):
            return False
        try:
            for number in (signal.SIGTERM, signal.SIGCONT):
                os.killpg(self.first, number)
        except ProcessLookupError:
            return False
        return True

    def _over(self, seconds: float) -> bool:
        """Wait, and tell whether nothing is left inside. The first process ends after all others."""
        over = select.poll()
        over.register(self._life, select.POLLIN)
        return bool(over.poll(seconds * 1000))


@contextlib.contextmanager
def confined_process(
    command_sandbox: CommandSandbox, words: Sequence[str], environ: Mapping[str, str], start: Start
) -> Iterator[ConfinedProcess]:
    """Start a command in a sandbox, bound to this thread. If the thread ends, the command ends or never starts.

    Raises NotBegun if the sandbox cannot be set up. When the context ends, nothing of the command may be left.
    """
    # Many commands may run at once, so nothing that only the setup needs stays open.
    with contextlib.ExitStack() as stack, contextlib.ExitStack() as setup:
        before, watch = stack.enter_context(command_sandbox.around(environ))
        (status, told), (bounds, bounded), (gate, opener) = _pipe(stack), _pipe(setup), _pipe(setup)
        options = ("--json-status-fd", str(told.fileno()), "--block-fd", str(bounds.fileno()))
        filtering, filters = _filter_words(setup)
        door = _Door(command_sandbox, stack)
        # Inside, temporary files have their own folder.
        inside = {key: value for key, value in (*environ.items(), *door.environ.items()) if key != "TMPDIR"}
        fds = (told.fileno(), bounds.fileno(), *filters, *door.fds)
        process = start([*before, *options, *filtering, "--", *door.gate, *words], inside, fds, gate.fileno())
        try:
            told.close()
            gate.close()
            first = _child(status)
            life = os.pidfd_open(first)
            stack.callback(os.close, life)
            stack.enter_context(command_sandbox.sandbox.limits.binding(first))
            bounded.write(b"!")
            _await_bond(first)
            door.serve()
            opener.write(OPEN)
            setup.close()
        except BaseException as error:
            # Kill the group: a process inside leaves it only when it is already bound to die with its parent.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, OSError | ValueError):
                raise NotBegun(str(error)) from error
            raise
        yield ConfinedProcess(process, first, door.refused, watch, life, status)


class _Door:
    """The gate of a command, and its network: none, all, or a proxy to the listed hosts."""

    def __init__(self, command_sandbox: CommandSandbox, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        network, self._gate = command_sandbox.sandbox.network, command_sandbox.gate
        self._resolve = command_sandbox.sandbox.resolve
        self.gate: Sequence[str] = GATE
        self.environ: Mapping[str, str] = {}
        self.fds: Sequence[int] = ()
        self.refused: Mapping[str, str] = {}
        self._ends: tuple[socket.socket, ...] = ()
        # Without anybody to ask, a proxy would only take time.
        if not isinstance(network, bool) or (self._gate and not network):
            self._listed = allowed(network or ())
            self._ends = _, outward = tuple(map(stack.enter_context, socket.socketpair()))
            self.fds = (outward.fileno(),)
            self.gate, self.environ = listening_gate(PORT, outward.fileno()), proxy_environ(self._listed)

    def serve(self) -> None:
        """Start the proxy, if there is one. It serves until the stack closes. Raises OSError if it cannot start."""
        if self._ends:
            inward, outward = self._ends
            # Otherwise we could not see that the gate has ended.
            outward.close()
            inward.settimeout(_START_SECONDS)
            _, fds, _, _ = socket.recv_fds(inward, 1, 1, socket.MSG_CMSG_CLOEXEC)
            if not fds:
                raise OSError("the gate did not listen")
            proxy = Proxy(self._listed, self._gate, self._resolve)
            self.refused = proxy.refused
            self._stack.enter_context(proxy.serving(socket.socket(fileno=fds[0])))


def _await_bond(first: int) -> None:
    """Wait until the first process inside is bound to its parent. Bubblewrap filters calls right after that."""
    deadline = time.monotonic() + _START_SECONDS
    while not _BOUND.search(_status(first)):
        if time.monotonic() > deadline:
            raise ValueError("bubblewrap did not continue")
        time.sleep(_GLANCE_SECONDS)


def _status(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/status").read_bytes()
    except (FileNotFoundError, ProcessLookupError) as error:
        raise ValueError("bubblewrap ended before the command could begin") from error


def _pipe(stack: contextlib.ExitStack) -> tuple[io.FileIO, io.FileIO]:
    reading, writing = os.pipe()
    return stack.enter_context(io.FileIO(reading, "r")), stack.enter_context(io.FileIO(writing, "w"))


def _filter_words(stack: contextlib.ExitStack) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the words that enable the call filter, and the descriptors they need, open until `stack` closes."""
    reading, writing = _pipe(stack)
    writing.write(call_filter() or ALLOW_ALL)
    writing.close()
    return ("--seccomp", str(reading.fileno())), (reading.fileno(),)


def _child(status: io.FileIO) -> int:
    """Return the first process inside. Raises ValueError if there is none."""
    line, ready, deadline = b"", select.poll(), time.monotonic() + _START_SECONDS
    ready.register(status, select.POLLIN)
    while b"\n" not in line and ready.poll(max(0.0, deadline - time.monotonic()) * 1000):
        more = status.read(_LINE)
        if not more:
            break
        line += more
    found = _CHILD.search(line)
    if not found:
        raise ValueError("bubblewrap started nothing")
    return int(found[1])
