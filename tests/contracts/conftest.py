"""The stores are tested on a disk."""

from tests.disk_folder import tmp_path

__all__ = ["tmp_path"]
