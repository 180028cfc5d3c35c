"""A command from a file as it is sent: its shell commands run before, after the user allowed those that ask."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from deskmate.core.commands.command_files import CustomCommand
from deskmate.core.commands.command_prompts import CommandPrompt, filled_in
from deskmate.core.commands.command_words import TypedCommand
from deskmate.core.commands.prompt_commands import prompt_commands
from deskmate.core.prompt.user_frames import UserCommand
from deskmate.errors import Refused
from deskmate.faces.common.chat.user_commands import UserCommands, command_lines
from deskmate.faces.common.commands.command_list import CommandList
from deskmate.faces.common.commands.first_line import prompt_lines

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession


@dataclass(frozen=True, slots=True)
class ReadyPrompt:
    """A prompt to send. `ran`: what its shell commands printed."""

    prompt: CommandPrompt
    ran: tuple[UserCommand, ...] = ()

    @property
    def frames(self) -> tuple[str, ...]:
        """What goes with the words."""
        return tuple(one.frame for one in self.ran)

    def lines(self, *, whole: bool) -> list[str]:
        """Return what is sent, for a face that does not show messages of the user if `whole`."""
        if not whole:
            return [f"sent /{self.prompt.name} ({self.prompt.file or 'built in'})"]
        return [*prompt_lines(self.prompt), *(f"  {line}" for one in self.ran for line in command_lines(one))]


class CommandSender:
    """Prepares custom commands. One may wait for the user to allow its shell commands: `/run` does.

    `commands`: stops what runs if the user wants that.
    """

    def __init__(self, session: "TeamSession", commands: UserCommands) -> None:
        self._session, self._commands = session, commands
        self.list = CommandList(session)
        self._waiting: CommandPrompt | None = None

    async def named(self, name: str) -> CustomCommand | None:
        """Return the command with this name, or None if there is none."""
        if built_in := prompt_commands().get(name):
            return built_in
        await self.list.load()
        return self.list.usable.get(name)

    async def begin(self, command: CustomCommand, typed: TypedCommand) -> ReadyPrompt | list[str]:
        """Return the prompt to send, or the lines that ask the user to allow its shell commands.

        Raises Refused if one of them is denied, and BadInput if one cannot take the arguments.
        """
        self._waiting = None
        prompt = filled_in(command, typed)
        asking = await self._session.lead_shell.asks(prompt) if prompt.shell_commands else ()
        if not asking:
            return await self._ready(prompt)
        self._waiting = prompt
        lines = [line for shell_command, why in asking for line in (f"  $ {shell_command}", f"    {why}")]
        return [f"/{command.name} ({command.file}) runs this first:", *lines, "To run it and send the prompt: /run"]

    async def go_on(self) -> ReadyPrompt:
        """Return the prompt that waited, after running its shell commands. Raises Refused if none waits."""
        prompt, self._waiting = self._waiting, None
        if prompt is None:
            raise Refused("No command waits to be run", "/run allows the shell commands of the command you typed last.")
        # Rules and mode may have changed.
        await self._session.lead_shell.asks(prompt)
        return await self._ready(prompt)

    async def _ready(self, prompt: CommandPrompt) -> ReadyPrompt:
        if not prompt.shell_commands:
            return ReadyPrompt(prompt)
        with anyio.CancelScope() as scope, self._commands.stops(scope):
            return ReadyPrompt(prompt, tuple(await self._session.lead_shell.run(prompt)))
        raise Refused(f"/{prompt.name} was not sent, because you stopped its commands")
