"""The agent types that files of the user or of a workspace describe.

Those of a workspace are definitions, so they count only as far as they are approved. `core.profiles` reads the text.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from deskmate.core.policy.trusted_files import AGENT_FOLDERS, Definition
from deskmate.core.profiles.agent_files import read_agent_file
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.values import frozen
from deskmate.errors import BadInput
from deskmate.fs.safe_files import read_regular
from deskmate.trust.project_files import MOST_BYTES, first_files, is_agent_file


@frozen
class FoundTypes:
    """Agent types by name, and why other files describe none."""

    profiles: dict[str, AgentProfile]
    problems: tuple[str, ...] = ()


def types_of(definitions: Iterable[Definition], workspace: Path, own: Iterable[Path]) -> FoundTypes:
    """Return the agent types of the user's folders and of the definitions. The user's win if names are equal.

    A folder of the user that is in the workspace is not read, because agents could write there.
    """
    folders = [folder for folder in own if not Path(os.path.realpath(folder)).is_relative_to(workspace)]
    found: dict[str, AgentProfile] = {}
    problems: list[str] = []
    for one in (*_own(folders, problems), *types_in(definitions, problems)):
        if one.name in found:
            problems.append(f"{one.file}: its agent type '{one.name}' is already described by {found[one.name].file}")
        else:
            found[one.name] = one
    return FoundTypes(found, tuple(problems))


def types_in(definitions: Iterable[Definition], problems: list[str]) -> Iterator[AgentProfile]:
    """Yield the agent types of definitions. Adds what is wrong with other agent files to `problems`."""
    for one in definitions:
        if str(PurePosixPath(one.path).parent) in AGENT_FOLDERS:
            yield from _read(one.text, one.path, problems, of_project=True)


def _own(folders: Iterable[Path], problems: list[str]) -> Iterator[AgentProfile]:
    for folder in folders:
        try:
            names = sorted(filter(is_agent_file, os.listdir(folder)))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            problems.append(f"{folder}: {error.strerror}")
            continue
        for name in first_files(names, str(folder), "agent files"):
            file = str(folder / name)
            try:
                # The real path, because many users keep such files elsewhere and have links here.
                data = read_regular(os.path.realpath(file), MOST_BYTES)
            except OSError as error:
                problems.append(f"{file}: {error.strerror}")
            else:
                yield from _read(data.decode(errors="replace"), file, problems, of_project=False)


def _read(text: str, file: str, problems: list[str], *, of_project: bool) -> Iterator[AgentProfile]:
    try:
        yield read_agent_file(text, file, of_project=of_project)
    except BadInput as error:
        problems.append(str(error))
