"""Odd files get through a tree, the queue and the hand-over as they are."""

import os
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from deskmate.core.agent.merge_texts import MergeConflict
from deskmate.workspace.trees.handover.branch_handover import HandedOver, NotHandedOver
from tests.workspace.trees.odd.round_trip import RoundTrip, commit, git, new, status

pytestmark = pytest.mark.behaviour("worktree")
NAMES = (
    b"\xff\xfe.txt",
    b"new\nline",
    b"tab\there",
    b'quote"s',
    b"sp ace ",
    b"-dash",
    b":colon",
    b":(top)magic",
    b"glob*[x]?",
    b"back\\slash",
    "üñï".encode(),
    "u\u0308".encode(),
    b"$(touch x)",
    b"\xf0\x9f\x98\x80",
    b"CON",
    b".gitignore.d/x",
    b"a" * 255,
)


def all_files(root: Path) -> dict[bytes, bytes]:
    top = os.fsencode(root)
    found = dict[bytes, bytes]()
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name not in (b".git", b".teams", b".tasks")]
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, top)] = file.read()
    return found


def test_odd_names_get_through(tmp_path: Path) -> None:
    root = new(tmp_path / "work", {os.fsdecode(b"\xe9.txt"): b"latin\n"})

    def write(tree: Path) -> None:
        for name in NAMES:
            path = os.path.join(os.fsencode(tree), name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(name)

    assert isinstance(RoundTrip(root).work(write), HandedOver)
    assert all_files(root) == {b"\xe9.txt": b"latin\n"} | {name: name for name in NAMES}
    assert status(root) == ""


def test_names_that_differ_only_in_case_are_different_files(tmp_path: Path) -> None:
    root = new(tmp_path / "work", {"A.txt": b"1\n", "a.txt": b"2\n", "Dir/x": b"", "dir/x": b""})
    assert isinstance(RoundTrip(root).work("echo 3 > A.txt; echo 4 > a.txt; echo 5 > Dir/x"), HandedOver)
    assert all_files(root) == {b"A.txt": b"3\n", b"a.txt": b"4\n", b"Dir/x": b"5\n", b"dir/x": b""}


def test_a_rename_that_changes_only_the_case_gets_through_on_a_disk_that_takes_both_names_for_one(
    tmp_path: Path,
) -> None:
    root = new(tmp_path / "work", {"Readme.txt": b"one\n"})
    git(root, "config", "core.ignoreCase", "true")
    trip = RoundTrip(root)
    assert isinstance(anyio.run(trip.merge, "git mv Readme.txt README.txt"), str)
    # As on such a disk, the new name is there before git writes it, and is the same file.
    os.link(root / "Readme.txt", root / "README.txt")
    assert isinstance(trip.hand_over(), HandedOver)
    assert [path.name for path in root.glob("*.txt")] == ["README.txt"]
    assert status(root) == ""


def test_kinds_of_files_get_through(tmp_path: Path) -> None:
    files = {"run": b"#!/bin/sh\n", "plain": b"x\n", "folder/a": b"a\n", "folder/b": b"b\n", "binary": b"\0\1"}
    root = new(tmp_path / "work", files)
    (root / "link").symlink_to("plain")
    commit(root)
    steps = (
        "chmod +x plain",
        "ln -sfn folder link",
        "git mv folder moved",
        "ln -s nowhere dangling",
        "mkdir empty",
        "printf '\\0\\2' > binary",
        "rm run && mkdir run && echo inside > run/inside",
    )
    assert isinstance(RoundTrip(root).work(" && ".join(steps)), HandedOver)
    assert (root / "plain").stat().st_mode & 0o111 == 0o111
    assert (os.readlink(root / "link"), os.readlink(root / "dangling")) == ("folder", "nowhere")
    assert (root / "binary").read_bytes() == b"\0\2"
    assert sorted(path.name for path in root.iterdir() if not path.name.startswith(".")) == [
        *("binary", "dangling", "link", "moved", "plain", "run")
    ]
    assert (root / "run/inside").read_text() == "inside\n"
    assert status(root) == ""


@pytest.mark.parametrize(("setting", "on_disk"), [("true", b"1\r\n2\r\n"), ("input", b"1\n2\n")])
def test_line_ends_are_as_the_user_sets_them(tmp_path: Path, setting: str, on_disk: bytes) -> None:
    root = new(tmp_path / "work", {"a.txt": b"1\n"})
    git(root, "config", "core.autocrlf", setting)
    (root / "a.txt").unlink()
    git(root, "checkout", "a.txt")
    assert isinstance(RoundTrip(root).work("printf '1\\r\\n2\\r\\n' > a.txt"), HandedOver)
    assert (root / "a.txt").read_bytes() == on_disk
    assert git(root, "cat-file", "blob", "HEAD:a.txt") == "1\n2"
    assert status(root) == ""


def test_a_rename_of_a_folder_keeps_the_changes_of_others_in_it(tmp_path: Path) -> None:
    root = new(tmp_path / "work", {"old/a.txt": b"1\n2\n3\n4\n5\n", "old/b.txt": b"b\n" * 9})
    trip = RoundTrip(root)
    assert isinstance(anyio.run(trip.merge, "git mv old new"), str)
    (root / "old/a.txt").write_text("1\n2\n3\n4\nFIVE\n")
    commit(root, "Mine")
    assert isinstance(trip.hand_over(), HandedOver)
    assert (root / "new/a.txt").read_text() == "1\n2\n3\n4\nFIVE\n"
    assert not (root / "old").exists()


CONFLICTS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "binary": ("printf '\\0b' > binary", lambda root: (root / "binary").write_bytes(b"\0c")),
    "both add": ("echo ours > new", lambda root: (root / "new").write_text("theirs\n")),
    "deleted here": ("echo x > list.txt", lambda root: (root / "list.txt").unlink()),
    "deleted there": ("rm list.txt", lambda root: (root / "list.txt").write_text("x\n")),
    "file and folder": (
        "rm list.txt; mkdir list.txt; echo x > list.txt/in",
        lambda root: (root / "list.txt").write_text("x\n"),
    ),
    "modes": ("ln -sf a list.txt", lambda root: (root / "list.txt").write_text("x\n")),
}


