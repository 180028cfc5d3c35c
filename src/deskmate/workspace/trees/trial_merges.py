"""Trial merges: which commits conflict, and in which files. Nothing is merged by this."""

from collections.abc import Collection, Mapping
from functools import cached_property

from deskmate.workspace.trees.git_program import GitProgram

_OLDEST = (2, 39)
# How git says that a merge failed, in the output of many merges.
_CONFLICT = "0"
_WORDS = ("merge-tree", "--write-tree", "--stdin", "--name-only", "--no-messages", "--allow-unrelated-histories")


class TrialMerges:
    """Merges of pairs of commits, remembered as long as they are asked for. One git process merges all new ones."""

    def __init__(self, git: GitProgram) -> None:
        self._git = git
        self._known: Mapping[frozenset[str], tuple[str, ...]] = {}

    def conflicts(self, pairs: Collection[frozenset[str]]) -> Mapping[frozenset[str], tuple[str, ...]]:
        """Return the files in which each pair of commits conflicts, empty if it can be merged. Raises GitFailed.

        With a git that cannot merge many pairs at once, nothing is merged and no conflict found.
        """
        if not self._is_able:
            return dict.fromkeys(pairs, ())
        new = [pair for pair in pairs if pair not in self._known]
        merged = dict(zip(new, self._merge(new), strict=True)) if new else {}
        self._known = {pair: merged[pair] if pair in merged else self._known[pair] for pair in pairs}
        return self._known

    @cached_property
    def _is_able(self) -> bool:
        numbers = self._git.line("version").split()[2].split(".")
        return tuple(map(int, numbers[:2])) >= _OLDEST

    def _merge(self, pairs: list[frozenset[str]]) -> list[tuple[str, ...]]:
        wanted = "".join(f"{' '.join(sorted(pair))}\n" for pair in pairs)
        printed = iter(self._git.merging_as_text().run(*_WORDS, text=wanted)[1].split("\0"))
        found = list[tuple[str, ...]]()
        for _ in pairs:
            status, _tree = next(printed), next(printed)
            # The names end with an empty one.
            names = tuple(dict.fromkeys(iter(lambda: next(printed), "")))
            found.append(names if status == _CONFLICT else ())
        return found
