"""Permission rules in Claude Code's spelling.

Such a rule names the tools Bash, Read and Edit, marks a prefix by `:*`, and has paths as in a .gitignore: `//` is the
root, `~/` the home folder, `/` and `./` the project, and a name without a slash means that name in every folder.
"""

from deskmate.core.policy.permissions import parts_of
from deskmate.errors import BadInput

_READ = ("read_file", "grep", "glob")
_EDIT = ("edit_file", "write_file")
_PATHS = {"Read": _READ, "Grep": ("grep",), "Glob": ("glob",)} | dict.fromkeys(
    ("Edit", "Write", "MultiEdit", "NotebookEdit"), _EDIT
)
_PLAIN = {"BashOutput": "TaskOutput", "KillShell": "TaskStop", "KillBash": "TaskStop", "Agent": "Task"}
_OWN_PATHS = frozenset({*_READ, *_EDIT})


def translate(text: str) -> tuple[str, ...]:
    """Return the rules that a text means, or the text itself if it is in our spelling.

    A path below the home folder begins with `~/`. The caller replaces that by the actual folder.
    """
    tool, pattern = parts_of(text)
    if tool == "WebFetch":
        return (_written("web_fetch", pattern and pattern.removeprefix("domain:")),)
    if tool == "WebSearch":
        return (_written("web_search", pattern),)
    if tool in _PLAIN:
        return (_written(_PLAIN[tool], pattern),)
    if tool == "Bash":
        return (_written("bash", _command(pattern)),)
    if tool == "bash" and pattern and pattern.endswith(":*"):
        return (_written("bash", _command(pattern)),)
    if tool in _PATHS:
        return tuple(_written(own, path) for own in _PATHS[tool] for path in _paths(pattern))
    return (text,)


def is_of_home(text: str) -> bool:
    """Tell whether a rule in our spelling is about a path in the home folder."""
    tool, pattern = parts_of(text)
    return tool in _OWN_PATHS and (pattern or "").startswith("~/")


def _written(tool: str, pattern: str | None) -> str:
    return tool if pattern is None else f"{tool}({pattern})"


def _command(pattern: str | None) -> str | None:
    """Return the pattern of a command: `git:*` and `git *` also mean `git` alone, and never `gitk`."""
    if pattern in (None, "*", ":*"):
        return None
    assert pattern is not None
    if pattern.endswith(":*"):
        return f"{pattern[:-2].rstrip()}*"
    bare = pattern[:-2]
    return f"{bare}*" if pattern.endswith(" *") and "*" not in bare else pattern


def _paths(pattern: str | None) -> tuple[str | None, ...]:
    """Return the patterns that cover a path of a .gitignore: a folder means everything in it."""
    if pattern in (None, "*", "**", "/**", "./**"):
        return (None,)
    assert pattern is not None
    path = pattern[1:] if pattern.startswith("//") else pattern.removeprefix("./").removeprefix("/")
    bare = path.rstrip("/")
    if not bare or bare == "~":
        raise BadInput(f"{ascii(pattern)[:80]} does not name a file", "Write a path, such as src/** or ~/.ssh/**.")
    anywhere = "/" not in bare and pattern == path
    found = (bare, f"**/{bare}") if anywhere else (bare,)
    if bare.endswith("**"):
        return found
    return tuple(one for path in found for one in (path, f"{path}/**"))
