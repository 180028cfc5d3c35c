"""Prompts that are built in."""

from collections.abc import Mapping

from deskmate.core.commands.command_files import CustomCommand
from deskmate.texts import text

INIT = "init"


def prompt_commands() -> Mapping[str, CustomCommand]:
    """Return the commands by name."""
    return {INIT: CustomCommand(INIT, text(INIT), "let the lead write or improve AGENTS.md", "[WORDS]")}
