"""A repository of a user whose team has merged work, copies of it, and a git that kills who hands that work over."""

import os
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from pathlib import Path
from types import MappingProxyType

from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from tests.faces.disk_teams import OpenTeam, founded, in_team, sign
from tests.warm_program import run_deskmate
from tests.workspace.trees.deadly_git import MOMENTS, DeadlyGit, Moment
from tests.workspace.trees.tree_repository import TreeRepository

SOAK = bool(os.environ.get("DESKMATE_SOAK"))
MINE = {"notes.txt": "mine, not committed\n", "staged.txt": "mine, staged\n"}
Preparation = Callable[[TreeRepository], None]


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


PREPARATIONS: Sequence[Preparation] = (
    only_the_team_has_commits,
    both_have_commits,
    the_team_began_with_changes,
    the_team_works_on_a_draft,
)


class HandoverDesk:
    """A prepared repository, copies of it, and a git that kills. `environ`: more variables for `deskmate`."""

    def __init__(self, folder: Path, prepare: Preparation, environ: Mapping[str, str] = MappingProxyType({})) -> None:
        home = folder / "home"
        home.mkdir()
        own = {"HOME": str(home), "ANTHROPIC_API_KEY": "sk-test", "PATH": os.environ["PATH"]}
        self.git = DeadlyGit(folder / "bin", {**own, **environ})
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
        in_team(self.root, self._complete)
        sign(self.root, {**self.git.environ})

    async def _complete(self, team: OpenTeam) -> None:
        """Let the board have the tasks whose work was merged."""
        ann = await team.roster.join(Joined(name="ann", isolation="own", at=1.0))
        words = ("-C", str(self.root), "rev-list", "--first-parent", "--reverse", "--merges", "trunk..deskmate/main")
        for merge in self._prepared.git(*words).split():
            task = await team.board.create("lead", NewTask("work"))
            task = await team.board.claim(ann, task.id)
            await team.board.complete("ann", task.id, task.epoch, merged=merge)
        await team.roster.leave("ann", "done", heard=0)

    def merge_more(self, files: Mapping[str, str]) -> None:
        """Let the team merge more into its branch."""
        repository = copy(self._prepared)
        repository.root = self.root
        repository.merge_work(files, 9)

    def merge(self) -> int:
        words = ["merge"]
        return run_deskmate(words, folder=self.root, env=self.git.environ, pid_file=self.git.victim).returncode

    def points(self, seed: str, most: int) -> Sequence[tuple[Moment, int]]:
        """Return where to kill the run that just ended: at `most` points, in a soak test at all.

        One of them is when the work is handed over, but not tidied up.
        """
        points = [(moment, number) for number in range(1, len(self.git.steps) + 1) for moment in MOMENTS]
        moved = next(number for number, words in enumerate(self.git.steps, 1) if "update-ref -m merge" in words)
        return points if SOAK else [("after", moved), *random.Random(seed).sample(points, most - 1)]

    def flaws(self, run: Callable[[], int], seed: str, most: int) -> dict[str, object]:
        """Kill a run at points, and run again each time. Return what is then not as after a run that was not killed."""
        assert run() == 0
        end = self.seen()
        points, flaws = self.points(seed, most), dict[str, object]()
        for moment, step in points:
            self.renew()
            self.git.kill_at(moment, step, parent=False)
            assert run() == -9, f"{moment} {step}"
            where = f"{step}, {moment} git {self.git.steps[step - 1]}"
            lost = [name for name, text in MINE.items() if (self.root / name).read_text() != text]
            self.git.kill_at()
            code, seen = run(), self.seen()
            found = {key: value for key, value in seen.items() if value != end[key]}
            if moment == "torn":
                # Git writes the log of a ref first.
                found.pop("moves", None)
            if lost or code or found:
                flaws[where] = (lost, code, found)
        print(f"killed at {len(points)} points")
        return flaws

    def seen(self) -> Mapping[str, object]:
        """Return what the user has: files, what git says about them, the last commit, and what is in git's folder."""
        files = [path for path in self.root.rglob("*") if path.is_file() and ".git" not in path.parts]
        texts = {path.name: path.read_text() for path in files if not {".teams", ".tasks"} & {*path.parts}}
        git = self._prepared.git
        # What a killed checkpoint has begun is removed by a later one, an hour after.
        inside = [path for path in (self.root / ".git").rglob("*") if not path.name.startswith("deskmate-checkpoint-")]
        return {
            "files": texts,
            "status": git("-C", str(self.root), "status", "--porcelain", "--", ".", ":!.teams", ":!.tasks"),
            "index": git("-C", str(self.root), "ls-files", "--stage"),
            "commit": git("-C", str(self.root), "rev-parse", "HEAD^{tree}"),
            "commits": git("-C", str(self.root), "log", "--format=%s", "HEAD"),
            "moves": git("-C", str(self.root), "reflog", "--format=%gs", "HEAD"),
            "git": sorted(path.name for path in inside if path.parent.name == ".git" and path.name != "ORIG_HEAD"),
            "locks": sorted(str(path) for path in inside if path.suffix == ".lock"),
        }
