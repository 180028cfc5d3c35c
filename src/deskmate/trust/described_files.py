"""What Markdown files of the user or of a workspace describe: agent types and commands.

Those of a workspace are definitions, so they count only as far as they are approved.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from deskmate.core.policy.trusted_files import Definition
from deskmate.core.values import frozen
from deskmate.errors import BadInput
from deskmate.fs.safe_files import read_regular
from deskmate.trust.project_files import MOST_BYTES, markdown_paths


class FileContent(Protocol):
    """What a file describes. `file`: its name for people."""

    @property
    def name(self) -> str:
        """What it is called. The first of a name is used."""

    @property
    def file(self) -> str:
        """The file that describes it."""


D = TypeVar("D", bound=FileContent)


@frozen
class FileKind(Generic[D]):
    """A kind of file. `folders`: where a workspace has them. `what`: they are called so.

    `read`: returns what a text describes, by its path in the folder, its name for people and whether the workspace has
    it. It may raise BadInput. `taken`: says that another file, the last one, has the same name.
    """

    folders: tuple[str, ...]
    what: str
    read: Callable[[str, str, str, bool], D]
    taken: Callable[[D, str], str]


@frozen
class FoundFiles(Generic[D]):
    """What files describe, by name, and why others describe nothing."""

    by_name: dict[str, D]
    problems: tuple[str, ...] = ()


def found_files(
    kind: FileKind[D], definitions: Iterable[Definition], workspace: Path, own: Iterable[Path]
) -> FoundFiles[D]:
    """Return what the files in the user's folders and the definitions describe. The user's win if names are equal.

    A folder of the user that is in the workspace is not read, because agents could write there.
    """
    folders = [folder for folder in own if not Path(os.path.realpath(folder)).is_relative_to(workspace)]
    found: dict[str, D] = {}
    problems: list[str] = []
    for one in (*_own(kind, folders, problems), *defined_files(kind, definitions, problems)):
        if one.name in found:
            problems.append(f"{one.file}: {kind.taken(one, found[one.name].file)}")
        else:
            found[one.name] = one
    return FoundFiles(found, tuple(problems))


def defined_files(kind: FileKind[D], definitions: Iterable[Definition], problems: list[str]) -> Iterator[D]:
    """Yield what definitions of a kind describe. Adds what is wrong with others to `problems`."""
    for one in definitions:
        for folder in kind.folders:
            path = one.path.removeprefix(f"{folder}/")
            if path != one.path:
                yield from _read(kind, one.text, path, one.path, problems, of_project=True)


def _own(kind: FileKind[D], folders: Iterable[Path], problems: list[str]) -> Iterator[D]:
    for folder in folders:
        for path in markdown_paths(folder, str(folder), kind.what):
            file = str(folder / path)
            try:
                # The real path, because many users keep such files elsewhere and have links here.
                data = read_regular(os.path.realpath(file), MOST_BYTES)
            except OSError as error:
                problems.append(f"{file}: {error.strerror}")
            else:
                yield from _read(kind, data.decode(errors="replace"), path, file, problems, of_project=False)


def _read(kind: FileKind[D], text: str, path: str, file: str, problems: list[str], *, of_project: bool) -> Iterator[D]:
    try:
        yield kind.read(text, path, file, of_project)
    except BadInput as error:
        problems.append(str(error))
