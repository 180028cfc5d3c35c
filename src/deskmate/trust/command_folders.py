"""The commands that files of the user or of a workspace describe.

Those of a workspace are definitions, so they count only as far as they are approved. `core.commands` reads the text.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from deskmate.core.commands.command_files import CustomCommand, read_command_file
from deskmate.core.policy.trusted_files import COMMAND_FOLDERS, Definition
from deskmate.core.values import frozen
from deskmate.errors import BadInput
from deskmate.fs.safe_files import read_regular
from deskmate.trust.project_files import MOST_BYTES, command_paths


@frozen
class FoundCommands:
    """Commands by name, and why other files describe none."""

    commands: dict[str, CustomCommand]
    problems: tuple[str, ...] = ()


def commands_of(definitions: Iterable[Definition], workspace: Path, own: Iterable[Path]) -> FoundCommands:
    """Return the commands of the user's folders and of the definitions. The user's win if names are equal.

    A folder of the user that is in the workspace is not read, because agents could write there.
    """
    folders = [folder for folder in own if not Path(os.path.realpath(folder)).is_relative_to(workspace)]
    found: dict[str, CustomCommand] = {}
    problems: list[str] = []
    for one in (*_own(folders, problems), *commands_in(definitions, problems)):
        if one.name in found:
            problems.append(f"{one.file}: there is already a command /{one.name} in {found[one.name].file}")
        else:
            found[one.name] = one
    return FoundCommands(found, tuple(problems))


def commands_in(definitions: Iterable[Definition], problems: list[str]) -> Iterator[CustomCommand]:
    """Yield the commands of definitions. Adds what is wrong with other command files to `problems`."""
    for one in definitions:
        for folder in COMMAND_FOLDERS:
            if one.path.startswith(f"{folder}/"):
                path = one.path.removeprefix(f"{folder}/")
                yield from _read(one.text, path, one.path, problems, of_project=True)


def _own(folders: Iterable[Path], problems: list[str]) -> Iterator[CustomCommand]:
    for folder in folders:
        for path in command_paths(folder, str(folder)):
            file = str(folder / path)
            try:
                # The real path, because many users keep such files elsewhere and have links here.
                data = read_regular(os.path.realpath(file), MOST_BYTES)
            except OSError as error:
                problems.append(f"{file}: {error.strerror}")
            else:
                yield from _read(data.decode(errors="replace"), path, file, problems, of_project=False)


def _read(text: str, path: str, file: str, problems: list[str], *, of_project: bool) -> Iterator[CustomCommand]:
    try:
        yield read_command_file(text, path, file, of_project=of_project)
    except BadInput as error:
        problems.append(str(error))
