"""Trees that nobody needs any more: removed if all their work is merged, otherwise kept."""

from pathlib import Path

from anyio import to_thread

from deskmate.core.values import frozen
from deskmate.queries.stream_reader import Reading, workspace_at
from deskmate.queries.tree_view import SeenTree, gone_teams, look_at_trees, places_at
from deskmate.trust.chosen_engine import engine_at
from deskmate.workspace.trees.tree_places import Tree, TreePlaces


@frozen
class Pruned:
    """`removed`, `kept`: trees, of those that nobody works in. `refs`: teams whose refs were removed.

    `free`, `unfinished`: how many trees were removed that waited for a member, or that were not completely made.
    """

    removed: tuple[SeenTree, ...]
    kept: tuple[SeenTree, ...]
    refs: tuple[str, ...]
    free: int = 0
    unfinished: int = 0


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
    unfinished = await to_thread.run_sync(_remove_unfinished, place, places, team)
    free = await to_thread.run_sync(_delete, places, team)
    refs = tuple(name for name in gone_teams(place) if team in (None, name) and _has_no_tree(places, name))
    for name in refs:
        places.let_go(name)
    return Pruned(removed, kept, refs, free, unfinished)


def _remove(places: TreePlaces, tree: SeenTree) -> None:
    places.pool.discard(tree.path)
    if not places.lacks_repository():
        places.let_go_of(Tree(tree.team, tree.member, tree.path))


def _remove_unfinished(place: Path, places: TreePlaces, team: str | None) -> int:
    """Remove what killed processes left of teams that nobody runs. Return how many trees were not complete."""
    there, count, can_merge = engine_at(place).teams(), 0, not places.lacks_repository()
    for folder in sorted(places.folder.iterdir()) if places.folder.is_dir() else ():
        if places.pool.owns(folder) or not folder.is_dir() or team not in (None, folder.name):
            continue
        if not (folder.name in there and Reading(place, folder.name).holder()):
            count += places.remove_unfinished(folder.name)
            if can_merge:
                places.forget(places.refs_without_tree(folder.name))
    return count


def _delete(places: TreePlaces, team: str | None) -> int:
    """Delete what was removed, and without a team all free trees. Return how many these are."""
    free = len(places.pool.free()) if team is None else 0
    if team is None:
        places.pool.clear()
    else:
        places.pool.delete_waiting()
    return free


def _has_no_tree(places: TreePlaces, team: str) -> bool:
    return not any(tree.team == team for tree in places.trees())
