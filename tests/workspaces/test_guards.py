"""What git and agents obey is not for agents to write, whichever name leads there."""

import os
from pathlib import Path

import pytest

from deskmate.errors import ToolError
from deskmate.workspaces.guards import Guard, guarded
from deskmate.workspaces.local import LocalWorkspace
from deskmate.workspaces.sandbox import Mount, Way

PATHS = [
    ".git/hooks/pre-commit",
    ".git/config",
    ".git",
    ".GIT/config",
    "sub/.git/config",
    "sub/../.git/x",
    "link/hooks/x",
    ".mcp.json",
    ".MCP.json",
    ".deskmate/settings.toml",
]


@pytest.mark.anyio
@pytest.mark.parametrize("path", PATHS)
async def test_no_file_tool_writes_there(root: Path, workspace: LocalWorkspace, path: str) -> None:
    (root / ".git/hooks").mkdir(parents=True)
    (root / "link").symlink_to(".git")
    (root / "sub").mkdir()
    before = {str(found) for found in root.rglob("*")}
    with pytest.raises(ToolError, match=r"git or agents obey|is a folder"):
        await workspace.write(path, b"x", known=None)
    assert {str(found) for found in root.rglob("*")} == before


@pytest.mark.anyio
@pytest.mark.parametrize("path", [".gitignore", ".github/workflows/ci.yml", "mcp.json", "sub/.mcp.json", "git/config"])
async def test_what_only_looks_like_it_can_be_written(root: Path, workspace: LocalWorkspace, path: str) -> None:
    await workspace.write(path, b"x", known=None)
    assert (root / path).read_bytes() == b"x"


def repository(git: Path) -> list[Guard]:
    return [
        Guard(f"{git}/config", b""),
        Guard(f"{git}/config.worktree", b""),
        Guard(f"{git}/hooks"),
        Guard(f"{git}/commondir", b".\n"),
        Guard(f"{git}/worktrees"),
    ]


def own(root: Path) -> tuple[list[Mount], list[Guard]]:
    """Return what holds in every workspace."""
    mounts = [Mount(str(root), Way.WRITE), *(Mount(f"{root}/{name}", Way.EMPTY) for name in (".tasks", ".teams"))]
    return mounts, [Guard(f"{root}/.deskmate"), Guard(f"{root}/.mcp.json")]


@pytest.mark.parametrize("made", [(), (".git", "HEAD")])
def test_a_folder_without_a_repository_must_not_get_one_nor_become_one(root: Path, made: tuple[str, ...]) -> None:
    # What stands in for it, by a command that runs already, is none.
    for name in made:
        (root / name).mkdir()
    mounts, guards = own(root)
    found = guarded(root)
    assert (list(found.mounts), list(found.guards)) == (mounts, [*guards, Guard(f"{root}/.git"), Guard(f"{root}/HEAD")])


def test_a_workspace_that_is_a_folder_of_git_itself_is_guarded_as_one(root: Path) -> None:
    (root / "HEAD").touch()
    mounts, guards = own(root)
    found = guarded(root)
    assert list(found.mounts) == mounts
    assert list(found.guards) == [*guards, Guard(f"{root}/.git"), *repository(root)]


def test_the_folder_of_git_stays_where_it_is_and_writable(root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".git/HEAD").touch()
    mounts, guards = own(root)
    found = guarded(root)
    assert list(found.mounts) == [*mounts, Mount(f"{root}/.git", Way.WRITE)]
    assert list(found.guards) == [*guards, *repository(root / ".git")]


@pytest.fixture
def common(root: Path) -> Path:
    """The repository of which the workspace is a worktree."""
    common = root.parent / "main/.git"
    (common / "worktrees/w").mkdir(parents=True)
    (common / "objects").mkdir()
    (common / "HEAD").write_text("ref: refs/heads/main\n")
    (common / "worktrees/w/commondir").write_text("../..\n")
    (common / "worktrees/w/gitdir").write_text(f"{root}/.git\n")
    (root / ".git").write_text(f"gitdir: {common}/worktrees/w\n")
    return common


def test_of_a_worktree_the_repository_is_writable_and_guarded(root: Path, common: Path) -> None:
    mounts, guards = own(root)
    found, mine = guarded(root), common / "worktrees/w"
    assert list(found.mounts) == [*mounts, Mount(str(common), Way.WRITE), Mount(str(mine), Way.WRITE)]
    assert list(found.guards) == [
        *guards,
        Guard(f"{root}/.git"),
        *repository(common),
        *(Guard(f"{mine}/{name}") for name in ("commondir", "gitdir")),
        Guard(f"{mine}/config.worktree", b""),
        Guard(f"{common}/modules"),
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("worktrees/w/gitdir", "/elsewhere/.git\n"),
        ("worktrees/w/gitdir", None),
        ("worktrees/w/commondir", "/etc\n"),
        ("worktrees/w/commondir", None),
        ("HEAD", None),
    ],
)
def test_a_worktree_that_its_repository_does_not_know_opens_nothing(
    root: Path, common: Path, name: str, content: str | None
) -> None:
    (common / name).unlink()
    if content:
        (common / name).write_text(content)
    mounts, guards = own(root)
    found = guarded(root)
    assert (list(found.mounts), list(found.guards)) == (mounts, [*guards, Guard(f"{root}/.git")])


@pytest.mark.parametrize("pointer", ["gitdir: /", "gitdir: ..", "gitdir: ", "nonsense", "gitdir: " + "../" * 2000, ""])
def test_a_pointer_to_anywhere_opens_nothing(root: Path, pointer: str) -> None:
    (root / ".git").write_text(pointer)
    assert list(guarded(root).mounts) == own(root)[0]


def test_a_pipe_in_the_place_of_the_pointer_keeps_nobody_waiting(root: Path) -> None:
    os.mkfifo(root / ".git")
    assert list(guarded(root).mounts) == own(root)[0]


@pytest.mark.parametrize("name", [".git", ".deskmate", ".git/hooks", ".git/config"])
def test_a_link_cannot_be_guarded(root: Path, name: str) -> None:
    if "/" in name:
        (root / ".git").mkdir()
        (root / ".git/HEAD").touch()
    (root / name).symlink_to("elsewhere")
    with pytest.raises(ToolError, match="is a link, which a sandbox cannot guard"):
        guarded(root)
