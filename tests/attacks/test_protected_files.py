"""What git and agents obey is not written by any file tool, whatever the path is disguised as."""

import os
import subprocess
from pathlib import Path

import pytest

from deskmate.core.policy.permissions import Effect, Mode, PermissionRule, judge
from deskmate.core.policy.tool_table import TOOLS
from deskmate.errors import ToolError
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox
from deskmate.workspace.sandbox.protected_paths import AUTORUN, is_guarded
from tests.tools.tool_desk import ToolDesk
from tests.workspace.escapes.escape_ground import Ground

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tools-safety")]

HOOK = "#!/bin/sh\necho pwned\n"


def git(*words: str | Path, at: Path) -> None:
    who = ("-c", "user.name=u", "-c", "user.email=u@example.org", "-c", "protocol.file.allow=always")
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CEILING_DIRECTORIES": str(at.parent)}
    subprocess.run(["git", *who, *words], cwd=at, env=environ, check=True, capture_output=True)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with another in it, a submodule, a worktree, and links to all that is obeyed."""
    tmp_path = tmp_path_factory.mktemp("obeyed")
    root = tmp_path / "ws"
    (root / "src/deep").mkdir(parents=True)
    (root / "src/a.py").write_text("a = 1\n")
    git("init", "-q", ".", at=root)
    git("add", "src", at=root)
    git("commit", "-qm", "first", at=root)
    git("init", "-q", "nested", at=root)
    git("clone", "-q", "--bare", ".", tmp_path / "other.git", at=root)
    git("submodule", "--quiet", "add", tmp_path / "other.git", "sub", at=root)
    git("worktree", "add", "-q", "tree", at=root)
    (root / ".deskmate").mkdir()
    (root / ".mcp.json").write_text("{}\n")
    for name, target in {
        "to-git": ".git",
        "to-hooks": ".git/hooks",
        "to-config": ".git/config",
        "src/deep/up": "../../.git",
        "to-ours": str(root / ".deskmate"),
        "to-mcp": ".mcp.json",
        "to-link": "to-git",
        "to-root": ".",
        "to-nested": "nested/.git",
        "to-new": ".git/hooks/post-commit",
    }.items():
        (root / name).symlink_to(target)
    return root


def state(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in sorted(root.rglob("*"))}


PATHS = [
    ".git/hooks/post-commit",
    ".git/config",
    ".git/info/attributes",
    ".git/modules/sub/hooks/post-checkout",
    ".git/worktrees/tree/config.worktree",
    "./.git/../.git/config",
    ".//.git//config",
    "src/../.git/hooks/post-commit",
    "missing/../.git/hooks/post-commit",
    ".git/missing/../hooks/post-commit",
    ".GIT/hooks/post-commit",
    ".Git/config",
    ".git./hooks/post-commit",
    ".git /hooks/post-commit",
    ".git. . /config",
    ".git::$INDEX_ALLOCATION/config",
    ".g\u200cit/hooks/post-commit",
    ".g\u200dit/config",
    "\ufeff.git/config",
    ".ｇｉｔ/config",
    "．git/config",
    "{root}/.git/hooks/post-commit",
    "{root}/../ws/.git/config",
    "../ws/.git/config",
    "to-git/hooks/post-commit",
    "to-hooks/post-commit",
    "to-config",
    "to-new",
    "to-link/config",
    "to-root/.git/config",
    "src/deep/up/hooks/post-commit",
    "nested/.git/hooks/post-commit",
    "to-nested/config",
    "new/.git/config",
    "sub/.git",
    "sub/.git/config",
    "tree/.git",
    "tree/.git/config",
    ".deskmate/settings.toml",
    ".deskmate/agents/new.md",
    ".DESKMATE/settings.toml",
    ".deskmate./settings.toml",
    ".desk\u00admate/settings.toml",
    "to-ours/settings.toml",
    ".mcp.json",
    ".MCP.JSON",
    ".mcp.json.",
    "to-mcp",
    "src/../.mcp.json",
]


async def read(desk: ToolDesk, path: str) -> str:
    try:
        return (await desk.use("read_file", path=path)).text
    except ToolError:
        return ""


@pytest.mark.parametrize("path", PATHS, ids=ascii)
async def test_no_disguise_lets_a_file_tool_write_there(root: Path, path: str) -> None:
    desk, before = ToolDesk(LocalWorkspace(root, "main", "lead", environ=os.environ)), state(root.parent)
    path = path.format(root=root)
    with pytest.raises(ToolError):
        await desk.use("write_file", path=path, content=HOOK)
    # What can be read can be known: it is not for want of that that it is refused.
    text = await read(desk, path)
    for line in filter(None, (line.split("\t", 1)[1].strip() for line in text.splitlines()[:3])):
        with pytest.raises(ToolError):
            await desk.use("edit_file", path=path, old_text=line, new_text=HOOK, replace_all=True)
    with pytest.raises(ToolError):
        await desk.use("write_file", path=path, content=HOOK)
    assert state(root.parent) == before


@pytest.mark.parametrize("pointer", ["link", "file"])
async def test_a_folder_of_git_by_another_name_is_not_written_either(tmp_path: Path, pointer: str) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    git("init", "-q", "--separate-git-dir", "store", ".", at=root)
    if pointer == "link":
        (root / ".git").unlink()
        (root / ".git").symlink_to("store")
    workspace, before = LocalWorkspace(root, "main", "lead", environ=os.environ), state(root)
    for path in ("store/hooks/post-commit", "store/config", "store/new/x", ".git/hooks/post-commit"):
        with pytest.raises(ToolError, match="controls git or agents"):
            await workspace.write(path, HOOK.encode(), known=None)
    assert state(root) == before


TAMPER = (
    "echo 'echo pwned' > {0}/hooks/post-commit; echo pwned >> {0}/config; echo pwned > {0}/config.worktree; "
    "mv {0}/config x; mv {0} y; cp -r y {0}; mv deep z; cp -r z deep; echo pwned > {0}/config"
)


@pytest.mark.parametrize("store", ["store", "deep/er/store"])
async def test_a_confined_command_does_not_write_a_folder_of_git_by_another_name(
    store: str, ground: Ground, bubblewrap: Sandbox
) -> None:
    root = ground.top / "separate"
    (root / store).parent.mkdir(parents=True)
    git("init", "-q", "--separate-git-dir", store, ".", at=root)
    workspace = LocalWorkspace(root, "main", "lead", sandbox=bubblewrap, grace_seconds=0.3, environ=os.environ)
    before = state(root / store / "hooks"), (root / store / "config").read_bytes()
    ran = await workspace.run(f"git status; {TAMPER.format(store)}", timeout_seconds=30, blob="lead-1-0.txt")
    assert "No commits yet" in ran.output
    assert (state(root / store / "hooks"), (root / store / "config").read_bytes()) == before
    assert not (root / store / "config.worktree").exists()


async def test_definitions_that_are_links_are_not_written_where_they_lead(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / "conf").mkdir(parents=True)
    (root / "servers.json").write_text("{}\n")
    (root / ".deskmate").symlink_to("conf")
    (root / ".mcp.json").symlink_to("servers.json")
    desk, before = ToolDesk(LocalWorkspace(root, "main", "lead", environ=os.environ)), state(root)
    for path in ("conf/settings.toml", "conf/agents/x.md", "servers.json", ".mcp.json"):
        if (root / path).exists():
            await desk.use("read_file", path=path)
        with pytest.raises(ToolError, match="controls git or agents"):
            await desk.use("write_file", path=path, content=HOOK)
    assert state(root) == before


async def test_a_hard_link_is_replaced_and_what_it_shared_stays(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / ".git").mkdir(parents=True)
    for name, target in (("config", root / ".git/config"), ("linked", tmp_path / "outside")):
        target.write_text("mine\n")
        os.link(target, root / name)
        desk = ToolDesk(LocalWorkspace(root, "main", "lead", environ=os.environ))
        assert (await desk.use("read_file", path=name)).text == "1\tmine"
        await desk.use("write_file", path=name, content=HOOK)
        assert (target.read_text(), target.stat().st_nlink) == ("mine\n", 1)
        assert (root / name).read_text() == HOOK


AUTORUN_PATHS = [
    ".vscode/tasks.json",
    ".VSCode/tasks.json",
    ".vscode./settings.json",
    "src/../.vscode/launch.json",
    "{root}/.vscode/tasks.json",
    "to-vscode/tasks.json",
    "to-tasks",
    "hard-tasks",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks/x.sh",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".codex/config.toml",
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
    ".envrc",
    ".ENVRC",
    ".en\u200cvrc",
    ".idea/workspace.xml",
    ".zed/tasks.json",
    ".husky/pre-commit",
    ".githooks/pre-push",
    "to-githooks/new",
    "conf/gitconfig",
    "tools/strip.py",
]


@pytest.fixture(scope="module")
def obeying(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose settings name files of the workspace, with links to what tools run."""
    root = tmp_path_factory.mktemp("autorun") / "ws"
    for name in (".vscode/tasks.json", ".githooks/pre-commit", "tools/strip.py", "src/a.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("mine\n")
    git("init", "-q", ".", at=root)
    git("config", "core.hooksPath", ".githooks", at=root)
    git("config", "include.path", "../conf/gitconfig", at=root)
    git("config", "filter.x.clean", "python tools/strip.py", at=root)
    (root / "to-vscode").symlink_to(".vscode")
    (root / "to-tasks").symlink_to(".vscode/tasks.json")
    (root / "to-githooks").symlink_to(".githooks")
    os.link(root / "tools/strip.py", root / "hard-tasks")
    return root


@pytest.mark.parametrize("path", AUTORUN_PATHS, ids=ascii)
@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
async def test_an_edit_of_what_tools_run_unasked_asks_a_person_behind_every_disguise(
    obeying: Path, path: str, tool: str
) -> None:
    desk = ToolDesk(LocalWorkspace(obeying, "main", "lead", environ=os.environ))
    more = {"content": HOOK} if tool == "write_file" else {"old_text": "mine", "new_text": HOOK}
    attempt = await desk.attempt(tool, path=path.format(root=obeying), **more)
    for mode in (Mode.DEFAULT, Mode.ACCEPT_EDITS):
        rules = [PermissionRule(Effect.ALLOW, tool), PermissionRule(Effect.ALLOW, tool, "**")]
        verdict = judge(attempt, mode=mode, rules=rules, traits=TOOLS, confined=True, attended=True)
        assert (verdict.effect, "run commands from without asking" in verdict.reason) == (Effect.ASK, True)
    assert (await desk.attempt("read_file", path=path.format(root=obeying))).autorun is False


@pytest.mark.parametrize("path", ["src/a.py", "vscode/x", "a/.vscode/x", ".vscodeignore", ".env", "tools/other.py"])
async def test_an_edit_of_anything_else_does_not(obeying: Path, path: str) -> None:
    desk = ToolDesk(LocalWorkspace(obeying, "main", "lead", environ=os.environ))
    assert not (await desk.attempt("write_file", path=path, content="x")).autorun


async def test_no_confined_command_writes_what_tools_run_unasked(ground: Ground, bubblewrap: Sandbox) -> None:
    root = ground.top / "tools"
    (root / ".vscode").mkdir(parents=True)
    (root / ".vscode/tasks.json").write_text("mine\n")
    workspace = LocalWorkspace(root, "main", "lead", sandbox=bubblewrap, grace_seconds=0.3, environ=os.environ)
    names = " ".join(AUTORUN)
    command = (
        f"for n in {names}; do rm -rf $n; mv $n x; mkdir -p $n; echo pwned > $n; echo pwned > $n/x; done; "
        "echo pwned > .vscode/tasks.json; ln -sf /etc .claude; cat .vscode/tasks.json"
    )
    ran = await workspace.run(command, timeout_seconds=30, blob="lead-1-0.txt")
    assert ran.output.endswith("mine\n")
    assert sorted(os.listdir(root)) == [".tasks", ".teams", ".vscode"]
    assert state(root / ".vscode") == {str(root / ".vscode/tasks.json"): b"mine\n"}


@pytest.mark.parametrize("path", [".gitignore", "git/config", ".github/x", "mcp.json", "a/.mcp.json", "a/.deskmate/x"])
def test_what_only_looks_like_it_is_anybodys(path: str) -> None:
    assert not is_guarded(path.split("/"))
