"""What members are told of work that meets theirs."""

from typing import assert_never

from deskmate.core.prompt.call_texts import write_to
from deskmate.core.prompt.task_lines import listed, one_line, quoted
from deskmate.core.radar.overlaps import Overlap
from deskmate.core.team.members import RosterState
from deskmate.core.team.tasks import BoardState

_SHOWN = 10


def overlap_news(board: BoardState, roster: RosterState, since: int, me: str, *, runs: bool) -> list[str]:
    """Return a sentence for each overlap of a member's work that is new since a board record, each on one line.

    `runs`: whether the member can run commands.
    """
    new = [overlap for overlap, number in board.overlaps.items() if number > since]
    return _lines(new, roster, me, runs=runs)


def overlaps_known(board: BoardState, roster: RosterState, upto: int, me: str, *, runs: bool) -> list[str]:
    """Return the same for what a member was told up to a board record, and what is still so."""
    known = [overlap for overlap, number in board.overlaps.items() if number <= upto]
    return _lines(known, roster, me, runs=runs)


def _lines(overlaps: list[Overlap], roster: RosterState, me: str, *, runs: bool) -> list[str]:
    # The others may have left since the record was written.
    here = [overlap for overlap in overlaps if me in overlap.members and all(map(roster.here, overlap.members))]
    # Conflicts first, so that the cap cuts the rest.
    here.sort(key=lambda overlap: overlap.kind != "conflict")
    told = [_told(overlap, me, f"deskmate/{roster.team}", runs=runs) for overlap in here[:_SHOWN]]
    more = len(here) - _SHOWN
    return [*told, f"… and {more} more members change the same files as you."] if more > 0 else told


def _told(overlap: Overlap, me: str, branch: str, *, runs: bool) -> str:
    # Members chose these names, but this is read as our text.
    files = listed([quoted(one_line(file)) for file in overlap.files])
    other = next((name for name in overlap.members if name != me), "")
    agree = f"Agree with {other} on who changes what: {write_to(other)}."
    take_in = f" To take them into your tree, commit your work, then run: {update_command(branch)}" if runs else ""
    match overlap.kind, other:
        case "conflict", "":
            return f"Your commits conflict with {branch} in {files}. Others have merged changes there.{take_in}"
        case "conflict", _:
            return f"Your commits conflict with those of {other} in {files}. {agree}"
        case "moved", _:
            return f"{branch} has new changes in {files}, and you change the same files.{take_in}"
        case "edits", _:
            return f"You and {other} both change {files}, each in its own tree. {agree}"
        case unreachable:
            assert_never(unreachable)


def update_command(branch: str) -> str:
    """Return the command by which a member merges the team's branch into its tree."""
    return f"git pull --no-rebase --no-edit origin {branch}"
