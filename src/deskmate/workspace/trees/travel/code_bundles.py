"""Bundles of commits: made from a repository, and taken into one after every check.

They are git bundles, so `git bundle verify` and `git fetch` understand them. Deskmate reads their header itself and
gives git only the pack. So no ref and no setting of a bundle is ever used, and git connects to nothing.
"""

import hashlib
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from deskmate.core.travel.bundle_header import MOST_HEADER, header_bytes, read_header
from deskmate.core.travel.code_records import MOST_NAMED, BundleSent
from deskmate.core.travel.payload_chunks import MOST_SENT
from deskmate.errors import ToolError
from deskmate.fs.safe_files import regular_file
from deskmate.workspace.trees.filters.lfs_objects import has_large_files
from deskmate.workspace.trees.git_program import GitProgram
from deskmate.workspace.trees.team_branch import TEAM_REFS
from deskmate.workspace.trees.travel.taken_pack import take_pack
from deskmate.workspace.trees.travel.travelling_files import OutgoingFile

_PACK_SECONDS = 900.0


class CodeBundles:
    """The bundles of one repository. `outgoing`: a folder of this sender alone, for bundles that are not sent yet.

    `thin`: what is sent may have deltas on what the receiver has. It takes these only from the lead.
    """

    def __init__(self, git: GitProgram, outgoing: Path, *, thin: bool) -> None:
        self._git, self._outgoing, self._thin = git, outgoing, thin

    def known(self, commits: Collection[str]) -> frozenset[str]:
        """Return those of these commits that the repository has."""
        if not commits:
            return frozenset()
        found = self._git.data("cat-file", "--batch-check", given="".join(f"{one}\n" for one in commits).encode())
        return frozenset(line.split()[0] for line in found.decode().splitlines() if line.split()[1] == "commit")

    def ends(self) -> tuple[str, ...]:
        """Return the commits that say what a repository of Deskmate's own has: the latest ends of its branches."""
        words = ("--sort=-committerdate", f"--count={MOST_NAMED * 4}", "--format=%(objectname)")
        found = self._git.run("for-each-ref", *words, "refs/heads/deskmate/", f"{TEAM_REFS}/")[1].split()
        return tuple(dict.fromkeys(found))[:MOST_NAMED]

    def bases(self, tip: str, has: Collection[str]) -> tuple[str, ...]:
        """Return the latest commits before `tip` that a receiver with some commits has too."""
        common = set[str]()
        for one in sorted(self.known(has)):
            common.update(self._git.run("merge-base", one, tip, fails=(1,))[1].split())
        if len(common) < 2:
            return tuple(common)
        return tuple(sorted(self._git.run("merge-base", "--independent", *sorted(common))[1].split()))[:MOST_NAMED]

    def is_in(self, commit: str, other: str) -> bool:
        """Tell whether a commit is another one, or before it."""
        return self._git.run("merge-base", "--is-ancestor", commit, other, fails=(1,))[0] == 0

    def check_offer(self, commit: str, tip: str) -> None:
        """Raise ToolError if a commit has something that cannot be sent to the lead, and that the branch has not."""
        if has_large_files(self._git, commit, tip):
            raise ToolError(
                "Your commits have large files of Git LFS. Their content cannot be sent to the machine of the lead. "
                "Take them out of your commits with git rm --cached, or tell the lead."
            )

    def pack(self, tip: str, needs: Sequence[str]) -> OutgoingFile:
        """Return a bundle with everything that `tip` has and `needs` have not. Raises ToolError if it is too large.

        It is kept until `sent`, so a sender that was killed goes on with the same bytes.
        """
        if (self._git.folder / "shallow").exists():
            raise ToolError(
                "The code cannot be sent to another machine, because this repository is a shallow clone. Tell the "
                "user to run: git fetch --unshallow"
            )
        named = hashlib.sha256("\n".join([tip, *sorted(needs)]).encode()).hexdigest()
        path = self._outgoing / f"{named}.bundle"
        if not path.exists():
            self._write(path, tip, needs)
        if (size := path.stat().st_size) > MOST_SENT:
            self.sent()
            raise ToolError(
                f"The code to send has {size // 1_000_000:,} MB, and at most {MOST_SENT // 1_000_000} MB are sent to "
                "another machine at once. Commit fewer or smaller files. If the history of the repository itself is "
                "larger, this work must be done on the machine of the lead."
            )
        return OutgoingFile(path)

    def _write(self, path: Path, tip: str, needs: Sequence[str]) -> None:
        self._outgoing.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        revisions = "".join(f"{line}\n" for line in (tip, *(f"^{need}" for need in needs)))
        with unfinished.open("wb") as file:
            file.write(header_bytes(tip, needs))
            # Git writes through the descriptor, after what is in the file.
            file.flush()
            words = ("--no-replace-objects", "pack-objects", "-q", "--revs", "--stdout", "--delta-base-offset")
            thin = ["--thin"] if self._thin else []
            self._git.write(file, *words, *thin, text=revisions, seconds=_PACK_SECONDS)
        os.rename(unfinished, path)

    def sent(self) -> None:
        """Delete the bundles that were kept for sending."""
        for path in self._outgoing.glob("*") if self._outgoing.is_dir() else ():
            path.unlink(missing_ok=True)

    def take(self, path: Path, bundle: BundleSent, within: Collection[str] | None = None) -> None:
        """Take a bundle that arrived into the repository. No ref changes. Raises ToolError if anything is wrong.

        `within`: commits which those that the bundle needs must be in or before, and then git checks the form of each
        object, too. None for a bundle of the lead, whose user owns the code.
        """
        with regular_file(path) as fd:
            header = read_header(os.pread(fd, MOST_HEADER + 64, 0), os.fstat(fd).st_size)
            if (header.tip, set(header.needs)) != (bundle.tip, set(bundle.needs)):
                raise ToolError("The bundle has other commits than its record says.")
            if within is not None and not all(any(self.is_in(need, one) for one in within) for need in header.needs):
                raise ToolError("The bundle builds on commits that were never sent to its member.")
            with os.fdopen(os.dup(fd), "rb") as pack:
                os.lseek(pack.fileno(), header.size, os.SEEK_SET)
                take_pack(self._git, pack, header.tip, header.needs, strict=within is not None)
