"""Which folder is worked in and which team is meant."""

import difflib
import os
import re
import shlex
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path

from deskmate.config import environment
from deskmate.errors import DeskmateError, Refused, UnsafeFolder
from deskmate.fs.safe_files import small_file
from deskmate.ports import Store
from deskmate.stores.engines.engine import TeamStore
from deskmate.stores.engines.file_engine import FileEngine
from deskmate.stores.jsonl_store import TEAMS
from deskmate.stores.named_team_store import NamedTeamStore
from deskmate.trust.chosen_engine import engine_at
from deskmate.workspace.sandbox.mounts import homes

FIRST_TEAM = "main"
# An error names at most this many teams.
_MOST_NAMED = 5
_BEGIN = 'To start one, run: deskmate run "GOAL"'


def workspace_of(chosen: Path | None) -> Path:
    """Return the folder that agents work in: the chosen one, or the one that the current folder belongs to.

    That is the top of its git repository. Outside of one, it is the nearest folder above with teams, or itself.
    A folder that contains the user's home is the workspace only if it is chosen or current. Raises UnsafeFolder.
    """
    folder = chosen or current_folder()
    try:
        if not folder.is_dir():
            what = "is not a folder" if folder.exists() else "does not exist"
            raise UnsafeFolder(f"{folder} {what}", "Choose an existing folder as the workspace.")
        here = folder.resolve()
        os.stat(here / ".")
        return here if chosen else _workspace_around(here)
    except OSError as error:
        raise UnsafeFolder(
            f"Cannot read {folder}: {error.strerror}", "Choose a workspace that you can read."
        ) from error


def _workspace_around(here: Path) -> Path:
    places = list(_upwards(here))
    tops = (place for place in places if _is_repository(place, here))
    with_teams = (place for place in places if _has_teams(place, here))
    return next(tops, None) or next(with_teams, here)


def _upwards(here: Path) -> Iterator[Path]:
    """Yield a folder and those above it on the same file system, as git does. Stops at one with the user's home."""
    yield here
    for place in here.parents:
        if place.stat().st_dev != here.stat().st_dev or holds_home(place):
            return
        yield place


def holds_home(place: Path) -> bool:
    """Return whether a folder is the user's home or above it. Such a workspace gives access to all of home."""
    return any(home.is_relative_to(place) for home in homes(environment()))


def _is_repository(place: Path, here: Path) -> bool:
    """Return whether a folder is the top of a git repository, a worktree or a submodule."""
    git = place / ".git"
    if not _is_trusted(git, here):
        return False
    if not git.is_dir():
        return small_file(git).startswith(b"gitdir:")
    head, parts = git / "HEAD", [git / name for name in ("objects", "refs")]
    whole = os.path.lexists(head) and not head.is_dir() and all(part.is_dir() for part in parts)
    # A command can break the repository it works in. That must not make the next workspace a larger one.
    return whole or (_has_teams(place, here) and any(git.iterdir()))


def _has_teams(place: Path, here: Path) -> bool:
    teams = place / TEAMS
    return _is_trusted(teams, here) and teams.is_dir() and not teams.is_symlink()


def _is_trusted(path: Path, here: Path) -> bool:
    """Return whether a path exists and belongs to the user, or to the owner of the folder the user is in.

    Otherwise anyone could make /tmp the workspace of all who work below it.
    """
    try:
        owners = {path.lstat().st_uid, path.stat().st_uid}
        return owners <= {os.geteuid(), here.stat().st_uid}
    except OSError:
        return False


def teams_beyond(workspace: Path) -> tuple[str, str] | None:
    """Return a sentence that says where else teams are, and the command that continues there, or None.

    That is the nearest folder above with teams, if it is not the workspace. Version 0.1 would have worked there.
    """
    if engine_at(workspace).shared:
        return None
    with suppress(OSError, DeskmateError):
        here = current_folder().resolve()
        start = here if here.is_relative_to(workspace) else workspace
        for place in (start, *start.parents):
            if place != workspace and _has_teams(place, start) and (teams := FileEngine(place).teams()):
                names = f"Team {teams[0]} is" if len(teams) == 1 else f"{len(teams)} teams are"
                return f"{names} in {place}", shlex.join(["deskmate", "-C", str(place), "resume"])
    return None


