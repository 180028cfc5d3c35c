"""Safe files: only regular files are read, whole files are written, and a lock keeps others out."""

import errno
import os
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from deskmate.fs.safe_files import (
    NotRegular,
    append_private,
    create_file,
    file_lock,
    open_folder,
    private_folder,
    read_end,
    read_regular,
    replace_file,
    small_file,
)


def make_link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(path))


SPECIAL = [make_link, make_loop, make_socket, os.mkfifo, os.mkdir]


@pytest.mark.parametrize("make", SPECIAL)
def test_nothing_but_a_regular_file_is_read_and_nobody_waits(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "it"
    make(path)
    with pytest.raises(NotRegular) as refused:
        read_regular(path, 100)
    assert (refused.value.errno == errno.ELOOP) == path.is_symlink()
    with open_folder(tmp_path) as folder, pytest.raises(NotRegular):
        read_regular("it", 100, folder)
    assert small_file(path) == b""


@pytest.mark.parametrize("size", [0, 1, 99, 100])
def test_a_file_that_fits_is_read_whole(tmp_path: Path, size: int) -> None:
    (tmp_path / "it").write_bytes(b"x" * size)
    assert read_regular(tmp_path / "it", 100) == b"x" * size


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(b"x" * 101)
    with pytest.raises(OSError, match="larger than 100 bytes") as refused:
        read_regular(tmp_path / "it", 100)
    assert refused.value.errno == errno.EFBIG


@pytest.mark.parametrize(("most", "end"), [(3, b"cde"), (5, b"abcde"), (9, b"abcde")])
def test_the_end_of_a_file_is_read(tmp_path: Path, most: int, end: bytes) -> None:
    (tmp_path / "it").write_bytes(b"abcde")
    assert read_end(tmp_path / "it", most) == end


def test_a_file_that_tells_no_size_is_bounded_too() -> None:
    assert read_regular("/proc/self/stat", 100_000).startswith(str(os.getpid()).encode())
    with pytest.raises(OSError, match="larger than 10 bytes"):
        read_regular("/proc/self/stat", 10)


def test_a_folder_is_not_opened_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    for opened in (open_folder(tmp_path / "link"), private_folder(tmp_path, "link"), private_folder(tmp_path / "link")):
        with pytest.raises(OSError), opened:  # noqa: PT011
            pass


def test_a_private_folder_is_closed_to_others(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o777)
    with private_folder(tmp_path, "open", "new") as folder:
        assert os.path.samestat(os.fstat(folder), (tmp_path / "open/new").stat())
    assert [stat.S_IMODE((tmp_path / path).stat().st_mode) for path in ("open", "open/new")] == [0o700, 0o700]


@pytest.mark.parametrize("make", [*SPECIAL[:-1], Path.touch])
def test_a_file_is_replaced_and_never_written_through(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "it")
    with open_folder(tmp_path) as folder:
        with pytest.raises(FileExistsError):
            create_file("it", folder=folder)
        replace_file(folder, "it", b"new")
    assert (tmp_path / "it").read_bytes() == b"new"
    assert (os.listdir(tmp_path), (tmp_path / "it").is_symlink()) == (["it"], False)


def test_what_is_appended_is_private_and_so_are_the_folders_made_for_it(tmp_path: Path) -> None:
    file = tmp_path / "new" / "it"
    for data in (b"one\n", b"two\n"):
        append_private(file, data)
    assert file.read_bytes() == b"one\ntwo\n"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)] == [0o600, 0o700]


def test_a_file_that_others_may_read_is_made_private_before_anything_is_appended(tmp_path: Path) -> None:
    (tmp_path / "it").touch(mode=0o644)
    append_private(tmp_path / "it", b"one")
    assert stat.S_IMODE((tmp_path / "it").stat().st_mode) == 0o600


@pytest.mark.parametrize("make", SPECIAL)
def test_nothing_is_appended_to_anything_but_a_file(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "it")
    with pytest.raises(NotRegular):
        append_private(tmp_path / "it", b"one")


def test_a_replacement_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "it").mkdir()
    with open_folder(tmp_path) as folder, pytest.raises(IsADirectoryError):
        replace_file(folder, "it", b"new")
    assert os.listdir(tmp_path) == ["it"]


def test_a_lock_keeps_others_out_until_it_is_released(tmp_path: Path) -> None:
    order: list[str] = []

    def second() -> None:
        with open_folder(tmp_path) as folder, file_lock(folder, "lock"):
            order.append("second")

    with open_folder(tmp_path) as folder:
        with file_lock(folder, "lock"):
            other = threading.Thread(target=second)
            other.start()
            order.append("first")
        other.join()
    assert order == ["first", "second"]


@pytest.mark.parametrize("make", SPECIAL)
def test_a_lock_is_never_taken_on_anything_but_a_file(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "lock")
    with open_folder(tmp_path) as folder, pytest.raises(NotRegular), file_lock(folder, "lock"):
        pass
