"""The trees of teammates, and the branches of teams: what they change, and what is only there."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from deskmate.config import environment, load, state_folder
from deskmate.core.checks import Check
from deskmate.core.log.names import known_name
from deskmate.core.team.tasks import parse_id
from deskmate.core.values import frozen
from deskmate.errors import BadInput, BadName, DeskmateError, Refused, ToolError
from deskmate.queries.stream_reader import Reading, team_at, telling, workspace_at
from deskmate.queries.team_view import look_at_board
from deskmate.trust.chosen_engine import engine_at
from deskmate.trust.sandbox_choice import sandbox_of
from deskmate.workspace.trees.branch_changes import BranchChanges
from deskmate.workspace.trees.merge_target import CHECKER
from deskmate.workspace.trees.team_branch import TeamBranch
from deskmate.workspace.trees.tree_inspection import TreeInspector, size_of
from deskmate.workspace.trees.tree_places import Tree, TreePlaces

# Why nobody works in a tree any more.
GONE, LEFT, STOPPED = "team gone", "member left", "team stopped"
_NAMED = 10


@frozen
class SeenDiff:
    """What a team, a task or a member changed. `if_none`: the sentence to show if the text is empty."""

    team: str
    if_none: str
    text: str


@frozen
class SeenTree:
    """A tree. `size`: bytes on the disk. `changed`: files that are not committed. `commits`: those that are not merged.

    `left`: why nobody works there any more, empty if somebody does. `trouble`: why it cannot be read, if so.
    """

    team: str
    member: str
    path: Path
    size: int
    left: str
    changed: int = 0
    commits: int = 0
    trouble: str = ""

    @property
    def held(self) -> str:
        """What would be lost with it. Empty if it is clean, and everything is merged."""
        parts = [f"{self.changed} changed file{_s(self.changed)}"] if self.changed else []
        parts += [f"{self.commits} commit{_s(self.commits)} not merged"] if self.commits else []
        return self.trouble or ", ".join(parts)

    @property
    def state(self) -> str:
        """What is in it, and who has left."""
        return ", ".join(filter(None, [self.held or "clean", self.left]))


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def places_at(workspace: Path) -> TreePlaces:
    """Return where the trees of a workspace are."""
    environ = environment()
    return TreePlaces(state_folder(environ), Path(os.path.realpath(workspace)), environ)


def team_with_branch(workspace: Path, name: str | None) -> str:
    """Return a team, also one that is gone but has left its branch. Default: the last one in use. Raises Refused."""
    return name if name is not None and _tip(workspace, name) else team_at(workspace, name)


def is_team(workspace: Path, name: str) -> bool:
    """Return whether there is a team of this name, or its branch."""
    with telling(workspace):
        return name in engine_at(workspace).teams() or _tip(workspace, name) is not None


def _tip(workspace: Path, team: str) -> str | None:
    """Return the commit of a team's branch, or None if there is none."""
    try:
        known_name(team, "team")
    except BadName:
        return None
    places = places_at(workspace)
    return None if places.lacks_repository() else TeamBranch(places.git, team).tip()


# -- diffs ----------------------------------------------------------------------------------------


async def look_at_diff(folder: Path | None, team: str | None, part: str | None, *, stat: bool = False) -> SeenDiff:
    """Return what a team changed. `part`: only a task, such as `#3`, or what of a member is not merged yet.

    Raises Refused if the team has no branch, and for a part that it does not have.
    """
    place = workspace_at(folder)
    name = team_with_branch(place, team)
    places, tip = places_at(place), _tip(place, name)
    if tip is None:
        raise Refused(
            f"Team '{name}' has no branch deskmate/{name}",
            "It has one after a teammate with its own tree has started. To see what else changed since your first "
            f"message, run: deskmate rewind {name} 1 --dry-run",
        )
    changes = BranchChanges(places.user_git, name, tip)
    if part is None:
        return SeenDiff(name, f"Your branch has everything of deskmate/{name}.", changes.of_team(stat=stat))
    try:
        task = parse_id(part)
    except BadInput:
        return await _of_member(places, name, part, tip, stat=stat)
    merge = changes.merge_of(task)
    if merge is None:
        raise _not_merged(place, name, task)
    return SeenDiff(name, f"Task #{task} changed no files.", changes.of_task(merge, stat=stat))


async def _of_member(places: TreePlaces, team: str, member: str, tip: str, *, stat: bool) -> SeenDiff:
    trees = {tree.member: tree for tree in places.trees() if tree.team == team and tree.member != CHECKER}
    tree = trees.get(member)
    if tree is None:
        there = f"These have: {', '.join(trees)}" if trees else "No teammate of this team has one."
        raise Refused(f"'{member[:80]}' has no tree of its own in team '{team}'", there)
    inspector = _inspector(places)
    return SeenDiff(
        team, f"The tree of {member} has nothing that is not merged.", await inspector.diff(tree, tip, stat=stat)
    )


def _not_merged(place: Path, team: str, task: int) -> Refused:
    missing = f"No work of task #{task} is in the branch of team '{team}'"
    if team not in engine_at(place).teams():
        return Refused(missing)
    known, listed = look_at_board(place, team).board.tasks.get(task), f"To list its tasks, run: deskmate board {team}"
    if known is None:
        return Refused(f"There is no task #{task} in team '{team}'", listed)
    return Refused(
        missing, f"To see the work so far, run: deskmate diff {team} {known.owner}" if known.owner else listed
    )


