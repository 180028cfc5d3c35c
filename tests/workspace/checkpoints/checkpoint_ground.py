"""A workspace in git or outside of it, filled with files that a test describes, and its checkpoints."""

import os
import shutil
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from deskmate.core.policy.redaction import SHAPES, Redaction
from deskmate.ports import Ran
from deskmate.workspace.checkpoints.choice import checkpoints_of
from deskmate.workspace.checkpoints.points import Checkpoints, Saved, restore_plan

# By path: the mode and content of a file, or the target of a symlink.
Files: TypeAlias = Mapping[str, tuple[int, bytes] | str]


@dataclass
class Ground:
    """A workspace. `before`: shell commands that run before those of the checkpoints. `redaction`: finds secrets."""

    folder: Path
    in_git: bool
    before: str = ""
    redaction: Redaction = SHAPES
    ran: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True)
        if self.in_git:
            subprocess.run(["git", "init", "-q", str(self.root)], check=True)

    @property
    def root(self) -> Path:
        return self.folder / "ws"

    @property
    def checkpoints(self) -> Checkpoints:
        return self.of_team("main")

    def of_team(self, team: str) -> Checkpoints:
        """Return the checkpoints of a team."""
        return checkpoints_of(self.root, team, self.folder / "state", os.environ, self._run, self.redaction)

    async def _run(self, command: str) -> Ran:
        self.ran.append(command)
        ran = subprocess.run(
            ["bash", "-c", f"{self.before}\n{command}"], cwd=self.root, capture_output=True, text=True, check=False
        )
        return Ran(ran.returncode, ran.stdout + ran.stderr)

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=Ursula", "-c", "user.email=ursula@example.org")
        return subprocess.run(["git", *who, *words], cwd=self.root, check=True, capture_output=True, text=True).stdout

    def fill(self, files: Files) -> None:
        """Replace everything in the workspace by these files."""
        for entry in self.root.iterdir():
            if entry.name != ".git":
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        for path, file in files.items():
            place = self.root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(file, str):
                place.symlink_to(file)
            else:
                place.write_bytes(file[1])
                place.chmod(file[0])

    def files(self) -> Files:
        """Return the files of the workspace."""
        found: dict[str, tuple[int, bytes] | str] = {}
        for top, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name != ".git"]
            for place in (Path(top, name) for name in (*names, *folders)):
                if place.is_symlink():
                    found[str(place.relative_to(self.root))] = os.readlink(place)
                elif place.is_file():
                    mode = stat.S_IMODE(place.stat().st_mode)
                    found[str(place.relative_to(self.root))] = (mode, place.read_bytes())
        return found

    async def bring_back(self, saved: Saved) -> None:
        """Restore everything that differs and was not left out."""
        checkpoints, now = self.checkpoints, await self.checkpoints.save()
        left_out = {*saved.left_out, *saved.secret, *now.left_out, *now.secret}
        plan = restore_plan(checkpoints.changes(saved.tree, now.tree), left_out, lambda _: True)
        await checkpoints.restore(saved.tree, plan.write, plan.remove)

    def kept_bytes(self) -> bytes:
        """Return everything that checkpoints have written, uncompressed."""
        texts = [file.read_bytes() for file in (self.folder / "state").rglob("*") if file.is_file()]
        if self.in_git:
            git = subprocess.run(
                ["git", "cat-file", "--batch-all-objects", "--batch"], cwd=self.root, check=True, capture_output=True
            )
            texts += [git.stdout, *(file.read_bytes() for file in (self.root / ".git").iterdir() if file.is_file())]
        return b"\n".join(texts)
