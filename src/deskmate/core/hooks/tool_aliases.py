"""The names that Claude Code has for our tools and their arguments.

Hooks that people already have name those tools. A matcher fits either name, and a hook reads the input of a tool in
Claude Code's form.
"""

import posixpath
from collections.abc import Mapping
from typing import Any

_ALIASES: Mapping[str, tuple[str, ...]] = {
    "bash": ("Bash",),
    "read_file": ("Read",),
    "write_file": ("Write",),
    "edit_file": ("Edit", "MultiEdit"),
    "glob": ("Glob",),
    "grep": ("Grep",),
    "Task": ("Agent",),
    "web_fetch": ("WebFetch",),
    "web_search": ("WebSearch",),
}
_ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "read_file": {"path": "file_path"},
    "write_file": {"path": "file_path"},
    "edit_file": {"path": "file_path", "old_text": "old_string", "new_text": "new_string"},
}


def names_of(tool: str) -> tuple[str, ...]:
    """Return all names of a tool: ours, then Claude Code's."""
    return (tool, *_ALIASES.get(tool, ()))


def shown_name(tool: str) -> str:
    """Return the name of a tool that a hook reads: Claude Code's if there is one."""
    return _ALIASES.get(tool, (tool,))[0]


def own_name(name: str) -> str:
    """Return our name of a tool."""
    return next((tool for tool, others in _ALIASES.items() if name in others), name)


def shown_arguments(tool: str, arguments: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return the arguments of a call as a hook reads them. A path is absolute."""
    names = _ARGUMENTS.get(tool, {})
    shown = {names.get(name, name): value for name, value in arguments.items()}
    path = shown.get("file_path")
    return {**shown, "file_path": posixpath.join(folder, path)} if isinstance(path, str) else shown


def own_arguments(tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a hook wants under our names."""
    names = {theirs: ours for ours, theirs in _ARGUMENTS.get(tool, {}).items()}
    return {names.get(name, name): value for name, value in given.items()}
