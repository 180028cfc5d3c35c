"""What merge, diff, conflicts and trees print."""

import sys
from functools import partial
from pathlib import Path

import anyio

from deskmate.app.handover import team_handover
from deskmate.app.handover.team_handover import HandedOver
from deskmate.app.handover.tree_removal import prune_trees
from deskmate.faces.cli.output import json_output
from deskmate.faces.common.handover.tree_reports import (
    diff_lines,
    free_words,
    kept_line,
    merged_lines,
    not_merged_lines,
    size_words,
)
from deskmate.faces.common.items.conflict_items import conflict_items
from deskmate.faces.common.listings import conflict_lines
from deskmate.faces.common.text_tables import Cell, note, put, sheet_for
from deskmate.queries.stream_reader import team_at, workspace_at
from deskmate.queries.team_view import look_at_board
from deskmate.queries.tree_view import SeenTree, is_team, look_at_diff, look_at_trees, places_at

NOT_MERGED = CONFLICTS = 1


def merge(folder: Path | None, team: str | None, *, as_json: bool) -> int:
    """Merge the branch of a team into the user's branch. Return 1 if that was not possible."""
    merged = team_handover.merge(folder, team)
    end = merged.end
    done = isinstance(end, HandedOver)
    if as_json:
        fields = {"team": merged.team, "branch": end.branch, "into": end.into, "merged": done}
        if isinstance(end, HandedOver):
            fields |= {"commit": end.commit, "commits": end.commits, "snapshot": end.snapshot or None}
        else:
            fields |= {"reason": end.reason, "command": end.command}
        return put([json_output.line(fields)]) or (0 if done else NOT_MERGED)
    if isinstance(end, HandedOver):
        return put(merged_lines(end))
    for line in not_merged_lines(end):
        note(line)
    return NOT_MERGED


def diff(folder: Path | None, team: str | None, part: str | None, *, stat: bool) -> int:
    """Print what a team, one of its tasks or one of its members changed. A word alone may be any of them."""
    if team is not None and part is None and not is_team(workspace_at(folder), team):
        team, part = None, team
    seen = anyio.run(partial(look_at_diff, folder, team, part, stat=stat))
    if not seen.text.strip():
        note(seen.if_none)
        return 0
    return put(diff_lines(seen.text, sheet_for(sys.stdout)))


def conflicts(folder: Path | None, team: str | None, *, as_json: bool) -> int:
    """Print where the work of members meets. Return 1 if commits conflict."""
    seen = look_at_board(folder, team)
    items = conflict_items(seen.team, seen.board)
    code = CONFLICTS if any(item.is_conflict for item in items) else 0
    if as_json:
        found = [item.overlap.model_dump(mode="json") for item in items]
        fields = {"team": seen.team, "overlaps": found, "damage": list(seen.damage)}
        return put([json_output.line(fields)], seen.damage) or code
    sheet = sheet_for(sys.stdout)
    return put(list(map(sheet.painted, conflict_lines(seen.team, seen.board, sheet))), seen.damage) or code


def trees(folder: Path | None, team: str | None, *, as_json: bool) -> int:
    """Print the trees of a workspace, or of one team."""
    seen = anyio.run(look_at_trees, folder, team)
    free = places_at(workspace_at(folder)).pool.free()
    if team and not seen:
        # A removed team may have left trees. Without any, the name is probably wrong.
        team_at(workspace_at(folder), team)
    if as_json:
        return put([json_output.line({"trees": list(map(_fields, seen)), "free": list(map(str, free))})])
    waits = f"{free_words(len(free))} wait{'s' if len(free) == 1 else ''} for the next teammates."
    last = [f"{waits} To remove them, run: deskmate trees prune"] if free and not team else []
    if not seen:
        return put([f"{f'Team {team} has' if team else 'There are'} no trees.", *last])
    rows: list[list[Cell | str]] = [["team", "member", "state", "size", "folder"]]
    rows += [[one.team, one.member, one.state, size_words(one.size), str(one.path)] for one in seen]
    return put([*sheet_for(sys.stdout).table(rows, gives=4), *last])


def _fields(tree: SeenTree) -> json_output.Fields:
    return {
        "team": tree.team,
        "member": tree.member,
        "path": str(tree.path),
        "bytes": tree.size,
        "changed": tree.changed,
        "commits": tree.commits,
        "left": tree.left or None,
        "trouble": tree.trouble or None,
    }


def prune(folder: Path | None) -> int:
    """Remove trees that nobody works in and that have nothing of their own, and name the others."""
    pruned = anyio.run(prune_trees, folder)
    lines = [f"removed the tree of {one.member}@{one.team}, {size_words(one.size)}" for one in pruned.removed]
    lines += [kept_line(one) for one in pruned.kept]
    if pruned.free:
        lines.append(f"removed {free_words(pruned.free)} that waited for the next teammates")
    if pruned.unfinished:
        lines.append(f"removed {pruned.unfinished} unfinished tree{'' if pruned.unfinished == 1 else 's'}")
    lines += [f"removed the refs of team {team}" for team in pruned.refs]
    return put(lines or ["There is nothing to remove."])
