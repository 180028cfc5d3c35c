"""`!COMMAND` and `#NOTE`: what the user does beside the conversation, and is told to the lead with the next message.

The lead gets it as data in a frame, which nothing inside can close.
"""

import os
import signal
from collections import deque
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT

import anyio
from anyio import to_thread
from anyio.abc import Process

from deskmate.app import environment, redaction_of, state_folder
from deskmate.core.prompt.frames import framed
from deskmate.errors import Refused

# What is told to the lead, and what is shown.
TOLD_CHARACTERS, SHOWN_LINES = 16_000, 30
_MOST_TOLD = 10
_KEPT_BYTES = 256 * 1024
# Something that was left running may keep the output open.
_REST_SECONDS = 0.5


def command_in(text: str) -> str:
    """Return the command that a text asks for, or an empty string if it is no command."""
    return "" if text.startswith("!!") or not text.startswith("!") else text[1:].strip()


def note_in(text: str) -> str:
    """Return the note that a text asks for, or an empty string. `#3` is a task, and several lines are a text."""
    body = text[1:].strip()
    return "" if not text.startswith("#") or text[1:2].isdecimal() or body.startswith("#") or "\n" in text else body


def without_sign(text: str) -> str:
    """Return a text in which a sign at its beginning was doubled because it is meant as itself."""
    return text[1:] if text[:2] in ("//", "@@", "!!") or (text[:2] == "##" and "\n" not in text) else text


class UserCommands:
    """Commands and notes of the user in a workspace."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._untold: deque[str] = deque(maxlen=_MOST_TOLD)
        self._running: Process | None = None
        self._asked_to_stop = False

    def with_news(self, words: str) -> str:
        """Return a message to the lead, with what it was not told yet."""
        return "\n\n".join([words, *self._untold])

    def told(self) -> None:
        """Note that the lead was told everything."""
        self._untold.clear()

    def stop(self) -> bool:
        """Stop the running command, the second time by force. Return whether there is one."""
        if self._running is None:
            return False
        number = signal.SIGKILL if self._asked_to_stop else signal.SIGTERM
        self._asked_to_stop = True
        try:
            os.killpg(self._running.pid, number)
        except ProcessLookupError:
            # It has just ended.
            return False
        return True

    async def note(self, text: str) -> list[str]:
        """Add a note to the notes of the project. Return the lines to show. Raises Refused."""
        # Imported here because loading it would slow down every start.
        from deskmate.trust.user_notes import add_note

        environ = environment()
        added = await to_thread.run_sync(add_note, self._workspace, text, state_folder(environ))
        self._untold.append(framed("user-note", text, {"file": added.path}))
        ask = "" if added.trusted else ". At the next start, you are asked whether to trust this file"
        return [
            f"added to {added.path}{ask}",
            "The lead gets it with your next message, and new teams get it when they start",
        ]

    async def run(self, command: str) -> list[str]:
        """Run a command in the user's shell. Return the lines to show. Raises Refused if it cannot be started."""
        if self._running is not None:
            raise Refused(
                "Another of your commands is still running", "Wait until it ends, or stop it with Ctrl-C or Esc."
            )
        environ = environment()
        status, output = await self._run(environ.get("SHELL") or "/bin/sh", command)
        text = redaction_of(environ=environ).text(output.decode("utf-8", "replace")).rstrip("\n")
        self._untold.append(framed("user-command", _last(text), {"command": command, "exit_status": str(status)}))
        lines = text.splitlines()
        above = [f"… {len(lines) - SHOWN_LINES:,} lines above"] if len(lines) > SHOWN_LINES else []
        end = [] if status == 0 else [f"exit status {status}" if status > 0 else f"stopped by signal {-status}"]
        return [f"$ {command}", *above, *lines[-SHOWN_LINES:], *end]

    async def _run(self, shell: str, command: str) -> tuple[int, bytes]:
        try:
            process = await anyio.open_process(
                [shell, "-c", command],
                cwd=self._workspace,
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise Refused(f"{shell} cannot be started: {error.strerror}", "Set SHELL.") from error
        self._running, self._asked_to_stop = process, False
        output = _Output()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(output.read, process)
                status = await process.wait()
                with anyio.move_on_after(_REST_SECONDS):
                    await output.ended.wait()
                tasks.cancel_scope.cancel()
        finally:
            self._running = None
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
            with anyio.CancelScope(shield=True):
                await process.aclose()
        return status, output.text


class _Output:
    """The last part of what a command prints."""

    def __init__(self) -> None:
        self.text, self.ended = b"", anyio.Event()

    async def read(self, process: Process) -> None:
        if process.stdout is not None:
            async for piece in process.stdout:
                self.text = (self.text + piece)[-_KEPT_BYTES:]
        self.ended.set()


def _last(text: str) -> str:
    """Return the end of a text, and how much is left out."""
    if len(text) <= TOLD_CHARACTERS:
        return text
    return f"… {len(text) - TOLD_CHARACTERS:,} characters left out\n{text[-TOLD_CHARACTERS:]}"
