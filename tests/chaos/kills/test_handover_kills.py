"""`deskmate merge`, killed between any two steps of git: the user loses nothing, and the next one finishes it."""

import os
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from pathlib import Path

import pytest

from tests.faces.disk_teams import founded
from tests.warm_program import run_deskmate
from tests.workspace.trees.deadly_git import DeadlyGit
from tests.workspace.trees.tree_repository import TreeRepository

pytestmark = pytest.mark.behaviour("worktree")
SOAK = bool(os.environ.get("DESKMATE_SOAK"))
# How many of the steps are tried in an ordinary run.
STEPS = 5
MINE = {"notes.txt": "mine, not committed\n", "staged.txt": "mine, staged\n"}


def only_the_team_has_commits(repository: TreeRepository) -> None:
    repository.merge_work({"list.txt": "ONE\ntwo\nthree\n", "new/ann.txt": "ann\n"})


def both_have_commits(repository: TreeRepository) -> None:
    repository.merge_work({"list.txt": "ONE\ntwo\nthree\n", "new/ann.txt": "ann\n"})
    repository.write("list.txt", "one\ntwo\nTHREE\n")
    repository.commit("Mine")


def the_team_began_with_changes(repository: TreeRepository) -> None:
    repository.write("list.txt", "one\ntwo\nTHREE\n")
    repository.write("draft.txt", "draft\n")
    repository.begin()
    repository.merge_work({"list.txt": "ONE\ntwo\nTHREE\n", "new/ann.txt": "ann\n"})
    repository.write("draft.txt", "draft, and more\n")


def the_team_works_on_a_draft(repository: TreeRepository) -> None:
    the_team_began_with_changes(repository)
    repository.write("draft.txt", "draft\n")
    repository.merge_work({"draft.txt": "draft\nfilled in\n"}, 2)


class Desk:
    """A prepared repository, copies of it, and a git that kills."""

    def __init__(self, folder: Path, prepare: Callable[[TreeRepository], None]) -> None:
        home = folder / "home"
        home.mkdir()
        environ = {"HOME": str(home), "ANTHROPIC_API_KEY": "sk-test", "PATH": os.environ["PATH"]}
        self.git = DeadlyGit(folder / "bin", environ)
        self._prepared = TreeRepository(folder / "prepared", home / ".local/state/deskmate")
        prepare(self._prepared)
        for name, text in MINE.items():
            self._prepared.write(name, text)
        self._prepared.git("add", "staged.txt")
        self.root = folder / "work"
        self.renew()

    def renew(self) -> None:
        """Begin again with the prepared repository."""
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self._prepared.root, self.root, symlinks=True)
        self._prepared.git("-C", str(self.root), "update-index", "-q", "--refresh")
        founded(self.root, "main")

    def merge_more(self, files: Mapping[str, str]) -> None:
        """Let the team merge more into its branch."""
        repository = copy(self._prepared)
        repository.root = self.root
        repository.merge_work(files, 9)

    def merge(self) -> int:
        return run_deskmate(["merge"], folder=self.root, env=self.git.environ).returncode

    def points(self, seed: str) -> Sequence[Mapping[str, int]]:
        """Return where to kill the merge that just ended: at some of its steps, or in a soak test at all."""
        points = [{when: number} for number in range(1, self.git.steps + 1) for when in ("before", "after")]
        return points if SOAK else random.Random(seed).sample(points, STEPS)

    def seen(self) -> Mapping[str, object]:
        """Return what the user has: files, what git says about them, the last commit, and what is in git's folder."""
        files = [path for path in self.root.rglob("*") if path.is_file() and ".git" not in path.parts]
        texts = {path.name: path.read_text() for path in files if ".teams" not in path.parts}
        git = self._prepared.git
        return {
            "files": texts,
            "status": git("-C", str(self.root), "status", "--porcelain", "--", ".", ":!.teams", ":!.tasks"),
            "commit": git("-C", str(self.root), "rev-parse", "HEAD^{tree}"),
            "git": sorted(path.name for path in (self.root / ".git").iterdir() if path.name != "ORIG_HEAD"),
            "locks": sorted(str(path) for path in (self.root / ".git").rglob("*.lock")),
        }


@pytest.mark.parametrize(
    "prepare",
    [only_the_team_has_commits, both_have_commits, the_team_began_with_changes, the_team_works_on_a_draft],
    ids=lambda prepare: prepare.__name__,
)
def test_a_merge_that_is_killed_loses_nothing_and_the_next_one_finishes_it(
    tmp_path: Path, prepare: Callable[[TreeRepository], None]
) -> None:
    desk = Desk(tmp_path, prepare)
    assert desk.merge() == 0
    end = desk.seen()
    for point in desk.points(prepare.__name__):
        desk.renew()
        desk.git.kill_at(**point)
        assert desk.merge() == -9, point
        assert {name: (desk.root / name).read_text() for name in MINE} == MINE
        desk.git.kill_at()
        assert desk.merge() == 0, point
        assert desk.seen() == end, point


@pytest.mark.parametrize("prepare", [only_the_team_has_commits, the_team_began_with_changes])
def test_the_next_merge_finishes_it_also_if_the_team_went_on_in_the_same_files(
    tmp_path: Path, prepare: Callable[[TreeRepository], None]
) -> None:
    desk = Desk(tmp_path, prepare)
    assert desk.merge() == 0
    for point in desk.points(f"{prepare.__name__} goes on"):
        desk.renew()
        desk.git.kill_at(**point)
        assert desk.merge() == -9, point
        desk.merge_more({"new/ann.txt": "Ann\n"})
        desk.git.kill_at()
        assert desk.merge() == 0, point
        assert {name: (desk.root / name).read_text() for name in MINE} == MINE
        assert (desk.root / "new/ann.txt").read_text() == "Ann\n", point
        assert desk.seen()["locks"] == []
