"""Where the trees of members are, and which repositories can have them.

They are in Deskmate's own folder, outside the repository: no member can reach the tree of another, and nothing that a
member can write is shared. Git's objects are read from the repository and never written there by a member.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from deskmate.core.log.names import known_name
from deskmate.core.policy.permissions import Isolation
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.team.roster_records import Joined
from deskmate.core.values import frozen
from deskmate.errors import Refused
from deskmate.workspace.git.repositories import git_folder
from deskmate.workspace.trees.git_program import GitProgram, missing

FOLDER = "trees"
# Names of trees that are being made or removed. No member can have such a name.
_UNFINISHED = ".unfinished-"
# What git does differently in one repository than in another, as far as files are concerned.
_COPIED = ("core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.precomposeunicode", "core.symlinks")
# What stops a merge, a rebase or a cherry-pick half-way.
_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")


@frozen
class Tree:
    """The tree of a member, as found on disk."""

    team: str
    member: str
    path: Path


def workspace_key(workspace: Path) -> str:
    """Return the name of a workspace in Deskmate's own folders."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", workspace.name)[:40] or "workspace"
    return f"{name}-{hashlib.sha256(os.fsencode(workspace)).hexdigest()[:8]}"


class TreePlaces:
    """The trees of one workspace. `state`: the folder of Deskmate's own data."""

    def __init__(self, state: Path, workspace: Path, environ: Mapping[str, str]) -> None:
        self._workspace, self._environ = workspace, environ
        self.folder = state / FOLDER / workspace_key(workspace)
        found = git_folder(workspace)
        self._checkout = found.checkout if found else workspace
        self.repository = found.path if found else workspace
        self.git = GitProgram(self.repository, environ)

    def refusal(self) -> str:
        """Return why members cannot have trees of their own here. Empty if they can."""
        found = git_folder(self._workspace)
        if found is None:
            return "this folder is not the top of a git repository"
        if found.path == self._workspace:
            return "this is a bare repository"
        if why := missing(self._environ):
            return why
        if self._head() is None:
            return "this repository has no commit yet"
        if (self._workspace / ".gitmodules").exists():
            return "this repository has submodules"
        if under_way := next((name for name in _UNDER_WAY if (self._checkout / name).exists()), None):
            return f"a merge or rebase is under way in this repository ({under_way})"
        return ""

    def isolation_of(self, joined: Joined, usual: Isolation) -> str | None:
        """Return `own` for a teammate that gets a tree of its own, else None. `usual`: what the settings say.

        Raises Refused if it should have one and cannot.
        """
        wanted = Isolation(joined.isolation or usual)
        if wanted is Isolation.SHARED or joined.agent_type is not AgentType.GENERAL:
            return None
        why = self.refusal()
        if why and wanted is Isolation.OWN:
            raise Refused(f"'{joined.name}' cannot have its own copy of the repository: {why}", "Leave isolation out.")
        return None if why else Isolation.OWN

    def _head(self) -> str | None:
        """Return the commit of the user's checkout. A worktree has a HEAD of its own."""
        return GitProgram(self._checkout, self._environ).commit_of("HEAD")

    def of(self, team: str, member: str) -> Path:
        """Return where the tree of a member is, or will be."""
        return self.folder / known_name(team, "team") / known_name(member)

    def create(self, team: str, member: str, commit: str) -> Path:
        """Return the tree of a member. If there is none, make one at this commit.

        A tree that exists is left as it is: it may have work that is not merged yet.
        """
        place = self.of(team, member)
        if place.is_dir():
            return place
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = place.parent / f"{_UNFINISHED}{member}"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        self._fill(unfinished, commit)
        os.rename(unfinished, place)
        return place

    def _fill(self, tree: Path, commit: str) -> None:
        (tree / ".git").mkdir()
        git = GitProgram(tree / ".git", self._environ)
        format_ = self.git.line("rev-parse", "--show-object-format")
        # Not by `clone`: that would copy every branch and tag, and nobody needs them here.
        git.run("init", "--quiet", "--template=", f"--object-format={format_}")
        (tree / ".git/objects/info/alternates").write_bytes(os.fsencode(self.repository / "objects") + b"\n")
        (tree / ".git/info").mkdir(exist_ok=True)
        (tree / ".git/info/exclude").write_text("/.teams/\n/.tasks/\n")
        if (self.repository / "shallow").exists():
            shutil.copyfile(self.repository / "shallow", tree / ".git/shallow")
        identity = self.git.identity()
        settings = {"user.name": identity["GIT_AUTHOR_NAME"], "user.email": identity["GIT_AUTHOR_EMAIL"]}
        settings |= {"remote.origin.url": str(self.repository), "gc.auto": "0", "core.bare": "false"}
        settings |= {key: value for key in _COPIED if (value := self.git.run("config", key, fails=(1,))[1].strip())}
        for key, value in settings.items():
            git.run("config", key, value)
        git.run("-c", "core.bare=false", f"--work-tree={tree}", "checkout", "--quiet", "--detach", commit, seconds=900)

    def trees(self) -> Iterator[Tree]:
        """Yield every tree of this workspace."""
        for team in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            for place in sorted(team.iterdir()):
                if not place.name.startswith(_UNFINISHED):
                    yield Tree(team.name, place.name, place)

    def remove(self, tree: Tree) -> None:
        """Remove a tree. If that is interrupted, the rest has a name of its own and is removed with the next one."""
        gone = tree.path.parent / f"{_UNFINISHED}{tree.member}"
        shutil.rmtree(gone, ignore_errors=True)
        os.rename(tree.path, gone)
        shutil.rmtree(gone)
