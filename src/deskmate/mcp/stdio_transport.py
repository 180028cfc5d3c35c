"""A server in a process of its own: started in the sandbox, with bounded messages.

It is started as commands of agents are, so that nothing of it is left when it ends: not after an interrupt, and not
when Deskmate is killed. Its messages go through two pipes of their own, because the start of a command takes stdin.
What it prints to stderr is kept for error messages, up to a limit.
"""

import contextlib
import math
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.mcp.message_lines import LineReader, write_line
from deskmate.workspace.command import CommandOrder, Why, execute
from deskmate.workspace.command_output import clean
from deskmate.workspace.command_script import file_named
from deskmate.workspace.sandbox.bubblewrap import CommandSandbox
from deskmate.workspace.sweep import Groups

_TOLD_BYTES = 4_000
# How long a server may take to end by itself once its stdin is closed, and after SIGTERM.
_END_SECONDS, _GRACE_SECONDS = 1.0, 2.0
# By path: not every shell takes a descriptor with several digits.
_REDIRECTED = 'exec "$@" <{stdin} >{stdout}'


@frozen
class ServerCommand:
    """What to start: words, where, with which variables, and in which sandbox. `groups`: lists what runs."""

    words: Sequence[str]
    folder: Path
    environ: Mapping[str, str]
    command_sandbox: CommandSandbox | None
    groups: Groups


class ErrorTail:
    """The last bytes that a server printed to stderr."""

    def __init__(self) -> None:
        self._kept = b""

    def add(self, data: bytes) -> bool:
        """Take some output. There is always room."""
        self._kept = (self._kept + data)[-_TOLD_BYTES:]
        return True

    @property
    def last_line(self) -> str:
        """The last line that says something, without control characters."""
        lines = [line.strip() for line in clean(self._kept.decode(errors="replace")).splitlines()]
        return next((line[:300] for line in reversed(lines) if line), "")


class PipeEnd:
    """One end of a pipe. It can be closed twice, and while somebody waits for it."""

    def __init__(self, fd: int) -> None:
        self.fd, self._open = fd, True

    def close(self) -> None:
        """Close it, if it is open."""
        if self._open:
            self._open = False
            anyio.notify_closing(self.fd)
            os.close(self.fd)


@contextlib.contextmanager
def pipes() -> Iterator[tuple[PipeEnd, PipeEnd, PipeEnd, PipeEnd]]:
    """Yield the server's stdin, our end of it, our end of its stdout, and its stdout."""
    (stdin, to_server), (from_server, stdout) = os.pipe(), os.pipe()
    ends = (PipeEnd(stdin), PipeEnd(to_server), PipeEnd(from_server), PipeEnd(stdout))
    try:
        os.set_blocking(to_server, False)
        os.set_blocking(from_server, False)
        yield ends
    finally:
        for end in ends:
            end.close()


@contextlib.asynccontextmanager
async def stdio_streams(command: ServerCommand, tell: Callable[[str], None]) -> AsyncIterator[TransportStreams]:
    """Run a server and yield the streams of its messages. `tell` is called with why it ended, the first time it does.

    When this is left, even by cancellation, nothing of the server runs.
    """
    to_us, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, from_us = anyio.create_memory_object_stream[SessionMessage](0)
    with pipes() as (stdin, to_server, from_server, stdout), to_us, read_stream, write_stream, from_us:
        over = anyio.Event()

        async def run() -> None:
            try:
                await _run(command, stdin.fd, stdout.fd, tell)
            finally:
                # Only then does the reader see the end.
                stdin.close()
                stdout.close()
                over.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            tasks.start_soon(_listen, from_server.fd, to_us, tell)
            tasks.start_soon(_speak, to_server.fd, from_us, to_us)
            try:
                yield read_stream, write_stream
            finally:
                write_stream.close()
                to_server.close()
                with anyio.move_on_after(_END_SECONDS, shield=True):
                    await over.wait()
                tasks.cancel_scope.cancel()


async def _run(command: ServerCommand, stdin: int, stdout: int, tell: Callable[[str], None]) -> None:
    tail = ErrorTail()
    order = CommandOrder(
        ("/bin/sh", "-c", _REDIRECTED.format(stdin=file_named(stdin), stdout=file_named(stdout)), "sh", *command.words),
        command.folder,
        command.environ,
        math.inf,
        _GRACE_SECONDS,
        command_sandbox=command.command_sandbox,
        fds=(stdin, stdout),
    )
    try:
        end = await execute(order, tail, command.groups)
    except ToolError as error:
        tell(str(error))
        return
    said = f": {tail.last_line}" if tail.last_line else ""
    if not end.begun:
        tell(f"the sandbox could not be set up{said}")
    elif end.why is Why.PLANT:
        tell("it was ended because of a change in git's folder or in a guarded file")
    else:
        status = f"signal {-end.status}" if end.status is not None and end.status < 0 else f"status {end.status}"
        tell(f"it ended with {status}{said}")


async def _listen(
    fd: int, to_us: MemoryObjectSendStream[SessionMessage | Exception], tell: Callable[[str], None]
) -> None:
    reader = LineReader(fd)
    with to_us, contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        try:
            while (message := await reader.message()) is not None:
                await to_us.send(message)
        except ToolError as error:
            tell(str(error))
        else:
            tell("it closed its output")


async def _speak(
    fd: int,
    from_us: MemoryObjectReceiveStream[SessionMessage],
    to_us: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    with contextlib.suppress(anyio.ClosedResourceError):
        try:
            async for message in from_us:
                await write_line(fd, message)
        except OSError:
            # It reads no more. Otherwise an open call would wait for an answer forever.
            to_us.close()