def _elsewhere(workspace: Path) -> str:
    where, command = teams_beyond(workspace) or ("", "")
    return where and f"{where}. To continue there, run: {command}"


def current_folder() -> Path:
    """Return the current folder. Raises UnsafeFolder if someone deleted it."""
    try:
        return Path.cwd()
    except OSError as error:
        raise UnsafeFolder(
            f"Cannot use the current folder: {error.strerror}", "Change to an existing folder."
        ) from error


def free_team(workspace: Path, taken: Collection[str] = (), first: str = FIRST_TEAM) -> str:
    """Return the first of main, main-2, … that no team and no board uses, and that is not `taken`.

    Another process may be creating it, too. The one that holds its lead's seat and writes the first record gets it.
    """
    engine = engine_at(workspace)
    names = (first if number == 1 else f"{first}-{number}" for number in count(1))
    return next(name for name in names if name not in taken and engine.is_unused(name))


def known_team(workspace: Path, name: str, advice: str = "") -> str:
    """Return the name of an existing team. Raises Refused, with the most similar names, or StoreError."""
    teams = engine_at(workspace).teams()
    if name in teams:
        return name
    if name in engine_at(workspace).strays():
        raise UnsafeFolder(f"{workspace / TEAMS / name} is not a folder, but a link or a file", "Move it elsewhere.")
    said = f'To send a message to a team, run: deskmate resume {teams[0]} "TEXT"' if teams and " " in name else ""
    hints = [_there(name, teams), said, _elsewhere(workspace), advice]
    raise Refused(f"There is no team '{name[:80]}' in {workspace}", "\n".join(filter(None, hints)))


def _there(name: str, teams: list[str]) -> str:
    if not teams:
        return f"There are no teams yet. {_BEGIN}"
    if near := difflib.get_close_matches(name, teams, n=_MOST_NAMED):
        return f"Did you mean {' or '.join(near)}?"
    more = f" and {len(teams) - _MOST_NAMED} more" if len(teams) > _MOST_NAMED else ""
    return f"Teams there: {', '.join(teams[:_MOST_NAMED])}{more}."


def latest_team(workspace: Path, first: str | None = None) -> str:
    """Return the team last written to, if possible one in which something was said. Raises Refused for none.

    With `first`, only teams of that name count, and those with a number after it, as `free_team` makes them.
    """
    engine = engine_at(workspace)
    teams = engine.teams()
    if first is not None:
        teams = [team for team in teams if re.fullmatch(rf"{re.escape(first)}(-\d+)?", team)]
        if not teams:
            return known_team(workspace, first)
    if not teams:
        hints = [_BEGIN, _elsewhere(workspace)]
        raise Refused(f"There is no team in {workspace} yet", "\n".join(filter(None, hints)))
    return max(teams, key=lambda team: (engine.has_begun(team), engine.written(team)))


def home_of(workspace: Path, team: str) -> str:
    """Return the first team of a team's lead, mostly the team itself. Raises Refused if it does not exist any more."""
    engine = engine_at(workspace)
    begun = engine.founding(team)
    home = begun.home if begun and begun.home else team
    if home not in engine.teams():
        raise Refused(
            f"Team '{team}' was started from team '{home}', which is not in {workspace}",
            f"Put the folders of team '{home}' back.",
        )
    return home


@contextmanager
def open_store(workspace: Path, team: str) -> Iterator[Store]:
    """Open an existing team, for a process that does not run its lead.

    Every stream is where the lead's process has it. The user's mailbox is always in the lead's first team.
    """
    home = home_of(workspace, team)
    with ExitStack() as stack:
        first = _opened(stack, workspace, home)
        yield first if team == home else NamedTeamStore(first, home, _opened(stack, workspace, team))


def _opened(stack: ExitStack, workspace: Path, team: str) -> TeamStore:
    store = engine_at(workspace).open(team)
    stack.callback(store.close)
    return store
