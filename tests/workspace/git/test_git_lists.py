"""No list that a command leaves in git's folder makes the user's own git write, delete or read outside its checkout."""

import os
import resource
import shlex
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import to_thread

from deskmate.workspace.git.git_entries import scan
from deskmate.workspace.git.git_index import contents
from deskmate.workspace.git.git_watch import GitWatch
from deskmate.workspace.git.repositories import GitFolder
from deskmate.workspace.sandbox.mounts import Sandbox
from tests.workspace.conftest import open_folder
from tests.workspace.escapes.escape_ground import CANARY, Ground, ground
from tests.workspace.git.git_indexes import GITLINK, PROGRAM, Item, index_of
from tests.workspace.git.test_git_watch import KILLED, at, run, sandbox

__all__ = ["sandbox"]

Eventually = Callable[[Callable[[], bool]], None]
SHA1, ASIDE = 20, "index.deskmate-removed"
UNSAFE = [
    b"../outside/victim",
    b"a/../../outside/victim",
    b"/etc/passwd",
    b"a//b",
    b"a/./b",
    b"./a",
    b"a/",
    b"..",
    b".git/hooks/post-checkout",
    b".GIT/config",
    b"sub/.git/config",
    b".git./config",
    b".git /config",
    b".git::$INDEX_ALLOCATION/config",
    b"git~1/config",
    b"GIT~1/config",
    b".git\\config",
    b".g\xe2\x80\x8cit/config",
    b"",
]
SAFE = [
    b"a",
    b".gitignore",
    b".github/x",
    b"a/.gitkeep",
    b"a..b",
    b"...",
    b"a/..b",
    b"\xff/\xc3\xa4",
    b"a\\b",
    b"git~10",
]


@pytest.fixture
def git(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path / "ws")], check=True)
    return tmp_path / "ws/.git"


@pytest.fixture
def on() -> Iterator[Ground]:
    """A ground whose workspace is a repository, with a worktree beside it."""
    with open_folder() as folder, ground(folder) as laid:
        yield laid


def watched(git: Path) -> GitWatch:
    return GitWatch(git.parent, GitFolder(git, git), scan(str(git)), lambda: True)


# -- an index --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNSAFE)
@pytest.mark.parametrize("version", [2, 3, 4])
def test_an_index_with_a_name_that_leads_out_or_into_git_is_renamed_and_told(
    git: Path, name: bytes, version: int
) -> None:
    watch = watched(git)
    planted = index_of([Item(b"a"), Item(name), Item(b"z")], version)
    (git / "index").write_bytes(planted)
    watch.finish()
    (told,) = watch.told
    assert told.startswith(f"{git / 'index'} names ")
    assert told.endswith(f"It was renamed to {ASIDE}. Make a new one with: git reset")
    assert told.isprintable()
    assert not (git / "index").exists()
    assert (git / ASIDE).read_bytes() == planted


@pytest.mark.parametrize("name", SAFE)
@pytest.mark.parametrize("version", [2, 3, 4])
def test_an_index_with_odd_but_harmless_names_stays(git: Path, name: bytes, version: int) -> None:
    watch = watched(git)
    (git / "index").write_bytes(index_of([Item(name)], version))
    watch.finish()
    assert watch.told == ()
    assert (git / "index").exists()


def test_a_second_index_that_is_renamed_does_not_replace_the_first(git: Path) -> None:
    for name in (b"../a", b"../b"):
        watch = watched(git)
        (git / "index").write_bytes(index_of([Item(name)]))
        watch.finish()
    assert {file.read_bytes() for file in git.glob(f"{ASIDE}*")} == {
        index_of([Item(b"../a")]),
        index_of([Item(b"../b")]),
    }


def test_an_index_that_was_unsafe_before_is_renamed_before_a_command_starts(git: Path) -> None:
    (git / "index").write_bytes(index_of([Item(b"../a")]))
    watch = watched(git)
    assert "names ../a" in " ".join(watch.told)
    assert not (git / "index").exists()


def test_an_unsafe_index_is_renamed_while_a_command_still_runs(git: Path) -> None:
    watch = watched(git)
    (git / "index").write_bytes(index_of([Item(b"../a")]))
    assert not watch.look()
    assert not (git / "index").exists()


