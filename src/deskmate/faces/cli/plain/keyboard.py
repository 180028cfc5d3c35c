"""A terminal to type at and to print on at the same time.

prompt_toolkit edits the line. Everything it draws goes through the output stream, so a slow terminal never blocks the
team. Ctrl-C stays a signal, which works even if the event loop hangs.
"""

import asyncio
import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, get_common_complete_suffix
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input.vt100 import Vt100Input, raw_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from deskmate.app import environment
from deskmate.faces.cli.plain.word_completer import WordCompleter
from deskmate.faces.common.chat.completions import FileList, word_at
from deskmate.faces.common.commands.command_list import CommandList
from deskmate.faces.common.commands.external_editor import edit_text
from deskmate.faces.common.output_stream import PATIENCE_SECONDS, OutputStream
from deskmate.faces.common.terminal_text import clean, clipboard_sequence

PROMPT, MORE = "> ", ". "
# The size to assume if the terminal reports none.
_COLUMNS, _ROWS = 80, 24
_MENU_ROWS = 8
_DISABLED = b"\0"


class Keyboard(OutputStream):
    """A terminal for typing and printing at the same time. Printed lines go above the prompt."""

    def __init__(self, screen: TextIO, commands: Mapping[str, str], *, colour: bool) -> None:
        super().__init__(screen)
        self._commands, self._colour = commands, colour
        self._found = termios.tcgetattr(self.number)
        self._lines: list[str] = []
        self._turn_to_print = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._printing: Awaitable[None] | None = None

    @property
    def size(self) -> tuple[int, int]:
        """The number of columns and rows."""
        try:
            columns, rows = os.get_terminal_size(self.number)
        except OSError:
            # The terminal was closed in the meantime.
            columns = rows = 0
        return columns or _COLUMNS, rows or _ROWS

    @contextmanager
    def open(
        self, past: Iterable[str], names: Callable[[], Iterable[str]], files: FileList, custom: CommandList
    ) -> Iterator["InputLine"]:
        """Let the user type, with earlier texts in the history. The terminal is restored at the end.

        `names`: returns the names that complete an @. `files`: the files that do. `custom`: the commands from files.
        """
        loop = asyncio.get_running_loop()
        # prompt_toolkit removes its own handler after each text. If it were the only one, the event loop would no
        # longer be woken by signals.
        loop.add_signal_handler(signal.SIGWINCH, lambda: None)
        completer = WordCompleter(self._commands, names, files, custom, self.put)
        prompt = InputLine(self, past, completer, colour=self._colour)
        self._loop = loop
        try:
            # Also between two texts: what is typed meanwhile must not be echoed or changed.
            with prompt.keys.raw_mode():
                yield prompt
        finally:
            self._loop = None
            self._print_lines()

    def put(self, text: str) -> None:
        """Print whole lines, above the prompt if there is one. Safe to call from any thread."""
        with self._turn_to_print:
            loop, is_first = self._loop, not self._lines
            if loop is not None:
                self._lines.append(text)
        if loop is None:
            super().put(text)
        elif is_first:
            # The loop may have closed in the meantime. Then `open` prints the lines.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._print)

    def draw(self, text: str) -> None:
        """Write what prompt_toolkit draws."""
        super().put(text)

    def copy(self, text: str) -> None:
        """Put a text on the clipboard of the terminal, if it supports that."""
        self.draw(clipboard_sequence(text))

    def _print(self) -> None:
        self._printing = run_in_terminal(self._print_lines)

    def _print_lines(self) -> None:
        with self._turn_to_print:
            text, self._lines = "".join(self._lines), []
        super().put(text)

    async def edit(self, text: str) -> str:
        """Open a text in the user's editor and return what was saved. Raises Refused."""
        typing = termios.tcgetattr(self.number)
        self.drain(PATIENCE_SECONDS)
        termios.tcsetattr(self.number, termios.TCSANOW, self._found)
        try:
            return await edit_text(text, environment())
        finally:
            termios.tcsetattr(self.number, termios.TCSANOW, typing)

    def suspend(self) -> None:
        """Stop the process until the shell continues it, with the terminal as it was found."""
        typing = termios.tcgetattr(self.number)
        self.drain(PATIENCE_SECONDS)
        termios.tcsetattr(self.number, termios.TCSANOW, self._found)
        os.kill(0, signal.SIGTSTP)
        termios.tcsetattr(self.number, termios.TCSANOW, typing)

    def restore(self) -> None:
        """Put the terminal in the state it was found in. Safe to call in a signal handler."""
        with suppress(OSError):
            os.write(self.number, b"\r\x1b[J\x1b[?2004l\x1b[?25h")
        # The terminal may no longer exist.
        with suppress(termios.error):
            termios.tcsetattr(self.number, termios.TCSANOW, self._found)


