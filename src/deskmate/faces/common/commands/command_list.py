"""Commands from files: which ones there are, for menus and for help."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from anyio import to_thread

from deskmate.app.commands.usable_commands import NO_COMMANDS, ListedCommands, list_commands
from deskmate.core.commands.command_files import CustomCommand
from deskmate.faces.common.chat.chat_commands import command_named
from deskmate.faces.common.terminal_text import exact

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession


class CommandList:
    """The custom commands of a session. `listed`: as they were read last."""

    def __init__(self, session: "TeamSession") -> None:
        self._session = session
        self.listed: ListedCommands = NO_COMMANDS

    async def load(self) -> ListedCommands:
        """Read the commands again and return them."""
        session = self._session
        self.listed = await to_thread.run_sync(list_commands, session.workspace, session.settings, session.consent)
        return self.listed

    @property
    def usable(self) -> Mapping[str, CustomCommand]:
        """Those that can be used, by name, without those that a built-in command hides."""
        return {name: one for name, one in self.listed.usable.items() if not command_named(name.casefold())}


def command_rows(listed: ListedCommands) -> Iterator[tuple[str, str]]:
    """Yield what to type for each custom command, and what it does and where it is from."""
    for name, one in sorted(listed.usable.items()):
        if command_named(name.casefold()):
            yield exact(one.usage), f"not used: /{name} is a built-in command, which wins ({exact(one.file)})"
        else:
            yield exact(one.usage), command_about(one)


def command_about(command: CustomCommand) -> str:
    """Return what a command does and where it is from."""
    return f"{exact(command.description)} ({exact(command.file)})"


def note_lines(listed: ListedCommands) -> list[str]:
    """Return what to know about custom commands: which are not used, and what of the others is not."""
    flawed = [f"note: {exact(one.file)}: {flaw}" for one in listed.usable.values() for flaw in one.flaws]
    waiting = [f"not trusted: {exact(one.file)} ({standing})" for one, standing in listed.untrusted]
    way = ["To review and trust commands, run: deskmate trust"] if waiting else []
    return [*flawed, *(f"not used: {exact(why)}" for why in listed.problems), *waiting, *way]
