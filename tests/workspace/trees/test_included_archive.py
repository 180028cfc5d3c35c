"""The archive of ignored files, as somebody else might make it."""

import io
import tarfile
from pathlib import Path

import pytest

from deskmate.errors import ToolError
from deskmate.workspace.trees.travel.included_archive import delete_included, unpack_included

pytestmark = pytest.mark.behaviour("travel-safe")


def archive(path: Path, *entries: tuple[str, bytes, bytes]) -> Path:
    """Make an archive of entries: name, kind, and content or target."""
    with tarfile.open(path, "w") as file:
        for name, kind, content in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, content.decode() if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            entry.size = len(content) if kind == tarfile.REGTYPE else 0
            file.addfile(entry, io.BytesIO(content))
    return path


@pytest.mark.parametrize(
    ("name", "kind", "content"),
    [
        ("../out.txt", tarfile.REGTYPE, b"x"),
        ("/tmp/out.txt", tarfile.REGTYPE, b"x"),
        ("a/../../out.txt", tarfile.REGTYPE, b"x"),
        (".git/hooks/post-checkout", tarfile.REGTYPE, b"x"),
        ("a/.GIT/config", tarfile.REGTYPE, b"x"),
        (".worktreeinclude", tarfile.REGTYPE, b"*"),
        ("link", tarfile.SYMTYPE, b"/etc"),
        ("link", tarfile.LNKTYPE, b"../out.txt"),
        ("pipe", tarfile.FIFOTYPE, b""),
        ("device", tarfile.CHRTYPE, b""),
        ("folder", tarfile.DIRTYPE, b""),
        ("", tarfile.REGTYPE, b"x"),
    ],
)
def test_only_plain_files_inside_of_the_folder_are_unpacked(
    tmp_path: Path, name: str, kind: bytes, content: bytes
) -> None:
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    made = archive(tmp_path / "files.tar", ("good.txt", tarfile.REGTYPE, b"good"), (name, kind, content))
    with pytest.raises(ToolError):
        unpack_included(made, root)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files.tar", "root"]
    assert [path.name for path in root.rglob("*") if path.name != "good.txt"] == [".git"]


def test_bytes_that_are_no_archive_are_refused(tmp_path: Path) -> None:
    (tmp_path / "files.tar").write_bytes(b"x" * 2000)
    (tmp_path / "root").mkdir()
    with pytest.raises(ToolError):
        unpack_included(tmp_path / "files.tar", tmp_path / "root")


def test_what_was_included_before_is_deleted_but_not_what_a_link_leads_to(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / ".git").mkdir(parents=True)
    (root / "old/below").mkdir(parents=True)
    outside.mkdir()
    (outside / "kept.txt").write_text("kept")
    (root / "link").symlink_to(outside)
    (root / ".worktreeinclude").write_text("*")
    delete_included(root)
    assert sorted(path.name for path in root.iterdir()) == [".git", ".worktreeinclude"]
    assert (outside / "kept.txt").exists()
