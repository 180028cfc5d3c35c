"""One command, from its start until nothing of it is left.

Each command has its own thread, so that nothing blocks the event loop. A cancelled caller wakes that thread through a
socket.
"""

import contextlib
import io
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias

import anyio
from anyio import to_thread

from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.workspace.git.git_entries import scan
from deskmate.workspace.git.git_watch import GitWatch
from deskmate.workspace.git.repositories import git_folder
from deskmate.workspace.processes import EndedProcesses, end, mark_of
from deskmate.workspace.sandbox.bubblewrap import CommandSandbox, ConfinedProcess, NotBegun, Start, confined_process
from deskmate.workspace.sandbox.landlock_command import Fenced, fenced
from deskmate.workspace.sandbox.mounts import Level
from deskmate.workspace.sweep import Groups

_CHUNK = 1 << 16
_PIPE = 1 << 20
_LAST_WORDS_SECONDS = 0.5
# How often, and for how long, to retry setting up a sandbox.
_TRIES, _TRY_SECONDS = 6, 5.0
# At most this many are set up at once, because each must be ready within seconds.
_STARTING = threading.BoundedSemaphore(8)
# How often to check git's folder, and how many times longer than a full check to wait before the next one.
_WATCH_SECONDS, _WATCH_SHARE = 1.0, 10

# Starts a command in bubblewrap or with Landlock.
Begin: TypeAlias = Callable[
    [CommandSandbox, Sequence[str], Mapping[str, str], Start],
    contextlib.AbstractContextManager[Fenced | ConfinedProcess],
]


class Sink(Protocol):
    """Where the output of a command goes."""

    def add(self, data: bytes) -> bool:
        """Take some output. Return whether there was room for all of it."""


class Why(StrEnum):
    """Why a command ended."""

    EXIT = "exit"
    TIME = "time"
    FLOOD = "flood"
    CANCEL = "cancel"
    PLANT = "plant"


@frozen
class End:
    """How a command ended. `status`: below zero is a signal, None if not even SIGKILL ended it.

    `ended`: how many other processes were still running. In a sandbox they end with the command and are not counted.
    `begun`: False if the sandbox could not be set up. The output is then its error. `refused`: the hosts that the
    command wanted to reach and may not, with reasons. `told`: what it left in git's folder, one sentence each.
    """

    why: Why
    status: int | None
    ended: int
    left: tuple[int, ...]
    begun: bool = True
    refused: Mapping[str, str] = field(default_factory=dict)
    told: tuple[str, ...] = ()


def ended_words(end: End, timeout_seconds: float, most_bytes: int) -> str:
    """Return how a command ended, for the model. Empty if it ended by itself. `most_bytes`: of its output."""
    stuck = f"; process {', '.join(map(str, end.left))} could not be ended" if end.left else ""
    if end.why is Why.TIME:
        return f"timed out after {timeout_seconds:g} s{stuck}"
    if end.why is Why.FLOOD:
        return f"stopped after {most_bytes // 1_000_000} MB of output{stuck}"
    if end.why is Why.PLANT:
        return f"ended because of a change in git's folder or in a guarded file{stuck}"
    if end.status is not None and end.status < 0:
        return f"killed by signal {-end.status} ({_signal_name(-end.status)}){stuck}"
    return stuck.removeprefix("; ")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "a real-time signal"


@frozen
class CommandOrder:
    """What to run. No shell is used unless the words name one.

    `complains`: stderr is part of the output. `command_sandbox`: the sandbox to run in, if any. `fds`: descriptors
    that the command inherits.
    """

    words: Sequence[str]
    folder: Path
    environ: Mapping[str, str]
    timeout_seconds: float
    grace_seconds: float
    complains: bool = True
    command_sandbox: CommandSandbox | None = None
    fds: tuple[int, ...] = ()


async def execute(order: CommandOrder, sink: Sink, groups: Groups) -> End:
    """Run a command to its end. When this returns, raises or is cancelled, no process of the command is left."""
    command = RunningCommand(order, sink, groups)
    try:
        return await to_thread.run_sync(command.run, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))
    finally:
        command.cancel()
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(command.over.wait, limiter=anyio.CapacityLimiter(1))
        command.close()


