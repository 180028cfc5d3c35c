"""The files come back as they were before a message, and a rewind can be undone."""

import subprocess
from pathlib import Path

import pytest

from deskmate.app.rewind.rewinding import Restored, kept_stopped
from deskmate.errors import Refused, TeamRunning
from deskmate.faces.common.rewind.rewind_command import next_lines
from tests.app.rewind.rewind_story import begin, files, go_on, rewinder

pytestmark = pytest.mark.anyio
in_git = pytest.mark.parametrize("in_git", [True, False], ids=["git", "copies"])
PAINTED = {"wall": "bare\nred\nblue\n", "red.txt": "red\n", "blue.txt": "blue\n", "drop-red": "\n", "drop-blue": "\n"}


@in_git
async def test_there_is_a_point_before_each_message_and_its_files_come_back(tmp_path: Path, in_git: bool) -> None:
    async with begin(tmp_path, in_git=in_git) as team:
        await team.run("paint red")
        await go_on(team, "main", "paint blue")
        points = await rewinder(team).points()
        assert [(one.number, one.words, one.changed) for one in points] == [(1, "paint red", 5), (2, "paint blue", 3)]
        restored = await rewinder(team).restore(2)
        assert restored == Restored(2, 3, ("wall",), ("blue.txt",), ("drop-blue",))
        kept = {"drop-blue": "\n"}
        assert files(team) == {"wall": "bare\nred\n", "red.txt": "red\n", "drop-red": "\n", **kept}
        await rewinder(team).restore(3)
        assert files(team) == PAINTED
        await rewinder(team).restore(1, force=True)
        assert files(team) == {"wall": "bare\n"}


@in_git
async def test_a_preview_changes_nothing_and_shows_the_differences(tmp_path: Path, in_git: bool) -> None:
    async with begin(tmp_path, in_git=in_git) as team:
        await team.run("paint red")
        before = files(team)
        seen = await rewinder(team).preview(1)
        assert (seen.plan.write, seen.plan.remove, seen.plan.doubtful) == (("wall",), ("red.txt",), ("drop-red",))
        assert "+red\n" in seen.diff
        assert files(team) == before
        assert len(await rewinder(team).points()) == 1


async def test_a_file_of_the_team_that_the_user_changed_since_stays(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=True) as team:
        await team.run("paint red")
        (team.workspace / "red.txt").write_text("mine now\n")
        assert "red.txt" in (await rewinder(team).restore(1)).kept
        assert files(team)["red.txt"] == "mine now\n"


@pytest.mark.parametrize(
    "hide",
    ["echo wall > .gitignore", "git init -q . && git -c user.name=U -c user.email=u@x commit -q --allow-empty -m 1"],
    ids=["ignored", "other-repository"],
)
async def test_a_file_that_git_does_not_save_any_more_is_not_overwritten(tmp_path: Path, hide: str) -> None:
    async with begin(tmp_path, in_git=True) as team:
        wall = team.workspace / "house/wall"
        wall.parent.mkdir()
        wall.write_text("bare\n")
        await team.run("paint red")
        wall.write_text("mine\n")
        subprocess.run(hide, shell=True, cwd=wall.parent, check=True)
        assert (await rewinder(team).preview(1)).plan.kept == ("house/wall",)
        restored = await rewinder(team).restore(1)
        assert restored.left_out == ("house/wall",)
        assert wall.read_text() == "mine\n"
        assert "Your other files are as at point 1" in next_lines(restored, "type: /rewind", "force")[0]


async def test_a_point_that_is_not_there_and_a_team_that_runs_are_refused(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=False) as team:
        await team.run("paint red")
        with pytest.raises(Refused):
            await rewinder(team).restore(7)
        async with kept_stopped(team.workspace, "main"):
            with pytest.raises(TeamRunning):
                async with kept_stopped(team.workspace, "main"):
                    pytest.fail("two processes had the team")
