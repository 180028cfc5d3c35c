"""What two commits give when they are merged: the same with a new git, and file by file with an old one."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskmate.core.agent.merge_texts import MergeConflict
from deskmate.workspace.trees.git_program import GitFailed, GitProgram, missing
from deskmate.workspace.trees.team_branch import TeamBranch
from tests.workspace.trees.old_git import with_old_git

pytestmark = pytest.mark.behaviour("worktree")
LINES = [f"line {number}" for number in range(9)]
# A file: its bytes, the target of a link, or None if it is deleted.
Files = Mapping[str, bytes | str | None]
BASE: Files = {
    "list.txt": "".join(f"{line}\n" for line in LINES).encode(),
    "run.sh": b"1\n2\n3\n4\n5\n6\n",
    "picture.png": b"\x89PNG\0\0\0one",
    "latin.txt": "gr\xfc\xdfe\n1\n2\n3\n4\n5\n6\nende\n".encode("latin-1"),
    "folder/inside.txt": b"inside\n",
}


class Merging:
    """Commits in an empty repository, and how a git merges them."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q")
        self.git("config", "user.name", "U")
        self.git("config", "user.email", "u@example.org")
        self.branch = TeamBranch(GitProgram(folder / ".git", environ), "main")

    def git(self, *words: str) -> str:
        ran = subprocess.run(["git", "-C", str(self.folder), *words], check=True, capture_output=True)
        return ran.stdout.decode(errors="surrogateescape").strip()

    def commit(self, subject: str, files: Files) -> str:
        """Commit files. One that begins with #! is executable."""
        for name, content in files.items():
            path = self.folder / name
            if os.path.lexists(path):
                path.unlink()
            if isinstance(content, bytes):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                path.chmod(0o755 if content.startswith(b"#!") else 0o644)
            elif content is not None:
                path.symlink_to(content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def sides(self, ours: Files, theirs: Files, base: Files = BASE) -> tuple[str, str]:
        """Return two commits that begin at the same one."""
        start = self.commit("Start", base)
        tip = self.commit("Ours", ours)
        self.git("checkout", "-q", "--detach", start)
        return tip, self.commit("Theirs", theirs)

    def merged(self, ours: Files, theirs: Files) -> dict[str, tuple[str, bytes]]:
        """Return the files of a merge without a conflict, each with its mode."""
        tree = self.branch.merge(*self.sides(ours, theirs))
        assert isinstance(tree, str)
        lines = self.git("-c", "core.quotePath=false", "ls-tree", "-r", tree).splitlines()
        parts = [(line.partition("\t")[2], *line.split()[:3:2]) for line in lines]
        return {name: (mode, self.blob(blob)) for name, mode, blob in parts}

    def blob(self, name: str) -> bytes:
        words = ["git", "-C", str(self.folder), "cat-file", "blob", name]
        return subprocess.run(words, check=True, capture_output=True).stdout

    def conflict(self, ours: Files, theirs: Files) -> MergeConflict:
        found = self.branch.merge(*self.sides(ours, theirs))
        assert isinstance(found, MergeConflict)
        return found


@pytest.fixture(params=["this git", "old git"])
def merging(request: pytest.FixtureRequest, tmp_path: Path) -> Merging:
    environ = with_old_git(tmp_path / "bin") if request.param == "old git" else dict(os.environ)
    return Merging(tmp_path / "work", environ)


def numbered(changes: Mapping[int, str]) -> bytes:
    return "".join(f"{changes.get(number, line)}\n" for number, line in enumerate(LINES)).encode()


def test_an_old_git_can_be_used_and_is_known_as_one(tmp_path: Path) -> None:
    environ = with_old_git(tmp_path / "bin")
    assert missing(environ) == ""
    git = GitProgram(tmp_path, environ)
    assert not git.merges_trees
    with pytest.raises(GitFailed):
        git.run("merge-tree", "--write-tree", "HEAD", "HEAD")


def test_changes_in_different_files_are_all_there(merging: Merging) -> None:
    files = merging.merged({"a b.txt": b"a\n", "run.sh": None}, {"ä\n.txt": b"b\n", "folder/inside.txt": b"new\n"})
    assert set(files) == {"a b.txt", '"ä\\n.txt"', "folder/inside.txt", "list.txt", "picture.png", "latin.txt"}
    assert files["folder/inside.txt"] == ("100644", b"new\n")


def test_changes_in_different_lines_of_one_file_are_both_there(merging: Merging) -> None:
    files = merging.merged({"list.txt": numbered({0: "first"})}, {"list.txt": numbered({8: "last"})})
    assert files["list.txt"] == ("100644", numbered({0: "first", 8: "last"}))


def test_a_text_in_any_encoding_is_merged_byte_by_byte(merging: Merging) -> None:
    was = BASE["latin.txt"]
    assert isinstance(was, bytes)
    files = merging.merged({"latin.txt": was + b"\xff\n"}, {"latin.txt": b"\xfe\n" + was})
    assert files["latin.txt"] == ("100644", b"\xfe\n" + was + b"\xff\n")


@pytest.mark.parametrize("ours_first", [True, False])
def test_a_file_that_one_side_makes_executable_stays_so(merging: Merging, ours_first: bool) -> None:
    sides: list[Files] = [{"run.sh": b"#!\n1\n2\n3\n4\n5\n6\n"}, {"run.sh": b"1\n2\n3\n4\n5\n6\n7\n"}]
    files = merging.merged(*(sides if ours_first else sides[::-1]))
    assert files["run.sh"] == ("100755", b"#!\n1\n2\n3\n4\n5\n6\n7\n")


def test_the_same_change_on_both_sides_is_no_conflict(merging: Merging) -> None:
    change: Files = {"list.txt": numbered({4: "middle"}), "new.txt": b"new\n", "run.sh": None}
    files = merging.merged(change, {**change, "other.txt": b"other\n"})
    assert set(files) == {"folder/inside.txt", "latin.txt", "list.txt", "new.txt", "other.txt", "picture.png"}


def test_a_changed_line_conflicts_with_its_hunk_and_the_rival(merging: Merging) -> None:
    conflict = merging.conflict({"list.txt": numbered({4: "ours"})}, {"list.txt": numbered({4: "theirs"})})
    assert (conflict.files, conflict.rivals) == (("list.txt",), ("Ours",))
    shown = [line.split(" ")[0] for line in conflict.hunks.splitlines()]
    assert shown == ["list.txt:", "<<<<<<<", "ours", "=======", "theirs", ">>>>>>>"]


def test_a_file_that_both_sides_add_differently_conflicts(merging: Merging) -> None:
    conflict = merging.conflict({"new.txt": b"ours\n"}, {"new.txt": b"theirs\n"})
    assert conflict.files == ("new.txt",)
    assert "ours\n=======\ntheirs" in conflict.hunks


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"list.txt": None}, {"list.txt": numbered({4: "theirs"})}),
        ({"list.txt": numbered({4: "ours"})}, {"list.txt": None}),
        ({"picture.png": b"\x89PNG\0\0\0two"}, {"picture.png": b"\x89PNG\0\0\0three"}),
        ({"run.sh": "list.txt"}, {"run.sh": "latin.txt"}),
    ],
    ids=["deleted by us", "deleted by them", "not text", "links"],
)
def test_what_cannot_be_merged_line_by_line_conflicts_without_hunks(
    merging: Merging, ours: Files, theirs: Files
) -> None:
    conflict = merging.conflict(ours, theirs)
    assert (len(conflict.files), conflict.hunks) == (1, "")
    assert conflict.files[0] in ours


