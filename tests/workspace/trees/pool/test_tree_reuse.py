"""A tree that is used again: faster than a new one, and nothing of its last member is in it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from deskmate.core.policy.redaction import SHAPES
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from deskmate.workspace.trees.pool.tree_pool import MOST
from deskmate.workspace.trees.team_trees import TeamTrees
from tests.workspace.trees.deadly_git import DeadlyGit
from tests.workspace.trees.tree_repository import FREE, TreeRepository

pytestmark = pytest.mark.behaviour("worktree")


def trees_of(repository: TreeRepository, team: str = "main", sandbox: Sandbox = FREE) -> TeamTrees:
    return TeamTrees(repository.places, team, repository.root, os.environ, sandbox, SHAPES)


def made(repository: TreeRepository, member: str, team: str = "main") -> Path:
    trees = trees_of(repository, team)
    anyio.run(trees.make, member, LocalWorkspace(repository.root, team, "lead", environ=os.environ))
    return trees.folder(member)


def left(repository: TreeRepository, member: str, sandbox: Sandbox = FREE) -> bool:
    """Let a member leave. Return whether its tree is free now."""
    trees = trees_of(repository, sandbox=sandbox)
    anyio.run(trees.release, member)
    return not trees.folder(member).exists()


def everything(folder: Path) -> dict[str, tuple[int, str]]:
    """Return all that is in a tree, with modes. Of git's folder only what is not the same in no two trees."""
    found = dict[str, tuple[int, str]]()
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name == ".git/index":
            continue
        text = os.readlink(path) if path.is_symlink() else path.read_text(errors="replace") if path.is_file() else ""
        # Times differ.
        found[name] = path.lstat().st_mode, text.partition("> ")[0]
    return found


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def mixed(repository: TreeRepository) -> TreeRepository:
    """A repository with folders, a link, a program, and two files with the same content."""
    for name in ("src/a.py", "src/deep/b.py", "same/one.txt", "same/two.txt", "docs/c.md"):
        repository.write(name, "same\n" if name.startswith("same") else f"{name}\n")
    repository.write("run.sh", "#!/bin/sh\n")
    (repository.root / "run.sh").chmod(0o755)
    (repository.root / "link").symlink_to("src/a.py")
    repository.write(".gitignore", "*.log\nbuild/\n")
    repository.commit("More")
    return repository


def test_the_next_member_gets_the_tree_of_the_last_with_the_same_files(mixed: TreeRepository) -> None:
    tree = made(mixed, "ann")
    mark = (tree / "src/a.py").stat().st_ino
    assert left(mixed, "ann")
    again = made(mixed, "bob", team="other")
    assert (again / "src/a.py").stat().st_ino == mark
    assert git(again, "status", "--porcelain", "--ignored") == ""
    assert mixed.places.pool.free() == []


def _files(tree: Path) -> None:
    (tree / "secret.log").write_text("ignored")
    (tree / "build").mkdir()
    (tree / "build/out").write_text("ignored")
    (tree / "build").chmod(0o555)
    (tree / "empty/folder").mkdir(parents=True)


def _modes(tree: Path) -> None:
    git(tree, "config", "core.fileMode", "false")
    (tree / "src/a.py").chmod(0o777)
    (tree / "run.sh").chmod(0o4755)
    (tree / "docs").chmod(0o700)
    (tree / "src").chmod(0o1777)


def _hard_links(tree: Path) -> None:
    (tree / "same/two.txt").unlink()
    os.link(tree / "same/one.txt", tree / "same/two.txt")


def _attributes(tree: Path) -> None:
    if sys.platform == "linux":
        try:
            os.setxattr(tree / "src/a.py", "user.note", b"for the next one")
            os.setxattr(tree / "src/deep", "user.note", b"for the next one")
            os.setxattr(tree, "user.note", b"for the next one")
        except OSError:
            pytest.skip("this disk has no attributes")


def _index_tricks(tree: Path) -> None:
    git(tree, "update-index", "--assume-unchanged", "src/a.py")
    git(tree, "update-index", "--skip-worktree", "docs/c.md")
    (tree / "src/a.py").write_text("hidden\n")
    (tree / "docs/c.md").unlink()


def _same_size_and_time(tree: Path) -> None:
    """Change a file so that its index entry still fits."""
    git(tree, "config", "core.trustctime", "false")
    git(tree, "config", "core.checkStat", "minimal")
    file, status = tree / "src/a.py", (tree / "src/a.py").stat()
    git(tree, "update-index", "--refresh")
    file.write_text("SRC/a.py\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def _conversions(tree: Path) -> None:
    """Let git take other bytes for the same file."""
    (tree / ".git/info/attributes").write_text("*.py ident\n*.md text eol=crlf\n")
    (tree / "docs/c.md").write_bytes(b"docs/c.md\r\n")
    (tree / ".gitattributes").write_text("* text=auto\n")
    assert "docs" not in git(tree, "diff", "--name-only")


def _repository(tree: Path) -> None:
    git(tree, "config", "alias.st", "!echo planted")
    git(tree, "config", "extensions.worktreeConfig", "true")
    git(tree, "config", "--worktree", "core.pager", "planted")
    (tree / ".git/hooks").mkdir(exist_ok=True)
    (tree / ".git/hooks/pre-commit").write_text("#!/bin/sh\nplanted\n")
    git(tree, "remote", "add", "evil", "/nowhere")
    git(tree, "branch", "side")
    git(tree, "tag", "planted")
    git(tree, "pack-refs", "--all")
    git(tree, "symbolic-ref", "refs/heads/loop", "refs/heads/loop")
    with (tree / ".git/objects/info/alternates").open("a") as file:
        file.write("/nowhere/objects\n")


def _other_git(tree: Path) -> None:
    shutil.move(tree / ".git", tree / "build")
    (tree / ".git").write_text("gitdir: build\n")
    git(tree, "init", "-q", "src")


def _other_kinds(tree: Path) -> None:
    os.mkfifo(tree / "pipe.log")
    (tree / "x.log").symlink_to("/etc")


TRICKS: list[Callable[[Path], None]] = [
    _files,
    _modes,
    _hard_links,
    _attributes,
    _index_tricks,
    _same_size_and_time,
    _conversions,
    _repository,
    _other_kinds,
    _other_git,
]


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.__name__.strip("_"))
def test_nothing_of_the_last_member_is_left(mixed: TreeRepository, trick: Callable[[Path], None]) -> None:
    tree = made(mixed, "ann")
    new = everything(tree)
    trick(tree)
    # Whatever the member made the inspection believe.
    mixed.places.pool.give(tree)
    again = made(mixed, "ann")
    assert everything(again) == new
    assert git(again, "status", "--porcelain", "--ignored") == ""
    assert git(again, "ls-files", "-v").count("\n") == git(again, "ls-files", "-v").count("H ")
    if sys.platform == "linux":
        assert [os.listxattr(path) for path in (again, again / "src/a.py")] == [[], []]
    assert (again / "same/one.txt").stat().st_nlink == 1


