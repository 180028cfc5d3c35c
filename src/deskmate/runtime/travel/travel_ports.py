"""What code on its way needs of git and of the disk. Every function blocks, so call it in a thread."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

from deskmate.core.travel.code_records import BundleSent, Payload
from deskmate.core.travel.payload_chunks import ChunkPosition


class Outgoing(Protocol):
    """A file to send."""

    @property
    def payload(self) -> Payload:
        """Its hash and its size."""

    def read(self, start: int, size: int) -> bytes:
        """Return some of its bytes."""


class Incoming(Protocol):
    """A file that arrives in pieces, and is kept meanwhile."""

    @property
    def payload(self) -> Payload:
        """Its hash and its size."""

    @property
    def path(self) -> Path:
        """Where it is."""

    def position(self) -> ChunkPosition:
        """Return how much has arrived."""

    def add(self, pieces: Sequence[bytes], at: ChunkPosition) -> None:
        """Add what comes next, and note the position after it."""

    def check(self) -> None:
        """Raise ToolError unless it is complete and what its hash says."""

    def discard(self) -> None:
        """Delete it."""


class Bundles(Protocol):
    """The bundles of one repository. Raises ToolError if git fails."""

    def known(self, commits: Collection[str]) -> frozenset[str]:
        """Return those of these commits that the repository has."""

    def bases(self, tip: str, has: Collection[str]) -> tuple[str, ...]:
        """Return the latest commits before `tip` that a receiver with some commits has too."""

    def is_in(self, commit: str, other: str) -> bool:
        """Tell whether a commit is another one, or before it."""

    def check_offer(self, commit: str, tip: str) -> None:
        """Raise ToolError if a commit has something that cannot be sent to the lead, and that `tip` has not."""

    def pack(self, tip: str, needs: Sequence[str]) -> Outgoing:
        """Return a bundle with everything that `tip` has and `needs` have not. It is kept until `sent`."""

    def sent(self) -> None:
        """Delete the bundles that were kept for sending."""

    def take(self, path: Path, bundle: BundleSent, within: Collection[str] | None = None) -> None:
        """Take a bundle into the repository. `within`: what it may build on, None if its sender is trusted."""
