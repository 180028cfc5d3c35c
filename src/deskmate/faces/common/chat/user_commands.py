"""`!COMMAND` and `#NOTE`: what the user does beside the conversation, and is told to the lead with the next message.

The lead gets it as data in a frame, which nothing inside can close.
"""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT
from typing import NoReturn

import anyio
from anyio import to_thread
from anyio.abc import Process

from deskmate.app import Settings, environment, redaction_of
from deskmate.core.prompt.user_frames import UserCommand, UserNote
from deskmate.errors import Refused
from deskmate.faces.common.items.transcript_items import COMMAND_LINES

# What is told to the lead.
TOLD_CHARACTERS = 16_000
_MOST_TOLD = 10
SCOPES = ("user", "project", "team")
_KEPT_BYTES = 256 * 1024
# Something that was left running may keep the output open.
_REST_SECONDS = 0.5
# What is shown of the output while a command runs, and how often.
_LIVE_BYTES, _LIVE_SECONDS = 16 * 1024, 0.1


def command_in(text: str) -> str:
    """Return the command that a text asks for, or an empty string if it is no command."""
    return "" if text.startswith("!!") or not text.startswith("!") else text[1:].strip()


@dataclass(frozen=True, slots=True)
class ScopedNote:
    """A note, and whose notes it goes to: `user`, `project` or `team`."""

    scope: str
    text: str


def note_in(text: str) -> ScopedNote | None:
    """Return the note that a text asks for, or None. `#3` is a task, and several lines are a text.

    `#user WORDS` and `#team WORDS` choose the scope. With a space after the sign, all is words.
    """
    body = text[1:].strip()
    if not text.startswith("#") or text[1:2].isdecimal() or not body or body.startswith("#") or "\n" in text:
        return None
    scope, _, words = text[1:].partition(" ")
    return ScopedNote(scope, words.strip()) if scope in SCOPES and words.strip() else ScopedNote("project", body)


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
        self._scope: anyio.CancelScope | None = None

    def with_news(self, words: str, *frames: str) -> str:
        """Return a message to the lead, with what it was not told yet and with other frames."""
        return "\n\n".join([words, *self._untold, *frames])

    def told(self) -> None:
        """Note that the lead was told everything."""
        self._untold.clear()

    def tell_next(self, command: UserCommand) -> None:
        """Tell the lead with the next message what the user did."""
        self._untold.append(replace(command, output=_last(command.output)).frame)

    @contextmanager
    def stops(self, scope: anyio.CancelScope) -> Iterator[None]:
        """Let the user stop other work in the same way: `stop` cancels its scope."""
        self._scope = scope
        try:
            yield
        finally:
            self._scope = None

    def stop(self) -> bool:
        """Stop the running command, the second time by force. Return whether there is one."""
        if self._scope is not None:
            self._scope.cancel()
            return True
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

    async def note(self, note: ScopedNote, settings: Settings) -> list[str]:
        """Add a note to the notes of its scope. Return the lines to show. Raises Refused."""
        # Imported here because loading it would slow down every start.
        from deskmate.trust.user_notes import NotesScope, add_note

        scope = NotesScope(note.scope)
        added = await to_thread.run_sync(add_note, scope, note.text, settings, self._workspace)
        self._untold.append(UserNote(added.path, note.text).frame)
        ask = "" if added.trusted else ". At the next start, you are asked whether to trust this file"
        return [
            f"added to {added.path}{ask}",
            "The lead gets it with your next message, and new teams get it when they start",
        ]

    async def run(self, command: str, watch: Callable[[UserCommand], None] = lambda ran: None) -> UserCommand:
        """Run a command in the user's shell, and return what it printed. Raises Refused if it cannot be started.

        `watch`: called with the command at its start, with whole lines that it has printed so far, and at its end.
        """
        if self._running is not None:
            raise Refused(
                "Another of your commands is still running", "Wait until it ends, or stop it with Ctrl-C or Esc."
            )
        environ = environment()
        redaction = redaction_of(environ=environ)

        def ran(output: bytes, status: int | None = None) -> UserCommand:
            text = redaction.text(output.decode("utf-8", "replace")).rstrip("\n")
            return UserCommand(command, text, status)

        watch(ran(b""))
        output = _Output(lambda printed: watch(ran(printed)))
        status = await self._run(environ.get("SHELL") or "/bin/sh", command, output)
        whole = ran(output.text, status)
        watch(whole)
        self.tell_next(whole)
        return whole

    async def _run(self, shell: str, command: str, output: "_Output") -> int:
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
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(output.read, process)
                tasks.start_soon(output.show)
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
        return status


class _Output:
    """The last part of what a command prints. `shown`: called with the last whole lines, again and again."""

    def __init__(self, shown: Callable[[bytes], None]) -> None:
        self._shown = shown
        self.text, self.ended, self._news = b"", anyio.Event(), anyio.Event()

    async def read(self, process: Process) -> None:
        if process.stdout is not None:
            async for piece in process.stdout:
                self.text = (self.text + piece)[-_KEPT_BYTES:]
                self._news.set()
        self.ended.set()

    async def show(self) -> NoReturn:
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            # A line that is not whole may have the beginning of a secret.
            self._shown(self.text[: self.text.rfind(b"\n") + 1][-_LIVE_BYTES:])
            await anyio.sleep(_LIVE_SECONDS)


def command_lines(ran: UserCommand) -> list[str]:
    """Return a command and the last lines that it printed."""
    lines = ran.output.splitlines()
    above = [f"… {len(lines) - COMMAND_LINES:,} lines above"] if len(lines) > COMMAND_LINES else []
    return [ran.title, *above, *lines[-COMMAND_LINES:], *filter(None, [ran.ending])]


def _last(text: str) -> str:
    """Return the end of a text, and how much is left out."""
    if len(text) <= TOLD_CHARACTERS:
        return text
    return f"… {len(text) - TOLD_CHARACTERS:,} characters left out\n{text[-TOLD_CHARACTERS:]}"
