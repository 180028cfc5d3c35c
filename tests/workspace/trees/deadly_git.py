"""Git that kills the process which runs it, at a chosen step.

A step is one start of git by a process that has this program first on its PATH. The process that dies gets
SIGKILL: there is no time to clean up, and what it has started runs on.
"""

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

import pytest

# `before`: this git does nothing. `during`: it runs on alone. `after`: it has ended, and nobody hears how.
# `torn`: it is killed too, at the first file that it puts in its place, so that its lock is left.
Moment = Literal["before", "during", "after", "torn"]
MOMENTS: tuple[Moment, ...] = get_args(Moment)
# `halved`: it is killed too, as it is about to write into a file that it has just made.
AnyMoment = Moment | Literal["halved"]

_SCRIPT = """#!/bin/sh
set -C
n=1
until true > {folder}/steps/$n; do n=$((n + 1)); done 2>/dev/null
set +C
echo "$*" > {folder}/steps/$n
read -r moment step victim < {folder}/point
[ $n = $step ] || exec {git} "$@"
if [ $victim = parent ]; then
  pid=$PPID
else
  until [ -s {folder}/victim ]; do sleep 0.01; done
  read -r pid < {folder}/victim
fi
case $moment in
before) kill -9 $pid; exit 1 ;;
during) kill -9 $pid; exec {git} "$@" ;;
after) {git} "$@"; status=$?; kill -9 $pid; exit $status ;;
torn) kill -9 $pid; exec strace {rename} {git} "$@" ;;
halved) kill -9 $pid; exec strace -P "$(cat {folder}/file)" {write} {git} "$@" ;;
esac
"""

needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None and not os.environ.get("CI"), reason="strace is not installed"
)


def _killed_at(calls: str) -> str:
    return f"-f -qq -o /dev/null -e trace={calls} -e inject={calls}:signal=SIGKILL:when=1"


_FAULTS = {"rename": _killed_at("rename,renameat,renameat2"), "write": _killed_at("write")}


class DeadlyGit:
    """A folder for PATH. `environ`: the one to run a program with, so that it dies at a step of git."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        folder.mkdir()
        self._folder = folder
        git = shutil.which("git", path=environ["PATH"])
        (folder / "git").write_text(_SCRIPT.format(folder=folder, git=git, **_FAULTS))
        (folder / "git").chmod(0o755)
        self.environ = {**environ, "PATH": f"{folder}:{environ['PATH']}"}
        self.kill_at()

    def kill_at(
        self, moment: AnyMoment = "before", step: int = 0, *, parent: bool = True, file: Path | None = None
    ) -> None:
        """Choose a step. Without one, nothing is killed.

        The process that runs this git is killed, or if not `parent`, the `victim`. `file`: for the moment `halved`.
        """
        (self._folder / "file").write_text(str(file or ""))
        # What a killed process has started may still run git. It counts with those before.
        if (steps := self._folder / "steps").exists():
            steps.rename(self._folder / f"steps-{time.monotonic_ns()}")
        steps.mkdir()
        (self._folder / "victim").unlink(missing_ok=True)
        (self._folder / "point").write_text(f"{moment} {step} {'parent' if parent else 'named'}\n")

    @property
    def victim(self) -> Path:
        """The file for the id of the process to kill. At the chosen step, git waits until it is there."""
        return self._folder / "victim"

    @property
    def steps(self) -> list[str]:
        """What git was asked to do since a step was chosen."""
        files = sorted((self._folder / "steps").iterdir(), key=lambda path: int(path.name))
        return [path.read_text().strip() for path in files]
