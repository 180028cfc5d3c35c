"""Places: which folder is worked in, which team is meant, which notes and skills an agent is given."""

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from deskmate.core.briefs import NOTES_CAP
from deskmate.core.skills import Skill, read_skill
from deskmate.core.spending import Spending, together
from deskmate.errors import BadInput, Refused, StoreUnavailable, UnsafeFolder
from deskmate.stores.archive import founding, spent_in, spent_in_archive, strays_in, teams_in
from deskmate.stores.joint import JointStore
from deskmate.stores.jsonl import TASKS, TEAMS, JsonlStore

NOTES = ("AGENTS.md", "CLAUDE.md")
FIRST_TEAM = "main"
_BEGIN = "begin one with: deskmate, or deskmate run"
_LOG = logging.getLogger(__name__)


def workspace_of(folder: Path) -> Path:
    """Return the nearest folder upwards that has teams, else the top of its git repository, else the folder itself."""
    try:
        if not folder.is_dir():
            what = "is no folder" if folder.exists() else "is not there"
            raise UnsafeFolder(f"{folder} {what}; choose a workspace that is one")
        here = folder.resolve()
        for mark in (TEAMS, ".git"):
            if found := next((place for place in (here, *here.parents) if (place / mark).exists()), None):
                return found
    except OSError as error:
        raise UnsafeFolder(f"{folder}: {error.strerror}; choose a workspace that you may read") from error
    return here


def current_folder() -> Path:
    """Return the folder this process stands in; raise UnsafeFolder where someone deleted it."""
    try:
        return Path.cwd()
    except OSError as error:
        raise UnsafeFolder(f"the current folder: {error.strerror}; go to one that is there") from error


def branch_of(place: Path) -> str | None:
    """Return the git branch of a folder, the start of a commit where it is on none, nothing outside of git."""
    top = next((folder / ".git" for folder in (place, *place.parents) if (folder / ".git").exists()), None)
    if top is None:
        return None
    try:
        if top.is_file():
            # A worktree: what stands there says where its own part of the repository is.
            top = top.parent / top.read_text(encoding="utf-8", errors="replace").removeprefix("gitdir:").strip()
        words = (top / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
    return words.removeprefix("ref: refs/heads/") if words.startswith("ref: ") else words[:12]


def free_team(workspace: Path) -> str:
    """Return the first of main, main-2, … that no team has."""
    names = (FIRST_TEAM if number == 1 else f"{FIRST_TEAM}-{number}" for number in count(1))
    return next(name for name in names if not os.path.lexists(workspace / TEAMS / name))


def known_team(workspace: Path, name: str) -> str:
    """Return the name of a team that is there; raise Refused, naming those that are, or StoreError."""
    teams = teams_in(workspace)
    if name in teams:
        return name
    if name in strays_in(workspace):
        raise UnsafeFolder(f"{workspace / TEAMS / name} is a link or a file, not a folder; move it away")
    there = f"there is {', '.join(teams)}" if teams else f"there is none yet; {_BEGIN}"
    hint = f'; to say something to one: deskmate resume {teams[0]} "TEXT"' if teams and " " in name else ""
    raise Refused(f"there is no team '{name[:80]}' in {workspace}; {there}{hint}")


def latest_team(workspace: Path) -> str:
    """Return the team that was last written to; raise Refused where there is none."""
    teams = teams_in(workspace)
    if not teams:
        raise Refused(f"there is no team in {workspace}; {_BEGIN}")
    return max(teams, key=lambda team: written(workspace, team))


def written(workspace: Path, team: str) -> float:
    """Return when a record was last added to a stream of a team, its board's included; 0 for never.

    Raises StoreUnavailable where the disk does not tell.
    """
    folders = (workspace / top / team for top in (TEAMS, TASKS))
    try:
        return max((file.lstat().st_mtime for folder in folders for file in folder.glob("*.jsonl")), default=0.0)
    except OSError as error:
        raise StoreUnavailable(f"{error.filename}: {error.strerror}; mend that, then try again") from error


def home_of(workspace: Path, team: str) -> str:
    """Return the team that the lead of a team came from, which is itself for most; raise Refused where it is gone."""
    begun = founding(workspace, team)
    home = begun.home if begun and begun.home else team
    if home not in teams_in(workspace):
        raise Refused(f"team '{team}' was founded from team '{home}', which is not in {workspace}; put that back")
    return home


def spent_elsewhere(workspace: Path, team: str) -> Spending:
    """Return what the other teams of a team's lead have spent: those it closed and, of a named team, its home."""
    home = home_of(workspace, team)
    archived = spent_in_archive(workspace, home)
    return archived if team == home else together(spent_in(workspace, home), archived)


@contextmanager
def open_store(workspace: Path, team: str) -> Iterator[JointStore]:
    """Open a team that is there, for a process that plays a member of it other than the lead.

    Every stream lies where the lead's process has it: of a named team, the user's mailbox is the one at its home.
    """
    home = home_of(workspace, team)
    with ExitStack() as stack:
        store = JointStore(_opened(stack, workspace, home), home)
        if team != home:
            store.enter(_opened(stack, workspace, team))
        yield store


def _opened(stack: ExitStack, workspace: Path, team: str) -> JsonlStore:
    store = JsonlStore.open(workspace, team)
    stack.callback(store.close)
    return store


def notes_for(folder: Path, workspace: Path) -> tuple[str, str]:
    """Return the name and the text of the nearest AGENTS.md, else CLAUDE.md, from a folder up to the workspace.

    A folder outside of the workspace counts as its top. Notes that cannot be read are passed over with a warning: the
    work does not depend on them.
    """
    here = folder.resolve()
    between = [place for place in (here, *here.parents) if place.is_relative_to(workspace)] or [workspace]
    for name in NOTES:
        for place in between:
            path = place / name
            if path.is_file() and (text := _notes(path, workspace)) is not None:
                return name, text
    return NOTES[0], ""


def _notes(path: Path, workspace: Path) -> str | None:
    real = path.resolve()
    # A repository may not send the provider what lies outside of it.
    if not real.is_relative_to(workspace):
        _LOG.warning("%s leads out of the workspace and is left out", path)
        return None
    try:
        with real.open("rb") as file:
            return file.read(NOTES_CAP + 1).decode(errors="replace")
    except OSError as error:
        _LOG.warning("%s cannot be read (%s) and is left out", path, error.strerror)
        return None


def skills_in(folder: Path) -> dict[str, Skill]:
    """Return the skills of a folder by name; a broken one, or a second of one name, is passed over with a warning."""
    found: dict[str, Skill] = {}
    for path in sorted(folder.glob("*/SKILL.md")):
        try:
            skill = read_skill(path.read_text(encoding="utf-8", errors="replace"), str(path.parent))
        except (BadInput, OSError) as error:
            _LOG.warning("a skill is left out: %s", error)
            continue
        if skill.name in found:
            _LOG.warning("a skill is left out: %s bears the name of %s", skill.folder, found[skill.name].folder)
        else:
            found[skill.name] = skill
    return found
