"""Nothing that a command leaves in git's folder makes the user's own git write elsewhere; what may be meant is told."""

import contextlib
import itertools
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from deskmate.errors import ToolError
from deskmate.ports import Ran
from deskmate.workspace.git.git_entries import MAX_LOCKS, Entry, EntryKind, scan
from deskmate.workspace.git.git_watch import GitWatch, refuse_outward
from deskmate.workspace.git.new_locks import left_locks
from deskmate.workspace.git.repositories import GitFolder
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from tests.workspace.conftest import open_folder
from tests.workspace.escapes.escape_ground import PWNED, Ground, ground
from tests.workspace.escapes.escape_table import OPENED

Eventually = Callable[[Callable[[], bool]], None]

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make devices")
LONG = 60
HOUR = 3_600_000_000_000
# Runs one command in a workspace until it is killed.
KILLED = """
import anyio, os, sys
from pathlib import Path
from deskmate.workspace.sandbox.levels import PROGRAMS, find_sandbox
from deskmate.workspace.local_workspace import LocalWorkspace

programs = PROGRAMS if sys.argv[4] == 'bubblewrap' else []
sandbox = find_sandbox(Path(sys.argv[2]), environ=os.environ, programs=programs)
workspace = LocalWorkspace(Path(sys.argv[1]), 'main', 'lead', environ=os.environ, sandbox=sandbox)
anyio.run(lambda: workspace.run(sys.argv[3], timeout_seconds=600, blob='lead-1-0.txt'))
"""


def make(kind: EntryKind, place: Path, target: str) -> None:
    """Put something in the place of a file, whatever was there."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        place.unlink()
    match kind:
        case EntryKind.LINK:
            place.symlink_to(target)
        case EntryKind.PIPE:
            os.mkfifo(place)
        case EntryKind.SOCKET:
            os.mknod(place, stat.S_IFSOCK | 0o600)
        case _:
            os.mknod(place, stat.S_IFCHR | 0o600, os.makedev(1, 3))


@pytest.fixture
def git(tmp_path: Path) -> Path:
    """A folder of git, as `git init` makes it."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path / "ws")], check=True)
    return tmp_path / "ws/.git"


def watched(git: Path, *, is_last: bool = True) -> GitWatch:
    return GitWatch(git.parent, GitFolder(git, git), scan(str(git)), lambda: is_last)


KINDS = [EntryKind.LINK, EntryKind.PIPE, EntryKind.SOCKET, pytest.param(EntryKind.DEVICE, marks=as_root)]


@pytest.mark.parametrize("name", [*OPENED.split(), "HEAD", "index", "new", "a/b/c/d", "refs/heads/main.lock"])
@pytest.mark.parametrize("kind", KINDS)
def test_wherever_it_is_a_new_link_or_special_file_is_removed_and_told(git: Path, name: str, kind: EntryKind) -> None:
    watch = watched(git)
    make(kind, git / name, "config")
    watch.finish()
    assert not os.path.lexists(git / name)
    told = f"Deskmate removed the {kind} {git / name}{' to config' * (kind is EntryKind.LINK)} from git's folder. "
    assert told in " ".join(watch.told)


@pytest.mark.parametrize("target", ["/etc", "../..", "config", "hooks/post-commit", "nowhere", "/dev/zero"])
def test_a_new_link_goes_wherever_it_leads(git: Path, target: str) -> None:
    watch = watched(git)
    (git / "COMMIT_EDITMSG").symlink_to(target)
    assert watch.look()
    assert not os.path.lexists(git / "COMMIT_EDITMSG")


def test_what_was_there_before_and_the_mark_of_an_editor_stay_and_nothing_is_told(git: Path) -> None:
    (git / "refs/heads/main").touch()
    (git / "HEAD").unlink()
    (git / "HEAD").symlink_to("refs/heads/main")
    os.mknod(git / "fsmonitor--daemon.ipc", stat.S_IFSOCK | 0o600)
    watch = watched(git)
    (git / ".#COMMIT_EDITMSG").symlink_to("me@here.example.1:2")
    # As git does it for who set core.preferSymlinkRefs.
    (git / "HEAD").unlink()
    (git / "HEAD").symlink_to("refs/heads/other")
    assert not watch.look()
    watch.finish()
    assert watch.told == ()
    assert os.readlink(git / "HEAD") == "refs/heads/other"


