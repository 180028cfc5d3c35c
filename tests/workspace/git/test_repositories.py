"""No command makes git obey it: neither by a repository of its own making nor by one that lies around it."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from deskmate.errors import ToolError
from deskmate.ports import Ran
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox
from tests.workspace.conftest import open_folder
from tests.workspace.escapes.escape_ground import PWNED, Ground, ground
from tests.workspace.escapes.escape_table import submodule

pytestmark = pytest.mark.anyio

Eventually = Callable[[Callable[[], bool]], None]

LONG = 60
MAKE = "mkdir -p {0}objects {0}refs; echo 'ref: refs/heads/x' > {0}HEAD; git config -f {0}config core.fsmonitor ./pwned"


@pytest.fixture
def on() -> Iterator[Ground]:
    """A ground whose workspace is a repository, with a worktree beside it."""
    with open_folder() as folder, ground(folder) as laid:
        yield laid


@pytest.fixture
def bare(on: Ground) -> Path:
    """A workspace that is no repository, with nothing in it but our own."""
    made = on.top / "plain"
    made.mkdir()
    return made


def confined(on: Ground, root: Path, sandbox: Sandbox, member: str = "lead") -> LocalWorkspace:
    sandbox = replace(sandbox, state=on.state)
    return LocalWorkspace(root, "main", member, environ=on.environ(), sandbox=sandbox, grace_seconds=0.3)


async def run(workspace: LocalWorkspace, command: str, blob: str = "lead-1-0.txt") -> Ran:
    with anyio.fail_after(LONG):
        return await workspace.run(command, timeout_seconds=LONG, blob=blob)


@pytest.mark.parametrize("count", [2, 10])
async def test_commands_that_overlap_share_what_stands_in_and_none_makes_a_repository(
    on: Ground, bare: Path, bubblewrap: Sandbox, eventually: Eventually, count: int
) -> None:
    async with anyio.create_task_group() as group:
        for number in range(count):
            # Each waits for the one before it, and goes on until the one after it has begun.
            wait = f"until [ -e {number - 1} ]; do sleep 0.02; done; " * bool(number)
            after = f"until [ -e {number + 1} ]; do sleep 0.02; done; " * (number + 1 < count)
            command = f"touch {number}; {after}{wait}{MAKE.format('.git/')}; git init -q"
            member = f"m{number}"
            group.start_soon(run, confined(on, bare, bubblewrap, member), command, f"{member}-1-0.txt")
            await to_thread.run_sync(eventually, (bare / str(number)).exists)
    assert sorted(os.listdir(bare)) == sorted([".tasks", ".teams", *map(str, range(count))])


async def test_a_workspace_cannot_be_made_a_folder_of_git_itself(on: Ground, bare: Path, bubblewrap: Sandbox) -> None:
    workspace = confined(on, bare, bubblewrap)
    await run(workspace, f"{MAKE.format('')}; mv refs x; rm -rf refs commondir; {MAKE.format('')}; echo x > commondir")
    environ = {**on.environ(), "GIT_CEILING_DIRECTORIES": str(on.top)}
    outside = subprocess.run(["git", "rev-parse", "--git-dir"], cwd=bare, env=environ, capture_output=True, check=False)
    assert b"not a git repository" in outside.stderr
    assert not (bare / "refs").exists()
    assert not (bare / "commondir").exists()


async def test_file_tools_do_not_make_a_workspace_a_folder_of_git(on: Ground, bare: Path, bubblewrap: Sandbox) -> None:
    workspace = confined(on, bare, bubblewrap)
    for path in ("refs/heads/x", "REFS/x", "./refs", "commondir"):
        with pytest.raises(ToolError, match="controls git or agents"):
            await workspace.write(path, b"x\n", known=None)
    for path in ("HEAD", "config", "objects/x", "sub/refs/x"):
        await workspace.write(path, b"mine", known=None)
    assert not (bare / "refs").exists()


async def test_in_a_repository_nothing_stands_in_that_build_tools_take_for_a_part_of_the_project(
    on: Ground, bubblewrap: Sandbox
) -> None:
    told = await run(confined(on, on.workspace, bubblewrap), "git diff HEAD; git add -An; ls -d */ | tr -d /")
    assert told == Ran(0, "\n".join(sorted(path.name for path in on.workspace.glob("[!.]*/"))) + "\n")


@pytest.mark.parametrize("breaks", ["rm .git/HEAD", "echo x > .git/HEAD", "rm -rf .git/refs"])
@pytest.mark.parametrize("makes", [MAKE.format(""), "echo x > commondir; echo 'ref: refs/heads/x' > HEAD"])
async def test_a_repository_whose_top_becomes_a_folder_of_git_is_disarmed_and_told(
    on: Ground, bubblewrap: Sandbox, breaks: str, makes: str
) -> None:
    told = await run(confined(on, on.workspace, bubblewrap), f"{breaks}; {makes}")
    assert "renamed HEAD at the top of the workspace" in (told.ended or "")
    assert not (on.workspace / "HEAD").exists()
    assert (on.workspace / "HEAD.deskmate-removed").exists()


async def test_in_a_repository_a_file_may_be_called_as_git_calls_its_own(on: Ground, bubblewrap: Sandbox) -> None:
    workspace = confined(on, on.workspace, bubblewrap)
    await workspace.write("HEAD", b"mine", known=None)
    assert (on.workspace / "HEAD").read_bytes() == b"mine"


async def test_of_a_bare_repository_settings_and_hooks_stay(on: Ground, bare: Path, bubblewrap: Sandbox) -> None:
    on.git("plain", "init", "-q", "--bare", ".")
    before = (bare / "config").read_bytes(), sorted(os.listdir(bare / "hooks"))
    workspace = confined(on, bare, bubblewrap)
    told = await run(workspace, f"git rev-parse --is-bare-repository; {MAKE.format('')}; mv hooks x; touch hooks/pwned")
    assert told.output.startswith("true\n")
    for path in ("config", "hooks/post-receive", "commondir", "HEAD"):
        with pytest.raises(ToolError, match="controls git or agents"):
            await workspace.write(path, b"x", known=None)
    assert ((bare / "config").read_bytes(), sorted(os.listdir(bare / "hooks"))) == before


async def test_glob_and_grep_do_not_show_what_stands_in(on: Ground, bare: Path, bubblewrap: Sandbox) -> None:
    (bare / "a.txt").write_text("word\n")
    workspace = confined(on, bare, bubblewrap)
    assert await workspace.find("**") == ["a.txt"]
    assert "refs" not in (await workspace.search(".", ".", "")).output


@pytest.mark.parametrize("there", [True, False])
async def test_from_a_worktree_no_submodule_of_its_repository_is_written(
    on: Ground, bubblewrap: Sandbox, there: bool
) -> None:
    modules = on.workspace / ".git/modules"
    if there:
        (modules / "sub").mkdir(parents=True)
        (modules / "sub/config").write_text("mine\n")
    tamper = (
        f"mkdir -p {modules}/sub; echo {PWNED} > {modules}/sub/config; mv {modules} {modules}2; mkdir -p {modules}/x"
    )
    await run(confined(on, on.top / "other", bubblewrap), tamper)
    found = {str(path.relative_to(modules)): path.is_file() and path.read_text() for path in modules.rglob("*")}
    assert found == ({"sub": False, "sub/config": "mine\n"} if there else {})
    assert modules.exists() is there


async def test_in_a_submodule_a_commit_works_and_its_settings_stay(on: Ground, bubblewrap: Sandbox) -> None:
    submodule(on)
    settings = on.workspace / ".git/modules/sub/config"
    before = settings.read_bytes()
    who = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b"
    steps = (
        "cd sub",
        "git switch -qc x",
        "echo c > c",
        "git add c",
        "git commit -qm c",
        "git gc -q",
        "git log --format=%s -1",
    )
    told = await run(
        confined(on, on.workspace, bubblewrap), " && ".join([who, *steps, "! git config a.b c 2>/dev/null"])
    )
    assert told == Ran(0, "c\n")
    assert settings.read_bytes() == before
    assert {"config.worktree", "commondir", "worktrees"}.isdisjoint(os.listdir(settings.parent))


async def test_in_a_worktree_what_is_stashed_comes_back_and_a_branch_goes(on: Ground, bubblewrap: Sandbox) -> None:
    steps = ("echo c >> src/a.py", "git stash -q", "git stash pop -q", "git branch x", "git branch -qD x 2>/dev/null")
    who = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b"
    told = await run(confined(on, on.top / "other", bubblewrap), " && ".join([who, *steps, "git diff --name-only"]))
    assert told == Ran(0, "src/a.py\n")


async def test_a_repository_without_worktrees_gets_none(on: Ground, bubblewrap: Sandbox) -> None:
    on.git("ws", "worktree", "remove", "../other")
    worktrees = on.workspace / ".git/worktrees"
    shutil.rmtree(worktrees, ignore_errors=True)
    told = await run(
        confined(on, on.workspace, bubblewrap),
        f"git status -s -uno; git worktree list; mkdir -p {worktrees}/x && echo {PWNED}; git worktree add -q t",
    )
    assert PWNED not in told.output
    assert str(on.workspace) in told.output
    assert not worktrees.exists()


@pytest.mark.parametrize("kind", ["workspace", "writable"])
async def test_a_folder_that_holds_something_hidden_cannot_be_moved(
    on: Ground, bare: Path, bubblewrap: Sandbox, kind: str
) -> None:
    top = bare if kind == "workspace" else on.top / "cache"
    (top / "conf/deep/secrets").mkdir(parents=True)
    (top / "conf/deep/secrets/k").write_text("canary")
    hiding = replace(bubblewrap, hidden=(top / "conf/deep/secrets",), writable=(on.top / "cache",))
    workspace = confined(on, bare, hiding)
    for command in (f"mv {top}/conf {top}/x; mv {top}/conf/deep {top}/y; echo z > {top}/conf/deep/z", "true"):
        told = await run(workspace, f"{command}; cat {top}/*/secrets/k {top}/*/*/secrets/k")
        assert "canary" not in told.output
    assert (top / "conf/deep/z").read_text() == "z\n"
    assert subprocess.run(["cat", top / "conf/deep/secrets/k"], capture_output=True, check=True).stdout == b"canary"


async def test_an_agent_is_told_why_git_cannot_change_a_file_that_other_tools_run(
    on: Ground, bubblewrap: Sandbox
) -> None:
    tasks = on.workspace / ".vscode/tasks.json"
    tasks.parent.mkdir()
    tasks.write_text("{}\n")
    on.git(on.workspace.name, "add", "-f", ".vscode")
    on.git(on.workspace.name, "commit", "-qm", "tasks")
    told = await run(confined(on, on.workspace, bubblewrap), "git checkout -q HEAD~1; git status --short")
    assert (told.ended or "").startswith(".vscode: read-only for commands, because the user's own tools run")
    assert tasks.read_text() == "{}\n"