class RunningCommand:
    """One command. `run` serves it in a thread, and `cancel` ends it from any other thread."""

    def __init__(self, order: CommandOrder, sink: Sink, groups: Groups) -> None:
        self.over = threading.Event()
        self._order, self._sink, self._groups = order, sink, groups
        self._ear, self._wakeups = socket.socketpair()
        self._lock = threading.Lock()
        self._begun = False
        self._cancelled, self._exited = threading.Event(), threading.Event()
        self._full = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._ear, selectors.EVENT_READ)
        self._output: int | None = None

    def cancel(self) -> None:
        """End the command. If it has not started, it never will."""
        with self._lock:
            self._cancelled.set()
            if not self._begun:
                self.over.set()
        self._ring()

    def close(self) -> None:
        """Close the wakeup sockets, after the command is over."""
        self._selector.close()
        self._ear.close()
        self._wakeups.close()

    def run(self) -> End:
        """Run the command. Raises ToolError if it cannot be started."""
        with self._lock:
            if self._cancelled.is_set():
                return End(Why.CANCEL, None, 0, ())
            self._begun = True
        try:
            return self._run()
        finally:
            self.over.set()

    def _run(self) -> End:
        order = self._order
        if order.command_sandbox is None:
            with self._listening() as start:
                return self._run_free(start)
        command_sandbox, deadline = order.command_sandbox, time.monotonic() + _TRY_SECONDS
        for left in reversed(range(_TRIES)):
            with self._listening() as start:
                try:
                    return self._run_in(command_sandbox, start)
                except NotBegun as error:
                    if not left or self._cancelled.is_set() or time.monotonic() > deadline:
                        self._drain(_LAST_WORDS_SECONDS)
                        self._sink.add(f"{error}\n".encode())
                        break
            # A path to mask may have disappeared meanwhile, such as a short-lived socket. New sockets are skipped only
            # if this happens repeatedly, because they are not masked then.
            if left < _TRIES - 3:
                command_sandbox = replace(command_sandbox, sandbox=replace(command_sandbox.sandbox, settled=True))
        return End(Why.EXIT, None, 0, (), begun=False)

    @contextlib.contextmanager
    def _listening(self) -> Iterator[Start]:
        """Listen to the output. Yield the function that starts the process."""
        self._output, theirs = os.pipe()
        try:
            self._selector.register(self._output, selectors.EVENT_READ)
            # Close our end as soon as the child has its own. Otherwise we would never see the end of the output.
            with io.FileIO(theirs, "w") as output:
                yield partial(self._start, output)
        finally:
            self._hang_up()

    def _run_free(self, start: Start) -> End:
        order, git = self._order, git_folder(self._order.folder)
        try:
            watch = GitWatch(order.folder, git, scan(str(git.path)) if git else {}, lambda: True)
        except OSError as error:
            raise ToolError(
                f"The command was not started: git's folder could not be checked: {error.strerror}. Try again."
            ) from error
        process = start(order.words, order.environ, (), subprocess.DEVNULL)
        try:
            with self._groups.listing(process.pid):
                mark = mark_of(process.pid, order.environ)
                over = self._serve(process, lambda _: end(mark, order.grace_seconds, self._pause), watch)
        finally:
            watch.finish()
        return replace(over, told=watch.told)

    def _run_in(self, command_sandbox: CommandSandbox, start: Start) -> End:
        order = self._order
        begin: Begin = fenced if command_sandbox.sandbox.level is Level.LANDLOCK else confined_process
        with contextlib.ExitStack() as stack:
            with _STARTING:
                one = stack.enter_context(begin(command_sandbox, order.words, order.environ, start))
            stack.enter_context(self._groups.listing(one.process.pid))
            over = self._serve(
                one.process,
                lambda by_itself: one.end(order.grace_seconds, self._pause, by_itself=by_itself),
                one.watch,
            )
            failed = over.why is Why.EXIT and over.status is not None and over.status > 0 and not one.begun()
            one.watch.finish()
            return replace(over, begun=not failed, refused=dict(one.refused), told=one.watch.told)

    def _start(
        self,
        output: io.FileIO,
        words: Sequence[str],
        environ: Mapping[str, str],
        fds: Sequence[int],
        source: int,
    ) -> subprocess.Popen[bytes]:
        try:
            with output:
                return subprocess.Popen(
                    words,
                    cwd=self._order.folder,
                    env=environ,
                    stdin=source,
                    stdout=output,
                    stderr=subprocess.STDOUT if self._order.complains else subprocess.DEVNULL,
                    start_new_session=True,
                    pass_fds=(*fds, *self._order.fds),
                )
        except ValueError as error:
            raise ToolError("The command contains a NUL or an invalid character. Remove it.") from error
        except OSError as error:
            if not os.path.isdir(self._order.folder):
                raise ToolError(
                    f"The folder {self._order.folder} is gone: somebody deleted it. Tell the user."
                ) from error
            raise ToolError(
                f"The command could not be started: {error.strerror}. Try again, and tell the user if it keeps failing."
            ) from error

    def _serve(
        self, process: subprocess.Popen[bytes], ending: Callable[[bool], EndedProcesses], watch: GitWatch
    ) -> End:
        """Serve a command until nothing of it is left. `ending` ends it, and gets whether it has ended by itself."""
        threading.Thread(target=self._await_exit, args=(process.pid,), daemon=True).start()
        status: int | None = None
        why = Why.CANCEL
        try:
            why = self._listen(watch)
            if why is Why.EXIT:
                self._drain(_LAST_WORDS_SECONDS)
        finally:
            # Reap it only after that: until then no other process or group can get its id.
            toll = ending(why is Why.EXIT)
            self._empty()
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(_LAST_WORDS_SECONDS)
        return End(why, status, toll.ended, toll.left)

    def _listen(self, watch: GitWatch) -> Why:
        """Read the output until the command ends or must be ended. Return why."""
        begun_at = time.monotonic()
        glance_at = look_at = time.monotonic() + _WATCH_SECONDS
        while True:
            if self._cancelled.is_set():
                return Why.CANCEL
            if self._full:
                return Why.FLOOD
            if self._exited.is_set():
                return Why.EXIT
            now, deadline = time.monotonic(), begun_at + self._seconds()
            if now >= deadline:
                return Why.TIME
            if now >= look_at:
                if watch.look():
                    return Why.PLANT
                # A check that is slow must not keep us from serving the command.
                look_at = time.monotonic() + max(_WATCH_SECONDS, _WATCH_SHARE * (time.monotonic() - now))
                glance_at = time.monotonic() + _WATCH_SECONDS
            elif now >= glance_at:
                if watch.glance():
                    return Why.PLANT
                glance_at = now + _WATCH_SECONDS
            self._hear(max(0.0, min(deadline, look_at, glance_at) - now))

    def _seconds(self) -> float:
        """Return how long the command may run. Its time stands still while the user is asked about a host."""
        gate = self._order.command_sandbox and self._order.command_sandbox.gate
        return self._order.timeout_seconds + (gate.seconds() if gate else 0.0)

    def _drain(self, seconds: float) -> None:
        """Read the remaining output until it is closed or the time is over."""
        deadline = time.monotonic() + seconds
        while self._output is not None and (left := deadline - time.monotonic()) > 0:
            self._hear(left)

    def _pause(self, seconds: float) -> None:
        """Wait, and read output meanwhile, so that processes can print before they end."""
        if self._output is None:
            time.sleep(seconds)
        else:
            self._hear(seconds)

    def _empty(self) -> None:
        """Read what is left in the pipe, but no more: a process out of our reach may print forever."""
        for _ in range(_PIPE // _CHUNK):
            if self._output is None or not self._hear(0):
                return

    def _hear(self, seconds: float) -> bool:
        """Wait for a wakeup or some output, and read it. Return whether either came."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            if key.fd == self._output:
                self._take(self._output)
            else:
                self._ear.recv(_CHUNK)
        return bool(ready)

    def _take(self, output: int) -> None:
        if data := os.read(output, _CHUNK):
            self._full = not self._sink.add(data) or self._full
        else:
            self._hang_up()

    def _hang_up(self) -> None:
        if self._output is not None:
            with contextlib.suppress(KeyError):
                self._selector.unregister(self._output)
            os.close(self._output)
            self._output = None

    def _await_exit(self, pid: int) -> None:
        await_exit(pid)
        self._exited.set()
        self._ring()

    def _ring(self) -> None:
        # If the socket is closed, the command is over and nobody listens.
        with contextlib.suppress(OSError):
            self._wakeups.send(b"!", socket.MSG_DONTWAIT)


def await_exit(pid: int) -> None:
    """Return when a child process has ended. It is not reaped."""
    if sys.platform == "darwin":
        ending = select.kevent(pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT)
        with contextlib.closing(select.kqueue()) as queue, contextlib.suppress(ProcessLookupError):
            queue.control([ending], 1)
    else:
        # It may have ended and been reaped already.
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
