"""Restoring gives back every file as it was, in git and outside of it, also if it is killed and repeated."""

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskmate.workspace.checkpoints.points import ChangeKind, Saved
from tests.workspace.checkpoints.checkpoint_ground import Files, Ground

pytestmark = pytest.mark.anyio
EXAMPLES = 300 if os.environ.get("DESKMATE_SOAK") else 12
NAMES = st.sampled_from(["a", "b", "-c", "d e", "ü", "x\n'y"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
LINKS = st.sampled_from(["a", "../b", "/nowhere", "."])
IN_GIT = pytest.mark.parametrize("in_git", [True, False], ids=["git", "copies"])
DRAFT: Files = {"kept": (0o644, b"same"), "changed": (0o755, b"old"), "gone/deep": (0o644, b""), "link": "kept"}
EDITED: Files = {"kept": (0o644, b"same"), "changed": (0o644, b"new!"), "gone": (0o644, b"a file now"), "new/one": "x"}


def some_files(*modes: int, more: Sequence[bytes] = ()) -> st.SearchStrategy[Files]:
    """Return trees in which no file is also a folder. `more`: what files may contain, too."""
    contents = st.binary(max_size=20) | st.sampled_from([b"\r\nmixed\n", *more])
    regular = st.tuples(st.sampled_from(modes), contents)
    return st.dictionaries(PATHS, regular | LINKS, max_size=6).map(_consistent)


def _consistent(files: Files) -> Files:
    folders = {"/".join(path.split("/")[:depth]) for path in files for depth in range(1, path.count("/") + 1)}
    return {path: file for path, file in files.items() if path not in folders}


async def _gives_back(ground: Ground, before: Files, after: Files) -> None:
    ground.fill(before)
    saved = await ground.checkpoints.save()
    ground.fill(after)
    later = await ground.checkpoints.save()
    await ground.bring_back(saved)
    assert ground.files() == before
    await ground.bring_back(later)
    assert ground.files() == after


@settings(max_examples=EXAMPLES)
@given(before=some_files(0o644, 0o755), after=some_files(0o644, 0o755))
def test_in_git_every_file_and_executable_bit_comes_back(before: Files, after: Files) -> None:
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(_gives_back, Ground(Path(folder), in_git=True), before, after)


@settings(max_examples=EXAMPLES * 4)
@given(before=some_files(0o644, 0o755, 0o600, 0o444), after=some_files(0o644, 0o640, 0o444))
def test_outside_git_every_file_and_mode_comes_back(before: Files, after: Files) -> None:
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(_gives_back, Ground(Path(folder), in_git=False), before, after)


async def test_a_restore_in_git_that_is_killed_anywhere_is_finished_by_the_next_one(tmp_path: Path) -> None:
    ground = Ground(tmp_path, in_git=True)
    for step in range(100):
        ground.fill(DRAFT)
        saved = await ground.checkpoints.save()
        ground.fill(EDITED)
        later = await ground.checkpoints.save()
        changes = ground.checkpoints.changes(saved.tree, later.tree)
        remove = [change.path for change in changes if change.kind is ChangeKind.CREATED]
        write = [change.path for change in changes if change.kind is not ChangeKind.CREATED]
        ground.before = f"set -T; step={step}; trap '((step-- > 0)) || kill -9 $$' DEBUG"
        await ground.checkpoints.restore(saved.tree, write, remove)
        ground.before = ""
        was_whole = ground.files() == DRAFT
        assert all(file in (DRAFT.get(path), EDITED.get(path)) for path, file in ground.files().items())
        await ground.bring_back(saved)
        assert ground.files() == DRAFT
        if was_whole and step > 20:
            return
    pytest.fail("the restore never ended by itself")


def _is_ended_at(step: int, ground: Ground, saved: Saved) -> bool:
    """Restore in a process that ends without warning before one of its steps. Return whether it did."""
    child = os.fork()
    if child == 0:
        left = step

        def count(event: str, _: object) -> None:
            nonlocal left
            if event == "open" or event.startswith("os."):
                left -= 1
                if left < 0:
                    os._exit(9)

        sys.addaudithook(count)
        anyio.run(ground.bring_back, saved)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_a_restore_of_copies_that_is_killed_anywhere_is_finished_by_the_next_one(tmp_path: Path) -> None:
    ground = Ground(tmp_path, in_git=False)
    for step in range(0, 500, 1 if os.environ.get("DESKMATE_SOAK") else 4):
        ground.fill(DRAFT)
        saved = anyio.run(ground.checkpoints.save)
        ground.fill(EDITED)
        is_ended = _is_ended_at(step, ground, saved)
        anyio.run(ground.bring_back, saved)
        assert ground.files() == DRAFT
        if not is_ended:
            assert step > 40
            return
    pytest.fail("the restore never ended by itself")
