"""Git that kills the process which runs it, at a chosen step."""

import shutil
from collections.abc import Mapping
from pathlib import Path

_SCRIPT = """#!/bin/sh
number=$(($(cat {folder}/count) + 1))
echo $number > {folder}/count
[ "$number" = "$(cat {folder}/before)" ] && kill -9 $PPID && exit 1
{git} "$@"
status=$?
[ "$number" = "$(cat {folder}/after)" ] && kill -9 $PPID
exit $status
"""


class DeadlyGit:
    """A folder for PATH. `environ`: the one to run a program with, so that it dies before or after its n-th git."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        folder.mkdir()
        self._folder = folder
        git = shutil.which("git", path=environ["PATH"])
        (folder / "git").write_text(_SCRIPT.format(folder=folder, git=git))
        (folder / "git").chmod(0o755)
        self.environ = {**environ, "PATH": f"{folder}:{environ['PATH']}"}
        self.kill_at()

    def kill_at(self, *, before: int = 0, after: int = 0) -> None:
        """Choose a step. Without one, nothing is killed."""
        for name, number in (("count", 0), ("before", before), ("after", after)):
            (self._folder / name).write_text(f"{number}\n")

    @property
    def steps(self) -> int:
        """How often git ran since a step was chosen."""
        return int((self._folder / "count").read_text())
