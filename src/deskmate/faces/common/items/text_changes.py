"""What a change removes and adds, as a diff.

Each line begins with `-`, `+` or a space, as in a unified diff. An edit of a known file also has the lines that begin
with `@@`, and a few lines around each change.
"""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from deskmate.core.line_changes import hunk_lines

# Comparing costs the product of both lengths. Longer texts are shown as fully removed and fully added.
_COMPARED_LINES = 1000


def diff_of(tool: str, arguments: Mapping[str, Any], current: str = "", *, compares: bool = True) -> str:
    """Return what a call would change in a file, or "" if it changes none. `current`: the file as it is.

    Without `compares`, everything is removed and added. That costs nothing.
    """
    match tool, arguments:
        case "edit_file", {"old_text": str(old), "new_text": str(new)}:
            return _in_file(current, old, new, arguments.get("replace_all") is True) or _diff(old, new, compares)
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
    before, after = _lines(old, new)
    return "\n".join(f"{sign}{line}" for sign, lines in _changes(before, after, compares) for line in lines)


def _lines(old: str, new: str) -> tuple[list[str], list[str]]:
    """Return the lines of both texts, without the empty ones after a last line end that both have."""
    before, after = old.split("\n") if old else [], new.split("\n")
    ends = after[-1:] == [""] and before[-1:] in ([""], [])
    return (before[:-1], after[:-1]) if ends else (before, after)


def _in_file(current: str, old: str, new: str, replace_all: bool) -> str:
    """Return an edit with the lines around it, or "" if the text is not in the file."""
    # The tool matches either line ending.
    current, old, new = (one.replace("\r\n", "\n") for one in (current, old, new))
    places = current.count(old) if old else 0
    if not places or (places > 1 and not replace_all):
        return ""
    return "\n".join(hunk_lines(*_lines(current, current.replace(old, new))))


def _changes(before: list[str], after: list[str], compares: bool) -> Iterator[tuple[str, list[str]]]:
    if not compares or max(len(before), len(after)) > _COMPARED_LINES:
        yield from (("-", before), ("+", after))
        return
    for tag, start, end, from_, to in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield " ", before[start:end]
        else:
            yield from (("-", before[start:end]), ("+", after[from_:to]))
