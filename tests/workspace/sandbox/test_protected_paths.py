"""What git and agents obey is not for agents to write, whichever name leads there."""

import os
import subprocess
from pathlib import Path

import pytest

from deskmate.errors import ToolError
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Mount, Way
from deskmate.workspace.sandbox.protected_paths import AUTORUN, Guard, guarded

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
    with pytest.raises(ToolError, match=r"controls git or agents|is a folder"):
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
        Guard(f"{git}/remotes", b""),
        Guard(f"{git}/branches", b""),
    ]


def top(root: Path) -> list[Guard]:
    """Return what keeps a workspace from becoming git's own folder."""
    return [Guard(f"{root}/refs"), Guard(f"{root}/commondir")]


def autorun(root: Path) -> list[Guard]:
    return [Guard(f"{root}/{name}") for name in AUTORUN]


def own(root: Path) -> tuple[list[Mount], list[Guard]]:
    """Return what holds in every workspace."""
    mounts = [Mount(str(root), Way.WRITE), *(Mount(f"{root}/{name}", Way.EMPTY) for name in (".tasks", ".teams"))]
    return mounts, [Guard(f"{root}/.deskmate"), Guard(f"{root}/.mcp.json")]


@pytest.mark.parametrize("made", [(), (".git", "refs", "commondir"), ("HEAD",)])
def test_a_folder_without_a_repository_must_not_get_one_nor_become_one(root: Path, made: tuple[str, ...]) -> None:
    # What stands in for it, by a command that runs already, is none.
    for name in made:
        (root / name).mkdir()
    mounts, guards = own(root)
    found = guarded(root, os.environ)
    assert list(found.mounts) == mounts
    assert list(found.guards) == [*guards, Guard(f"{root}/.git"), *top(root), *autorun(root)]


def test_where_a_folder_refs_is_in_use_another_that_git_needs_must_not_be_made(root: Path) -> None:
    (root / "refs").mkdir()
    (root / "refs/a.bib").touch()
    guards = [*own(root)[1], Guard(f"{root}/.git"), Guard(f"{root}/objects"), Guard(f"{root}/commondir")]
    assert list(guarded(root, os.environ).guards) == [*guards, *autorun(root)]
    (root / "objects").mkdir()
    (root / "objects/a.obj").touch()
    guards = [*own(root)[1], Guard(f"{root}/.git"), Guard(f"{root}/commondir"), Guard(f"{root}/HEAD")]
    assert list(guarded(root, os.environ).guards) == [*guards, *autorun(root)]


def test_a_workspace_that_is_a_folder_of_git_itself_is_guarded_as_one(root: Path) -> None:
    (root / "HEAD").touch()
    for name in ("refs", "objects"):
        (root / name).mkdir()
    mounts, guards = own(root)
    found = guarded(root, os.environ)
    assert list(found.mounts) == mounts
    assert list(found.guards) == [*guards, Guard(f"{root}/.git"), *repository(root), *autorun(root)]


def test_the_folder_of_git_stays_where_it_is_and_writable(root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".git/HEAD").touch()
    mounts, guards = own(root)
    found = guarded(root, os.environ)
    assert list(found.mounts) == [*mounts, Mount(f"{root}/.git", Way.WRITE)]
    # Nothing at the top: build tools take a folder there for a part of the project.
    assert list(found.guards) == [*guards, *repository(root / ".git"), *autorun(root)]


def test_of_submodules_and_theirs_the_settings_and_hooks_are_guarded(root: Path) -> None:
    git = root / ".git"
    modules = [git / "modules/a", git / "modules/a/modules/lib/b", git / "modules/lib/c"]
    for folder in (git, *modules):
        folder.mkdir(parents=True)
        (folder / "HEAD").touch()
    paths = {guard.path for guard in guarded(root, os.environ).guards}
    assert {f"{module}/{name}" for module in modules for name in ("config", "hooks", "commondir")} <= paths


