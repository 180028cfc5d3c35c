"""Checkpoints are numbered, leave out what is too large, touch nothing of the user, and are dropped."""

from pathlib import Path

import pytest

from deskmate.core.policy.redaction import SHAPES
from deskmate.workspace.checkpoints.copy_checkpoints import CopyCheckpoints
from deskmate.workspace.checkpoints.points import (
    MOST_FILE_BYTES,
    Change,
    ChangeKind,
    Point,
    RestorePlan,
    Saved,
    outdated,
    restore_plan,
)
from tests.workspace.checkpoints.checkpoint_ground import Ground

pytestmark = pytest.mark.anyio
DAY = 86400.0


@pytest.fixture(params=[True, False], ids=["git", "copies"])
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Ground:
    return Ground(tmp_path, in_git=request.param)


async def test_points_have_their_facts_and_growing_numbers(ground: Ground) -> None:
    checkpoints = ground.checkpoints
    ground.fill({"a": (0o644, b"1")})
    saved = await checkpoints.save()
    first, second = checkpoints.add(saved, entry=7), checkpoints.add(saved, undoes=1)
    found = ground.checkpoints.points()
    assert [(one.number, one.saved, one.entry, one.undoes) for one in found] == [
        (1, saved, 7, None),
        (2, saved, None, 1),
    ]
    checkpoints.drop([first.number])
    assert checkpoints.add(saved).number == second.number + 1
    assert [one.number for one in checkpoints.points()] == [2, 3]
    assert checkpoints.content(saved.tree, "a") == b"1"


async def test_the_same_files_are_the_same_tree(ground: Ground) -> None:
    ground.fill({"a": (0o644, b"1"), "b/c": "a"})
    saved = await ground.checkpoints.save()
    ground.fill({"a": (0o644, b"1"), "b/c": "a"})
    assert await ground.checkpoints.save() == saved


async def test_a_large_file_is_left_out_and_named(ground: Ground) -> None:
    ground.fill({"a": (0o644, b"1"), "big": (0o644, bytes(MOST_FILE_BYTES + 1))})
    saved = await ground.checkpoints.save()
    assert (saved.left_out, ground.checkpoints.content(saved.tree, "big")) == (("big",), None)


async def test_differences_are_listed_and_shown(ground: Ground) -> None:
    checkpoints = ground.checkpoints
    ground.fill({"a": (0o644, b"1\n"), "b": (0o644, b"2\n")})
    before = await checkpoints.save()
    ground.fill({"a": (0o644, b"one\n"), "c": (0o644, b"3\n")})
    after = await checkpoints.save()
    assert checkpoints.changes(before.tree, after.tree) == (
        Change("a", ChangeKind.CHANGED),
        Change("b", ChangeKind.DELETED),
        Change("c", ChangeKind.CREATED),
    )
    assert "-1\n+one\n" in checkpoints.diff(before.tree, after.tree)


async def test_index_head_status_and_branches_of_the_user_stay_as_they_are(tmp_path: Path) -> None:
    ground = Ground(tmp_path, in_git=True)
    ground.fill({"a": (0o644, b"1\n"), "b": (0o644, b"2\n")})
    ground.git("add", "-A")
    ground.git("commit", "-qm", "begin")
    ground.fill({"a": (0o644, b"staged\n"), "b": (0o644, b"2\n")})
    ground.git("add", "a")
    ground.fill({"a": (0o644, b"not staged\n"), "new": (0o644, b"x")})
    git = ground.root / ".git"
    names = {file.name for file in git.iterdir()}
    seen = (git / "index").read_bytes(), ground.git("status", "--porcelain=v2"), ground.git("branch", "-av")
    ground.checkpoints.add(await ground.checkpoints.save(), entry=1)
    assert seen == ((git / "index").read_bytes(), ground.git("status", "--porcelain=v2"), ground.git("branch", "-av"))
    assert {file.name for file in git.iterdir()} == names


async def test_what_git_ignores_and_records_of_teams_are_not_saved(tmp_path: Path) -> None:
    ground = Ground(tmp_path, in_git=True)
    ground.fill({".gitignore": (0o644, b"*.log\n"), "x.log": (0o644, b""), ".teams/main/roster": (0o600, b"")})
    saved = await ground.checkpoints.save()
    assert ground.git("ls-tree", "-r", "--name-only", saved.tree).split() == [".gitignore"]


