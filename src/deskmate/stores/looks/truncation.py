"""Signs that a file of records once was longer.

Writers leave marks in the lock file, and the readable copies of roster and board show records. Gather this evidence
before reading the file. Each sign is written after the records it shows, so a running team is never reported as cut.
"""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import field

from deskmate.core.log.names import BOARD, ROSTER
from deskmate.core.log.records import RECORD_CAP, Damaged, Item, Record
from deskmate.core.values import frozen
from deskmate.errors import StoreCorrupt
from deskmate.fs.private_folder import PrivateFolder
from deskmate.stores.engines.engine import Damage
from deskmate.stores.line_format import unseal
from deskmate.stores.projections import CONFIG
from deskmate.stores.stream_file import StreamFile

_TASK_FILE = re.compile(r"([1-9][0-9]{0,8})\.json")
_LONGEST = RECORD_CAP + 1024
# Far more than any copy has. A longer file is cut, is no JSON any more, and shows nothing.
_MOST_OF_A_COPY = 64_000_000


@frozen
class Evidence:
    """What was once in a file. `marks`: the highest synced number, by inode. `record`, `task`: what copies show."""

    marks: dict[int, int] = field(default_factory=dict)
    record: int = 0
    task: int = 0


def evidence_of(stream: str, folder: PrivateFolder, name: str) -> Evidence:
    """Return what shows how long a stream was. Raises OSError or StoreCorrupt if the lock file cannot be read."""
    return Evidence(
        marks=folder.marks(name),
        record=_shown(folder, CONFIG, "roster", name=folder.path.name) if stream == ROSTER else 0,
        task=_last_task(folder) if stream == BOARD else 0,
    )


def missing_end(evidence: Evidence, file: StreamFile) -> int:
    """Return the number of a record that was written but is missing at the end of a file, 0 if none is known."""
    inode, tail = _end_of(file.folder, file.name)
    last, known = max(file.highest, tail), evidence.marks.get(inode, 0)
    if not last:
        # The file was removed, or the folder was copied and has other inodes. A new file has nothing to do with them.
        known = max(evidence.marks.values(), default=0)
    written = max(known, evidence.record)
    return written if written > last else 0


def cut_of(evidence: Evidence, file: StreamFile, items: Sequence[Item]) -> Damage | None:
    """Return how a file ends too early, or None if nothing shows that it was cut."""
    where = file.folder.path / file.name
    if written := missing_end(evidence, file):
        words = f"{where} ends before record {written}, which was written. Restore the file from a copy if you have one"
        return Damage(words, "short")
    # If a record is known to be lost, it may be the one that created the task, and the loss may be accepted.
    whole = not any(isinstance(item, Damaged) and item.kind == "lost" for item in items)
    if whole and evidence.task and not _has_task(items, evidence.task):
        task = evidence.task
        return Damage(
            f"{where} has no record of task #{task}, but {task}.json is there. "
            f"Restore {file.name} from a copy, or delete {task}.json"
        )
    return None


def _shown(folder: PrivateFolder, copy: str, key: str, **others: str) -> int:
    """Return a number that a readable copy shows, or 0. It must also show `others` as given."""
    # Anybody may delete or spoil a copy. That does no harm.
    try:
        with folder.reader(copy) as file:
            found = json.loads(file.read(_MOST_OF_A_COPY))
    except (OSError, ValueError, RecursionError, StoreCorrupt):
        return 0
    if not isinstance(found, dict) or not others.items() <= found.items():
        return 0
    return found[key] if type(found.get(key)) is int else 0


def _last_task(folder: PrivateFolder) -> int:
    """Return the highest task number that a file shows."""
    matches = map(_TASK_FILE.fullmatch, os.listdir(folder.fd))
    numbers = sorted((int(match[1]) for match in matches if match), reverse=True)
    # A file that somebody else put there shows nothing.
    return next((number for number in numbers if _shown(folder, f"{number}.json", "id") == number), 0)


def _has_task(items: Sequence[Item], task: int) -> bool:
    return any(isinstance(item, Record) and item.body.get("task") == task for item in items)


def _end_of(folder: PrivateFolder, name: str) -> tuple[int, int]:
    """Return a file's inode, and the number of a last line that lacks only its newline, which the next writer adds."""
    try:
        with folder.reader(name) as file:
            found = os.fstat(file.fileno())
            end = os.pread(file.fileno(), _LONGEST, max(0, found.st_size - _LONGEST))
    except FileNotFoundError:
        return 0, 0
    return found.st_ino, unseal(end.rpartition(b"\n")[2]) or 0
