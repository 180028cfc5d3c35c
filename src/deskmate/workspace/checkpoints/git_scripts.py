"""The commands that save and restore the files of a repository. They run in a sandbox.

Members can change the files meanwhile. The user's index, HEAD and branches are never touched.
"""

import os
import shlex
from collections.abc import Iterable, Sequence

from deskmate.workspace.trees.git_program import SAFE_GIT
from deskmate.workspace.trees.snapshot_script import EVERYTHING, private_index_lines

INDEX = "deskmate-checkpoint"
# The end of the name of a file with the new and changed files. It is beside the private index.
LISTED = ".listed"
# A killed process leaves its files.
_TIDY = f'find "$(git rev-parse --git-dir)" -maxdepth 1 -name "{INDEX}-*" -mmin +60 -delete'
_CHANGED = f"{SAFE_GIT} ls-files -z --others --modified --exclude-standard -- {EVERYTHING}"
_CONFLICTS = f"{SAFE_GIT} ls-files -z --unmerged | sed -z 's/^[^\\t]*\\t//'"
# What a filter makes of a file may be a part of it, or only a name for it. The sandbox may not know the filter.
_FILTERED = (
    f"{SAFE_GIT} check-attr -z --stdin filter | paste -z - - -"
    r" | sed -z -E '/\tun(set|specified)$/d; s/\tfilter\t[^\t]*$//'"
)
# A folder in the place of a file stays: it has files that git ignores. A file in the place of a folder stays, too.
_PUT = """put() {
  [ -d "$1" ] && [ ! -L "$1" ] && return
  above="${1%/*}"
  while [ "$above" != . ]; do
    if [ -L "$above" ] || { [ -e "$above" ] && [ ! -d "$above" ]; }; then return; fi
    above="${above%/*}"
  done
  printf '%s\\0' "${1#./}"
}"""


def listing_lines(index: str) -> list[str]:
    """Return commands that list the files that are new or differ from the user's index, with a zero byte after each."""
    # A failure of git inside a redirection would not end them, and the list would get into the workspace.
    return ["set -e", _TIDY, f'own="$(git rev-parse --git-path {index})"', f'{_CHANGED} > "$own{LISTED}"']


def saving_lines(index: str, most_bytes: int, withheld: Iterable[str]) -> list[str]:
    """Return commands that save all files that git does not ignore, after `listing_lines`. They set `tree`.

    Listed files that are larger than `most_bytes`, have a filter, cannot be read or are `withheld` stay as they are in
    the user's index. `left` is set to a blob with the names of those that are not withheld.
    """
    listed, large = f'cat "$own{LISTED}"', f"-size +{most_bytes}c"
    wanted = f"printf '%s\\0' {EVERYTHING}; cat \"$own.unfit\" \"$own.withheld\" | sed -z 's|^|:(exclude,top,literal)|'"
    add = f"{SAFE_GIT} add -A --ignore-errors --pathspec-from-file=- --pathspec-file-nul"
    return [
        *private_index_lines(index),
        f'{{ {_existing(listed, large)}; {_existing(f"{listed} | {_FILTERED}")}; }} > "$own.unfit"',
        "{ :",
        *_zero_ended(withheld),
        '} | LC_ALL=C sort -z > "$own.withheld"',
        # What it cannot add is among what is left.
        f"{{ {wanted}; }} | {add} 2>/dev/null || true",
        # A conflict that is not added cannot stay in a tree.
        f"{_CONFLICTS} | {SAFE_GIT} update-index -z --force-remove --stdin",
        f'left=$({_CHANGED} | LC_ALL=C sort -z | LC_ALL=C comm -z -23 - "$own.withheld" | git hash-object -w --stdin)',
        f"tree=$({SAFE_GIT} write-tree)",
    ]


def restoring_lines(index: str, tree: str, write: Sequence[str], remove: Sequence[str]) -> list[str]:
    """Return commands that write some files as they are in a tree, and remove others."""
    folders = {f"./{folder}" for path in remove if (folder := os.path.dirname(path))}
    return [
        f'own="$(git rev-parse --git-path {index})" || exit',
        'rm -f "$own" "$own.lock"',
        'export GIT_INDEX_FILE="$(realpath "$own")"',
        "trap 'rm -f \"$GIT_INDEX_FILE\"' EXIT",
        f"{SAFE_GIT} read-tree {tree} || exit",
        "{ :",
        *_zero_ended(f"./{path}" for path in remove),
        "} | xargs -0 -r rm -f",
        "{ :",
        *_zero_ended(sorted(folders)),
        "} | xargs -0 -r rmdir -p --ignore-fail-on-non-empty 2>/dev/null",
        _PUT,
        "{ :",
        *(f"put {shlex.quote(f'./{path}')}" for path in write),
        f"}} | {SAFE_GIT} checkout-index -f -z --stdin",
    ]


def _existing(names: str, condition: str = "") -> str:
    """Return a command that prints those names of regular files that meet a condition of `find`."""
    find = f'find "$@" -maxdepth 0 -type f {condition} -print0 2>/dev/null || true'
    return f"{names} | sed -z 's|^|./|' | xargs -0 -r sh -c '{find}' - | sed -z 's|^\\./||'"


def _zero_ended(texts: Iterable[str]) -> list[str]:
    return [f"printf '%s\\0' {shlex.quote(text)}" for text in texts]
