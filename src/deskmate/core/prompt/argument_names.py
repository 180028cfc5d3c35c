"""Other names that models use for arguments.

A schema shows one name only. A call is read, asked about and shown under that name, even if the model used another.
"""

from collections.abc import Mapping
from typing import TypeVar

V = TypeVar("V")

_PATH = {"file_path": "path"}
_KNOWN_AS: Mapping[str, Mapping[str, str]] = {
    "read_file": _PATH,
    "write_file": _PATH,
    "edit_file": {**_PATH, "old_string": "old_text", "new_string": "new_text"},
}


def with_our_names(tool: str, arguments: Mapping[str, V]) -> Mapping[str, V]:
    """Return the arguments of a call under the names of our schema; unchanged if one of those is given already."""
    names = {theirs: ours for theirs, ours in _KNOWN_AS.get(tool, {}).items() if theirs in arguments}
    if not names or not arguments.keys().isdisjoint(names.values()):
        return arguments
    return {names.get(name, name): value for name, value in arguments.items()}