def test_what_is_only_in_the_tree_keeps_it(mixed: TreeRepository) -> None:
    changes: dict[str, Callable[[Path], object]] = {
        "ann": lambda tree: (tree / "new.txt").write_text("new"),
        "bob": lambda tree: git(tree, "commit", "-q", "--allow-empty", "-m", "Mine"),
        "cleo": lambda tree: ((tree / "list.txt").write_text("mine"), git(tree, "stash")),
        "dave": lambda tree: (
            git(tree, "switch", "-qc", "side"),
            git(tree, "commit", "-q", "--allow-empty", "-m", "Mine"),
            git(tree, "switch", "-q", "--detach", "HEAD^"),
        ),
    }
    for member, change in changes.items():
        change(made(mixed, member))
        assert not left(mixed, member)
    assert mixed.places.pool.free() == []


def test_a_tree_is_not_used_again_if_a_process_of_its_member_may_live_on(mixed: TreeRepository) -> None:
    made(mixed, "ann")
    assert not left(mixed, "ann", Sandbox(Level.LANDLOCK))


def test_the_refs_of_a_member_go_with_its_tree(mixed: TreeRepository) -> None:
    made(mixed, "ann")
    assert "trees/ann" in mixed.git("for-each-ref")
    left(mixed, "ann")
    assert "trees/ann" not in mixed.git("for-each-ref")


def test_only_so_many_trees_are_kept_and_none_for_long(mixed: TreeRepository) -> None:
    pool = mixed.places.pool
    for number in range(MOST + 2):
        (mixed.root.parent / f"tree{number}").mkdir()
        pool.give(mixed.root.parent / f"tree{number}")
    assert len(pool.free()) == MOST
    for tree in pool.free():
        tree.rename(tree.with_name(f"{1:020d}-{tree.name[-8:]}"))
    (mixed.root.parent / "new").mkdir()
    pool.give(mixed.root.parent / "new")
    assert len(pool.free()) == 1
    pool.delete_waiting()
    assert pool.waiting() == []


_MAKE = """
import os, sys
from pathlib import Path
from deskmate.workspace.trees.tree_places import TreePlaces
TreePlaces(Path(sys.argv[1]), Path(sys.argv[2]), os.environ).create("main", "bob", sys.argv[3])
"""


def test_a_kill_between_two_steps_leaves_a_tree_that_is_complete_or_is_made_again(
    mixed: TreeRepository, tmp_path: Path
) -> None:
    deadly = DeadlyGit(tmp_path / "deadly", os.environ)
    commit = mixed.git("rev-parse", "HEAD")
    words = [sys.executable, "-c", _MAKE, str(tmp_path / "state"), str(mixed.root), commit]
    place, step, expected = mixed.places.of("main", "bob"), 0, everything(mixed.places.create("x", "bob", commit))
    while True:
        step += 1 if os.environ.get("DESKMATE_SOAK") else 4
        shutil.rmtree(place, ignore_errors=True)
        old = mixed.places.create("main", "ann", commit)
        (old / "list.txt").write_text("of the last member\n")
        mixed.places.pool.give(old)
        deadly.kill_at("after", step)
        ended = subprocess.run(words, env=deadly.environ, check=False, capture_output=True).returncode
        if ended == 0:
            break
        assert not place.exists()
        again = mixed.places.create("main", "bob", commit)
        assert everything(again) == expected
        assert git(again, "status", "--porcelain", "--ignored") == ""
    assert step > 10


_DELETE = """
import os, sys
from pathlib import Path
from deskmate.workspace.trees.pool.tree_pool import TreePool
top = Path(sys.argv[1])
if os.geteuid() == 0:
    os.chown(top, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
pool, tree = TreePool(top / "state"), top / "tree"
tree.mkdir()
(tree / "closed").mkdir()
(tree / "closed/file").touch()
(tree / "closed").chmod(0o555)
os.chdir(tree)
for _ in range(3000):
    os.mkdir("deep")
    os.chdir("deep")
os.chdir(top)
pool.give(tree)
pool.clear()
sys.exit(len(pool.waiting()))
"""


def test_folders_that_are_deep_or_cannot_be_written_are_deleted(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    words = [sys.executable, "-c", _DELETE, str(tmp_path)]
    ran = subprocess.run(words, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
