"""What a change removes and adds, as a diff.

Each line begins with `-`, `+` or a space, as in a unified diff.
"""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

# Comparing costs the product of both lengths. Longer texts are shown as fully removed and fully added.
_COMPARED_LINES = 1000


def diff_of(tool: str, arguments: Mapping[str, Any], current: str = "", *, compares: bool = True) -> str:
    """Return what a call would change in a file, or "" if it changes none. `current`: what a write would replace.

    Without `compares`, everything is removed and added. That costs nothing.
    """
    match tool, arguments:
        case "edit_file", {"old_text": str(old), "new_text": str(new)}:
            return _diff(old, new, compares)
        case "write_file", {"content": str(content)}:
            return _diff(current, content, compares)
    return ""


def other_arguments(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that the diff of a call does not show."""
    match tool, arguments:
        case "edit_file", {"old_text": str(), "new_text": str()}:
            shown: tuple[str, ...] = ("old_text", "new_text")
        case "write_file", {"content": str()}:
            shown = ("content",)
        case _:
            shown = ()
    return {name: value for name, value in arguments.items() if name not in shown}


def _diff(old: str, new: str, compares: bool) -> str:
    before, after = old.split("\n") if old else [], new.split("\n")
    return "\n".join(f"{sign}{line}" for sign, lines in _changes(before, after, compares) for line in lines)


def _changes(before: list[str], after: list[str], compares: bool) -> Iterator[tuple[str, list[str]]]:
    if not compares or max(len(before), len(after)) > _COMPARED_LINES:
        yield from (("-", before), ("+", after))
        return
    for tag, start, end, from_, to in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield " ", before[start:end]
        else:
            yield from (("-", before[start:end]), ("+", after[from_:to]))
