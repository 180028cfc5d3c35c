"""The commands of checkpoints if git fails, as when it is killed: nothing gets into the workspace."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from deskmate.workspace.checkpoints.git_scripts import listing_lines, restoring_lines, saving_lines


@pytest.mark.parametrize(
    "lines",
    [
        listing_lines("index"),
        saving_lines("index", 1000, ["a.txt"]),
        restoring_lines("index", "HEAD", ["b"], ["a.txt"]),
    ],
    ids=["list", "save", "restore"],
)
@pytest.mark.parametrize("fails", range(1, 4))
def test_if_git_fails_the_files_stay_as_they_are(tmp_path: Path, lines: Sequence[str], fails: int) -> None:
    work, programs = tmp_path / "work", tmp_path / "bin"
    programs.mkdir()
    # Each git before answers as in a repository.
    (programs / "git").write_text(
        f"#!/bin/sh\necho x >> {tmp_path}/count\n[ $(wc -l < {tmp_path}/count) = {fails} ] && exit 1\necho .git/found\n"
    )
    (programs / "git").chmod(0o755)
    (work / ".git/found").mkdir(parents=True)
    (work / "a.txt").write_text("a\n")
    (work / ".lock").touch()
    subprocess.run(
        ["sh", "-c", "\n".join(lines)],
        cwd=work,
        env={"PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        check=False,
    )
    assert {path.name for path in work.iterdir()} - {"a.txt"} == {".git", ".lock"}
