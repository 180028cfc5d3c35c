"""Places: which folder is worked in and which team is meant. Nothing here opens a file of the workspace's own."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from deskmate.core.spending import Spending, together
from deskmate.errors import Refused, StoreUnavailable, UnsafeFolder
from deskmate.stores.archive import founding, spent_in, spent_in_archive, strays_in, teams_in
from deskmate.stores.joint import JointStore
from deskmate.stores.jsonl import TASKS, TEAMS, JsonlStore

FIRST_TEAM = "main"
_BEGIN = "begin one with: deskmate, or deskmate run"


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


def free_team(workspace: Path) -> str:
    """Return the first of main, main-2, … that no team has, nor the board of one."""
    names = (FIRST_TEAM if number == 1 else f"{FIRST_TEAM}-{number}" for number in count(1))
    return next(name for name in names if not any(os.path.lexists(workspace / top / name) for top in (TEAMS, TASKS)))


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