def test_of_very_many_submodules_the_folder_as_a_whole_is_guarded(root: Path) -> None:
    git = root / ".git"
    for number in range(40):
        (git / f"modules/{number}").mkdir(parents=True)
        (git / f"modules/{number}/HEAD").touch()
    (git / "HEAD").touch()
    paths = [guard.path for guard in guarded(root, os.environ).guards if "/modules" in guard.path]
    assert paths == [f"{git}/modules"]


def test_the_pointer_of_a_repository_within_is_guarded_and_so_is_what_git_obeys_in_its_folder(root: Path) -> None:
    (root / "a").mkdir()
    (root / "a/.git").write_text("gitdir: ../elsewhere\n")
    (root / "b/.git").mkdir(parents=True)
    (root / "b/.git/HEAD").touch()
    (root / "c").mkdir()
    (root / "c/.git").symlink_to("../b/.git")
    found = guarded(root, os.environ)
    paths = {guard.path for guard in found.guards}
    assert {f"{root}/a/.git", f"{root}/b/.git/config", f"{root}/b/.git/hooks"} <= paths
    assert f"{root}/c/.git" in found.links


@pytest.mark.parametrize("name", ["/etc", "../out", ".git/x", "x/../../out", ".teams/x", "link/x"])
def test_no_name_in_the_index_has_something_guarded_outside_the_workspace(root: Path, name: str) -> None:
    subprocess.run(["git", "init", "-q", root], check=True)
    (root.parent / "out/x/.git").mkdir(parents=True)
    (root.parent / "out/.git").mkdir()
    (root / "link").symlink_to(root.parent / "out")
    (root / ".git/x/.git").mkdir(parents=True)
    before = guarded(root, os.environ)
    entry = bytes(24) + (0o160000).to_bytes(4, "big") + bytes(12 + 20) + len(name).to_bytes(2, "big") + name.encode()
    (root / ".git/index").write_bytes(b"DIRC" + bytes([0, 0, 0, 2, 0, 0, 0, 1]) + entry + bytes(8 - len(entry) % 8))
    assert guarded(root, os.environ) == before


SETTINGS = """
; a comment
[include] path = "../conf/git config" ; another
[includeIf "gitdir:~/work/"]
\tpath = ~/elsewhere
[core]
\thooksPath = tools/\\
hooks
\tfsmonitor = sh scripts/watch.sh --fast
\tpager = less
[alias]
\tst = status
\trun = "!sh run.sh"
[filter "x"] clean = python strip.py %f
[credential] helper = cache
[remote "origin"]
\turl = ./vendor/other
"""


def test_what_settings_have_git_run_in_the_workspace_is_guarded(root: Path) -> None:
    for name in ("scripts/watch.sh", "run.sh", "strip.py", "cache/x", "vendor/other/x", "less", "status", "tools/x"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / ".git").mkdir()
    (root / ".git/HEAD").touch()
    (root / ".git/config").write_text(SETTINGS)
    found = [
        guard for guard in guarded(root, os.environ).guards if guard not in (*own(root)[1], *top(root), *autorun(root))
    ]
    assert [guard for guard in found if "/.git/" not in guard.path] == [
        # For a file whose folder is missing, too, one folder stands in.
        Guard(f"{root}/conf"),
        Guard(f"{root}/tools/hooks"),
        Guard(f"{root}/scripts/watch.sh", b""),
        Guard(f"{root}/run.sh", b""),
        Guard(f"{root}/strip.py", b""),
    ]


