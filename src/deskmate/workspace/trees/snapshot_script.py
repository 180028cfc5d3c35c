"""The commands that save the files of a repository as a tree, without touching the user's index.

They run in a sandbox, never outside of it: a command of a member could put a link in the place of a file while git
reads it.
"""

from deskmate.workspace.trees.git_program import SAFE_GIT

# Deskmate's own records are not files of the user.
_EVERYTHING = ". ':(exclude,top).teams' ':(exclude,top).tasks'"


def saving_lines(index: str, most_bytes: int | None = None) -> list[str]:
    """Return commands that save all files that git does not ignore, and set `tree` to the result.

    `index`: the name of a private index, beside that of the user. With `most_bytes`, new and changed files that are
    larger or cannot be read stay as they are in the user's index, and `left` is set to a blob with their names.
    """
    add = f"{SAFE_GIT} add -A -- {_EVERYTHING}"
    return [
        "set -e",
        f'index=$(git rev-parse --git-path index) own="$(git rev-parse --git-path {index})"',
        # A killed process leaves both.
        'rm -f "$own" "$own.lock"',
        'if [ -e "$index" ]; then cp -p "$index" "$own"; fi',
        'export GIT_INDEX_FILE="$(realpath "$own")"',
        'trap \'rm -f "$GIT_INDEX_FILE" "$GIT_INDEX_FILE.large"\' EXIT',
        *([add] if most_bytes is None else _adding_small(most_bytes)),
        "tree=$(git write-tree)",
    ]


def _adding_small(most_bytes: int) -> list[str]:
    """Return commands that add all files up to a size, as far as they can be read."""
    changed = f"{SAFE_GIT} ls-files -z --others --modified --exclude-standard"
    larger = f'find "$@" -maxdepth 0 -type f -size +{most_bytes}c -print0 2>/dev/null || true'
    find = f"{changed} | sed -z 's|^|./|' | xargs -0 -r sh -c '{larger}' - | sed -z 's|^\\./||'"
    wanted = f"printf '%s\\0' {_EVERYTHING}; sed -z 's|^|:(exclude,top,literal)|' \"$large\""
    add = f"{SAFE_GIT} add -A --ignore-errors --pathspec-from-file=- --pathspec-file-nul"
    return [
        'large="$GIT_INDEX_FILE.large"',
        f'{find} > "$large"',
        # What it cannot add is among what is left.
        f"{{ {wanted}; }} | {add} 2>/dev/null || true",
        f"left=$({changed} | git hash-object -w --stdin)",
    ]
