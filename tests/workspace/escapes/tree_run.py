"""Try escapes about files, git and links from inside a member's own tree, and those that only it has: print which won.

With a UID, that user becomes first.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import anyio

from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from deskmate.workspace.trees.tree_places import TreePlaces
from tests.workspace.escapes.escape_ground import CANARY, PWNED, Ground, become, ground
from tests.workspace.escapes.escape_run import attempt
from tests.workspace.escapes.escape_table import FILES, GIT, HOME, LINKS, Attempt, holds, read, there, wrote

# A tree has no worktree and no submodule. The last one waits for a timeout, and a tree is not different there.
_ELSEWHERE = {
    "another worktree",
    "pointer of a submodule",
    "folder of a submodule",
    "settings of a submodule",
    "hooks of a submodule",
    "left at the end of its time",
}
OWN = [
    read("records of the team", "<repository>/.teams/main/* <repository>/.tasks/main/*"),
    read("records of the team through /proc", "/proc/self/root<repository>/.teams/main/*"),
    Attempt(
        "records of the team, uncovered",
        "umount -l <repository>/.teams; cat <repository>/.teams/main/* > loot",
        lambda g: CANARY in g.text("ws/loot"),
    ),
    Attempt(
        "forging mail",
        f"echo {PWNED} >> <repository>/.teams/main/lead.mail.jsonl",
        holds("repository/.teams/main/lead.mail.jsonl"),
    ),
    Attempt("files of the user", f"echo {PWNED} > <repository>/src/a.py", holds("repository/src/a.py")),
    Attempt(
        "settings of the user's repository",
        f"echo {PWNED} >> <repository>/.git/config",
        holds("repository/.git/config"),
    ),
    Attempt(
        "a hook of the user's repository",
        "touch <repository>/.git/hooks/post-commit",
        there("<repository>/.git/hooks/post-commit"),
    ),
    Attempt(
        "a branch of the user",
        "git push -q <repository>/.git HEAD:refs/heads/pwned",
        there("<repository>/.git/refs/heads/pwned"),
    ),
    Attempt("objects of the user", "cp .git/config <repository>/.git/objects/x", there("<repository>/.git/objects/x")),
    Attempt(
        "through the alternates",
        "cp .git/config $(cat .git/objects/info/alternates)/x",
        there("<repository>/.git/objects/x"),
    ),
    read("the tree of another member", "<tree>/../bob/secret"),
    read("a free tree", "<tree>/../../.free/*/secret"),
    Attempt("writing to another tree", f"echo {PWNED} > <tree>/../bob/secret", holds("bob")),
    Attempt(
        "a tree for the next member",
        "mkdir -p <tree>/../../.free/00000000000000000001-x",
        there("<tree>/../../.free/00000000000000000001-x"),
    ),
    Attempt("moving the tree", "mv <tree> <tree>-2", there("<tree>-2")),
    wrote("a link out of the tree", "ln -s <outside> src/out; echo pwned > src/out/victim"),
]
_COMMON = [one for one in (*FILES, *HOME, *GIT, *LINKS) if one.name not in _ELSEWHERE]
# The other attempts are also tried from the workspace. So an ordinary run tries some of them here, a soak test all.
ATTEMPTS = [*(_COMMON if os.environ.get("DESKMATE_SOAK") else random.Random("tree").sample(_COMMON, 16)), *OWN]


def in_a_tree(on: Ground, sandbox: Sandbox | None) -> LocalWorkspace:
    records = on.top / "repository"
    return LocalWorkspace(
        on.workspace,
        "main",
        "lead",
        environ=on.environ(),
        sandbox=sandbox,
        grace_seconds=0.3,
        records=records,
        readable=(records / ".git",),
    )


def _move_into_tree(on: Ground) -> None:
    """Make the workspace of a ground the user's repository, and let `ws` be the tree of a member of it."""
    repository = on.top / "repository"
    shutil.move(on.top / "ws", repository)
    on.git("repository", "worktree", "repair", str(on.top / "other"))
    head = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    )
    places = TreePlaces(on.state, repository, environ(on))
    tree = places.create("main", "lead", head.stdout.strip())
    (tree / "bin").mkdir()
    (on.top / "ws").symlink_to(tree)
    for folder in (tree.parent / "bob", places.folder / ".free/00000000000000000009-x"):
        folder.mkdir(parents=True)
        (folder / "secret").write_text(CANARY)
    (on.top / "bob").symlink_to(tree.parent / "bob/secret")
    on.told.update(repository=str(repository), tree=str(tree))


def environ(on: Ground) -> Mapping[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(on.home)}


async def main(folder: Path) -> None:
    found = find_sandbox(folder / f"state-{os.getuid()}", environ=os.environ)
    if found.level is not Level.BUBBLEWRAP:
        sys.exit(found.reason)
    results = {}
    for one in ATTEMPTS:
        with ground(folder) as on:
            _move_into_tree(on)
            results[one.name] = await attempt(one, on, replace(found, state=on.state), in_a_tree)
    print(json.dumps(results))


if __name__ == "__main__":
    become(sys.argv[2:])
    anyio.run(main, Path(sys.argv[1]))
