"""Which members change the same files in different trees, and which of their commits conflict.

The runtime looks at the trees and at trial merges. What follows from that is decided here.
"""

from collections.abc import Collection, Mapping, Set
from itertools import combinations
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from deskmate.core.values import frozen

Pair: TypeAlias = tuple[str, str]
# In a pair: the branch of the team, instead of a second member.
BRANCH = ""
MOST_FILES, MOST_OVERLAPS = 20, 200


class Overlap(BaseModel):
    """Files in which the work of two members meets, or that of one member and the team's branch.

    `kind`: "conflict" if git cannot merge their commits, "edits" if both change a file and one of them has not
    committed it yet, "moved" if the branch has new changes in files that the member changes too. `members`: two of
    them, or one if it is about the branch.
    """

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    kind: Literal["conflict", "edits", "moved"]
    members: tuple[str, ...]
    files: tuple[str, ...]


@frozen
class WorkInProgress:
    """Work of a member that is not merged. `committed`, `edited`: files in commits of its own, and since then.

    `moved`: the files that the branch of the team changed since the work began.
    """

    member: str
    committed: Set[str] = frozenset()
    edited: Set[str] = frozenset()
    moved: Set[str] = frozenset()

    @property
    def files(self) -> Set[str]:
        """All files that it changes."""
        return self.committed | self.edited


def overlaps_of(works: Collection[WorkInProgress], conflicts: Mapping[Pair, Collection[str]]) -> tuple[Overlap, ...]:
    """Return where work meets, in a fixed order. Commits that change one file and can be merged do not count.

    `conflicts`: the files in which trial merges of two members failed, by their names in alphabetical order, or of
    (member, BRANCH).
    """
    by_name = sorted(works, key=lambda work: work.member)
    found = list[Overlap]()
    for work in by_name:
        unmerged = set(conflicts.get((work.member, BRANCH), ()))
        found += _overlap("conflict", (work.member,), unmerged)
        found += _overlap("moved", (work.member,), (work.moved & work.files) - unmerged)
    for one, other in combinations(by_name, 2):
        pair = (one.member, other.member)
        unmerged = set(conflicts.get(pair, ()))
        found += _overlap("conflict", pair, unmerged)
        found += _overlap("edits", pair, ((one.edited & other.files) | (one.files & other.edited)) - unmerged)
    return tuple(found[:MOST_OVERLAPS])


def _overlap(kind: Literal["conflict", "edits", "moved"], members: tuple[str, ...], files: Set[str]) -> list[Overlap]:
    return [Overlap(kind=kind, members=members, files=tuple(sorted(files)[:MOST_FILES]))] if files else []
