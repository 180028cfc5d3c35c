"""Git as Deskmate itself runs it.

It never looks for a repository: the folder of one is given. It runs no hook and no file-system monitor, fetches
nothing, and it is not run in a folder that a member can write to. What a member's tree has to say is read by git inside
that member's sandbox.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import IO

from deskmate.errors import ToolError
from deskmate.workspace.trees.git_settings import GitSettings, read_settings

SECONDS = 120.0
# No repository has a hook or a monitor that git would start with these. Nothing is collected while trees share objects.
SAFE = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "gc.auto=0"),
    # How many milliseconds git waits for the lock of a ref. Others hold one for a few.
    *("-c", "core.filesRefLockTimeout=1000"),
    *("-c", "maintenance.auto=false"),
    *("-c", "commit.gpgSign=false"),
    *("-c", "submodule.recurse=false"),
    # With it, a merge runs the filters that the repository names.
    *("-c", "merge.renormalize=false"),
    *("-c", "advice.detachedHead=false"),
)
# The same for the shell of a sandbox.
SAFE_GIT = shlex.join(["git", *SAFE])
# What git does by itself with a file that has no driver. Any error is a conflict.
_TEXT_DRIVER = "git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B || exit 1"
_DRIVER = re.compile(r"merge\..*\.driver", re.DOTALL)
# Who commits if the user has not told git a name.
NAME, EMAIL = "Deskmate", "deskmate@localhost"
_OLDEST = (2, 34)
# The first version that computes a merge without a checkout.
_MERGES_TREES = (2, 38)


class GitFailed(ToolError):
    """Git ended with an error."""


class GitProgram:
    """Git on the repository whose folder is `folder`."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.folder = folder
        kept = {key: value for key, value in environ.items() if not key.startswith("GIT_")}
        # Without a protocol, git cannot fetch a missing object. It would run what the repository names for that.
        alone = {"GIT_ALLOW_PROTOCOL": "", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
        self._environ = {**kept, "LC_ALL": "C", **alone}

    def run(
        self,
        *words: str,
        stdin: IO[bytes] | int | None = None,
        text: str | None = None,
        fails: tuple[int, ...] = (),
        seconds: float = SECONDS,
        cwd: Path | None = None,
    ) -> tuple[int, str]:
        """Run git and return its exit status and what it printed. Raises GitFailed unless that is 0 or in `fails`."""
        given = text.encode(errors="surrogateescape") if text is not None else None
        status, printed = self._run(words, stdin, given, fails, seconds, cwd)
        return status, printed.decode(errors="replace")

    def data(
        self,
        *words: str,
        given: bytes | None = None,
        fails: tuple[int, ...] = (),
        seconds: float = SECONDS,
        cwd: Path | None = None,
    ) -> bytes:
        """Run git and return what it printed, as it is. `given`: what it reads. Raises GitFailed."""
        return self._run(words, given=given, fails=fails, seconds=seconds, cwd=cwd)[1]

    def write(self, file: IO[bytes], *words: str, text: str, seconds: float = SECONDS) -> None:
        """Let git write what it prints into an open file. `text`: what it reads. Raises GitFailed."""
        self._run(words, given=text.encode(), seconds=seconds, printed=file)

    def _run(
        self,
        words: tuple[str, ...],
        stdin: IO[bytes] | int | None = None,
        given: bytes | None = None,
        fails: tuple[int, ...] = (),
        seconds: float = SECONDS,
        cwd: Path | None = None,
        printed: IO[bytes] | None = None,
    ) -> tuple[int, bytes]:
        command = ["git", *SAFE, "-c", "core.bare=true", f"--git-dir={self.folder}", *words]
        try:
            ran = subprocess.run(
                command,
                cwd=cwd or self.folder,
                env=self._environ,
                input=given,
                stdin=(stdin or subprocess.DEVNULL) if given is None else None,
                stdout=printed or subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise GitFailed(f"git {_subcommand(words)} took more than {seconds:g} s") from error
        except OSError as error:
            raise GitFailed(f"git could not be started: {error.strerror}") from error
        if ran.returncode and ran.returncode not in fails:
            said = os.fsdecode(ran.stderr).strip()[-2000:]
            raise GitFailed(f"git {_subcommand(words)} failed: {said or ran.returncode}")
        return ran.returncode, ran.stdout or b""

    def line(self, *words: str) -> str:
        """Run git and return the one line that it prints."""
        return self.run(*words)[1].strip()

    def commit_of(self, revision: str) -> str | None:
        """Return the commit of a revision, or None if there is none."""
        status, printed = self.run("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", fails=(1, 128))
        return printed.strip() if status == 0 else None

    @cached_property
    def merges_trees(self) -> bool:
        """Whether this git computes a merge without a checkout: `merge-tree --write-tree`."""
        return (version(self._environ) or ()) >= _MERGES_TREES

    def settings(self) -> GitSettings:
        """Return all settings that apply here, as they are now."""
        return read_settings(os.fsdecode(self.data("config", "--list", "--show-scope", "-z")))

    def identity(self) -> dict[str, str]:
        """Return the variables that say who commits: as git knows the user, or Deskmate."""
        return identity_of(self.settings())

    def with_index(self, index: Path) -> "GitProgram":
        """Return git that uses another file as its index."""
        return self._with({"GIT_INDEX_FILE": str(index)})

    def with_objects(self, folder: Path) -> "GitProgram":
        """Return git that writes objects into another folder, and reads those of the repository too."""
        return self._with(
            {
                "GIT_OBJECT_DIRECTORY": str(folder),
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{_escaped(self.folder)}/objects"',
            }
        )

    def signing_as(self, identity: Mapping[str, str]) -> "GitProgram":
        """Return git that commits as somebody."""
        return self._with(identity)

    def merging_as_text(self) -> "GitProgram":
        """Return git that merges all files as text, instead of running the merge drivers of the repository."""
        drivers = [one for one in self.settings() if _DRIVER.fullmatch(one.key)]
        # Those in the user's own configuration stay.
        own = {one.key: _TEXT_DRIVER for one in drivers if one.scope in ("local", "worktree")}
        return self.overriding(own) if own else self

    def overriding(self, settings: Mapping[str, str]) -> "GitProgram":
        """Return git with other settings than those of the repository."""
        pairs = dict[str, str]()
        for number, (key, value) in enumerate(sorted(settings.items())):
            pairs |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return self._with({"GIT_CONFIG_COUNT": str(len(settings)), **pairs})

    def _with(self, variables: Mapping[str, str]) -> "GitProgram":
        other = copy(self)
        other._environ = {**self._environ, **variables}
        return other


def _escaped(path: Path) -> str:
    """Return a path as git reads it between quotes."""
    return str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _subcommand(words: tuple[str, ...]) -> str:
    """Return the command among words, after options of git itself."""
    pairs = zip(("", *words), words, strict=False)
    return next((word for before, word in pairs if before != "-c" and not word.startswith("-")), "")


def identity_of(settings: GitSettings) -> dict[str, str]:
    """Return the variables that say who commits with these settings: the user, or Deskmate."""
    name, email = settings.last("user.name").strip(), settings.last("user.email").strip()
    name, email = (name, email) if name and email else (NAME, EMAIL)
    roles = ("AUTHOR", "COMMITTER")
    return {f"GIT_{role}_{key}": value for role in roles for key, value in (("NAME", name), ("EMAIL", email))}


def version(environ: Mapping[str, str]) -> tuple[int, ...] | None:
    """Return the version of git on this machine, or None if there is none."""
    try:
        ran = subprocess.run(["git", "--version"], env=dict(environ), capture_output=True, timeout=SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    numbers = ran.stdout.decode(errors="replace").split()[2:3] or [""]
    return tuple(int(part) for part in numbers[0].split(".")[:3] if part.isdigit())


def missing(environ: Mapping[str, str]) -> str:
    """Return why git cannot be used here. Empty if it can."""
    found = version(environ)
    if found is None:
        return "git is not installed"
    wanted = ".".join(map(str, _OLDEST))
    return "" if found >= _OLDEST else f"git {'.'.join(map(str, found))} is too old: {wanted} is needed"
