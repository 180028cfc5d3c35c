"""The few system calls that write, in one object that tests replace.

`stream_file`, `folders`, `projections` and `archive` above call nothing else to change a file.
"""

import fcntl
import os
import sys


class Files:
    """Write for real."""

    def open(self, name: str, flags: int, folder: int) -> int:
        """Open `name` in the folder with that descriptor, never through a symlink; create it private."""
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600, dir_fd=folder)

    def write(self, fd: int, data: bytes) -> int:
        """Append by one call; return how much was taken."""
        return os.write(fd, data)

    def rewrite(self, fd: int, data: bytes, offset: int) -> int:
        """Put the same bytes where they stand already; return how much was taken."""
        return os.pwrite(fd, data, offset)

    def sync(self, fd: int) -> None:
        """Return once the file's bytes outlive a power loss."""
        if sys.platform == "darwin":
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(fd)

    def sync_folder(self, folder: int) -> None:
        """Return once the folder's entries outlive a power loss."""
        os.fsync(folder)

    def rename(self, old: str, new: str, folder: int) -> None:
        """Put `old` in the place of `new`, whole."""
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)

    def move(self, old: str, source: int, new: str, target: int) -> None:
        """Put `old` of one folder into another as `new`, whole."""
        os.rename(old, new, src_dir_fd=source, dst_dir_fd=target)
