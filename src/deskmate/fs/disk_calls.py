"""The few system calls that write, in one object that tests replace.

The stores call nothing else to change a file.
"""

import fcntl
import os
import sys


class Files:
    """The real system calls."""

    def open(self, name: str, flags: int, folder: int) -> int:
        """Open `name` in the folder with that descriptor, never through a symlink. A new file is private."""
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600, dir_fd=folder)

    def write(self, fd: int, data: bytes) -> int:
        """Write with one call. Return how many bytes were written."""
        return os.write(fd, data)

    def rewrite(self, fd: int, data: bytes, offset: int) -> int:
        """Write the same bytes again where they are already. Return how many were written."""
        return os.pwrite(fd, data, offset)

    def sync(self, fd: int) -> None:
        """Return once the file's bytes would survive a power loss."""
        if sys.platform == "darwin":
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(fd)

    def sync_folder(self, folder: int) -> None:
        """Return once the folder's entries would survive a power loss."""
        os.fsync(folder)

    def rename(self, old: str, new: str, folder: int) -> None:
        """Replace `new` with `old` atomically."""
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)

    def move(self, old: str, source: int, new: str, target: int) -> None:
        """Move `old` from one folder to another as `new`, atomically."""
        os.rename(old, new, src_dir_fd=source, dst_dir_fd=target)