def test_what_only_looks_like_the_mark_of_an_editor_is_removed(git: Path) -> None:
    watch = watched(git)
    (git / "objects/pack/.#x.idx").symlink_to("/dev/zero")
    os.mkfifo(git / ".#COMMIT_EDITMSG")
    assert watch.look()
    assert scan(str(git)) == {}


def test_names_and_targets_that_no_screen_should_see_are_removed_and_shown_harmlessly(git: Path) -> None:
    (git / os.fsdecode(b"\xff\nkept")).symlink_to("config")
    watch = watched(git)
    name = os.fsdecode(b"\x1b]0;title\x07\xfe\n")
    (git / name).symlink_to("\x1b[2J/etc/passwd")
    watch.finish()
    (told,) = watch.told
    assert told.isprintable()
    assert f"the symbolic link {git}/?]0;title??? to ?[2J/etc/passwd" in told
    assert scan(str(git)) == {os.fsdecode(b"\xff\nkept"): Entry(EntryKind.LINK, "config")}


def test_no_time_that_a_program_can_set_hides_a_link(git: Path) -> None:
    later = time.time_ns() + HOUR
    before = os.stat(git / "info")
    scan(str(git), now=later)
    while not os.path.lexists(git / "info/x") or os.stat(git / "info").st_ctime_ns == before.st_ctime_ns:
        with contextlib.suppress(FileExistsError):
            (git / "info/x").symlink_to("/etc/passwd")
        os.utime(git / "info", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert scan(str(git), now=later) == {"info/x": Entry(EntryKind.LINK, "/etc/passwd")}


@pytest.mark.parametrize("target", ["refs/heads/../../config", "/etc/passwd", "config", "refs/tags/x"])
def test_a_head_that_was_a_link_may_lead_to_branches_alone(git: Path, target: str) -> None:
    (git / "HEAD").unlink()
    (git / "HEAD").symlink_to("refs/heads/main")
    watch = watched(git)
    (git / "HEAD").unlink()
    (git / "HEAD").symlink_to(target)
    assert watch.look()


def test_a_folder_that_was_listed_before_is_listed_again_once_it_has_changed(git: Path) -> None:
    logs = git / "logs/refs/heads"
    logs.mkdir(parents=True)
    # A change within one tick of the disk's clock would have the same time.
    clock = git.parent / "clock"
    clock.touch()
    while clock.stat().st_ctime_ns <= logs.stat().st_ctime_ns:
        clock.touch()
    later = time.time_ns() + HOUR
    assert scan(str(git), now=later) == {}
    assert scan(str(git), now=later) == {}
    (logs / "main").symlink_to("/etc/passwd")
    assert scan(str(git), now=later) == {"logs/refs/heads/main": Entry(EntryKind.LINK, "/etc/passwd")}
    (logs / "main").unlink()
    (logs / "main").touch()
    assert scan(str(git), now=later) == {}


def test_a_folder_that_has_not_changed_is_not_listed_again(git: Path) -> None:
    later = time.time_ns() + HOUR
    scan(str(git), now=later)
    opened = list[str]()
    sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "os.scandir" else None)
    scan(str(git), now=later)
    assert opened == []


