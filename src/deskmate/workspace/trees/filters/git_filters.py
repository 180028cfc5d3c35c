"""Which filters there are, whose they are, and which files they convert.

A filter is a program that git runs on a file when it reads or writes it. Those in the user's own settings of git are
the user's choice. Those in the settings of one repository may have come with it, as part of an archive. Deskmate never
runs them.
"""

import os
import re
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from deskmate.core.values import frozen
from deskmate.workspace.paths import shown
from deskmate.workspace.trees.git_program import GitFailed, GitProgram
from deskmate.workspace.trees.git_settings import GitSettings

_SETTING = re.compile(r"filter\..*\.(clean|smudge|process|required)", re.DOTALL)
_USERS = ("system", "global")
_NAMED = 5
# What makes git write something else than it stores.
_CONVERTING = ("filter", "ident", "working-tree-encoding", "eol")
# With these, git stores what it writes.
_PLAIN = (b"unspecified", b"unset", b"lf", b"")


@frozen
class GitFilters:
    """`users`: settings of filters in the user's own configuration. `changed`: those that the repository has, too.

    `foreign`: names of filters that only the repository has.
    """

    users: dict[str, str]
    changed: frozenset[str]
    foreign: frozenset[str]


def filters_of(settings: GitSettings) -> GitFilters:
    """Return the filters of a repository with these settings."""
    users, changed = dict[str, str](), set[str]()
    for one in settings:
        if not _SETTING.fullmatch(one.key):
            continue
        if one.scope in _USERS:
            users[one.key] = one.value
        else:
            changed.add(one.key)
    own = {filter_name(key) for key in users}
    # Git prefers a process to the other programs, and nothing can take one away again.
    foreign = {filter_name(key) for key in changed - users.keys() if filter_name(key) not in own or _is_process(key)}
    return GitFilters(users, frozenset(changed), frozenset(foreign))


def _is_process(key: str) -> bool:
    return key.endswith(".process")


def filter_name(key: str) -> str:
    """Return the name of the filter that a setting is of."""
    return key.removeprefix("filter.").rpartition(".")[0]


def filtered_files(git: GitProgram, tree: Path, names: Collection[str]) -> dict[str, str]:
    """Return the files in the index of a checkout that go through one of these filters, with its name."""
    return {path: value for path, value in _attributes(git, tree, ("filter",)) if value in names}


def converted_files(git: GitProgram, tree: Path) -> set[str]:
    """Return the files in the index of a checkout whose content on the disk is not as git stores it."""
    return {path for path, _ in _attributes(git, tree, _CONVERTING)}


def _attributes(
    git: GitProgram, tree: Path, names: tuple[str, ...], files: Collection[str] | None = None
) -> list[tuple[str, str]]:
    here = ("-c", "core.bare=false", f"--work-tree={tree}")
    listed = _lines(files) if files is not None else git.data(*here, "ls-files", "-z", cwd=tree)
    words = ("check-attr", "-z", "--cached", "--stdin", *names)
    printed = git.data(*here, *words, given=listed, cwd=tree).split(b"\0")
    found = zip(printed[::3], printed[2::3], strict=False)
    return [(os.fsdecode(path), os.fsdecode(value)) for path, value in found if value not in _PLAIN]


def _lines(names: Collection[str]) -> bytes:
    return b"".join(os.fsencode(name) + b"\0" for name in names)


# -- in the folder of the user --------------------------------------------------------------------


def without_foreign(git: GitProgram) -> GitProgram:
    """Return git that runs filters as the user has set them, whatever the settings of the repository say."""
    filters = filters_of(git.settings())
    settings = {key: filters.users.get(key, "") for key in filters.changed}
    for name in filters.foreign:
        settings |= {f"filter.{name}.{part}": "" for part in ("clean", "smudge", "process")}
        settings[f"filter.{name}.required"] = "false"
    return git.overriding(settings) if settings else git


def not_writable(git: GitProgram, root: Path, one: str, other: str) -> str:
    """Return why git cannot write the files in which two commits differ. Empty if it can.

    Git deletes a file before it runs its filter. So the filters of the user run first on files that nobody needs.
    """
    filters = filters_of(git.settings())
    if not (filters.users or filters.foreign):
        return ""
    printed = git.data("diff", "--name-only", "-z", "--no-renames", "--diff-filter=d", one, other)
    changed = [os.fsdecode(name) for name in printed.split(b"\0") if name]
    with tempfile.TemporaryDirectory(prefix="deskmate-filters-") as folder:
        trial = without_foreign(git).with_index(Path(folder, "index"))
        trial.run("read-tree", other)
        found = dict(_attributes(trial, root, ("filter",), changed))
        foreign = {name: value for name, value in found.items() if value in filters.foreign}
        if foreign:
            return foreign_sentence(foreign)
        own = {filter_name(key) for key in filters.users}
        names = [name for name, value in found.items() if value in own]
        here = ("-c", "core.bare=false", f"--work-tree={root}")
        words = ("checkout-index", "-q", "-z", "--stdin", f"--prefix={folder}/files/")
        try:
            trial.data(*here, *words, given=_lines(names), cwd=root)
        except GitFailed as error:
            return f"a filter of your git failed for {listed(names)}: {error}"
    return ""


def foreign_sentence(files: Mapping[str, str]) -> str:
    """Return why files cannot be converted. `files`: with the names of their filters."""
    name = files[min(files)]
    return (
        f"git converts {listed(files)} with the filter '{name}', which only the settings of this repository have. "
        f"Deskmate runs filters of your own settings. If you trust this one, set filter.{name}.clean and "
        f"filter.{name}.smudge with git config --global"
    )


def listed(names: Collection[str]) -> str:
    """Return the first names, and how many more there are. What no record can have is replaced."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(map(shown, sorted(names)[:_NAMED]))}{more}"
