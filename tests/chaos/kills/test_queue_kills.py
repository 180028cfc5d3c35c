"""The merge queue, killed at any step of git: the next process goes on, and each offer is merged once or returned.

The queue runs in a process that gets SIGKILL before a git, while it runs, after it, or together with it while it holds
a lock. Six offers wait: one is merged, the check fails for one, one conflicts, the own command of one fails on the
merged files, and two have the same change.
"""

import os
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from deskmate.core.log.names import BOARD
from deskmate.core.log.records import Record
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import Completed, Offered, Receipt, Returned, read_event
from deskmate.stores.jsonl_store import JsonlStore
from tests.chaos import memory_folder
from tests.faces.disk_teams import OpenTeam, founded, hands
from tests.warm_program import run_deskmate
from tests.workspace.trees.deadly_git import MOMENTS, DeadlyGit, Moment
from tests.workspace.trees.tree_repository import TreeRepository

pytestmark = pytest.mark.behaviour("worktree")
SOAK = bool(os.environ.get("DESKMATE_SOAK"))
PROGRAM = "tests.chaos.kills.queue_program"
SETTINGS = 'sandbox = false\ncheck = "! grep -rlw --include=*.txt BAD ."\n'
# Each step is a point, at each moment. An ordinary run tries one step for each moment.
SHARES: Sequence[Sequence[Moment]] = [[moment] for moment in MOMENTS] if SOAK else [MOMENTS]
MINE = {"list.txt": "mine, not committed\n", "staged.txt": "mine, staged\n"}


@dataclass(frozen=True)
class Work:
    """What a member offers, and how that ends."""

    member: str
    files: Mapping[str, str]
    ends: str
    verify: str | None = None


WORKS = (
    Work("ann", {"other.txt": "ann\n", "ann.txt": "good\n"}, "merged"),
    Work("bob", {"bob.txt": "BAD\n"}, "returned"),
    Work("cat", {"cat.txt": "good\n"}, "merged"),
    Work("dan", {"other.txt": "dan\n"}, "returned"),
    Work("eve", {"eve.txt": "good\n"}, "returned", verify="test ! -e ann.txt"),
    Work("fay", {"fay.txt": "good\n"}, "merged"),
    Work("gus", {"fay.txt": "good\n"}, "in another"),
)


