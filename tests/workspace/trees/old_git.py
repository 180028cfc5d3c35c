"""Git as it was before it could merge without a checkout."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

_SCRIPT = """#!/bin/sh
for word in "$@"; do
    case "$word" in
    --version) echo "git version 2.34.1"; exit 0 ;;
    --write-tree) echo "usage: git merge-tree <base-tree> <branch1> <branch2>" >&2; exit 129 ;;
    esac
done
exec {git} "$@"
"""


def with_old_git(folder: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return an environment in which `git` says that it is 2.34, and refuses what that version cannot do."""
    git = shutil.which("git", path=environ["PATH"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "git").write_text(_SCRIPT.format(git=git))
    (folder / "git").chmod(0o755)
    return {**environ, "PATH": f"{folder}:{environ['PATH']}"}
