"""Where team files are, and which of them count.

Those of a workspace are definitions, so they count only as far as they are approved.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from deskmate.app.parts.usable_types import agent_types
from deskmate.app.run_request import RunRequest
from deskmate.app.team_files.team_description import TeamDescription, read_team_file
from deskmate.config import Settings, environment
from deskmate.core.log.names import new_name
from deskmate.core.policy.isolation import Isolation
from deskmate.core.policy.trusted_files import TEAM_FOLDER, Approval, Definition
from deskmate.core.profiles.agent_profiles import profile_of
from deskmate.core.values import frozen
from deskmate.errors import BadInput, BadSettings, Refused
from deskmate.fs.safe_files import read_regular
from deskmate.trust.approvals import survey
from deskmate.trust.folders import workspace_of
from deskmate.trust.project_files import MOST_BYTES, first_files
from deskmate.workspace.trees.tree_places import TreePlaces

SUFFIX = ".toml"
_LISTING = "To list team files, run: deskmate teams files"


@frozen
class ListedTeams:
    """All team files of a folder and of the user. `untrusted`: with how each compares with what was approved.

    `problems`: why others describe no team.
    """

    usable: tuple[TeamDescription, ...]
    untrusted: tuple[tuple[str, Approval], ...] = ()
    problems: tuple[str, ...] = ()


def list_team_files(folder: Path | None, settings: Settings) -> ListedTeams:
    """Return the team files of the user and of a folder, also those that need trust."""
    found = survey(folder, settings.state, reads=True)
    usable, problems = list[TeamDescription](), list[str]()
    for file, data in (*_own(settings, found.workspace, problems), *_defined(found.consent.definitions)):
        try:
            usable.append(read_team_file(data, file))
        except (BadInput, BadSettings) as error:
            problems.append(str(error))
    untrusted = [(file, found.unused[file]) for file, _ in _defined(found.fresh)]
    return ListedTeams(tuple(usable), tuple((file, how) for file, how in untrusted if how), tuple(problems))


def with_team_file(request: RunRequest) -> RunRequest:
    """Return a request with the team that its team file describes, and with settings as narrowed by it.

    Raises BadInput or BadSettings with what is wrong in the file, and Refused if there is none or it is not trusted.
    """
    if not request.team_file:
        return request
    if request.prompt is not None:
        raise BadInput("A command cannot be the first words of a team from a file", "Give plain words.")
    file, data = _found(request, workspace_of(request.workspace))
    described = described_request(request, data, file)
    _check(described, file)
    words = "\n\n".join(filter(None, [read_team_file(data, file).words, request.goal]))
    if not words and not request.typed:
        raise BadInput(f"{file} has no first words", 'Add words = "..." to it, or give words on the command line.')
    name = request.team or _team_name(file)
    return replace(described, goal=words or None, team=name, numbered=not request.team)


def _check(request: RunRequest, file: str) -> None:
    """Raise BadInput for what a team file asks for and cannot get here, before anything is created."""
    most, place = request.settings.max_members, workspace_of(request.workspace)
    if len(request.teammates) > most:
        raise BadInput(f"{file} has {len(request.teammates)} members, at most {most} are allowed", "Raise max_members.")
    profiles = agent_types(place, request.settings, request.consent.definitions).by_name
    for one in request.teammates:
        if one.type:
            try:
                profile_of(one.type, profiles)
            except BadInput as error:
                raise BadInput(f"{file}: member {one.name}: {error.message}", error.hint) from error
        if one.isolation == Isolation.OWN:
            why = TreePlaces(request.settings.state, place, environment()).refusal()
            if why:
                what = f"{file}: member {one.name}: 'isolation' is own, and that is not possible"
                raise BadInput(f"{what}: {why}", 'Use "auto" or "shared".')


def described_request(request: RunRequest, data: bytes, file: str) -> RunRequest:
    """Return a request with the members, tasks and limits of a team file."""
    team = read_team_file(data, file)
    return replace(
        request,
        settings=team.narrowed(request.settings),
        teammates=team.teammates,
        tasks=team.tasks,
        described=(file, data.decode(errors="replace")),
    )


def _team_name(file: str) -> str:
    return new_name(Path(file).name.removesuffix(SUFFIX), "team")


def _found(request: RunRequest, workspace: Path) -> tuple[str, bytes]:
    """Return the name of the team file for people, and its bytes."""
    wanted, problems = request.team_file, list[str]()
    if "/" in wanted or wanted.endswith(SUFFIX):
        path = Path(os.path.realpath(os.path.expanduser(wanted)))
        if not path.is_relative_to(workspace):
            return str(path), _read(path)
        wanted = path.relative_to(workspace).as_posix()
        if Path(wanted).parent.as_posix() != TEAM_FOLDER:
            raise Refused(
                f"{wanted} is in the workspace, where only team files in {TEAM_FOLDER} are used",
                "Move it there, then trust it with: deskmate trust",
            )
    else:
        own = dict(_own(request.settings, workspace, problems))
        found = next((file for file in own if Path(file).name == f"{wanted}{SUFFIX}"), None)
        if found:
            return found, own[found]
        wanted = f"{TEAM_FOLDER}/{wanted}{SUFFIX}"
    if (data := dict(_defined(request.consent.definitions)).get(wanted)) is not None:
        return wanted, data
    if (workspace / wanted).is_file():
        raise Refused(f"{wanted} is not used, because you have not trusted it", "To review it, run: deskmate trust")
    raise Refused(f"There is no team file {ascii(request.team_file)[1:-1][:80]}", _LISTING)


def _read(path: Path) -> bytes:
    try:
        return read_regular(path, MOST_BYTES)
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}", _LISTING) from error


def _defined(definitions: Iterable[Definition]) -> Iterator[tuple[str, bytes]]:
    for one in definitions:
        if one.path.startswith(f"{TEAM_FOLDER}/"):
            yield one.path, one.data


def _own(settings: Settings, workspace: Path, problems: list[str]) -> Iterator[tuple[str, bytes]]:
    folder = settings.file.parent / "teams"
    if Path(os.path.realpath(folder)).is_relative_to(workspace) or not folder.is_dir():
        return
    for name in first_files(sorted(filter(is_team_file, os.listdir(folder))), str(folder), "team files"):
        try:
            yield str(folder / name), read_regular(os.path.realpath(folder / name), MOST_BYTES)
        except OSError as error:
            problems.append(f"{folder / name}: {error.strerror}")


def is_team_file(name: str) -> bool:
    """Tell whether a file with this name in a folder of team files is one."""
    return name.endswith(SUFFIX)
