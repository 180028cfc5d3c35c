"""What do trees cost? A tree of a large repository beside `git worktree` and a clone, and merging beside plain git.

Nothing is deleted between two timings: on ext4, deleting many files makes the next ones slow to create.
"""

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio

from benchmarks.measure import RunFailed, Size, percentile
from benchmarks.report import Answer, Column, Table, at_most
from deskmate.core.log.names import BOARD
from deskmate.core.policy.redaction import SHAPES
from deskmate.core.team.caps import Caps
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import Task, TaskStatus, merge_queue
from deskmate.runtime.events import Feed
from deskmate.runtime.merge_queue import MergeQueue
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.system_clock import SystemClock
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_state import TeamState
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.trees.team_trees import TeamTrees
from deskmate.workspace.trees.tree_inspection import size_of
from deskmate.workspace.trees.tree_places import TreePlaces

FOLDERS = 50
FILE_BYTES = 5_000
TEAM, MEMBER = "bench", "ann"
# How much slower than the same work with plain git.
TREE_RATIO, MERGE_RATIO, AGAIN_RATIO = 1.5, 2.0, 0.75


def ask_trees(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure how long it takes to make a tree, and how much of the disk it uses."""
    folder = folder.resolve()
    say(f"trees: a repository with {size.tree_files:,} files")
    work = repository(folder / "work", size.tree_files)
    places = TreePlaces(folder / "state", work, os.environ)
    head = run_git(work, "rev-parse", "HEAD")
    ways: dict[str, Callable[[Path], object]] = {
        "git worktree add": lambda path: run_git(work, "worktree", "add", "-q", "--detach", str(path)),
        "git clone": lambda path: run_git(folder, "clone", "-q", "--no-hardlinks", str(work), str(path)),
        "git clone --shared": lambda path: run_git(folder, "clone", "-q", "--shared", str(work), str(path)),
        "tree": lambda path: places.create(TEAM, path.name, head),
        "a tree again, from the pool": lambda path: places.create(TEAM, path.name, head),
        "tree, 2 of 50 folders": lambda path: places.create(TEAM, path.name, head, ("folder0", "folder1")),
    }
    # Not timed: a member has left, with one changed file in its tree.
    before = {"a tree again, from the pool": lambda path: _leave(places, f"left-{path.name}", head)}
    taken: dict[str, list[int]] = {name: [] for name in ways}
    disk = dict[str, int]()
    for number in range(size.passes):
        for index, (name, way) in enumerate(ways.items()):
            say(f"trees: {name}")
            path = folder / f"made{number}-{index}"
            if name in before:
                before[name](path)
            os.sync()
            began = time.monotonic_ns()
            made = way(path)
            taken[name].append(time.monotonic_ns() - began)
            disk[name] = size_of(made if isinstance(made, Path) else path)
    seconds = {name: min(found) / 1e9 for name, found in taken.items()}
    columns = [Column("way"), Column("seconds", "{:.2f}"), Column("slowest", "{:.2f}"), Column("MB on disk", "{:,.0f}")]
    rows = [(name, seconds[name], max(taken[name]) / 1e9, disk[name] / 1e6) for name in ways]
    notes = ("Nothing is deleted between two timings. clone: objects are copied. tree: what a teammate gets.",)
    table = Table(f"Trees: one more copy of {size.tree_files:,} files", columns, rows, notes)
    ratio = seconds["tree"] / seconds["git worktree add"]
    again = seconds["a tree again, from the pool"] / seconds["tree"]
    targets = [
        at_most("tree, beside git worktree add", ratio, TREE_RATIO, "times"),
        at_most("a tree again, beside a new one", again, AGAIN_RATIO, "times"),
    ]
    return Answer([table], targets)


def _leave(places: TreePlaces, member: str, head: str) -> None:
    tree = places.create(TEAM, member, head)
    (tree / "folder0/file0.txt").write_text("changed\n")
    (tree / "new").mkdir()
    (tree / "new/file.txt").write_text("new\n")
    places.pool.give(tree)


def ask_merges(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure merges per second of the queue, and what each step adds to completing a task."""
    folder = folder.resolve()
    say(f"merges: {size.merges} tasks, in the queue and with plain git")
    work = repository(folder / "work", size.merged_files)
    steps, queue_seconds, offers = anyio.run(_measure, folder, work, size.merges)
    plumbing, merging = _plumbing(work, offers), _merging(work, folder / "checkout", offers)
    count = len(offers)
    ways = {"plain git, merge-tree": plumbing, "plain git, merge": merging, "merge queue": queue_seconds}
    rates = Table(
        f"Merge queue: {count} tasks, {size.merged_files:,} files",
        [Column("way"), Column("merges/s", "{:.1f}"), Column("ms each", "{:.1f}"), Column("times plain git", "{:.2f}")],
        [(name, count / took, took * 1000 / count, took / merging) for name, took in ways.items()],
        ("merge-tree: merge-tree, commit-tree and update-ref. merge: in a checkout. Times: compared with that.",),
    )
    total = [sum(parts) for parts in zip(*steps.values(), strict=True)]
    columns = [Column("step"), Column("p50 ms", "{:.1f}"), Column("p99 ms", "{:.1f}")]
    rows = [(name, percentile(found, 0.5), percentile(found, 0.99)) for name, found in (*steps.items(), ("all", total))]
    added = Table("Own tree: what it adds to completing a task", columns, rows, ("No verify command and no check.",))
    return Answer(
        [rates, added], [at_most("merge queue, beside git merge", queue_seconds / merging, MERGE_RATIO, "times")]
    )


def run_git(folder: Path, *words: str) -> str:
    """Run git in a folder and return what it printed. Raises RunFailed."""
    ran = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RunFailed(f"git {words[0]} failed:\n{ran.stderr}")
    return ran.stdout.strip()


def _repeated(number: int) -> str:
    return f"line {number}\n" * (FILE_BYTES // (6 + len(str(number))))


def repository(work: Path, files: int, text: Callable[[int], str] = _repeated) -> Path:
    """Make a repository with so many files. `text`: what is in each."""
    work.mkdir()
    run_git(work, "init", "-q", "-b", "trunk")
    run_git(work, "config", "user.name", "Bench")
    run_git(work, "config", "user.email", "bench@example.org")
    for number in range(files):
        path = work / f"folder{number % FOLDERS}" / f"file{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text(number))
    run_git(work, "add", "-A")
    run_git(work, "commit", "-q", "-m", "First")
    # Loose objects would be slower to read than a user's repository is.
    run_git(work, "repack", "-q", "-a", "-d")
    return work


# -- merging --------------------------------------------------------------------------------------


async def _measure(folder: Path, work: Path, tasks: int) -> tuple[dict[str, list[int]], float, Sequence[str]]:
    """Return the nanoseconds of each step for single tasks, the seconds of a full queue, and the commits in it."""
    sandbox = find_sandbox(folder / "sandbox", environ=os.environ)
    places = TreePlaces(folder / "state", work, os.environ)
    trees = TeamTrees(places, TEAM, work, os.environ, sandbox, SHAPES)
    store = JsonlStore.open(work, TEAM, create=True)
    try:
        state = await _team(store)
        await trees.make(MEMBER, LocalWorkspace(work, TEAM, "lead", environ=os.environ, sandbox=sandbox))
        steps = await _one_by_one(state, trees, tasks)
        commits = await _offer_all(state, trees, work, tasks)
        began = time.monotonic()
        await _run_queue(state, trees)
        seconds = time.monotonic() - began
        done = [task for task in (await state.board.refresh()).tasks.values() if task.status is TaskStatus.COMPLETED]
        if len(done) != 2 * tasks:
            raise RunFailed(f"{len(done)} of {2 * tasks} tasks were merged")
        return steps, seconds, commits
    finally:
        store.close()


async def _team(store: JsonlStore) -> TeamState:
    writer = LogWriter(store, SystemClock())
    roster = Roster(writer)
    state = TeamState(writer, roster, Board(writer, roster), Budget(writer, Caps(), roster=roster), Feed())
    await roster.found(TEAM)
    await roster.join(Joined(name=MEMBER, at=0.0), Caps())
    return state


async def _take(state: TeamState, member: str) -> Task:
    task = await state.board.create("lead", NewTask(f"task of {member}"))
    return await state.board.claim((await state.roster.refresh()).members[member], task.id)


async def _run_queue(state: TeamState, trees: TeamTrees) -> None:
    async with task_group() as group:
        group.start_soon(MergeQueue(state, trees.target()).keep)
        while merge_queue(board := await state.board.refresh()):
            await state.writer.store.changed({BOARD: board.number})
        group.cancel_scope.cancel()


async def _one_by_one(state: TeamState, trees: TeamTrees, tasks: int) -> dict[str, list[int]]:
    """Complete tasks one after another, each with one changed file."""
    _, tree = trees.of(MEMBER)
    taken: dict[str, list[int]] = {"commit and offer": [], "merge": [], "update the tree": []}
    for number in range(tasks):
        task = await _take(state, MEMBER)
        (trees.folder(MEMBER) / f"single{number}.txt").write_text("new\n")
        times = [time.monotonic_ns()]
        commit = await tree.offer(f"task {number}\n")
        await state.board.offer(MEMBER, task.id, task.epoch, commit)
        times.append(time.monotonic_ns())
        await _run_queue(state, trees)
        times.append(time.monotonic_ns())
        await tree.update()
        times.append(time.monotonic_ns())
        for found, began, ended in zip(taken.values(), times, times[1:], strict=False):
            found.append(ended - began)
    return taken


async def _offer_all(state: TeamState, trees: TeamTrees, work: Path, tasks: int) -> list[str]:
    """Offer work of many tasks that all began at the same commit."""
    tip = trees.branch.tip()
    commits = list[str]()
    for number in range(tasks):
        index = {**os.environ, "GIT_INDEX_FILE": str(work / ".git/bench-index")}
        script = (
            f"git read-tree {tip} && blob=$(echo {number} | git hash-object -w --stdin)"
            f" && git update-index --add --cacheinfo 100644,$blob,folder{number % FOLDERS}/new{number}.txt"
            f" && git commit-tree $(git write-tree) -p {tip} -m 'task {number}'"
        )
        ran = await anyio.run_process(["sh", "-c", script], env=index, cwd=work)
        commits.append(ran.stdout.decode().strip())
        name = f"m{number}"
        await state.roster.join(Joined(name=name, at=0.0), Caps(members=tasks + 1))
        task = await _take(state, name)
        trees.branch.keep(f"offers/{name}", commits[-1])
        await state.board.offer(name, task.id, task.epoch, commits[-1])
    return commits


def _plumbing(work: Path, offers: Sequence[str]) -> float:
    began, tip = time.monotonic(), run_git(work, "rev-parse", f"{offers[0]}^")
    run_git(work, "update-ref", "refs/heads/plumbing", tip)
    for number, offer in enumerate(offers):
        tree = run_git(work, "merge-tree", "--write-tree", tip, offer)
        merged = run_git(work, "commit-tree", tree, "-p", tip, "-p", offer, "-m", f"task {number}")
        run_git(work, "update-ref", "refs/heads/plumbing", merged, tip)
        tip = merged
    return time.monotonic() - began


def _merging(work: Path, checkout: Path, offers: Sequence[str]) -> float:
    run_git(work, "worktree", "add", "-q", "--detach", str(checkout), f"{offers[0]}^")
    began = time.monotonic()
    for number, offer in enumerate(offers):
        run_git(checkout, "merge", "-q", "--no-ff", "-m", f"task {number}", offer)
    return time.monotonic() - began
