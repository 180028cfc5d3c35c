"""The names of our own folders in a workspace, and of the blobs that a member may keep and read."""

import re

from deskmate.errors import BadName

TEAMS, TASKS, BLOBS = ".teams", ".tasks", "blobs"
# What follows the member's name: the numbers of a call, a background id, or a word with a suffix.
_BLOB = re.compile(r"(?:(?:-[0-9]{1,16}-[0-9]{1,6}){1,9}|-[a-z][0-9a-f]{6}|-[a-z]{1,32}(?=\.))(?:\.[a-z]{1,9})?")


def own_blob(name: str, member: str) -> str:
    """Return the name of a blob that `member` may keep and read. Raises BadName for any other name."""
    if not is_own_blob(name, member):
        raise BadName(f"{ascii(name)[:80]} is not a blob of '{member}'", f"Name it like {member}-12-0.txt.")
    return name


def is_own_blob(name: str, member: str) -> bool:
    """Tell whether a blob belongs to a member. A blob of `bob-x` does not belong to `bob`."""
    return name.startswith(member) and _BLOB.fullmatch(name, len(member)) is not None
