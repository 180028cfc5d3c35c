"""Trees that nobody needs any more: removed if all their work is merged, otherwise kept."""

from pathlib import Path

from anyio import to_thread

from deskmate.core.values import frozen
from deskmate.queries.stream_reader import Reading, workspace_at
from deskmate.queries.tree_view import SeenTree, gone_teams, look_at_trees, places_at
from deskmate.stores.archive import teams_in
from deskmate.workspace.trees.tree_places import Tree, TreePlaces


@frozen
class Pruned:
    """`removed`, `kept`: trees, of those that nobody works in. `refs`: teams whose refs were removed."""

    removed: tuple[SeenTree, ...]
    kept: tuple[SeenTree, ...]
    refs: tuple[str, ...]


async def prune_trees(folder: Path | None, team: str | None = None) -> Pruned:
    """Remove the trees that nobody works in and that have nothing of their own, of all teams or one.

    Refs of a team that no longer exists go with its last tree. Its branch stays.
    """
    place = workspace_at(folder)
    places = places_at(place)
    seen = [tree for tree in await look_at_trees(place, team) if tree.left]
    removed = tuple(tree for tree in seen if not tree.held)
    kept = tuple(tree for tree in seen if tree.held)
    for tree in removed:
        await to_thread.run_sync(_remove, places, tree)
    await to_thread.run_sync(_remove_unfinished, place, places, team)
    refs = tuple(name for name in gone_teams(place) if team in (None, name) and _has_no_tree(places, name))
    for name in refs:
        places.let_go(name)
    return Pruned(removed, kept, refs)


def _remove(places: TreePlaces, tree: SeenTree) -> None:
    places.pool.discard(tree.path)
    if not places.lacks_repository():
        places.let_go_of(Tree(tree.team, tree.member, tree.path))


def _remove_unfinished(place: Path, places: TreePlaces, team: str | None) -> None:
    there = teams_in(place)
    for folder in sorted(places.folder.iterdir()) if places.folder.is_dir() else ():
        if team in (None, folder.name) and not (folder.name in there and Reading(place, folder.name).holder()):
            places.remove_unfinished(folder.name)


def _has_no_tree(places: TreePlaces, team: str) -> bool:
    return not any(tree.team == team for tree in places.trees())