@pytest.mark.parametrize("folder", ["modules/lib", "modules/a/b/modules/c", "worktrees/other"])
def test_the_index_of_a_submodule_or_of_another_worktree_is_checked_too(git: Path, folder: str) -> None:
    (git / folder).mkdir(parents=True)
    for above in (git / folder, *(git / folder).parents[:2]):
        if above != git:
            (above / "HEAD").touch()
    watch = watched(git)
    (git / folder / "index").write_bytes(index_of([Item(b"../a")]))
    watch.finish()
    assert f"{git / folder / 'index'} names ../a" in " ".join(watch.told)
    assert not (git / folder / "index").exists()


def test_the_file_that_a_split_index_continues_in_is_checked_and_no_other(git: Path) -> None:
    base = "ab" * SHA1
    watch = watched(git)
    (git / "sharedindex.x").write_bytes(b"x" * 1000)
    (git / f"sharedindex.{base}").write_bytes(index_of([Item(b"../a")]))
    (git / "index").write_bytes(index_of([Item(b"")], parts=[(b"link", bytes.fromhex(base))]))
    watch.finish()
    (told,) = watch.told
    assert "names ../a" in told
    assert not (git / "index").exists()


SHORT = index_of([Item(b"a"), Item(b"b")])
# What git may read, and we do not take for an index: it reads blocks where these say, and names as long as they say.
UNREADABLE = {
    "cut off": SHORT[:100],
    "no index": b"x" * 100,
    "version 5": SHORT[:7] + b"\5" + SHORT[8:],
    "too many entries": SHORT[:8] + b"\xff" * 4 + SHORT[12:],
    "length too short": index_of([Item(b"src/x", length=3)]),
    "length too long": index_of([Item(b"src\0/../x", length=9)]),
    "name too long": index_of([Item(b"a" * 5000)]),
    "cut too much": index_of([Item(b"a"), Item(b"b", cut=7)], 4),
    "number too large": index_of([Item(b"a"), Item(b"b")], 4).replace(b"\0\1\1b", b"\0\1" + b"\xff" * 12 + b"\1b"),
    "end elsewhere": index_of([Item(b"a")], parts=[(b"EOIE", struct.pack(">I", 12) + b"h" * SHA1)]),
    "block elsewhere": index_of(
        [Item(b"a")], parts=[(b"IEOT", struct.pack(">III", 1, 40, 1)), (b"EOIE", b"<end>" + b"h" * SHA1)]
    ),
    "block within a name": index_of(
        [Item(b"a"), Item(b".git/x", cut=0, length=7)],
        4,
        parts=[(b"IEOT", struct.pack(">5I", 1, 12, 1, 78, 1)), (b"EOIE", b"<end>" + b"h" * SHA1)],
    ),
    "block too long": index_of(
        [Item(b"a")], parts=[(b"IEOT", struct.pack(">III", 1, 12, 9)), (b"EOIE", b"<end>" + b"h" * SHA1)]
    ),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_an_index_that_can_no_longer_be_read_to_its_end_is_renamed_and_told(git: Path, kind: str) -> None:
    watch = watched(git)
    (git / "index").write_bytes(UNREADABLE[kind])
    watch.finish()
    (told,) = watch.told
    assert told.startswith(f"{git / 'index'} cannot be checked: ")
    assert (git / ASIDE).read_bytes() == UNREADABLE[kind]


def test_an_index_that_could_not_be_read_before_stays_and_a_change_of_it_is_told(git: Path) -> None:
    (git / "index").write_bytes(SHORT[:100])
    untouched, changed = watched(git), watched(git)
    untouched.finish()
    assert untouched.told == ()
    (git / "index").write_bytes(SHORT[:90])
    changed.finish()
    (told,) = changed.told
    assert "was changed and cannot be checked" in told
    assert (git / "index").exists()


def test_an_index_of_small_entries_that_mean_very_long_names_takes_no_memory(git: Path) -> None:
    items = [Item(b"a" * 1_000_000, GITLINK), *[Item(b"b", GITLINK, length=0xFFF, cut=0)] * 3000]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(OSError, match="its names are too long"):
        contents(index_of(items, 4), SHA1)
    with pytest.raises(OSError, match="its names are too long"):
        contents(index_of([Item(b"a" * 4000, GITLINK), *[Item(b"b", length=0xFFF, cut=0)] * 200], 4), SHA1)
    watch = watched(git)
    (git / "sharedindex.x").write_bytes(index_of(items, 4))
    watch.finish()
    assert watch.told == ()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


@pytest.mark.parametrize("version", [2, 4])
def test_a_repository_behind_an_entry_that_does_not_say_how_long_its_name_is_is_told(git: Path, version: int) -> None:
    watch = watched(git)
    (git / "index").write_bytes(index_of([Item(b"a", length=0xFFF), Item(b"x/evil", GITLINK)], version))
    watch.finish()
    (told,) = watch.told
    assert told.startswith("new repositories within this one: x/evil")


@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
@pytest.mark.parametrize("version", ["2", "4"])
@pytest.mark.parametrize("split", [False, True])
def test_every_index_that_git_writes_is_read_to_its_end(
    tmp_path: Path, hashes: str, version: str, *, split: bool
) -> None:
    top = tmp_path / "ws"
    subprocess.run(["git", "init", "-q", f"--object-format={hashes}", str(top)], check=True)
    lines = "".join(f"100644 {'1' * (40 if hashes == 'sha1' else 64)}\td{n % 97}/f{n}\n" for n in range(25_000))
    own = ["git", "-C", str(top), "-c", "index.threads=4"]
    watch = watched(top / ".git")
    subprocess.run([*own, "update-index", "--index-info"], input=lines.encode(), check=True)
    subprocess.run([*own, "update-index", "--index-version", version], check=True)
    if split:
        subprocess.run([*own, "update-index", "--split-index"], check=True)
        subprocess.run([*own, "update-index", "--force-remove", "d1/f1", "d2/f2"], check=True)
        # An entry that only says what has changed of one in the other file.
        (top / "d3").mkdir()
        (top / "d3/f3").touch()
        subprocess.run([*own, "update-index", "d3/f3"], check=True)
    watch.finish()
    assert watch.told == ()
    assert (top / ".git/index").exists()


# -- a list of conflicts ---------------------------------------------------------------------------

HASH = "7" * 40


def conflict(path: str) -> bytes:
    return os.fsencode(f"{HASH}\tsrc/a\0{HASH}.1\t{path}\0")


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "a/../../x", ".git/config", ".teams/main/x", ".Tasks/x", "link/passwd", "file", ""]
)
def test_a_list_of_conflicts_with_a_path_that_is_no_file_of_the_checkout_is_removed_and_told(
    git: Path, path: str
) -> None:
    watch = watched(git)
    (git.parent / "link").symlink_to("/etc")
    (git.parent / "file").symlink_to("/etc/passwd")
    (git / "MERGE_RR").write_bytes(conflict(path))
    watch.finish()
    (told,) = watch.told
    assert told.startswith(f"removed {git / 'MERGE_RR'}, which named {path}")
    assert not (git / "MERGE_RR").exists()


