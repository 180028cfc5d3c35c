"""Random histories, bundled for receivers that have random parts of them."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from deskmate.core.travel.code_records import BundleSent
from deskmate.workspace.trees.git_program import GitProgram
from deskmate.workspace.trees.travel.code_bundles import CodeBundles

pytestmark = pytest.mark.behaviour("travel")
HISTORIES = 60 if os.environ.get("DESKMATE_SOAK") else 3
COMMITS, FILES = 14, 5


def git(root: Path, *words: str, text: str | None = None) -> str:
    ran = subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True, text=True, input=text)
    return ran.stdout.strip()


def new_repository(root: Path) -> Path:
    root.mkdir()
    git(root, "init", "-q", "--bare")
    git(root, "config", "user.name", "U")
    git(root, "config", "user.email", "u@example.org")
    return root


def history(root: Path, chance: random.Random) -> list[str]:
    """Make commits with any parents. Their files change, come and go, and come back as they were."""
    commits = list[str]()
    for number in range(COMMITS):
        entries = "".join(
            f"100644 blob {git(root, 'hash-object', '-w', '--stdin', text=f'{chance.randrange(4)}' * 50)}\tfile{one}\n"
            for one in range(FILES)
            if chance.random() < 0.8
        )
        below = f"040000 tree {git(root, 'mktree', text=entries)}\tbelow\n"
        tree = git(root, "mktree", text=entries + below if chance.random() < 0.7 else entries)
        parents = chance.sample(commits, k=min(len(commits), chance.choice([1, 1, 1, 2, 2, 3]))) if commits else []
        if commits and chance.random() < 0.05:
            parents = []
        words = [word for parent in parents for word in ("-p", parent)]
        commits.append(git(root, "commit-tree", tree, *words, "-m", f"{number}"))
        git(root, "update-ref", f"refs/heads/c{number}", commits[-1])
    return commits


@pytest.mark.parametrize("of_lead", [True, False])
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_every_part_of_any_history_arrives_complete_and_passes_every_check(
    tmp_path: Path, seed: int, of_lead: bool
) -> None:
    chance = random.Random(seed)
    source, target = new_repository(tmp_path / "source"), new_repository(tmp_path / "target")
    commits = history(source, chance)
    sender = CodeBundles(GitProgram(source, os.environ), tmp_path / "out", thin=of_lead)
    receiver = CodeBundles(GitProgram(target, os.environ), tmp_path / "none", thin=False)
    has = list[str]()
    for tip in chance.sample(commits, k=7):
        needs = sender.bases(tip, has)
        if tip in needs:
            continue
        file = sender.pack(tip, needs)
        sent = BundleSent(tip=tip, needs=needs, payload=file.payload, at=0.0)
        receiver.take(file.path, sent, within=None if of_lead else has)
        sender.sent()
        has.append(tip)
        git(target, "update-ref", f"refs/heads/{tip[:12]}", tip)
        assert git(target, "rev-list", "--objects", tip) == git(source, "rev-list", "--objects", tip)
    assert git(target, "fsck", "--strict", "--no-dangling") == ""
    assert not list((target / "objects").glob("tmp_*"))
    assert receiver.known([*commits, "0" * 40]) >= frozenset(has)


def test_a_folder_with_odd_letters_in_its_name_takes_bundles_too(tmp_path: Path) -> None:
    odd = tmp_path / 'a:b "c" größer\\n'
    odd.mkdir()
    source, target = new_repository(odd / "source"), new_repository(odd / "target")
    [first, *_, last] = history(source, random.Random(1))
    sender = CodeBundles(GitProgram(source, os.environ), odd / "out", thin=False)
    receiver = CodeBundles(GitProgram(target, os.environ), odd / "none", thin=False)
    for tip, has in ((first, []), (last, [first])):
        needs = sender.bases(tip, has)
        file = sender.pack(tip, needs)
        receiver.take(file.path, BundleSent(tip=tip, needs=needs, payload=file.payload, at=0.0), within=has)
        git(target, "update-ref", "refs/heads/kept", tip)
    assert receiver.known([first, last]) == {first, last}