def test_nothing_outside_is_removed_though_a_folder_on_the_way_becomes_a_link(git: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/HEAD").symlink_to("mine")
    watch = watched(git)
    (git / "logs").symlink_to(tmp_path / "out")
    watch.finish()
    assert os.readlink(tmp_path / "out/HEAD") == "mine"


def test_that_nothing_can_be_told_is_told(git: Path) -> None:
    watch = watched(git)
    (git / "FETCH_HEAD").symlink_to("config")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        assert not watch.look()
        watch.finish()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    (told,) = watch.told
    assert told == f"{git} could not be checked for links: Too many open files. Check it before you use git."


def test_of_very_many_some_are_named_and_the_rest_are_counted(git: Path) -> None:
    watch = watched(git)
    for number in range(1000):
        (git / f"x{number}").symlink_to("y" * 1000)
    watch.finish()
    (told,) = watch.told
    assert "and 995 more" in told
    assert len(told) < 3000


def test_links_that_share_hooks_stay_and_those_beside_them_go(git: Path) -> None:
    module = git / "modules/x"
    for name in ("objects", "refs", "hooks"):
        (module / name).mkdir(parents=True)
    watch = watched(git)
    for name in ("hooks/pre-commit", "modules/x/hooks/pre-commit", "refs/heads/hooks/x", "modules/hooks/FETCH_HEAD"):
        make(EntryKind.LINK, git / name, "../../scripts/pre-commit")
    watch.finish()
    assert (git / "hooks/pre-commit").is_symlink()
    assert (module / "hooks/pre-commit").is_symlink()
    assert not os.path.lexists(git / "refs/heads/hooks/x")
    assert not os.path.lexists(git / "modules/hooks/FETCH_HEAD")


def test_links_in_folders_named_as_our_own_go_too(git: Path) -> None:
    watch = watched(git)
    make(EntryKind.LINK, git / ".teams/x", "/etc/passwd")
    watch.finish()
    assert not os.path.lexists(git / ".teams/x")


@pytest.mark.parametrize("name", ["COMMIT_EDITMSG", "logs/HEAD", "logs/refs/heads/main", "info", "index.lock"])
def test_a_glance_finds_what_git_opens_without_listing_any_folder(git: Path, name: str) -> None:
    watch = watched(git)
    shutil.rmtree(git / name, ignore_errors=True)
    make(EntryKind.LINK, git / name, "/etc/passwd")
    listed = list[str]()
    sys.addaudithook(lambda event, args: listed.append(str(args[0])) if event == "os.scandir" else None)
    assert watch.glance()
    assert listed == []
    assert not os.path.lexists(git / name)
    assert not watch.glance()


def test_a_command_that_fills_the_folder_so_that_looks_take_long_is_ended_and_told(git: Path) -> None:
    watch = watched(git)
    for number in range(20_100):
        os.makedirs(git / f"d/{number}")
    assert watch.look()
    watch.finish()
    (told,) = watch.told
    assert told == f"20,101 new folders with 20,101 entries in {git} slow git. Look at them."
    # What is there already is no reason to end the next command.
    assert not watched(git).look()


def test_a_folder_that_cannot_be_listed_is_looked_into_and_keeps_its_mode(git: Path) -> None:
    (git / "shut").mkdir()
    watch = watched(git)
    (git / "shut/x").symlink_to("/etc/passwd")
    (git / "shut").chmod(0o311)
    watch.finish()
    assert stat.S_IMODE((git / "shut").stat().st_mode) == 0o311
    (git / "shut").chmod(0o755)
    assert os.listdir(git / "shut") == []


def test_of_very_many_locks_few_are_kept_and_told(git: Path) -> None:
    watch = watched(git)
    for number in range(1000):
        (git / f"{number}.lock").touch()
    assert len(scan(str(git))) == MAX_LOCKS
    watch.finish()
    (told,) = watch.told
    assert "and 95 more" in told
    again = watched(git)
    (git / "new.lock").touch()
    again.finish()
    assert again.told == ()


@pytest.mark.parametrize("name", ["abcdefgh", "a\x1bb", "x" * 250, "refs/heads/a"])
def test_a_folder_too_deep_is_removed_by_the_command_that_is_told_and_nothing_else_is(git: Path, name: str) -> None:
    (git / "refs/heads/kept").touch()
    first = git / name
    first.mkdir()
    fd = os.open(first, os.O_RDONLY)
    for _ in range(70):
        os.mkdir("y" * 200, dir_fd=fd)
        below = os.open("y" * 200, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    with pytest.raises(ToolError) as refused:
        refuse_outward(str(git), scan(str(git)))
    command = str(refused.value).partition("remove it with: ")[2]
    subprocess.run(command, shell=True, check=True)
    refuse_outward(str(git), scan(str(git)))
    assert (git / "refs/heads/kept").exists()


# -- what is told, not removed --------------------------------------------------------------------


@pytest.mark.parametrize("before", ["missing", "file", "folder"])
def test_a_pointer_of_a_repository_within_that_was_made_or_replaced_is_told(git: Path, before: str) -> None:
    sub = git.parent / "a/b"
    sub.mkdir(parents=True)
    commit = "0123456789012345678901234567890123456789"
    index = ["git", "update-index", "--add", "--cacheinfo", f"160000,{commit},a/b"]
    subprocess.run(index, cwd=git.parent, check=True)
    if before == "file":
        (sub / ".git").write_text("gitdir: x")
    elif before == "folder":
        (sub / ".git").mkdir()
    watch, same = watched(git), watched(git)
    same.finish()
    assert same.told == ()
    if before != "missing":
        (sub / ".git").rename(git.parent / "old")
    (sub / ".git").mkdir()
    watch.finish()
    (told,) = watch.told
    assert told.startswith("these were replaced or made: a/b/.git. ")


def test_very_many_files_at_the_top_hide_no_new_repository(git: Path) -> None:
    watch = watched(git)
    for number in range(500):
        (git.parent / f"{number}").touch()
    (git.parent / "new/.git").mkdir(parents=True)
    watch.finish()
    (told,) = watch.told
    assert told.startswith("new repositories within this one: new. ")


def test_a_lock_that_is_left_is_told_and_stays_unless_another_command_may_hold_it(git: Path) -> None:
    (git / "old.lock").touch()
    beside = watched(git, is_last=False)
    (git / "index.lock").touch()
    beside.finish()
    assert beside.told == ()
    (git / "index.lock").unlink()
    alone = watched(git)
    (git / "index.lock").touch()
    alone.finish()
    (told,) = alone.told
    assert told.startswith(f"The command left {git / 'index.lock'}. Git does not work there until it is gone")
    assert (git / "index.lock").exists()


def test_a_lock_is_not_told_while_a_command_of_another_member_of_this_process_runs(git: Path) -> None:
    ended, running = watched(git), watched(git)
    (git / "index.lock").touch()
    ended.finish()
    assert ended.told == ()
    # Of two commands, the last one tells it.
    running.finish()
    assert len(running.told) == 1


def test_a_lock_that_a_git_of_somebody_else_holds_for_a_moment_is_not_told(git: Path) -> None:
    lock, watch, looks = git / "index.lock", watched(git), itertools.count()

    def somebody_else_is_done() -> bool:
        """Release the lock at the second look, after it was found."""
        if next(looks) == 1:
            lock.unlink()
        return True

    lock.touch()
    assert left_locks([str(lock)], somebody_else_is_done) == []
    lock.touch()
    assert left_locks([str(lock), str(git / "gone.lock")], lambda: True) == [str(lock)]
    assert watch.told == ()


@pytest.mark.parametrize("name", ["refs/heads/deskmate/main.lock", "refs/deskmate/teams/main/offers/ann.lock"])
def test_a_lock_with_which_the_merge_queue_moves_a_branch_is_not_told(git: Path, name: str) -> None:
    watch = watched(git)
    (git / name).parent.mkdir(parents=True)
    (git / name).touch()
    watch.finish()
    assert watch.told == ()


def test_a_head_that_is_gone_is_told(git: Path) -> None:
    watch = watched(git)
    (git / "HEAD").unlink()
    watch.finish()
    (told,) = watch.told
    assert told.startswith(f"{git / 'HEAD'} is missing, so git finds no repository here")


def test_a_rebase_that_was_begun_is_told(git: Path) -> None:
    watch = watched(git)
    (git / "rebase-merge").mkdir()
    (git / "rebase-merge/git-rebase-todo").write_text("pick 1 x\n")
    watch.finish()
    (told,) = watch.told
    assert told.startswith("a rebase is in progress")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rebase-merge/git-rebase-todo", "pick 1 x\n  x touch pwned\n"),
        ("rebase-merge/git-rebase-todo", "pick 1 x\nexec touch pwned\n" + "#" * 1_000_000),
        ("rebase-merge/strategy", "x/pwned\n"),
        ("sequencer/opts", "[options]\n\tstrategy = x/pwned\n"),
    ],
)
def test_programs_put_into_what_git_is_to_continue_are_told(git: Path, name: str, content: str) -> None:
    for folder in ("rebase-merge", "sequencer"):
        (git / folder).mkdir()
    (git / "rebase-merge/git-rebase-todo").write_text("pick 1 x\n")
    watch = watched(git)
    (git / name).write_text(content)
    watch.finish()
    (told,) = watch.told
    assert told == f"{git / name} has new exec lines or programs, which git would run to continue."