@pytest.mark.parametrize("config", [b"", b"[core]\n\tworktree = a\0b\n", b"[core]\n\tworktree = ../../../lib\n"])
def test_a_list_of_conflicts_of_a_submodule_stays_only_if_its_files_are_found(git: Path, config: bytes) -> None:
    module = git / "modules/lib"
    module.mkdir(parents=True)
    (module / "HEAD").touch()
    (module / "config").write_bytes(config)
    watch = watched(git)
    (module / "MERGE_RR").write_bytes(conflict("src/b"))
    watch.finish()
    assert (module / "MERGE_RR").exists() == (b"lib" in config)
    (git.parent / "lib").symlink_to("/etc")
    again = watched(git)
    assert (module / "MERGE_RR").exists() == (b"lib" in config)
    (git.parent / "lib").unlink()
    (git.parent / "lib/src").mkdir(parents=True)
    (git.parent / "lib/src/b").symlink_to("/etc/passwd")
    again.finish()
    assert not (module / "MERGE_RR").exists()


def test_a_list_of_conflicts_in_files_of_the_checkout_stays(git: Path) -> None:
    watch = watched(git)
    (git / "MERGE_RR").write_bytes(conflict("src/b\tc"))
    watch.finish()
    assert watch.told == ()
    assert (git / "MERGE_RR").exists()