class InputLine:
    """The line that is typed. `keys`: where it comes from."""

    def __init__(self, keyboard: Keyboard, past: Iterable[str], words: WordCompleter, *, colour: bool) -> None:
        self._keyboard = keyboard
        self.keys = _Keys(sys.stdin)
        self._session: PromptSession[str] = PromptSession(
            PROMPT,
            prompt_continuation=_continuation,
            history=InMemoryHistory([clean(text) for text in past]),
            completer=words,
            # The menu takes rows, so it opens only for what it can complete.
            complete_while_typing=Condition(self._can_complete),
            reserve_space_for_menu=_MENU_ROWS,
            search_ignore_case=True,
            include_default_pygments_style=False,
            color_depth=None if colour else ColorDepth.DEPTH_1_BIT,
            key_bindings=self._bindings(words),
            input=self.keys,
            output=_Drawing(keyboard),
        )

    @property
    def draft(self) -> str:
        """What is typed and not sent."""
        return self._session.default_buffer.text

    def _can_complete(self) -> bool:
        before = self._session.default_buffer.document.text_before_cursor
        return before.startswith("/") or word_at(before) is not None

    @property
    def is_typing(self) -> bool:
        """Whether something is typed and not sent, or keys were pressed that nobody has read yet."""
        return bool(self.draft.strip()) or bool(select.select([self.keys.fileno()], [], [], 0)[0])

    async def next(self) -> str | None:
        """Return the next text that is sent, or None at the end."""
        # A line that is not sent, because a signal ends the program, is not left on the screen.
        self._session.app.erase_when_done = True
        try:
            text = await self._session.prompt_async(set_exception_handler=False, handle_sigint=False)
        except EOFError:
            return None
        # Bytes that are not UTF-8 arrive as lone surrogates.
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def _bindings(self, words: WordCompleter) -> KeyBindings:
        bindings = KeyBindings()

        @bindings.add("tab", filter=~is_searching)
        def _complete(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if buffer.complete_state:
                buffer.complete_next()
                return
            # At once, not in the background: the next key may be Enter.
            found = list(words.get_completions(buffer.document, CompleteEvent(completion_requested=True)))
            if len(found) == 1:
                buffer.apply_completion(found[0])
            else:
                buffer.insert_text(get_common_complete_suffix(buffer.document, found))
                buffer.start_completion()

        @bindings.add("enter", filter=~is_searching)
        def _enter(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if _continues(buffer):
                buffer.delete_before_cursor()
                buffer.newline(copy_margin=False)
            else:
                event.app.erase_when_done = False
                buffer.validate_and_handle()

        @bindings.add("escape", "enter")
        @bindings.add("c-j")
        def _new_line(event: KeyPressEvent) -> None:
            event.current_buffer.newline(copy_margin=False)

        @bindings.add("c-z")
        def _suspend(event: KeyPressEvent) -> None:
            run_in_terminal(self._keyboard.suspend)

        return bindings


def _continuation(width: int, line: int, wraps: int) -> str:
    """Return what stands before a line that is not the first."""
    return "" if wraps else MORE


def _continues(buffer: Buffer) -> bool:
    """Return whether Enter starts a new line, because a backslash stands before the cursor at the end."""
    return buffer.document.is_cursor_at_the_end and buffer.text.endswith("\\")


class _Keys(Vt100Input):
    """Keys of a terminal that does not echo. Ctrl-C stays a signal."""

    def raw_mode(self) -> AbstractContextManager[None]:
        return _TypingMode(self.fileno())

    def cooked_mode(self) -> AbstractContextManager[None]:
        # Used while lines are printed above the prompt. A key that is pressed then must not be echoed among them.
        return nullcontext()


class _TypingMode(raw_mode):
    @classmethod
    def _patch_lflag(cls, attrs: int) -> int:
        return super()._patch_lflag(attrs) | (attrs & termios.ISIG)

    def __enter__(self) -> None:
        super().__enter__()
        with suppress(termios.error):
            modes: list[Any] = termios.tcgetattr(self.fileno)
            # Ctrl-Z must restore the terminal first, so it is a key.
            modes[6][termios.VSUSP] = _DISABLED
            termios.tcsetattr(self.fileno, termios.TCSANOW, modes)


class _Drawing(Vt100_Output):
    """What prompt_toolkit draws, written by the keyboard's own thread."""

    def __init__(self, keyboard: Keyboard) -> None:
        # Asking for the cursor position is of little use here, and an answer that comes late would be typed text.
        super().__init__(sys.stdout, lambda: _size(keyboard), environment().get("TERM"), enable_cpr=False)
        self._keyboard = keyboard

    def flush(self) -> None:
        self._keyboard.draw("".join(self._buffer))
        self._buffer = []


def _size(keyboard: Keyboard) -> Size:
    columns, rows = keyboard.size
    return Size(rows=rows, columns=columns)