def test_a_cherry_pick_that_was_begun_is_told(git: Path) -> None:
    watch = watched(git)
    (git / "sequencer").mkdir()
    watch.finish()
    (told,) = watch.told
    assert told.startswith("a cherry-pick or revert is in progress")


def test_another_repository_that_git_is_to_read_objects_from_is_told(git: Path) -> None:
    watch = watched(git)
    (git / "objects/info/alternates").write_text("/x/.git/objects\n")
    watch.finish()
    (told,) = watch.told
    assert told.startswith(f"{git}/objects/info/alternates was changed, so that git reads another repository")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("git init -q evil", "evil"),
        ("git init -q a/b/evil && cd a/b/evil && COMMIT && cd ../../.. && git add a/b/evil 2>/dev/null", "a/b/evil"),
        ("mkdir -p .git/modules/lib/x && touch .git/modules/lib/x/HEAD", "modules/lib/x"),
        (f"git update-index --add --cacheinfo 160000,{'1' * 40},sub", "sub"),
        (f"git update-index --add --cacheinfo 160000,{'1' * 40},sub; git update-index --split-index", "sub"),
        (f"git update-index --add --cacheinfo 160000,{'1' * 40},sub; git update-index --index-version 4", "sub"),
    ],
)
def test_a_repository_that_appears_within_is_told(git: Path, command: str, name: str) -> None:
    watch = watched(git)
    commit = "git -c user.name=u -c user.email=u@e commit --allow-empty -qm x"
    subprocess.run(["sh", "-c", command.replace("COMMIT", commit)], cwd=git.parent, check=True)
    watch.finish()
    (told,) = watch.told
    assert told.startswith("new repositories within this one: ")
    assert name in told


