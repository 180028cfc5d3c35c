"""What a member keeps outside its context, and the names of our own folders in a workspace."""

import re
from pathlib import Path

from deskmate.core.log.names import known_name
from deskmate.errors import BadName, ToolError
from deskmate.fs.safe_files import new_file, private_folder, replace_file
from deskmate.workspace.paths import Place, telling

TEAMS, TASKS, BLOBS = ".teams", ".tasks", "blobs"
# What follows the member's name: the numbers of a call, a background id, or a word with a suffix.
_BLOB = re.compile(r"(?:(?:-[0-9]{1,16}-[0-9]{1,6}){1,9}|-[a-z][0-9a-f]{6}|-[a-z]{1,32}(?=\.))(?:\.[a-z]{1,9})?")


def own_blob(name: str, member: str) -> str:
    """Return the name of a blob that `member` may keep and read. Raises BadName for any other name."""
    if not is_own_blob(name, member):
        raise BadName(f"{ascii(name)[:80]} is not a blob of '{member}'", f"Name it like {member}-12-0.txt.")
    return name


def is_own_blob(name: str, member: str) -> bool:
    """Tell whether a blob belongs to a member. A blob of `bob-x` does not belong to `bob`."""
    return name.startswith(member) and _BLOB.fullmatch(name, len(member)) is not None


class Blobs:
    """The blobs of one member. `records`: the workspace that has the records of the team.

    A member with a tree of its own reads them by absolute paths, because its tree has no records. `shown` says how.
    """

    def __init__(self, records: Path, root: Path, team: str, member: str) -> None:
        self._records, self._member = records, member
        self.parts = (TEAMS, known_name(team, "team"), BLOBS)
        self.folder = records.joinpath(*self.parts)
        self._shown = "/".join(self.parts) if records == root else str(self.folder)

    def base(self, path: str, root: Path) -> Path:
        """Return the folder in which to resolve a path: the records if it names a blob, otherwise the root."""
        # Only the plain path of a blob: with `..` in it, it could lead to any file beside the records.
        is_blob = Path(path).parent == self.folder and ".." not in Path(path).parts
        return self._records if is_blob or Path(path) == self.folder else root

    def shown(self, name: str) -> str:
        """Return the path by which the member can read a blob."""
        return f"{self._shown}/{name}"

    def own(self, name: str) -> str:
        """Return the name of a blob of this member. Raises BadName for any other name."""
        return own_blob(name, self._member)

    def has(self, place: Place) -> bool:
        """Tell whether a place is a blob of this member."""
        return self.is_folder(place, above=1) and is_own_blob(place.parts[-1], self._member)

    def is_folder(self, place: Place, *, above: int = 0) -> bool:
        """Tell whether a place, or what is that far above it, is the folder of the blobs."""
        parts = place.parts[: len(place.parts) - above]
        return place.root == self._records and parts == self.parts

    def names(self, names: list[str]) -> list[str]:
        """Return those of these names that are blobs of this member."""
        return [name for name in names if is_own_blob(name, self._member)]

    def keep(self, name: str, data: bytes) -> None:
        """Keep bytes under a name. Raises ToolError if they cannot be written."""
        with telling(self.shown(name)), private_folder(self._records, *self.parts) as folder:
            replace_file(folder, name, data)

    def open(self, name: str) -> int:
        """Return a descriptor of a new blob."""
        with private_folder(self._records, *self.parts) as folder:
            return new_file(folder, name)

    def refusal(self, place: Place) -> ToolError:
        """Return the error for a path that is not a blob of this member."""
        return ToolError(f"{place.path} is not a blob of '{self._member}'. Use the path exactly as it was given.")
