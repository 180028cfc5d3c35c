"""The file that a write would replace.

`questions` above reads it beside the event loop; `asked` shows the difference.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from deskmate.app import read_regular

_COMPARED_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class FilePreview:
    """What is at a path, in words, and its text if that can be compared."""

    words: str
    text: str = ""


def standing_at(workspace: Path, path: str) -> FilePreview:
    """Return what is at a path, seen from the workspace. Nothing but a plain file is ever opened."""
    try:
        place = workspace / path
        found = place.stat()
        if not stat.S_ISREG(found.st_mode):
            return FilePreview("there is something else than a file")
        if found.st_size > _COMPARED_BYTES:
            return FilePreview(f"replaces a file of {found.st_size:,} bytes, too long to be compared")
        # An agent may have replaced it since: only an ordinary file is opened, and the call never blocks.
        return FilePreview("replaces the current file", read_regular(os.path.realpath(place), _COMPARED_BYTES).decode())
    except FileNotFoundError:
        return FilePreview("a new file")
    except UnicodeDecodeError:
        return FilePreview(f"replaces a file of {found.st_size:,} bytes that is no text")
    except (OSError, ValueError) as error:
        # A path that cannot be one raises ValueError.
        why = error.strerror if isinstance(error, OSError) else str(error)
        return FilePreview(f"the current file cannot be read: {why}")