# -- with commands --------------------------------------------------------------------------------


@pytest.fixture
def on() -> Iterator[Ground]:
    """A ground whose workspace is a repository, with a worktree beside it."""
    with open_folder() as folder, ground(folder) as laid:
        yield laid


@pytest.fixture(params=[Level.BUBBLEWRAP, Level.LANDLOCK])
def sandbox(request: pytest.FixtureRequest, on: Ground) -> Sandbox:
    found = (
        find_sandbox(on.state, environ=os.environ)
        if request.param is Level.BUBBLEWRAP
        else find_sandbox(on.state, programs=[], environ=os.environ)
    )
    if found.level is not request.param:
        pytest.skip(found.reason)
    return replace(found, state=on.state)


def at(on: Ground, sandbox: Sandbox | None, folder: str = "ws", member: str = "lead") -> LocalWorkspace:
    return LocalWorkspace(on.top / folder, "main", member, environ=on.environ(), sandbox=sandbox, grace_seconds=0.3)


async def run(workspace: LocalWorkspace, command: str, *, seconds: float = LONG, blob: str = "lead-1-0.txt") -> Ran:
    with anyio.fail_after(LONG):
        return await workspace.run(command, timeout_seconds=seconds, blob=blob)


@pytest.mark.anyio
async def test_the_users_own_git_writes_nowhere_else_after_a_command_that_planted_links(
    on: Ground, sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    plant = (
        "for n in COMMIT_EDITMSG FETCH_HEAD logs/HEAD; do rm -f .git/$n; ln -s <outside>/victim .git/$n; done; echo x"
    )
    ran = await run(at(on, sandbox), on.fill(plant))
    # The model reads it below the output, and a person on the screen.
    assert "Deskmate removed the symbolic link" in ran.ended
    assert f"{on.workspace}/.git/COMMIT_EDITMSG to {on.outside}/victim" in ran.ended
    assert f"After a command in {on.workspace}: Deskmate removed the symbolic link" in caplog.text
    for words in (("commit", "-qm", "a", "--allow-empty"), ("switch", "-qc", "b"), ("fetch", "-q", ".")):
        on.git("ws", *words)
    assert on.text("outside/victim") == "mine\n"
    assert on.text("ws/.git/COMMIT_EDITMSG") == "a\n"


@pytest.mark.anyio
async def test_from_a_worktree_no_link_is_left_in_the_repository_or_in_its_own_part_of_it(
    on: Ground, bubblewrap: Sandbox
) -> None:
    common = on.workspace / ".git"
    names = ("COMMIT_EDITMSG", "logs/HEAD", "worktrees/other/COMMIT_EDITMSG", "worktrees/other/logs/HEAD")
    plant = "; ".join(f"ln -sf {on.outside}/victim {common}/{name}" for name in names)
    ran = await run(at(on, replace(bubblewrap, state=on.state), "other"), plant)
    assert ran.ended.count("symbolic link") == 4
    for folder in ("ws", "other"):
        on.git(folder, "commit", "-qm", "a", "--allow-empty")
    assert on.text("outside/victim") == "mine\n"


@pytest.mark.anyio
async def test_where_a_link_led_out_before_no_command_runs_and_the_user_is_told_how_to_remove_it(
    on: Ground, sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    link = on.workspace / ".git/COMMIT_EDITMSG"
    link.unlink()
    link.symlink_to(on.outside / "victim")
    with pytest.raises(
        ToolError, match=rf"the symbolic link {link} to {on.outside}/victim.*remove it with: rm -r '{link}'"
    ):
        await run(at(on, sandbox), "touch ran")
    assert not (on.workspace / "ran").exists()
    assert f"rm -r '{link}'" in caplog.text
    link.unlink()
    assert (await run(at(on, sandbox), "echo ran")).output == "ran\n"


@pytest.mark.anyio
async def test_a_command_that_keeps_a_link_there_while_it_runs_is_ended(on: Ground, sandbox: Sandbox) -> None:
    plant = f"while :; do ln -sf {on.outside}/victim .git/COMMIT_EDITMSG; sleep 0.01; done"
    ran = await run(at(on, sandbox), plant, seconds=LONG)
    assert ran.ended.startswith("ended because of a change in ")
    assert not (on.workspace / ".git/COMMIT_EDITMSG").is_symlink()


@pytest.mark.anyio
async def test_an_interrupted_command_leaves_no_link(
    on: Ground, sandbox: Sandbox, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    link = on.workspace / ".git/FETCH_HEAD"
    async with anyio.create_task_group() as group:
        group.start_soon(run, at(on, sandbox), f"ln -s {on.outside}/victim {link}; touch planted; sleep 60")
        await to_thread.run_sync(eventually, (on.workspace / "planted").exists)
        group.cancel_scope.cancel()
    assert not os.path.lexists(link)
    assert f"removed the symbolic link {link}" in caplog.text


@pytest.mark.anyio
async def test_of_two_commands_neither_takes_the_others_link_for_one_that_was_there_before(
    on: Ground, bubblewrap: Sandbox, eventually: Eventually
) -> None:
    sandbox = replace(bubblewrap, state=on.state)
    go = "touch {0}; until [ -e {1} ]; do sleep 0.02; done; "
    async with anyio.create_task_group() as group:
        # The first is over, and with it its link, while the second still runs; that one plants the very same again.
        first = f"ln -s config .git/FETCH_HEAD; {go.format('first', 'second')}"
        group.start_soon(lambda: run(at(on, sandbox, member="a"), first, blob="a-1-0.txt"))
        await to_thread.run_sync(eventually, (on.workspace / "first").exists)
        second = "touch second; until [ -e third ]; do sleep 0.02; done; ln -s config .git/FETCH_HEAD"
        group.start_soon(lambda: run(at(on, sandbox, member="b"), second, blob="b-1-0.txt"))
        link = on.workspace / ".git/FETCH_HEAD"
        await to_thread.run_sync(eventually, lambda: (on.workspace / "second").exists() and not os.path.lexists(link))
        (on.workspace / "third").touch()
    assert not os.path.lexists(on.workspace / ".git/FETCH_HEAD")


@pytest.mark.anyio
async def test_what_a_command_left_when_deskmate_was_killed_is_removed_and_told_at_the_next_start(
    on: Ground, sandbox: Sandbox, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    inside, outward = on.workspace / ".git/FETCH_HEAD", on.workspace / ".git/MERGE_MSG"
    command = f"ln -s config {inside}; ln -s {on.outside}/victim {outward}; touch planted; exec sleep 600"
    words = [sys.executable, "-c", KILLED, str(on.workspace), str(on.state), command, sandbox.level]
    with subprocess.Popen(words, env={**os.environ, "HOME": str(on.home)}) as deskmate:
        await to_thread.run_sync(eventually, (on.workspace / "planted").exists)
        deskmate.send_signal(signal.SIGKILL)
    await at(on, sandbox).sweep()
    assert not os.path.lexists(inside)
    assert not os.path.lexists(outward)
    assert "interrupted when Deskmate was killed: Deskmate removed the symbolic link" in caplog.text
    assert (await run(at(on, sandbox), f"echo {PWNED}")) == Ran(0, f"{PWNED}\n")


@pytest.mark.anyio
async def test_without_a_sandbox_links_are_removed_too(on: Ground) -> None:
    ran = await run(at(on, None), f"ln -s {on.outside}/victim .git/FETCH_HEAD")
    assert "removed the symbolic link" in ran.ended
    assert not os.path.lexists(on.workspace / ".git/FETCH_HEAD")


@pytest.mark.anyio
async def test_ordinary_work_with_git_is_told_nothing_of(on: Ground, sandbox: Sandbox) -> None:
    steps = (
        "git switch -qc x; echo b > b; git add b; git commit -qm b; git stash -q; git tag t; git gc -q; git reset -q"
    )
    who = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b"
    assert (await run(at(on, sandbox), f"{who}; {steps}")).ended == ""
