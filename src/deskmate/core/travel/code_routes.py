"""Which bundles bring a receiver from what it has to what it needs, and what a sender leaves out of a new one."""

from collections.abc import Collection, Sequence, Set

from deskmate.core.travel.code_records import BundleSent

# If a receiver needed more bundles than this, one new bundle with the same commits is better.
MOST_STEPS = 50


def route(bundles: Sequence[BundleSent], has: Set[str], tip: str) -> tuple[BundleSent, ...] | None:
    """Return the bundles that a receiver needs, in order, or None if they cannot be enough. Nothing if it has `tip`.

    `has`: commits that it has, with everything before them. The bundles with the fewest bytes are chosen. Bundles may
    be in any order, and may need each other in a circle.
    """
    best = _best(bundles, has)
    if tip not in has and tip not in best:
        return None
    chosen, todo = dict[str, BundleSent](), [tip]
    while todo:
        commit = todo.pop()
        if commit not in has and commit not in chosen:
            chosen[commit] = bundles[best[commit][1]]
            todo += chosen[commit].needs
    # What a bundle needs is cheaper than the bundle with what it needs.
    return tuple(sorted(chosen.values(), key=lambda bundle: best[bundle.tip][0]))


def _best(bundles: Sequence[BundleSent], has: Set[str]) -> dict[str, tuple[int, int]]:
    """Return for each commit that can be reached how many bytes this takes, and the number of the last bundle."""
    best, changed = dict[str, tuple[int, int]](), True
    while changed:
        changed = False
        for number, bundle in enumerate(bundles):
            if bundle.tip in has or not all(need in has or need in best for need in bundle.needs):
                continue
            size = bundle.payload.size + sum(best[need][0] for need in bundle.needs if need not in has)
            if bundle.tip not in best or size < best[bundle.tip][0]:
                best[bundle.tip], changed = (size, number), True
    return best


def is_reached(bundles: Sequence[BundleSent], has: Collection[str], tip: str) -> bool:
    """Tell whether a receiver with these commits gets to `tip` without a new bundle."""
    found = route(bundles, frozenset(has), tip)
    return found is not None and len(found) <= MOST_STEPS