def test_a_file_of_one_side_in_place_of_a_folder_of_the_other_conflicts(merging: Merging) -> None:
    conflict = merging.conflict({"thing": b"file\n"}, {"thing/inside": b"in a folder\n"})
    assert any(name.startswith("thing") for name in conflict.files)


def test_nothing_is_left_in_the_repository(merging: Merging) -> None:
    def seen() -> set[Path]:
        return {path for path in merging.folder.rglob("*") if "objects" not in path.parts}

    sides = merging.sides({"list.txt": numbered({4: "ours"})}, {"list.txt": numbered({4: "theirs"})})
    before = seen()
    merging.branch.merge(*sides)
    assert seen() == before


edits = st.dictionaries(st.integers(0, 8), st.sampled_from(["x", "y"]), max_size=3).map(numbered)
sides_ = st.fixed_dictionaries(
    {}, optional={name: st.none() | edits for name in ("list.txt", "run.sh", "new.txt", "folder/inside.txt")}
)


@settings(deadline=None, max_examples=25)
@given(ours=sides_, theirs=sides_)
def test_both_ways_give_the_same_result(tmp_path_factory: pytest.TempPathFactory, ours: Files, theirs: Files) -> None:
    folder = tmp_path_factory.mktemp("merge")
    new = Merging(folder / "work", os.environ)
    # Similar files in different places would count as renamed.
    base = {name: f"{name}\n".encode() * 3 for name in ("list.txt", "run.sh", "folder/inside.txt")}
    sides = new.sides(ours, theirs, base)
    old = TeamBranch(GitProgram(new.folder / ".git", with_old_git(folder / "bin")), "main")
    assert old.merge(*sides) == new.branch.merge(*sides)
