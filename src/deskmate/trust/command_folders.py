"""The commands that files of the user or of a workspace describe. `core.commands` reads the text."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from deskmate.core.commands.command_files import CustomCommand, read_command_file
from deskmate.core.policy.trusted_files import COMMAND_FOLDERS, Definition
from deskmate.trust.described_files import FileKind, FoundFiles, defined_files, found_files

FoundCommands: TypeAlias = FoundFiles[CustomCommand]
_COMMAND_FILES = FileKind[CustomCommand](
    COMMAND_FOLDERS,
    "commands",
    read=lambda text, path, file, of_project: read_command_file(text, path, file, of_project=of_project),
    taken=lambda one, other: f"there is already a command /{one.name} in {other}",
)


def commands_of(definitions: Iterable[Definition], workspace: Path, own: Iterable[Path]) -> FoundCommands:
    """Return the commands of the user's folders and of the definitions, as `found_files` does."""
    return found_files(_COMMAND_FILES, definitions, workspace, own)


def commands_in(definitions: Iterable[Definition], problems: list[str]) -> Iterator[CustomCommand]:
    """Yield the commands of definitions. Adds what is wrong with other command files to `problems`."""
    return defined_files(_COMMAND_FILES, definitions, problems)
