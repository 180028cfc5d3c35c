"""What the menu of the plain chat offers: slash commands, names, and files."""

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from deskmate.core.log.names import ALL
from deskmate.errors import ToolError
from deskmate.faces.common.chat.completions import FileList, file_completions, word_at
from deskmate.faces.common.commands.command_list import CommandList, command_about


class WordCompleter(Completer):
    """Completes a slash command, a name or a file after @, and names after a slash command.

    `custom`: the commands from files. `tell`: prints a line if the files cannot be listed.
    """

    def __init__(
        self,
        commands: Mapping[str, str],
        names: Callable[[], Iterable[str]],
        files: FileList,
        custom: CommandList,
        tell: Callable[[str], None],
    ) -> None:
        self._commands, self._names, self._files, self._tell = commands, names, files, tell
        self._custom = custom
        self._listed: list[str] = []
        self._is_told = False

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield what is known now to complete the word before the cursor."""
        text = document.text_before_cursor
        typed = word_at(text)
        before, blank, word = text.rpartition(" ")
        if typed is not None and typed.sign == "@":
            word = text[typed.start :]
            words = {**{f"@{name}": "" for name in self._names()}, f"@{ALL}": "everybody on the team"}
        elif not blank and word.startswith("/"):
            custom = {name: command_about(one) for name, one in self._custom.usable.items()}
            words = {f"/{name}": about for name, about in {**self._commands, **custom}.items()}
        else:
            words = dict.fromkeys(self._names(), "") if before.startswith("/") else {}
        # A menu that nobody asked for opens only after a first letter.
        for name, about in words.items() if word or complete_event.completion_requested else ():
            if name.startswith(word):
                yield Completion(f"{name} ", -len(word), display=name, display_meta=about)
        if typed is not None and typed.sign == "@":
            for one in file_completions(typed.rest, self._listed):
                yield Completion(one.insert, -len(word), display=one.name)

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Yield what completes the word before the cursor, after a look at the files if it may be one."""
        typed = word_at(document.text_before_cursor)
        if typed is not None and typed.sign == "@":
            await self._list(typed.rest)
        elif typed is not None and not typed.rest:
            await self._custom.load()
        for one in self.get_completions(document, complete_event):
            yield one

    async def _list(self, typed: str) -> None:
        try:
            if not typed or not self._listed:
                await self._files.load()
            self._listed = [path for path in await self._files.like(typed) if path.isprintable()]
        except ToolError as error:
            if not self._is_told:
                self._is_told = True
                self._tell(f"The files cannot be listed: {error}\n")
