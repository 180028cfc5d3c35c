"""Which filters there are, whose they are, and which files they convert.

A filter is a program that git runs on a file when it reads or writes it. Those in the user's own settings of git are
the user's choice. Those in the settings of one repository may have come with it, as part of an archive. Deskmate never
runs them.
"""

from collections.abc import Collection
from pathlib import Path

from deskmate.core.values import frozen
from deskmate.workspace.trees.git_program import GitProgram

_SETTINGS = r"^filter\..*\.(clean|smudge|process|required)$"
_USERS = ("system", "global", "command")
# What makes git write something else than it stores.
_CONVERTING = ("filter", "ident", "working-tree-encoding", "eol")
# With these, git stores what it writes.
_PLAIN = (b"unspecified", b"unset", b"lf", b"")


@frozen
class GitFilters:
    """`users`: settings of filters in the user's own configuration. `foreign`: names that only the repository has."""

    users: dict[str, str]
    foreign: frozenset[str]


def filters_of(git: GitProgram) -> GitFilters:
    """Return the filters of a repository."""
    printed = git.run("config", "--show-scope", "-z", "--get-regexp", _SETTINGS, fails=(1,))[1].split("\0")
    users, foreign = dict[str, str](), set[str]()
    for scope, setting in zip(printed[::2], printed[1::2], strict=False):
        key, _, value = setting.partition("\n")
        if scope in _USERS:
            users[key] = value
        else:
            foreign.add(filter_name(key))
    return GitFilters(users, frozenset(foreign - {filter_name(key) for key in users}))


def filter_name(key: str) -> str:
    """Return the name of the filter that a setting is of."""
    return key.removeprefix("filter.").rpartition(".")[0]


def filtered_files(git: GitProgram, tree: Path, names: Collection[str] | None = None) -> dict[str, str]:
    """Return the files in the index of a checkout that go through a filter, with its name. `names`: only of these."""
    found = _attributes(git, tree, ("filter",))
    return {path: value for path, value in found if names is None or value in names}


def converted_files(git: GitProgram, tree: Path) -> set[str]:
    """Return the files in the index of a checkout whose content on the disk is not as git stores it."""
    return {path for path, _ in _attributes(git, tree, _CONVERTING)}


def _attributes(git: GitProgram, tree: Path, names: tuple[str, ...]) -> list[tuple[str, str]]:
    here = ("-c", "core.bare=false", f"--work-tree={tree}")
    listed = git.data(*here, "ls-files", "-z")
    printed = git.data(*here, "check-attr", "-z", "--cached", "--stdin", *names, given=listed).split(b"\0")
    found = zip(printed[::3], printed[2::3], strict=False)
    return [(_text(path), _text(value)) for path, value in found if value not in _PLAIN]


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")
