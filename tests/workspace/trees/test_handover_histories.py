"""Whatever the team merges and the user types, stages and commits in between: a hand-over loses and commits nothing.

The team changes the upper lines of files, the user the lower ones, and both add files. Every change is a word that
nobody else uses, so it can be found.
"""

import os
import random
from pathlib import Path

import pytest

from deskmate.workspace.trees.handover.branch_handover import HandedOver, Handover
from tests.workspace.trees.tree_repository import TreeRepository

pytestmark = pytest.mark.behaviour("worktree")
SEEDS = range(60 if os.environ.get("DESKMATE_SOAK") else 4)
NAMES, LINES, ACTIONS = ("one.txt", "two.txt", "three.txt"), 40, 25


class History:
    """A repository, and the words that the team merged and that the user typed and committed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.repository, self.chance = TreeRepository(folder / "work", folder / "state"), random.Random(seed)
        for name in NAMES:
            self.repository.write(name, "".join(f"line {number}\n" for number in range(LINES)))
        self.repository.commit("Second")
        self.number, self.handed = 0, 0
        self.merged, self.typed, self.committed = set[str](), set[str](), set[str]()

    def word(self, who: str) -> str:
        self.number += 1
        return f"{who}{self.number:04}"

    def team_merges(self) -> None:
        word, name = self.word("team"), self.chance.choice(NAMES)
        branch = "deskmate/main"
        if not self.repository.git("branch", "--list", branch):
            self.repository.begin()
        if self.chance.random() < 0.3:
            files = {f"{word}.txt": f"{word}\n"}
        else:
            lines = self.repository.git("show", f"{branch}:{name}").splitlines()
            lines[self.chance.randrange(10)] = word
            files = {name: "".join(f"{line}\n" for line in lines)}
        self.repository.merge_work(files, self.number, word)
        self.merged.add(word)

    def user_types(self) -> None:
        word, name = self.word("user"), self.chance.choice(NAMES)
        if self.chance.random() < 0.3:
            self.repository.write(f"{word}.txt", f"{word}\n")
        else:
            lines = (self.repository.root / name).read_text().splitlines()
            # Each line of the user is typed once.
            lines[20 + self.number % 20] = word
            self.repository.write(name, "".join(f"{line}\n" for line in lines))
        self.typed = {typed for typed in {*self.typed, word} if typed in self.on_disk()}

    def user_stages(self) -> None:
        self.repository.git("add", self.chance.choice(NAMES))

    def user_commits(self) -> None:
        if self.repository.status():
            self.repository.commit("Mine")
            self.committed |= self.typed

    def teammate_begins(self) -> None:
        self.repository.begin()

    def hands_over(self) -> None:
        if not self.repository.git("branch", "--list", "deskmate/main"):
            return
        before = self.repository.seen()
        end = self.repository.hand_over()
        disk = self.on_disk()
        assert {word for word in self.typed if word not in disk} == set()
        if not isinstance(end, HandedOver):
            assert self.repository.seen() == before
            return
        self.handed += 1
        tip = self.repository.git("grep", "-h", "-e", "line", "-e", "team", "deskmate/main")
        assert {word for word in self.merged if word in tip and word not in disk} == set()
        history = self.repository.git("log", "-p", "--format=%B", "-m", "HEAD")
        assert {word for word in self.typed - self.committed if word in history} == set()
        assert Handover(self.repository.places, "main", self.repository.root).pending() is None
        again = self.repository.seen()
        assert self.repository.hand_over() == HandedOver("deskmate/main", "trunk", end.commit, 0)
        assert self.repository.seen() == again

    def on_disk(self) -> str:
        return "".join(path.read_text() for path in self.repository.root.glob("*.txt"))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_hand_over_has_all_work_of_the_team_and_nothing_that_the_user_has_not_committed(
    tmp_path: Path, seed: int
) -> None:
    history = History(tmp_path, seed)
    team, user = [history.team_merges] * 4, [history.user_types] * 3
    others = [history.user_stages, history.user_commits, history.teammate_begins]
    for _ in range(ACTIONS):
        history.chance.choice([*team, *user, *others, *[history.hands_over] * 4])()
    history.user_commits()
    history.hands_over()
    assert history.handed
