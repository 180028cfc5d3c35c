"""The agent types that files of the user or of a workspace describe. `core.profiles` reads the text."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from deskmate.core.policy.trusted_files import AGENT_FOLDERS, Definition
from deskmate.core.profiles.agent_files import read_agent_file
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.trust.described_files import FileKind, FoundFiles, defined_files, found_files

FoundTypes: TypeAlias = FoundFiles[AgentProfile]
_AGENT_FILES = FileKind[AgentProfile](
    AGENT_FOLDERS,
    "agent files",
    read=lambda text, _, file, of_project: read_agent_file(text, file, of_project=of_project),
    taken=lambda one, other: f"its agent type '{one.name}' is already described by {other}",
)


def types_of(definitions: Iterable[Definition], workspace: Path, own: Iterable[Path]) -> FoundTypes:
    """Return the agent types of the user's folders and of the definitions, as `found_files` does."""
    return found_files(_AGENT_FILES, definitions, workspace, own)


def types_in(definitions: Iterable[Definition], problems: list[str]) -> Iterator[AgentProfile]:
    """Yield the agent types of definitions. Adds what is wrong with other agent files to `problems`."""
    return defined_files(_AGENT_FILES, definitions, problems)
