"""How many waiting tasks the merge queue checks at once, and which of them a failed check belongs to.

A batch is a row of merges, each on top of the one before. Its prefix of length n is the first n of them. A failed check
belongs to the first merge that makes it fail. Bisection finds it, and only a prefix on which the check succeeded is
accepted.
"""

# More tasks than this are rarely offered during one check. If one is bad, seven checks find it.
MAX_BATCH = 64


def next_prefix(size: int, passed: int, failed: int | None) -> int | None:
    """Return the length of the prefix to check next, or None if the result is known.

    `passed`: the longest prefix that succeeded, or 0. `failed`: the shortest one that failed, if any. If None is
    returned, `passed` merges are accepted, and the one after them is bad if `failed` is given.
    """
    if failed is None:
        return None if passed == size else size
    return None if failed == passed + 1 else (passed + failed) // 2


def next_limit(limit: int, size: int, accepted: int, *, failed: bool) -> int:
    """Return how many tasks the batch after one of `size` tasks may have.

    If not even the first one of a batch succeeds, the next ones probably fail too: they are checked one by one. So bad
    tasks in a row, or a branch that is broken itself, cost about as many checks as without batches.
    """
    if not failed:
        return min(limit * 2, MAX_BATCH)
    return 1 if size > 1 and not accepted else limit
