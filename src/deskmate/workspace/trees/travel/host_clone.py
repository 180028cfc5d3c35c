"""The repository that another machine keeps for the trees of its members.

It is in Deskmate's own folder, and has the branches of teams and the ignored files that the lead's user lists. Nobody
works in it. The trees of members are made from it as from a repository of the user. All processes on this machine that
run members in the same workspace share it, so they take turns.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from anyio import sleep, to_thread

from deskmate.core.travel.code_records import Payload
from deskmate.errors import ToolError
from deskmate.fs.private_folder import try_lock
from deskmate.fs.safe_files import append_private
from deskmate.workspace.paths import workspace_key
from deskmate.workspace.trees.git_program import GitProgram, missing
from deskmate.workspace.trees.ref_locks import change_refs
from deskmate.workspace.trees.travel.included_archive import delete_included, unpack_included
from deskmate.workspace.trees.tree_places import INCLUDE, TreePlaces

FOLDER = "clones"
_LOOK_SECONDS = 0.1
# Every file beside the repository came from the lead and is ignored there, so every tree gets a copy.
_EVERY = f"*\n!/{INCLUDE}\n"
_FORMATS = {40: "sha1", 64: "sha256"}


class HostClone:
    """The clone for one workspace of this machine. `state`: the folder of Deskmate's own data."""

    def __init__(self, state: Path, workspace: Path, environ: Mapping[str, str]) -> None:
        self._state, self._environ = state, environ
        self.folder = state / FOLDER / workspace_key(workspace)
        self.root = self.folder / "work"
        self.git = GitProgram(self.root / ".git", environ)

    @property
    def exists(self) -> bool:
        """Whether there is a repository."""
        return (self.root / ".git/HEAD").is_file()

    def places(self) -> TreePlaces:
        """Return the trees that are made from the clone."""
        return TreePlaces(self._state, self.root, self._environ)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until no other process changes the clone, then keep others out."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = self.folder / ".lock"
        await to_thread.run_sync(append_private, lock, b"")
        with lock.open("rb") as file:
            while True:
                if try_lock(file.fileno()):
                    break
                await sleep(_LOOK_SECONDS)
            yield

    def begin(self, team: str, tip: str) -> None:
        """Make the repository if it is missing, for commits like this one. Raises ToolError if it cannot be used."""
        if why := missing(self._environ):
            raise ToolError(f"This machine cannot have a copy of the repository: {why}.")
        format_ = _FORMATS[len(tip)]
        if not self.exists:
            (self.root / ".git").mkdir(mode=0o700, parents=True, exist_ok=True)
            self.git.run("init", "--quiet", "--template=", f"--object-format={format_}")
        elif self.git.line("rev-parse", "--show-object-format") != format_:
            raise ToolError(f"This machine has another repository in {self.root}. Ask the user to delete that folder.")
        (self.root / ".git/info").mkdir(exist_ok=True)
        (self.root / ".git/info/exclude").write_text("*\n")
        (self.root / INCLUDE).write_text(_EVERY)
        # A tree needs a repository whose HEAD names a commit. Teams share the clone, so the last one counts.
        self.git.run("symbolic-ref", "HEAD", f"refs/heads/deskmate/{team}")

    def move_branch(self, team: str, tip: str) -> None:
        """Let the branch of a team be at a commit, unless it is already further."""
        ref = f"refs/heads/deskmate/{team}"
        now = self.git.commit_of(ref)
        if now is None or self.git.run("merge-base", "--is-ancestor", tip, now, fails=(1,))[0] == 1:
            change_refs(self.git, ref, tip)

    def includes(self, files: Payload | None) -> bool:
        """Tell whether new trees get exactly the ignored files of an archive, or none without one."""
        return self._mark.read_text() == _name(files) if self._mark.exists() else files is None

    def include(self, files: Payload | None, archive: Path | None) -> None:
        """Let new trees get the ignored files of an archive, or none without one."""
        self._mark.write_text("unfinished")
        delete_included(self.root)
        if archive:
            unpack_included(archive, self.root)
        self._mark.write_text(_name(files))

    @property
    def _mark(self) -> Path:
        return self.root / ".git/deskmate-included"


def _name(files: Payload | None) -> str:
    return files.sha256 if files else "none"
