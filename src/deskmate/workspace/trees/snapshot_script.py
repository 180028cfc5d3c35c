"""The commands that save the files of a repository as a tree, without touching the user's index.

They run in a sandbox, never outside of it: a command of a member could put a link in the place of a file while git
reads it.
"""

from deskmate.workspace.trees.git_program import SAFE_GIT

# Deskmate's own records are not files of the user.
EVERYTHING = ". ':(exclude,top).teams' ':(exclude,top).tasks'"


def private_index_lines(index: str) -> list[str]:
    """Return commands that make git use a copy of the user's index until they end. `index`: its name beside that."""
    return [
        "set -e",
        'index="$(git rev-parse --git-path index)"',
        f'own="$(git rev-parse --git-path {index})"',
        # A killed process leaves both.
        'rm -f "$own" "$own.lock"',
        'if [ -e "$index" ]; then cp -p "$index" "$own"; fi',
        'export GIT_INDEX_FILE="$(realpath "$own")"',
        'trap \'rm -f "$GIT_INDEX_FILE" "$GIT_INDEX_FILE".*\' EXIT',
    ]


def saving_lines(index: str) -> list[str]:
    """Return commands that save all files that git does not ignore, and set `tree` to the result."""
    return [
        *private_index_lines(index),
        f"{SAFE_GIT} add -A -- {EVERYTHING}",
        # Git has only the commit of a repository inside this one, and nobody else could get its files.
        f"{new_repositories('HEAD')} | {SAFE_GIT} update-index -z --force-remove --stdin",
        f"tree=$({SAFE_GIT} write-tree)",
    ]


def new_repositories(commit: str) -> str:
    """Return a command that lists what the index has as a repository of its own and a commit has not."""
    return f"{SAFE_GIT} diff --cached --raw -z --no-renames {commit} | sed -z -n '/^:[0-7]* 160000 /{{n;p}}'"
