"""Work of members that meets, as items."""

from deskmate.core.radar.overlaps import Overlap
from deskmate.core.team.tasks import BoardState
from deskmate.core.values import frozen

_WHAT = {
    "conflict": "commits conflict",
    "edits": "both change it",
    "moved": "the branch has new changes in it",
}

_HOW = {"conflict": "conflicts with", "edits": "same files as", "moved": "behind"}


@frozen
class ConflictItem:
    """Files in which the work of members meets. `branch`: the branch of their team."""

    overlap: Overlap
    branch: str

    @property
    def is_conflict(self) -> bool:
        """Whether git cannot merge the commits."""
        return self.overlap.kind == "conflict"

    @property
    def who(self) -> str:
        """Whose work it is: `ann and bob`, or `ann and deskmate/main`."""
        one, *others = self.overlap.members
        return f"{one} and {others[0] if others else self.branch}"

    @property
    def what(self) -> str:
        """How it meets."""
        return _WHAT[self.overlap.kind]

    @property
    def files(self) -> str:
        """The files."""
        return ", ".join(self.overlap.files)


def conflict_items(team: str, board: BoardState) -> tuple[ConflictItem, ...]:
    """Return where the work of members meets, conflicts first."""
    items = [ConflictItem(overlap, f"deskmate/{team}") for overlap in board.overlaps]
    return tuple(sorted(items, key=lambda item: (not item.is_conflict, item.overlap.members, item.overlap.kind)))


def short_words(name: str, overlaps: tuple[Overlap, ...]) -> str:
    """Return how the work of a member meets that of others: `conflicts with bob, same files as cleo`."""
    met = dict[str, list[str]]()
    for overlap in sorted(overlaps, key=lambda one: list(_HOW).index(one.kind)):
        other = next((member for member in overlap.members if member != name), "the branch")
        met.setdefault(_HOW[overlap.kind], []).append(other)
    return ", ".join(f"{how} {' and '.join(others)}" for how, others in met.items())