# -- with commands ---------------------------------------------------------------------------------


def planting(on: Ground, index: Path, name: str) -> str:
    """Return a command that puts a program into the repository, and an index that names it."""
    program = on.workspace / ".git/program"
    program.write_text(f"#!/bin/sh\ntouch {on.outside}/ran\n")
    blob = subprocess.run(
        ["git", "hash-object", "-w", str(program)], cwd=on.workspace, capture_output=True, text=True, check=True
    ).stdout.strip()
    planted = on.workspace / ".git/planted"
    planted.write_bytes(index_of([Item(name.encode(), PROGRAM, blob=blob)]))
    return shlex.join(["cp", str(planted), str(index)])


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["../outside/victim", ".git/hooks/post-checkout"])
async def test_the_users_own_git_writes_nowhere_else_after_a_command_that_planted_an_index(
    on: Ground, sandbox: Sandbox, name: str
) -> None:
    ran = await run(at(on, sandbox), planting(on, on.workspace / ".git/index", name))
    assert f"names {name}" in ran.ended
    for words in (("checkout", "--", "."), ("restore", "."), ("stash",), ("reset", "-q"), ("checkout", "--", ".")):
        on.git("ws", *words)
    assert on.text("outside/victim") == "mine\n"
    assert not (on.outside / "ran").exists()
    assert on.text("ws/src/a.py") == "a = 1\n"


@pytest.mark.anyio
async def test_from_a_worktree_no_unsafe_list_is_left_in_the_main_checkout(on: Ground, bubblewrap: Sandbox) -> None:
    git = on.workspace / ".git"
    plant = planting(on, git / "index", ".git/hooks/post-checkout")
    plant += f"; printf '{HASH}\\t{on.home}/.ssh/id_ed25519\\0' > {git}/MERGE_RR"
    ran = await run(at(on, replace(bubblewrap, state=on.state), "other"), plant)
    assert f"{git}/index names .git/hooks/post-checkout" in ran.ended
    assert f"removed {git}/MERGE_RR" in ran.ended
    on.git("ws", "checkout", "--", ".")
    assert not (on.outside / "ran").exists()


@pytest.mark.anyio
async def test_no_commit_of_the_users_copies_a_secret_to_where_commands_read_it(on: Ground, sandbox: Sandbox) -> None:
    cache = f".git/rr-cache/{HASH}"
    plant = f"mkdir -p {cache}; echo x > {cache}/preimage; printf '{HASH}\\t<home>/.ssh/id_ed25519\\0' > .git/MERGE_RR"
    ran = await run(at(on, sandbox), on.fill(plant))
    assert f"which named {on.home}/.ssh/id_ed25519" in ran.ended
    on.git("ws", "commit", "--allow-empty", "-qm", "a")
    assert CANARY not in on.text(f"ws/{cache}/postimage")


@pytest.mark.anyio
async def test_an_index_left_when_deskmate_was_killed_is_renamed_at_the_next_start(
    on: Ground, sandbox: Sandbox, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    plant = planting(on, on.workspace / ".git/index", "../outside/victim")
    words = [sys.executable, "-c", KILLED, str(on.workspace), str(on.state)]
    # Deskmate is stopped first, so that it cannot look while the command runs.
    wait = "touch started; until [ -e go ]; do sleep 0.02; done; "
    words += [f"{wait}{plant}; touch planted; exec sleep 600", sandbox.level]
    with subprocess.Popen(words, env={**os.environ, "HOME": str(on.home)}) as deskmate:
        await to_thread.run_sync(eventually, (on.workspace / "started").exists)
        deskmate.send_signal(signal.SIGSTOP)
        (on.workspace / "go").touch()
        await to_thread.run_sync(eventually, (on.workspace / "planted").exists)
        deskmate.send_signal(signal.SIGKILL)
    await at(on, sandbox).sweep()
    assert "names ../outside/victim" in caplog.text
    assert not (on.workspace / ".git/index").exists()