async def test_dropping_deletes_copies_that_no_other_team_has(tmp_path: Path) -> None:
    ground = Ground(tmp_path, in_git=False)
    ground.fill({"a": (0o644, b"first")})
    first = ground.checkpoints.add(await ground.checkpoints.save())
    ground.fill({"a": (0o644, b"second")})
    other = ground.of_team("other")
    other.add(await other.save())
    ground.checkpoints.drop([first.number])
    kept = [file.read_bytes() for file in (tmp_path / "state").rglob("objects/*/*")]
    assert (b"second" in kept, b"first" in kept, len(kept)) == (True, False, 2)


def test_a_restore_removes_only_what_the_team_created_and_touches_nothing_that_was_left_out() -> None:
    changes = [Change(name, ChangeKind.CREATED) for name in ("ours", "theirs", "big")]
    changes += [Change("edited", ChangeKind.CHANGED), Change("gone", ChangeKind.DELETED)]
    assert restore_plan(changes, {"big"}, "ours".__eq__) == RestorePlan(
        write=("edited", "gone"), remove=("ours",), doubtful=("theirs",), kept=("big",)
    )


def test_old_checkpoints_are_dropped_by_count_and_age_but_never_the_last() -> None:
    points = [Point(number, number * DAY, Saved("t")) for number in range(1, 11)]
    assert outdated(points, 200, 30.0, 10 * DAY) == []
    assert outdated(points, 4, 30.0, 10 * DAY) == [1, 2, 3, 4, 5, 6]
    assert outdated(points, 200, 2.0, 10 * DAY) == [1, 2, 3, 4, 5, 6, 7]
    assert outdated(points, 200, 2.0, 100 * DAY) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


async def test_the_oldest_copies_of_any_team_are_dropped_if_all_take_too_much_room(tmp_path: Path) -> None:
    ground = Ground(tmp_path, in_git=False)
    for number in range(4):
        ground.fill({"same": (0o644, bytes(1000)), "other": (0o644, bytes([number]) * 1000)})
        for team in ("main", "other")[: 2 - number % 2]:
            checkpoints = ground.of_team(team)
            checkpoints.add(await checkpoints.save())
    small = CopyCheckpoints(ground.root, tmp_path / "state", "main", SHAPES, most_bytes=3500)
    small.prune(200, 30.0)
    assert [point.number for point in small.points()] == [3, 4]
    assert [point.number for point in ground.of_team("other").points()] == [2]
    assert all(ground.checkpoints.content(point.saved.tree, "other") for point in small.points())


async def test_saving_and_restoring_run_no_hook_and_no_monitor(tmp_path: Path) -> None:
    ground = Ground(tmp_path, in_git=True)
    ground.fill({"a": (0o644, b"old")})
    mark = tmp_path / "mark"
    for name in ("post-index-change", "reference-transaction", "post-checkout", "query-watchman"):
        hook = ground.root / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
        hook.chmod(0o755)
    ground.git("config", "core.fsmonitor", str(ground.root / ".git/hooks/query-watchman"))
    saved = await ground.checkpoints.save()
    ground.checkpoints.add(saved)
    (ground.root / "a").write_text("new")
    await ground.bring_back(saved)
    assert (ground.root / "a").read_text() == "old"
    assert not mark.exists()


@pytest.mark.parametrize("is_set_up", [True, False], ids=["set-up", "unknown-in-the-sandbox"])
async def test_a_file_that_git_filters_is_left_out_and_not_overwritten(tmp_path: Path, is_set_up: bool) -> None:
    ground = Ground(tmp_path, in_git=True)
    ground.fill({".gitattributes": (0o644, b"*.nb filter=strip\n"), "x.nb": (0o644, b"in\nout\n")})
    ground.git("config", "filter.strip.clean", "grep -v out")
    ground.git("add", "-A")
    ground.git("commit", "-qm", "First")
    if not is_set_up:
        ground.git("config", "--unset", "filter.strip.clean")
    saved = await ground.checkpoints.save()
    (ground.root / "x.nb").write_text("new in\nnew out\n")
    now = await ground.checkpoints.save()
    assert now.left_out == ("x.nb",)
    await ground.bring_back(saved)
    assert (ground.root / "x.nb").read_text() == "new in\nnew out\n"
