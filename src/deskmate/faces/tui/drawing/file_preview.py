"""The file that a call would change.

Reading blocks, so the question panel does it in a thread. `question_details` shows the difference.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from deskmate.fs.safe_files import read_regular

_COMPARED_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class FilePreview:
    """A description of what is at a path, and its text if it can be compared."""

    words: str
    text: str = ""


def standing_at(workspace: Path, path: str) -> FilePreview:
    """Return what is at a path relative to the workspace. Only regular files are opened."""
    try:
        place = workspace / path
        found = place.stat()
        if not stat.S_ISREG(found.st_mode):
            return FilePreview("the path exists and is not a file")
        if found.st_size > _COMPARED_BYTES:
            return FilePreview(f"replaces a file of {found.st_size:,} bytes, too large to compare")
        # An agent may have replaced it since. This opens only a regular file, and never blocks.
        return FilePreview("replaces the current file", read_regular(os.path.realpath(place), _COMPARED_BYTES).decode())
    except FileNotFoundError:
        return FilePreview("creates a new file")
    except UnicodeDecodeError:
        return FilePreview(f"replaces a file of {found.st_size:,} bytes that is not text")
    except OSError as error:
        return FilePreview(f"the current file cannot be read: {error.strerror}")
    except ValueError:
        # The words of Python differ from version to version.
        return FilePreview("the current file cannot be read: its path is invalid")
