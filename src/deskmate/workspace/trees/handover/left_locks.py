"""What a killed hand-over leaves beside the user's index, and how it is removed.

The lock of a killed process is known by its second name, and by nobody holding it.
"""

import os
from contextlib import suppress
from pathlib import Path

from deskmate.fs.private_folder import try_lock

LOCK, OWN_LOCK = "index.lock", "deskmate-handover-lock-"
COPY, OLD = "deskmate-handover-index", "deskmate-handover-old-index"


def remove_left_locks(folder: Path) -> None:
    """Remove what a killed hand-over left in the folder of a checkout's index. That of a process that still runs stays.

    This runs no git, because a start does it before anything of a repository is trusted.
    """
    for own in folder.glob(f"{OWN_LOCK}*"):
        with suppress(FileNotFoundError), own.open("rb") as held:
            if not try_lock(held.fileno()):
                continue
            if os.path.exists(lock := folder / LOCK) and os.path.samefile(own, lock):
                lock.unlink()
            for name in (own.name, COPY, f"{COPY}.lock", OLD):
                (folder / name).unlink(missing_ok=True)
