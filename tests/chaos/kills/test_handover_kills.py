"""`deskmate merge`, killed at any step of git: the user loses nothing, and the next one finishes it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.kills.handover_desk import (
    MINE,
    PREPARATIONS,
    HandoverDesk,
    Preparation,
    both_have_commits,
    only_the_team_has_commits,
    the_team_began_with_changes,
    the_team_works_on_a_draft,
)
from tests.workspace.trees.deadly_git import needs_strace

pytestmark = pytest.mark.behaviour("worktree")
# How many points are tried in an ordinary run.
STEPS = 3


@pytest.mark.parametrize("prepare", PREPARATIONS, ids=lambda prepare: prepare.__name__)
def test_a_merge_that_is_killed_loses_nothing_and_the_next_one_finishes_it(
    tmp_path: Path, prepare: Preparation
) -> None:
    desk = HandoverDesk(tmp_path, prepare)
    assert desk.flaws(desk.merge, prepare.__name__, STEPS) == {}


@pytest.mark.parametrize("prepare", [only_the_team_has_commits, the_team_began_with_changes])
def test_the_next_merge_finishes_it_also_if_the_team_went_on_in_the_same_files(
    tmp_path: Path, prepare: Preparation
) -> None:
    desk = HandoverDesk(tmp_path, prepare)
    assert desk.merge() == 0
    for moment, step in desk.points(f"{prepare.__name__} goes on", STEPS):
        desk.renew()
        desk.git.kill_at(moment, step)
        assert desk.merge() == -9, (moment, step)
        desk.merge_more({"new/ann.txt": "Ann\n"})
        desk.git.kill_at()
        assert desk.merge() == 0, (moment, step)
        assert {name: (desk.root / name).read_text() for name in MINE} == MINE
        assert (desk.root / "new/ann.txt").read_text() == "Ann\n", (moment, step)
        assert desk.seen()["locks"] == []


@needs_strace
@pytest.mark.parametrize("name", ["list.txt", "draft.txt"])
def test_a_file_that_a_killed_git_has_only_begun_is_written_by_the_next_merge(
    tmp_path: Path, name: str, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    prepare = the_team_works_on_a_draft if name == "draft.txt" else both_have_commits
    desk = HandoverDesk(tmp_path, prepare)
    assert desk.merge() == 0
    end = desk.seen()
    [step] = [number for number, words in enumerate(desk.git.steps, 1) if "read-tree -m -u" in words]
    desk.renew()
    desk.git.kill_at("halved", step, file=desk.root / name)
    assert desk.merge() == -9
    eventually(lambda: (desk.root / name).exists() and not (desk.root / name).stat().st_size)
    desk.git.kill_at()
    assert desk.merge() == 0
    assert desk.seen() == end