@pytest.mark.parametrize("name", ["XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"])
def test_what_settings_in_other_places_have_git_run_is_guarded(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    file = root.parent / "conf/git/config"
    file.parent.mkdir(parents=True)
    file.write_text("[core]\nhooksPath = .githooks\n")
    monkeypatch.setenv(name, str(root.parent / "conf" if name.startswith("XDG") else file))
    assert Guard(f"{root}/.githooks") in guarded(root, os.environ).guards


def test_a_hook_that_is_a_link_into_the_workspace_is_guarded_where_it_lies(root: Path) -> None:
    (root / ".git/hooks").mkdir(parents=True)
    (root / ".git/HEAD").touch()
    (root / "scripts").mkdir()
    (root / "scripts/check").touch()
    (root / ".git/hooks/pre-commit").symlink_to("../../scripts/check")
    (root / ".git/hooks/pre-push").symlink_to("../../scripts/missing")
    (root / ".git/hooks/update").symlink_to("/etc/passwd")
    found = [guard for guard in guarded(root, os.environ).guards if "/scripts" in guard.path or "passwd" in guard.path]
    assert set(found) == {Guard(f"{root}/scripts/check", b""), Guard(f"{root}/scripts/missing")}


def test_what_an_included_file_names_is_guarded_too_and_circles_end(root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".git/HEAD").touch()
    (root / ".git/config").write_text("[include]\npath = ../a\n")
    (root / "a").write_text("[include]\npath = b\n[core]\nhooksPath = h\n")
    (root / "b").write_text("[include]\npath = a\n")
    paths = {guard.path for guard in guarded(root, os.environ).guards}
    assert {f"{root}/{name}" for name in "abh"} <= paths


@pytest.mark.parametrize("inside", [True, False])
def test_what_tools_run_and_is_a_link_is_guarded_where_it_lies_and_the_link_is_compared(
    root: Path, inside: bool
) -> None:
    target = root / "conf" if inside else root.parent / "outside"
    target.mkdir(exist_ok=True)
    (root / ".vscode").symlink_to(target)
    found = guarded(root, os.environ)
    assert found.links == (f"{root}/.vscode",)
    assert (Guard(str(target)) in found.guards) is inside
    assert Guard(f"{root}/.vscode") not in found.guards


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
    found, mine = guarded(root, os.environ), common / "worktrees/w"
    assert list(found.mounts) == [*mounts, Mount(str(common), Way.WRITE), Mount(str(mine), Way.WRITE)]
    assert list(found.guards) == [
        *guards,
        Guard(f"{root}/.git"),
        *repository(common),
        *(Guard(f"{mine}/{name}") for name in ("commondir", "gitdir")),
        Guard(f"{mine}/config.worktree", b""),
        Guard(f"{common}/modules"),
        *autorun(root),
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
    found = guarded(root, os.environ)
    assert list(found.mounts) == mounts
    assert list(found.guards) == [*guards, Guard(f"{root}/.git"), *autorun(root)]


@pytest.mark.parametrize("pointer", ["gitdir: /", "gitdir: ..", "gitdir: ", "nonsense", "gitdir: " + "../" * 2000, ""])
def test_a_pointer_to_anywhere_opens_nothing(root: Path, pointer: str) -> None:
    (root / ".git").write_text(pointer)
    assert list(guarded(root, os.environ).mounts) == own(root)[0]


def test_a_pipe_in_the_place_of_the_pointer_keeps_nobody_waiting(root: Path) -> None:
    os.mkfifo(root / ".git")
    assert list(guarded(root, os.environ).mounts) == own(root)[0]


@pytest.mark.parametrize("name", [".git", ".deskmate", ".git/hooks", ".git/config"])
def test_a_link_cannot_be_guarded(root: Path, name: str) -> None:
    if "/" in name:
        (root / ".git").mkdir()
        (root / ".git/HEAD").touch()
    (root / name).symlink_to("elsewhere")
    with pytest.raises(ToolError, match="is a link, and a sandbox cannot guard a link"):
        guarded(root, os.environ)


def test_hooks_behind_a_link_are_guarded_where_they_lie_and_the_link_is_compared(root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".git/HEAD").touch()
    (root / ".git/config").write_text("[core]\nhooksPath = conf/hooks\n")
    (root / "real/hooks").mkdir(parents=True)
    (root / "conf").symlink_to(root / "real")
    found = guarded(root, os.environ)
    assert Guard(f"{root}/real/hooks") in found.guards
    assert found.links == (f"{root}/conf",)