class QueueDesk:
    """A team whose members have offered their work, copies of it, and a git that kills."""

    def __init__(self, folder: Path) -> None:
        self._prepared, self._place = folder / "prepared", folder / "place"
        home = self._place / "home"
        environ = {"HOME": str(home), "ANTHROPIC_API_KEY": "sk-test", "PATH": os.environ["PATH"]}
        self.git = DeadlyGit(folder / "bin", environ)
        self.repository = TreeRepository(self._place / "work", home / ".local/state/deskmate")
        (home / ".config/deskmate").mkdir(parents=True)
        (home / ".config/deskmate/settings.toml").write_text(SETTINGS)
        self.start = self.repository.begin()
        founded(self.repository.root)
        anyio.run(self._offer)
        for name, text in MINE.items():
            self.repository.write(name, text)
        self.repository.git("add", "staged.txt")
        self.users = self._users()
        shutil.copytree(self._place, self._prepared, symlinks=True)

    async def _offer(self) -> None:
        async with hands(self.repository.root) as team:
            for work in WORKS:
                await team.roster.join(Joined(name=work.member, isolation="own", at=1.0))
                await self._offer_one(team, work)

    async def _offer_one(self, team: OpenTeam, work: Work) -> None:
        task = await team.board.create("lead", NewTask(f"work of {work.member}", verify=work.verify))
        task = await team.board.claim(team.roster.state.members[work.member], task.id)
        self.repository.places.create("main", work.member, self.start)
        workspace, tree = self.repository.trees.of(work.member)
        for name, text in work.files.items():
            Path(workspace.root, name).write_text(text)
        commit = await tree.offer(f"{task.subject}\n")
        receipt = work.verify and Receipt(command=work.verify, workspace=workspace.root, exit=0, output="")
        await team.board.offer(work.member, task.id, task.epoch, commit, receipt=receipt or None)

    def renew(self) -> None:
        """Begin again with the offers as they were."""
        shutil.rmtree(self._place)
        shutil.copytree(self._prepared, self._place, symlinks=True)

    def run(self) -> int:
        ran = run_deskmate(
            [str(self.git.victim)], folder=self.repository.root, env=self.git.environ, seconds=300, program=PROGRAM
        )
        assert ran.returncode in (0, -9), ran.stderr.decode()
        return ran.returncode

    def points(self, moments: Sequence[Moment]) -> Sequence[tuple[Moment, int]]:
        """Return where to kill the run that just ended."""
        steps = range(1, len(self.git.steps) + 1)
        if SOAK:
            return [(moment, step) for moment in moments for step in steps]
        return [(moment, random.Random(moment).choice(steps)) for moment in moments]

    def ends(self) -> list[str]:
        """Return how the offer of each member ended."""
        ended = {work.member: list[str]() for work in WORKS}
        for event in anyio.run(self._events):
            if isinstance(event, Completed):
                own = self._trailer(event.merged or "") == f"#{event.task}"
                ended[WORKS[event.task - 1].member].append("merged" if own else "in another")
            elif isinstance(event, Returned):
                ended[WORKS[event.task - 1].member].append("returned")
        return [", ".join(ends) for ends in ended.values()]

    async def _events(self) -> list[object]:
        store = JsonlStore.open(self.repository.root, "main", create=False)
        items = await store.read(BOARD)
        store.close()
        return [read_event(item.body) for item in items if isinstance(item, Record)]

    def _trailer(self, commit: str) -> str:
        return self.repository.git("show", "-s", "--format=%(trailers:key=Deskmate-Task,valueonly,separator=)", commit)

    def flaws(self) -> list[str]:
        """Return what is wrong with what a run, or several, left."""
        git, found = self.repository.git, list[str]()
        merges = git("rev-list", "--first-parent", "--reverse", f"{self.start}..deskmate/main").split()
        wanted = [f"#{number}" for number, work in enumerate(WORKS, 1) if work.ends == "merged"]
        if [self._trailer(merge) for merge in merges] != wanted:
            found.append(f"merges: {[self._trailer(merge) for merge in merges]}")
        for event in anyio.run(self._events):
            if isinstance(event, Offered):
                refused = WORKS[event.task - 1].ends == "returned"
                if refused != ("+" in git("cherry", "deskmate/main", event.commit)):
                    found.append(f"the changes of #{event.task}")
        files = {name: text for work in WORKS if work.ends == "merged" for name, text in work.files.items()}
        files = {"list.txt": "one\ntwo\nthree\n", "other.txt": "other\n"} | files
        names = git("ls-tree", "-r", "--name-only", "deskmate/main").splitlines()
        if {name: git("show", f"deskmate/main:{name}") + "\n" for name in names} != files:
            found.append(f"files: {names}")
        if self.ends() != [work.ends for work in WORKS]:
            found.append(f"ends: {self.ends()}")
        if self._users() != self.users:
            found.append("files of the user")
        found += [f"lock: {path}" for path in self._place.rglob("*.lock") if _is_in_use(path)]
        git("fsck", "--no-progress")
        return found

    def _users(self) -> Mapping[str, bytes]:
        """Return the user's files, index, and everything by which git knows the user's branch."""
        root = self.repository.root
        paths = [path for path in root.rglob("*") if not {".git", ".teams", ".tasks"} & {*path.parts}]
        paths += [root / ".git" / name for name in ("index", "HEAD", "logs/HEAD", "config", "refs/heads/trunk")]
        return {str(path): path.read_bytes() for path in paths if path.is_file()}


def _is_in_use(lock: Path) -> bool:
    """Tell whether a lock is git's, and not in a repository that waits to be deleted."""
    return lock.name != ".lock" and ".deleted" not in lock.parts


@pytest.fixture(scope="module")
def desk() -> Iterator[QueueDesk]:
    with memory_folder() as folder:
        yield QueueDesk(folder)


@pytest.mark.parametrize("moments", SHARES, ids=" ".join)
def test_a_queue_that_is_killed_at_any_step_is_finished_by_the_next_process(
    desk: QueueDesk, moments: Sequence[Moment]
) -> None:
    desk.renew()
    desk.git.kill_at()
    assert desk.run() == 0
    assert desk.flaws() == []
    flaws, points = dict[str, list[str]](), desk.points(moments)
    for moment, step in points:
        desk.renew()
        desk.git.kill_at(moment, step, parent=False)
        assert desk.run() == -9, f"{moment} {step}"
        where = f"{step}, {moment} git {desk.git.steps[step - 1]}"
        desk.git.kill_at()
        assert desk.run() == 0, where
        flaws[where] = desk.flaws()
    print(f"killed at {len(points)} points")
    assert {where: found for where, found in flaws.items() if found} == {}
