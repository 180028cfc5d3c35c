"""Rewind, fork and compare from any shell: what they print, ask and refuse."""

import subprocess
from pathlib import Path

import pytest
from anyio import to_thread

from deskmate.app import environment
from tests.app.rewind.rewind_story import begin, files, go_on
from tests.faces.fake_app import Ended, run_command

pytestmark = pytest.mark.anyio


async def typed(workspace: Path, *words: str) -> Ended:
    """Type a command of the user of an open scenario, while the loop of the scenario goes on."""
    return await to_thread.run_sync(lambda: run_command("-C", str(workspace), *words, env={**environment()}))


async def test_points_are_listed_previewed_restored_and_undone(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=True) as team:
        await team.run("paint red")
        await go_on(team, "main", "paint blue")
        painted = files(team)
        ran = await typed(team.workspace, "rewind")
        assert [line.split()[0] for line in ran.stdout.splitlines()] == ["point", "1", "2"]
        assert "paint blue" in ran.stdout
        ran = await typed(team.workspace, "rewind", "main", "2", "--dry-run")
        assert (ran.code, "+blue" in ran.stdout, files(team)) == (0, True, painted)
        ran = await typed(team.workspace, "rewind", "2")
        assert (ran.code, files(team)) == (2, painted)
        ran = await typed(team.workspace, "rewind", "2", "--yes", "--force")
        assert (ran.code, files(team)) == (0, {"wall": "bare\nred\n", "red.txt": "red\n", "drop-red": "\n"})
        assert f"To undo this: deskmate -C {team.workspace} rewind main 3" in ran.stderr
        assert (await typed(team.workspace, "rewind", "3", "--yes")).code == 0
        assert files(team) == painted


async def test_both_restores_files_and_forks_and_compare_shows_the_two(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=False) as team:
        await team.run("paint red")
        ran = await typed(team.workspace, "rewind", "1", "--both", "--yes", "--force")
        assert (ran.code, ran.stdout, files(team)) == (0, "main-2\n", {"wall": "bare\n"})
        ran = await typed(team.workspace, "fork", "main", "--at", "1", "--team", "third", "--model", "openai:x")
        assert (ran.stdout, "--team third --model openai:x" in ran.stderr) == ("third\n", True)
        await go_on(team, "third", "paint green")
        ran = await typed(team.workspace, "compare", "main", "third", "--diff")
        assert ran.code == 0
        assert [line.split()[0] for line in ran.stdout.splitlines() if line[:5] in ("cost ", "calls")] == [
            "cost",
            "calls",
        ]
        assert "-red\n" in ran.stdout
        assert "+green\n" in ran.stdout


async def test_a_removed_team_leaves_no_checkpoints(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=True) as team:
        await team.run("paint red")
        refs = team.workspace / ".git/refs/deskmate-checkpoints/main"
        assert [file.name for file in refs.iterdir()] == ["1"]
        assert (await typed(team.workspace, "teams", "rm", "main", "--yes")).code == 0
        assert not refs.exists()


async def test_pruning_trees_leaves_checkpoints(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=True) as team:
        for words in (("add", "wall"), ("-c", "user.name=U", "-c", "user.email=u@x", "commit", "-qm", "Wall")):
            subprocess.run(["git", *words], cwd=team.workspace, check=True)
        await team.run("paint red")
        assert "checkpoints" not in (await typed(team.workspace, "doctor")).stdout
        assert (await typed(team.workspace, "trees", "prune")).code == 0
        assert (await typed(team.workspace, "rewind", "1", "--yes", "--force")).code == 0
        assert files(team) == {"wall": "bare\n"}


async def test_what_needs_a_point_says_so(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=True) as team:
        await team.run("paint red")
        assert (await typed(team.workspace, "rewind", "--both")).code == 2
        assert (await typed(team.workspace, "rewind", "9", "--yes")).code == 2
