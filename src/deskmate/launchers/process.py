"""One process for each member, on this machine.

`runtime.supervisor` above starts again what failed here; `app` says what the process is told and who hears its lines.
The process itself is `deskmate play`. It ends at once when its stdin does, so that no killed lead leaves one behind.
"""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream, Process

from deskmate.errors import PlayerFailed, StoreCorrupt
from deskmate.ports import Clock

log = logging.getLogger(__name__)

SILENCE_SECONDS = 60.0
GRACE_SECONDS = 5.0
# Safe path: the folder worked in must not bring modules of its own along.
DESKMATE = (sys.executable, "-P", "-m", "deskmate")
# More than the largest record has as ASCII.
LINE_CAP = 4 * 2**20
COMPLAINTS_CAP = 4096
# How a process ends that found the records of its member cut or changed. No other failure ends with this.
CORRUPT_EXIT = 4
# How `deskmate play` begins a line on its stderr that a person is to read.
_WARNING = b"deskmate: warning: "
_LOOKS = 6


@dataclass(frozen=True, slots=True)
class ProcessLauncher:
    """Plays members of a team in the workspace `place`, each in a process of its own.

    `team`: whichever it is when somebody is started. `order`: the first line it is then told on stdin; what is secret
    goes there, never on the command line. `hear` is given every line of its stdout and must not raise. `sweep` ends
    what the commands of a member left, once nobody plays it.
    """

    place: Path
    team: Callable[[], str]
    order: Callable[[], str]
    hear: Callable[[bytes], None]
    sweep: Callable[[str], Awaitable[None]]
    clock: Clock
    deskmate: Sequence[str] = DESKMATE
    silence_seconds: float = SILENCE_SECONDS
    grace_seconds: float = GRACE_SECONDS

    async def play(self, name: str) -> None:
        """Play a member until it leaves; raise PlayerFailed where its process ends before, or says nothing for long.

        Raises StoreCorrupt if the process found that the member's records were cut or changed. However it ends,
        cancelled too, the process is gone then and so is all that it ran.
        """
        with anyio.CancelScope(shield=True):
            process = await self._start(name)
        player = _Player(name, process, self.hear)
        try:
            silent = await player.follow(self.order(), self.silence_seconds, self.clock)
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(process)
                await self.sweep(name)
        if silent:
            raise PlayerFailed(f"the process of '{name}' said nothing for {self.silence_seconds:g} s and was ended")
        if process.returncode == CORRUPT_EXIT:
            raise StoreCorrupt(player.last_words.removeprefix(": ") or f"the records of '{name}' cannot be trusted")
        if process.returncode:
            raise PlayerFailed(f"the process of '{name}' {_how(process.returncode)}{player.last_words}")

    async def _start(self, name: str) -> Process:
        words = [*self.deskmate, "-C", str(self.place), "play", name, "--team", self.team()]
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
            raise PlayerFailed(f"no process could be started for '{name}': {error}") from error

    async def _end(self, process: Process) -> None:
        """End the process, asked first and killed once its grace is over, and reap it."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if process.returncode is None:
                _signal(process, number)
                await self._exit(process)
        await process.aclose()

    async def _exit(self, process: Process) -> None:
        """Return once the process has ended, or its grace has."""
        async with anyio.create_task_group() as tasks:

            async def wait() -> None:
                await process.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(wait)
            await self.clock.sleep(self.grace_seconds)
            tasks.cancel_scope.cancel()


class _Player:
    """One process that plays, while it runs."""

    def __init__(self, name: str, process: Process, hear: Callable[[bytes], None]) -> None:
        self._name, self._process, self._hear = name, process, hear
        self._complaints = b""
        self._spoke = False

    @property
    def last_words(self) -> str:
        """What it last complained of, to stand at the end of a sentence."""
        lines = self._complaints.decode(errors="replace").splitlines()
        words = " / ".join(line.strip() for line in lines[-3:] if line.strip())
        return f": {words}" if words else ""

    async def follow(self, order: str, silence_seconds: float, clock: Clock) -> bool:
        """Return once it has ended, or was silent for too long, and tell whether it was that."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._tell, order)
            tasks.start_soon(self._await_end, tasks.cancel_scope)
            # Counted by looks: that this process was stopped for a minute is not the other's silence.
            looks = 0
            while looks < _LOOKS:
                self._spoke = False
                await clock.sleep(silence_seconds / _LOOKS)
                looks = 0 if self._spoke else looks + 1
            tasks.cancel_scope.cancel()
            return self._process.returncode is None
        return False

    async def _tell(self, order: str) -> None:
        assert self._process.stdin is not None
        # One that is gone already is told of by how it ended.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._process.stdin.send(order.encode() + b"\n")

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
            # A line without end is none of ours; what is left of it will not be understood and is passed over.
            rest = rest[:LINE_CAP]

    async def _note(self, stderr: ByteReceiveStream) -> None:
        rest = b""
        async for data in stderr:
            self._complaints = (self._complaints + data)[-COMPLAINTS_CAP:]
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line.startswith(_WARNING):
                    # Nobody else reads what it warns of.
                    log.warning("'%s': %s", self._name, line.removeprefix(_WARNING).decode(errors="replace"))
            rest = rest[:LINE_CAP]


def _signal(process: Process, number: signal.Signals) -> None:
    """Signal a process and all of its group, also where it is stopped."""
    for each in (number, signal.SIGCONT):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, each)


def _how(status: int) -> str:
    return f"ended with exit code {status}" if status > 0 else f"was ended by signal {-status}"
