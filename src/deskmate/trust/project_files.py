"""Notes, settings, skills, agent files and commands of a workspace, and what an agent is told about its environment.

Files are opened as file tools do, by descriptor and never outside the workspace, and read once. `approvals` decides
which of them count. Skills in the user's own folders are read here, too.
"""

import logging
import os
import platform
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from deskmate.config import Settings
from deskmate.core.policy.trusted_files import (
    AGENT_FOLDERS,
    COMMAND_FOLDERS,
    HOOK_FILES,
    MOST_FOLDERS,
    NOTES,
    SERVERS,
    SETTINGS,
    SKILL,
    SKILL_FOLDERS,
    TEAM_FOLDER,
    Definition,
)
from deskmate.core.prompt.skills import Skill, read_skill
from deskmate.core.prompt.system_prompt import NOTES_CAP, Environment
from deskmate.errors import BadInput, ToolError
from deskmate.fs.safe_files import read_regular
from deskmate.trust.folders import holds_home
from deskmate.workspace.paths import resolved
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from deskmate.workspace.workspace_files import content

# Next to the user's settings. Only `deskmate mcp add` and `remove` write it.
ADDED_SERVERS = "mcp.json"
# Nobody reads more than this before approving it.
MOST_BYTES = 256_000
MOST_FILES = 100
# Longer than any path or branch name.
_MOST_OF_GIT = 4096
_FOLDERS = (SETTINGS, *HOOK_FILES, *SKILL_FOLDERS, *AGENT_FOLDERS, *COMMAND_FOLDERS, TEAM_FOLDER)
# More entries of a folder of agent files or commands are not looked at.
_MOST_LISTED = 5_000
_LOG = logging.getLogger(__name__)


def seen_in(workspace: Path, folder: Path) -> list[str]:
    """Return the paths in a workspace that definitions would be read from, without opening them."""
    notes = next(_notes_paths(workspace, folder), None)
    there = [path for path in _FOLDERS if os.path.lexists(workspace / path)]
    return [*([notes] if notes else []), *there, *_servers_paths(workspace)]


def definitions_in(workspace: Path, folder: Path) -> tuple[Definition, ...]:
    """Return the definitions of a workspace: the notes nearest to a folder, and everything in its own folders.

    A file that cannot be read is skipped with a warning, because the work does not depend on it.
    """
    notes = next(filter(None, (_read(workspace, path) for path in _notes_paths(workspace, folder))), None)
    own = [*_there(workspace, [SETTINGS]), *_servers_paths(workspace)]
    paths = [*own, *_skill_paths(workspace), *_markdown_in(workspace, AGENT_FOLDERS, "agent files")]
    paths += [*_markdown_in(workspace, COMMAND_FOLDERS, "commands"), *_team_paths(workspace)]
    return (*([notes] if notes else []), *definitions_at(workspace, paths), *_hook_files(workspace))


def _hook_files(workspace: Path) -> Iterator[Definition]:
    """Yield the files of Claude Code that have hooks. Nothing else in them is used, so others need no trust."""
    found = definitions_at(workspace, _there(workspace, HOOK_FILES))
    return (one for one in found if b'"hooks"' in one.data)


def definitions_at(workspace: Path, paths: Iterable[str]) -> tuple[Definition, ...]:
    """Return the definitions at these paths. Skips those that cannot be read."""
    return tuple(found for path in paths if (found := _read(workspace, path)))


def _read(workspace: Path, path: str) -> Definition | None:
    try:
        with resolved(workspace, path) as place:
            if place.ours:
                raise ToolError(f"{path} leads into the records of teams")
            return Definition(path, content(place, MOST_BYTES))
    except ToolError as error:
        _LOG.warning("Skipping %s: %s", path, error.message)
        return None


def _notes_paths(workspace: Path, folder: Path) -> Iterator[str]:
    """Yield the notes that may apply, the best first. A folder outside the workspace counts as its top."""
    here = folder.resolve()
    between = [place for place in (here, *here.parents) if place.is_relative_to(workspace)] or [workspace]
    for name in NOTES:
        for place in between:
            if (place / name).is_file():
                yield (place / name).relative_to(workspace).as_posix()


def _skill_paths(workspace: Path) -> Iterator[str]:
    for folder in SKILL_FOLDERS:
        names = _names_in(workspace / folder, folder)
        yield from first_files(_there(workspace, (f"{folder}/{name}/{SKILL}" for name in names)), folder, "skills")


def _team_paths(workspace: Path) -> Iterator[str]:
    names = [name for name in _names_in(workspace / TEAM_FOLDER, TEAM_FOLDER) if name.endswith(".toml")]
    yield from first_files([f"{TEAM_FOLDER}/{name}" for name in names], TEAM_FOLDER, "team files")


def _markdown_in(workspace: Path, folders: Iterable[str], what: str) -> Iterator[str]:
    for folder in folders:
        yield from (f"{folder}/{path}" for path in markdown_paths(workspace / folder, folder, what))


def markdown_paths(place: Path, shown: str, what: str) -> list[str]:
    """Return the paths of the Markdown files in a folder and in its folders. Links to folders are not followed."""
    found, left = list[str](), _MOST_LISTED
    for here, folders, files in os.walk(place):
        below = os.path.relpath(here, place)
        above = "" if below == "." else f"{below}/"
        if above.count("/") >= MOST_FOLDERS:
            folders.clear()
        folders.sort()
        found += (f"{above}{name}" for name in files[:left] if _describes(name))
        left -= len(folders) + len(files)
        if left <= 0:
            _LOG.warning("%s has more than %d entries. The rest is not used.", shown, _MOST_LISTED)
            break
    return first_files(sorted(found), shown, what)


def _describes(name: str) -> bool:
    return name.endswith(".md") and name.lower() != "readme.md"


