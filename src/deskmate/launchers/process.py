"""One process for each member, on this machine.

The process runs `deskmate play`. It ends at once when its stdin is closed, so a killed lead leaves no process behind.
`runtime.supervisor` restarts a member whose process failed.
"""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream, Process

from deskmate.core.values import frozen
from deskmate.errors import PlayerFailed, StoreCorrupt
from deskmate.ports import Clock

log = logging.getLogger(__name__)

SILENCE_SECONDS = 60.0
GRACE_SECONDS = 5.0
# Safe path: the workspace must not supply modules.
DESKMATE = (sys.executable, "-P", "-m", "deskmate")
# Larger than the largest record as ASCII.
LINE_CAP = 4 * 2**20
COMPLAINTS_CAP = 4096
# Exit code of a process that found its member's records truncated or changed. No other failure uses it.
CORRUPT_EXIT = 4
# Prefix of stderr lines of `deskmate play` that a person should read.
_WARNING = b"deskmate: warning: "
# The line on its stdin that asks a member to end after its step.
FINISH = b"finish\n"
_LOOKS = 6


@frozen
class ProcessLauncher:
    """Runs members of a team in the workspace `place`, each in its own process.

    `order`: returns the first line sent to its stdin.
    Secrets go there, never on the command line. `hear` gets every line of its stdout and must not raise. `sweep` ends
    what the commands of a member left running, after its process has ended. `finishing`: once it is set, members end
    after their step, and `play` returns.
    """

    place: Path
    team: str
    order: Callable[[], str]
    hear: Callable[[bytes], None]
    sweep: Callable[[str], Awaitable[None]]
    clock: Clock
    deskmate: Sequence[str] = DESKMATE
    silence_seconds: float = SILENCE_SECONDS
    grace_seconds: float = GRACE_SECONDS
    finishing: anyio.Event | None = None

    async def play(self, name: str) -> None:
        """Run a member until it leaves. Raises PlayerFailed if its process ends before that, or is silent too long.

        Raises StoreCorrupt if the process found that the member's records were truncated or changed. On return, on
        errors and on cancellation, the process and everything it started have ended.
        """
        with anyio.CancelScope(shield=True):
            process = await self._start(name)
        player = _Player(name, process, self.hear)
        try:
            silent = await player.follow(self.order(), self.silence_seconds, self.clock, self.finishing)
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(process)
                await self.sweep(name)
        if silent:
            raise PlayerFailed(f"The process of '{name}' sent nothing for {self.silence_seconds:g} s and was ended")
        if process.returncode == CORRUPT_EXIT:
            raise StoreCorrupt(player.last_words.removeprefix(": ") or f"The records of '{name}' cannot be trusted")
        if process.returncode:
            raise PlayerFailed(f"The process of '{name}' {_how(process.returncode)}{player.last_words}")

    async def _start(self, name: str) -> Process:
        words = [*self.deskmate, "-C", str(self.place), "play", name, "--team", self.team]
        try:
            return await anyio.open_process(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self.place,
                start_new_session=True,
            )
        except OSError as error:
            raise PlayerFailed(f"Cannot start a process for '{name}': {error}") from error

    async def _end(self, process: Process) -> None:
        """End the process and reap it: SIGTERM first, SIGKILL after the grace period."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if process.returncode is None:
                _signal(process, number)
                await self._exit(process)
        await process.aclose()

    async def _exit(self, process: Process) -> None:
        """Return when the process has ended, or after the grace period."""
        async with anyio.create_task_group() as tasks:

            async def wait() -> None:
                await process.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(wait)
            await self.clock.sleep(self.grace_seconds)
            tasks.cancel_scope.cancel()


class _Player:
    """One running member process."""

    def __init__(self, name: str, process: Process, hear: Callable[[bytes], None]) -> None:
        self._name, self._process, self._hear = name, process, hear
        self._complaints = b""
        self._spoke = False

    @property
    def last_words(self) -> str:
        """The last lines of its stderr, formatted to end a sentence."""
        lines = self._complaints.decode(errors="replace").splitlines()
        words = " / ".join(line.strip() for line in lines[-3:] if line.strip())
        return f": {words}" if words else ""

    async def follow(
        self, order: str, silence_seconds: float, clock: Clock, finishing: anyio.Event | None = None
    ) -> bool:
        """Wait until the process has ended or was silent for too long. Return True if it was silent."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._tell, order, finishing)
            tasks.start_soon(self._await_end, tasks.cancel_scope)
            # Count short checks: if this process was suspended for a minute, that is not the other's silence.
            looks = 0
            while looks < _LOOKS:
                self._spoke = False
                await clock.sleep(silence_seconds / _LOOKS)
                looks = 0 if self._spoke else looks + 1
            tasks.cancel_scope.cancel()
            return self._process.returncode is None
        return False

    async def _tell(self, order: str, finishing: anyio.Event | None) -> None:
        assert self._process.stdin is not None
        # If it has ended already, its exit status tells why.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._process.stdin.send(order.encode() + b"\n")
            if finishing is not None:
                await finishing.wait()
                await self._process.stdin.send(FINISH)

    async def _await_end(self, scope: anyio.CancelScope) -> None:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        async with anyio.create_task_group() as readers:
            readers.start_soon(self._listen, self._process.stdout)
            readers.start_soon(self._note, self._process.stderr)
        await self._process.wait()
        scope.cancel()

    async def _listen(self, stdout: ByteReceiveStream) -> None:
        rest = b""
        async for data in stdout:
            self._spoke = True
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._hear(line)
            # None of our lines is this long. The rest will not be understood and is skipped.
            rest = rest[:LINE_CAP]

    async def _note(self, stderr: ByteReceiveStream) -> None:
        rest = b""
        async for data in stderr:
            self._complaints = (self._complaints + data)[-COMPLAINTS_CAP:]
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line.startswith(_WARNING):
                    # Nobody else reads its warnings.
                    log.warning("'%s': %s", self._name, line.removeprefix(_WARNING).decode(errors="replace"))
            rest = rest[:LINE_CAP]


def _signal(process: Process, number: signal.Signals) -> None:
    """Send a signal to a process and its whole group, even if it is stopped."""
    for each in (number, signal.SIGCONT):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, each)


def _how(status: int) -> str:
    return f"ended with exit code {status}" if status > 0 else f"was ended by signal {-status}"
