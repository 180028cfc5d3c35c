"""Finding files, and lines in them."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from deskmate.errors import ToolError
from deskmate.ports import Ran
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox
from deskmate.workspace.search import searching_words

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["none", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox | None:
    """Whatever is promised here holds with a sandbox and without."""
    return None if request.param == "none" else request.getfixturevalue("bubblewrap")


def plant(root: Path, files: dict[str, str]) -> None:
    """Write files, each later than the one before."""
    for age, (name, text) in enumerate(files.items()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_000_000 + age, 1_000_000 + age))


@pytest.fixture
def tree(root: Path) -> Path:
    plant(
        root,
        {
            "old.py": "needle old",
            "src/a.py": "first\nneedle here\n",
            "src/b.js": "needle()",
            ".hidden/c.py": "needle hidden",
            ".git/hooks/d.py": "needle",
            ".teams/main/e.py": "needle",
            ".teams/main/blobs/lead-1-0.txt": "needle lead\n",
            ".teams/main/blobs/bob-1-0.txt": "needle bob\n",
            ".tasks/main/f.py": "needle",
            "build/g.py": "needle built",
        },
    )
    (root / "out").symlink_to("../outside")
    (root / "to-secret.py").symlink_to("../outside/secret")
    (root / "to-ours.py").symlink_to(".teams/main/e.py")
    (root / "again").symlink_to("src")
    return root


def repository(root: Path) -> None:
    shutil.rmtree(root / ".git", ignore_errors=True)
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / ".gitignore").write_text("build/\n")


@pytest.mark.parametrize("by_git", [False, True])
async def test_files_are_found_the_latest_first(tree: Path, workspace: LocalWorkspace, by_git: bool) -> None:
    if by_git:
        repository(tree)
    built = [] if by_git else ["build/g.py"]
    assert await workspace.find("**/*.py") == [*built, "src/a.py", "old.py"]
    assert await workspace.find(f"{tree}/**/*.py") == [*built, "src/a.py", "old.py"]
    assert await workspace.find("src/*") == ["src/b.js", "src/a.py"]
    assert await workspace.find(".hidden/**") == [".hidden/c.py"]
    assert await workspace.find("nothing*") == []


@pytest.mark.behaviour("tools-safety")
@pytest.mark.parametrize("by_git", [False, True])
@pytest.mark.parametrize(
    "pattern", [".teams/**", ".tasks/**/*", "*/main/*", ".git/**", ".*/**", "out/*", "to-*", ".teams/main/blobs/*"]
)
async def test_nothing_of_ours_and_nothing_outside_is_found(
    tree: Path, workspace: LocalWorkspace, pattern: str, by_git: bool
) -> None:
    if by_git:
        repository(tree)
    assert set(await workspace.find(pattern)) <= {".hidden/c.py", ".gitignore"}


async def test_a_link_to_a_file_inside_is_found(tree: Path, workspace: LocalWorkspace) -> None:
    (tree / "link.md").symlink_to("src/a.py")
    assert await workspace.find("*.md") == ["link.md"]


async def test_a_repository_within_a_repository_is_found_in(tree: Path, workspace: LocalWorkspace) -> None:
    repository(tree)
    plant(tree, {"vendor/lib/x.py": "1"})
    repository(tree / "vendor" / "lib")
    (tree / "old.py").unlink()
    assert sorted(await workspace.find("**/*.py")) == ["src/a.py", "vendor/lib/x.py"]


async def test_a_folder_that_git_ignores_whole_is_walked(tree: Path) -> None:
    repository(tree)
    assert await LocalWorkspace(tree / "build", "main", "lead", environ=os.environ).find("*") == ["g.py"]


async def test_no_program_that_the_repository_names_is_run(tree: Path, workspace: LocalWorkspace) -> None:
    repository(tree)
    subprocess.run(["git", "-C", tree, "config", "core.fsmonitor", f"touch {tree}/pwned; false"], check=True)
    await workspace.find("**")
    assert not (tree / "pwned").exists()


async def test_names_that_are_no_text_do_no_harm(root: Path, workspace: LocalWorkspace) -> None:
    (root / "\udcff.py").write_bytes(b"needle")
    assert await workspace.find("*.py") == ["�.py"]
    assert (await workspace.search("needle", ".", "")).output == "�.py:1:needle\n"


async def test_no_more_than_a_thousand_are_found_the_latest_of_all(root: Path, workspace: LocalWorkspace) -> None:
    for number in range(1100):
        (root / f"{number:04}").touch()
        os.utime(root / f"{number:04}", (number, number))
    assert await workspace.find("*") == [f"{number:04}" for number in range(1099, 99, -1)]


@pytest.mark.parametrize("pattern", ["", ".", "/", "../*", "/etc/*"])
async def test_a_pattern_that_can_match_nothing_is_refused(workspace: LocalWorkspace, pattern: str) -> None:
    with pytest.raises(ToolError, match="This pattern"):
        await workspace.find(pattern)


def lines(ran: Ran) -> list[str]:
    assert (ran.exit, ran.ended) == (0, "")
    return sorted(ran.output.splitlines())


async def test_lines_are_found(tree: Path, workspace: LocalWorkspace) -> None:
    shutil.rmtree(tree / "build")
    everywhere = [
        ".hidden/c.py:1:needle hidden",
        "old.py:1:needle old",
        "src/a.py:2:needle here",
        "src/b.js:1:needle()",
    ]
    assert lines(await workspace.search("ne+dle", "", "")) == everywhere
    assert lines(await workspace.search("ne+dle", ".", "")) == everywhere
    assert lines(await workspace.search("needle", "src", "*.{js,ts}")) == ["src/b.js:1:needle()"]
    assert lines(await workspace.search("needle", "src/a.py", "")) == ["src/a.py:2:needle here"]
    assert lines(await workspace.search("needle", "again", "*.py")) == ["src/a.py:2:needle here"]
    assert await workspace.search("absent", ".", "") == Ran(1, "")


@pytest.mark.behaviour("tools-safety")
async def test_own_blobs_are_searched_and_no_others(tree: Path, workspace: LocalWorkspace) -> None:
    found = [".teams/main/blobs/lead-1-0.txt:1:needle lead"]
    assert lines(await workspace.search("needle", ".teams/main/blobs", "")) == found
    assert lines(await workspace.search("needle", ".teams/main/blobs/lead-1-0.txt", "")) == found
    assert await workspace.search("needle", ".teams/main/blobs", "*.py") == Ran(1, "")


@pytest.mark.parametrize("pattern", ["-e", "--help", "[$][(]id[)]", ";id"])
async def test_a_pattern_is_nothing_but_a_pattern(tree: Path, workspace: LocalWorkspace, pattern: str) -> None:
    assert await workspace.search(pattern, ".", "") == Ran(1, "")


@pytest.mark.parametrize(("pattern", "words"), [("(", "is not valid"), ("[", "is not valid"), ("x\0", "Remove it")])
async def test_a_bad_pattern_is_told(tree: Path, workspace: LocalWorkspace, pattern: str, words: str) -> None:
    with pytest.raises(ToolError, match=words):
        await workspace.search(pattern, ".", "")


async def test_a_file_that_cannot_be_read_hides_no_other(tree: Path, workspace: LocalWorkspace) -> None:
    (tree / "src" / "gone.py").symlink_to("gone.py")
    assert lines(await workspace.search("needle", "src", "")) == ["src/a.py:2:needle here", "src/b.js:1:needle()"]


async def test_too_many_matches_are_cut_at_a_line(root: Path, workspace: LocalWorkspace) -> None:
    (root / "many").write_text("needle\n" * 100_000)
    ran = await workspace.search("needle", ".", "")
    assert (ran.exit, ran.ended) == (None, "Stopped after 30,000 bytes of matches. Search for less.")
    assert ran.output.endswith(":needle\n")
    assert 20_000 < len(ran.output) <= 30_000


async def test_what_is_searched_must_be_there(workspace: LocalWorkspace) -> None:
    with pytest.raises(ToolError, match="does not exist"):
        await workspace.search("x", "missing", "")


def test_ripgrep_is_told_to_leave_out_what_is_ours() -> None:
    words = searching_words("rg", "-x", "/dev/fd/9", "*.py", ["./src"])
    assert words[-3:] == ["--file=/dev/fd/9", "--", "./src"]
    assert [word for word in words if word.startswith("--glob")] == [
        "--glob=*.py",
        "--glob=!.git",
        "--glob=!/.teams",
        "--glob=!/.tasks",
    ]


@pytest.mark.parametrize("pattern", ["a\nb", "a\r"])
def test_a_pattern_of_several_lines_stays_one_pattern(pattern: str) -> None:
    assert searching_words("rg", pattern, "/dev/fd/9", "", ["."])[-4:] == ["-e", pattern, "--", "."]


def test_without_ripgrep_a_glob_with_a_folder_is_refused() -> None:
    with pytest.raises(ToolError, match="Name the folder in path"):
        searching_words(None, "x", "/dev/fd/9", "src/*.py", ["."])


async def test_ripgrep_and_grep_find_the_same(tree: Path, make: Callable[..., LocalWorkspace]) -> None:
    if not shutil.which("rg"):
        pytest.skip("ripgrep is not installed: there is nothing to compare")
    grep = shutil.which("grep")
    assert grep
    (tree / "bin").mkdir()
    (tree / "bin" / "grep").symlink_to(grep)
    for pattern, path, glob in [("needle", ".", ""), ("ne.dle", "src", "*.py"), ("absent", ".", "")]:
        by_rg = await make().search(pattern, path, glob)
        by_grep = await make(environ={"PATH": str(tree / "bin")}).search(pattern, path, glob)
        assert sorted(by_rg.output.splitlines()) == sorted(by_grep.output.splitlines())


@pytest.mark.parametrize("program", ["rg", "grep", "grep without -P"])
@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        (r"v\d+", ["v12"]),
        (r"^\D+$", ["word", r"x\d"]),
        (r"[\d.]{3}", ["1.5"]),
        (r"\w\w\w\w", ["word"]),
        (r"\\d", [r"x\d"]),
    ],
)
async def test_digits_are_found_by_every_program(
    root: Path, make: Callable[..., LocalWorkspace], program: str, pattern: str, lines: list[str]
) -> None:
    found = shutil.which(program.partition(" ")[0])
    if not found:
        pytest.skip(f"{program} is not installed")
    (root / "bin").mkdir()
    own = root / "bin" / program.partition(" ")[0]
    if program == "grep without -P":
        own.write_text(f'#!/bin/sh\ncase "$1" in -*P*) exit 2;; esac\nexec {found} "$@"\n')
        own.chmod(0o755)
    else:
        own.symlink_to(found)
    (root / "file").write_text("v12\nword\n1.5\nx\\d\n")
    ran = await make(environ={"PATH": str(root / "bin")}).search(pattern, "file", "")
    assert [line.split(":", 2)[2] for line in ran.output.splitlines()] == lines