def first_files(found: list[str], folder: str, what: str) -> list[str]:
    """Return the files of a folder, with a warning if there are more than anybody would look through."""
    if len(found) > MOST_FILES:
        _LOG.warning("%s has %d %s. Only the first %d are used.", folder, len(found), what, MOST_FILES)
    return found[:MOST_FILES]


def _names_in(place: Path, shown: str) -> list[str]:
    try:
        return sorted(os.listdir(place))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        _LOG.warning("Skipping %s: %s", shown, error.strerror)
        return []


def _servers_paths(workspace: Path) -> list[str]:
    """Return the file with MCP servers, if it is one. While a command runs, something empty may be in its place."""
    try:
        found = os.stat(workspace / SERVERS)
    except OSError:
        return []
    return [SERVERS] if stat.S_ISREG(found.st_mode) and found.st_size else []


def has_servers(settings: Settings, definitions: Iterable[Definition]) -> bool:
    """Tell whether any file may describe an MCP server, without reading one."""
    added = settings.file.parent / ADDED_SERVERS
    return bool(settings.mcp) or any(one.path == SERVERS for one in definitions) or os.path.lexists(added)


def has_types(settings: Settings, definitions: Iterable[Definition]) -> bool:
    """Tell whether any file may describe an agent type, without reading one."""
    return any(map(os.path.lexists, settings.agent_folders)) or any(
        one.path.startswith(AGENT_FOLDERS) for one in definitions
    )


def _there(workspace: Path, paths: Iterable[str]) -> list[str]:
    return [path for path in paths if os.path.lexists(workspace / path)]


# -- what agents are given ------------------------------------------------------------------------


def notes_of(definitions: Iterable[Definition]) -> tuple[str, str]:
    """Return name and text of the notes among the definitions. The text is empty if there are none."""
    for one in definitions:
        if (name := PurePosixPath(one.path).name) in NOTES:
            return name, one.data[: NOTES_CAP + 1].decode(errors="replace")
    return NOTES[0], ""


def skills_of(definitions: Iterable[Definition], workspace: Path, own: Iterable[Path]) -> dict[str, Skill]:
    """Return the skills of the user's folders and of the definitions, by name. The first of a name wins.

    A broken skill, or another one of the same name, is skipped with a warning. A folder of the user that is in the
    workspace is not read, because agents could write there.
    """
    folders = [folder for folder in own if not Path(os.path.realpath(folder)).is_relative_to(workspace)]
    theirs = (one for one in definitions if _is_skill(PurePosixPath(one.path)))
    read = ((one.text, str(workspace / PurePosixPath(one.path).parent)) for one in theirs)
    return _by_name((*(found for folder in folders for found in _own_skills(folder)), *read))


def skill_folders(skills: Iterable[Skill], workspace: Path) -> tuple[Path, ...]:
    """Return the folders of skills, with links resolved. A skill folder that contains more than a skill is left out."""
    found = dict.fromkeys(Path(os.path.realpath(skill.folder)) for skill in skills)
    return tuple(one for one in found if not holds_home(one) and not workspace.is_relative_to(one))


def _is_skill(path: PurePosixPath) -> bool:
    return path.name == SKILL and str(path.parent.parent) in SKILL_FOLDERS


def _own_skills(folder: Path) -> Iterator[tuple[str, str]]:
    paths = [f"{folder}/{name}/{SKILL}" for name in _names_in(folder, str(folder))]
    for path in first_files(list(filter(os.path.lexists, paths)), str(folder), "skills"):
        try:
            # The real path, because many users keep skills elsewhere and have links here.
            file = os.path.realpath(path)
            data = read_regular(file, MOST_BYTES)
        except OSError as error:
            _LOG.warning("Skipping a skill: %s: %s", path, error.strerror)
        else:
            yield data.decode(errors="replace"), os.path.dirname(file)


def _by_name(texts: Iterable[tuple[str, str]]) -> dict[str, Skill]:
    found: dict[str, Skill] = {}
    for text, folder in texts:
        try:
            skill = read_skill(text, folder)
        except BadInput as error:
            _LOG.warning("Skipping a skill: %s", error)
            continue
        if skill.name in found:
            _LOG.warning("Skipping a skill: %s has the same name as %s", skill.folder, found[skill.name].folder)
        else:
            found[skill.name] = skill
    return found


def branch_of(place: Path) -> str | None:
    """Return the git branch of a workspace, the start of the commit id if there is none, None outside of git.

    Only for a trusted folder: anybody could have put text for a model into a branch name.
    """
    top = place / ".git"
    try:
        if top.is_file():
            # A worktree: the file says where its own part of the repository is.
            top = top.parent / _line_of(top).removeprefix("gitdir:").strip()
        words = _line_of(top / "HEAD")
    except (OSError, ValueError):
        return None
    name = words.removeprefix("ref: refs/heads/") if words.startswith("ref: ") else words[:12]
    # Git allows no spaces in branch names.
    return name if name.isprintable() and " " not in name else None


def _line_of(file: Path) -> str:
    return read_regular(os.path.realpath(file), _MOST_OF_GIT).decode(errors="replace").strip()


def environment_of(place: Path, sandbox: Sandbox, *, attended: bool, trusted: bool) -> Environment:
    """Return what an agent is told about its environment. The git branch is included only in a trusted folder."""
    return Environment(
        workspace=str(place),
        platform=f"{platform.system()} {platform.machine()}",
        shell="bash",
        date=time.strftime("%Y-%m-%d"),
        branch=branch_of(place) if trusted else "",
        attended=attended,
        sandbox=sandbox.level,
        network=sandbox.network if sandbox.level is Level.BUBBLEWRAP else sandbox.network is True,
        writable=tuple(map(str, sandbox.writable)),
    )