@pytest.mark.parametrize(("ours", "theirs"), CONFLICTS.values(), ids=CONFLICTS)
def test_what_cannot_be_merged_is_named_and_nothing_changes(
    tmp_path: Path, ours: str, theirs: Callable[[Path], object]
) -> None:
    root = new(tmp_path / "work", {"list.txt": b"one\n", "binary": b"\0a"})
    trip = RoundTrip(root)
    assert isinstance(anyio.run(trip.merge, ours), str)
    theirs(root)
    commit(root, "Mine")
    before = all_files(root)
    end = trip.hand_over()
    assert isinstance(end, NotHandedOver)
    assert any(name in end.reason for name in ("list.txt", "binary", "new"))
    assert (all_files(root), status(root)) == (before, "")


def test_a_conflict_in_an_odd_name_goes_back_to_its_owner(tmp_path: Path) -> None:
    root = new(tmp_path / "work", {os.fsdecode(b"\xff name\n"): b"one\n"})
    trip = RoundTrip(root)
    name = os.fsdecode(b"\xff name\n")

    async def both() -> object:
        await trip.begin()
        first = await trip.offer(lambda tree: (tree / name).write_bytes(b"ours\n"))
        target, tip = trip.trees.target(), await trip.trees.target().tip()
        merged = await target.merge(tip, first, "Work", 1)
        assert isinstance(merged, str)
        other = git(trip.tree, "rev-parse", "HEAD^")
        git(trip.tree, "checkout", "-q", other)
        second = await trip.offer(lambda tree: (tree / name).write_bytes(b"theirs\n"))
        return await target.merge(merged, second, "Work", 2)

    assert isinstance(anyio.run(both), MergeConflict)


def test_an_ignored_file_with_an_odd_name_is_not_overwritten(tmp_path: Path) -> None:
    root = new(tmp_path / "work", {".gitignore": b"*.log\n"})
    name = os.fsdecode(b"\xff.log")
    (root / name).write_text("mine\n")

    def add(tree: Path) -> None:
        (tree / name).write_text("theirs\n")
        git(tree, "add", "-f", name)

    assert isinstance(RoundTrip(root).work(add), NotHandedOver)
    assert (root / name).read_text() == "mine\n"
