"""A pack that git checks before it becomes a part of the repository.

As when git receives a push, the pack is first in a folder of its own, beside the objects of the repository. If anything
is wrong with it, the folder is deleted, and the repository is as it was.
"""

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from deskmate.errors import ToolError
from deskmate.workspace.trees.git_program import GitProgram
from deskmate.workspace.trees.team_branch import MAX_PACK

# `git prune` deletes what has such a name, if a process was killed here.
_QUARANTINE = "tmp_objdir-deskmate-"
# Git sees a pack as soon as it sees the index, so that comes last.
_ORDER = (".pack", ".rev", ".idx")


def take_pack(git: GitProgram, pack: IO[bytes], tip: str, needs: Sequence[str], *, strict: bool) -> None:
    """Take a pack into a repository if it has the commit `tip`, and all that `tip` has and `needs` have not.

    Objects of the repository count only if they are in `needs`: the sender of the pack must not get others into its
    commits by knowing their names. `strict`: git checks the form of each object, too, and the pack may have no deltas
    on objects that it does not have. Otherwise git would add these to it. Raises ToolError.
    """
    with _quarantine(git.folder / "objects") as folder:
        inside = git.with_objects(folder)
        how = "--strict" if strict else "--fix-thin"
        inside.run("index-pack", "--stdin", how, f"--max-input-size={MAX_PACK}", stdin=pack)
        _check(inside, folder, tip, needs)
        _move(folder / "pack", git.folder / "objects/pack")


def _check(git: GitProgram, folder: Path, tip: str, needs: Sequence[str]) -> None:
    there = set[str]()
    for index in (folder / "pack").glob("*.idx"):
        with index.open("rb") as file:
            format_ = git.line("rev-parse", "--show-object-format")
            shown = git.run("show-index", f"--object-format={format_}", stdin=file)[1]
        there.update(line.split()[1] for line in shown.splitlines())
    # Fails if an object is missing. What the user replaces with `git replace` does not travel.
    words = ("--no-replace-objects", "rev-list", "--objects", "--no-object-names", tip, "--not", *needs)
    listed = git.run(*words)[1].split()
    if foreign := sum(name not in there for name in listed):
        raise ToolError(f"What was sent lacks {foreign:,} of the {len(listed):,} objects of commit {tip[:12]}.")
    sizes = git.data("cat-file", "--batch-check=%(objectsize)", given="\n".join(listed).encode()).split()
    # A small pack may hold very large files.
    if sum(map(int, sizes)) > MAX_PACK:
        raise ToolError(f"The sent files have more than {MAX_PACK // 1_000_000:,} MB. Commit fewer or smaller ones.")


@contextmanager
def _quarantine(objects: Path) -> Iterator[Path]:
    folder = objects / f"{_QUARANTINE}{secrets.token_hex(4)}"
    (folder / "pack").mkdir(parents=True, mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _move(source: Path, target: Path) -> None:
    target.mkdir(exist_ok=True)
    for file in sorted(source.iterdir(), key=lambda file: _ORDER.index(file.suffix) if file.suffix in _ORDER else -1):
        if file.suffix in _ORDER and not (target / file.name).exists():
            os.rename(file, target / file.name)