# -- trees ----------------------------------------------------------------------------------------


async def look_at_trees(folder: Path | None, team: str | None = None) -> tuple[SeenTree, ...]:
    """Return the trees of a workspace, or of one team. Raises BadName."""
    place = workspace_at(folder)
    team = team and known_name(team, "team")
    places = places_at(place)
    found = [tree for tree in places.trees() if team in (None, tree.team)]
    if not found:
        return ()
    inspector, seen = _inspector(places), list[SeenTree]()
    for tree, left in _with_left(place, found):
        size = size_of(tree.path)
        if tree.member == CHECKER:
            seen.append(SeenTree(tree.team, tree.member, tree.path, size, left))
            continue
        try:
            content = await inspector.content(tree, _known(places, tree.team))
        except ToolError as error:
            seen.append(SeenTree(tree.team, tree.member, tree.path, size, left, trouble=str(error)))
        else:
            seen.append(SeenTree(tree.team, tree.member, tree.path, size, left, content.changed, content.commits))
    return tuple(seen)


def _inspector(places: TreePlaces) -> TreeInspector:
    environ = environment()
    return TreeInspector(places.repository, environ, sandbox_of(load(environ)))


def _known(places: TreePlaces, team: str) -> list[str]:
    """Return the commits that the user has, whatever happens to the tree."""
    if places.lacks_repository():
        return []
    return [commit for commit in (TeamBranch(places.git, team).tip(), places.user_git.commit_of("HEAD")) if commit]


def _with_left(place: Path, trees: list[Tree]) -> Iterator[tuple[Tree, str]]:
    """Yield each tree, with the reason why nobody works there any more, if so."""
    with telling(place):
        teams = engine_at(place).teams()
    for tree in trees:
        if tree.team not in teams:
            yield tree, GONE
            continue
        reading = Reading(place, tree.team)
        if tree.member == CHECKER:
            yield tree, "" if reading.holder() else STOPPED
        else:
            member = reading.roster().members.get(tree.member)
            yield tree, "" if member and member.here else LEFT


def gone_teams(place: Path) -> tuple[str, ...]:
    """Return the teams that no longer exist and for which git still keeps commits."""
    places = places_at(place)
    if places.lacks_repository():
        return ()
    with telling(place):
        there = engine_at(place).teams()
    return tuple(team for team in places.teams_with_refs() if team not in there)


def check_trees(place: Path) -> tuple[Check, ...]:
    """Check for trees that nobody works in, and for what killed processes left. Empty if there is nothing."""
    places = places_at(place)
    lefts = list(_with_left(place, list(places.trees())))
    gone = [f"{tree.member}@{tree.team}" for tree, why in lefts if why == GONE]
    members = [why for tree, why in lefts if tree.member != CHECKER]
    step, checks = "To remove those without work of their own, run: deskmate trees prune", list[Check]()
    if gone:
        words = f"{len(gone)} of teams that no longer exist: {', '.join(gone[:_NAMED])}"
        checks.append(Check("trees", "warn", words, step))
    elif members:
        left = sum(map(bool, members))
        words = f"{len(members)} in {places.folder}{f', {left} of members that have left' if left else ''}"
        checks.append(Check("trees", "ok", words, step if left else ""))
    if refs := gone_teams(place):
        words = f"git keeps commits in refs/deskmate/teams for teams that no longer exist: {', '.join(refs[:_NAMED])}"
        checks.append(Check("trees", "warn", words, "To remove these refs, run: deskmate trees prune"))
    return (*checks, *_leftovers(place, places))


def _leftovers(place: Path, places: TreePlaces) -> Iterator[Check]:
    """Yield what killed processes left, and trees of workspaces that are gone."""
    remove = "To remove them, run: deskmate trees prune"
    if free := places.pool.free():
        yield Check("trees", "ok", f"{len(free)} free, for the next teammates", remove)
    there = engine_at(place).teams()
    if half := [path for path in places.unfinished() if not _is_running(place, path.parent.name, there)]:
        yield Check("trees", "warn", f"{len(half)} that killed processes have not finished", remove)
    if waiting := places.pool.waiting():
        yield Check("trees", "ok", f"{len(waiting)} files and folders of former trees wait to be deleted", remove)
    idle = [team for team in there if not _is_running(place, team, there)]
    if not places.lacks_repository() and (refs := [ref for team in idle for ref in places.refs_without_tree(team)]):
        yield Check("trees", "warn", f"git keeps {len(refs)} refs for trees that do not exist", remove)
    for workspace, folder in places.gone_workspaces():
        yield Check(
            "trees",
            "warn",
            f"{folder} has trees of {workspace}, which no longer exists",
            "If you moved that folder, move it back, and finish the work of its teams. Otherwise delete the trees",
        )


def _is_running(place: Path, team: str, there: Collection[str]) -> bool:
    try:
        return team in there and Reading(place, team).holder() is not None
    except DeskmateError:
        # Other checks say what is damaged.
        return True
