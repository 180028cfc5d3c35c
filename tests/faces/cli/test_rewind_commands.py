"""Rewind, fork and compare from any shell: what they print, ask and refuse."""

import subprocess
from pathlib import Path

import pytest
from anyio import to_thread

from deskmate.app import environment
from deskmate.app.rewind.rewinding import kept_stopped
from deskmate.app.sessions.abandoned_teams import give_up_abandoned
from deskmate.trust.team_signature import Signing
from tests.app.rewind.rewind_story import begin, files, go_on, settings
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
        assert f"To undo this, run: deskmate -C {team.workspace} rewind main 3" in ran.stderr
        assert (await typed(team.workspace, "rewind", "3", "--yes")).code == 0
        assert files(team) == painted


async def test_a_file_that_cannot_be_restored_is_named_and_the_exit_status_says_so(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=True) as team:
        (team.workspace / ".gitignore").write_text("*.log\n")
        await team.run("paint red")
        (team.workspace / "wall").unlink()
        (team.workspace / "wall").mkdir()
        # Git does not remove a folder with a file that it ignores.
        (team.workspace / "wall/mine.log").write_text("mine\n")
        ran = await typed(team.workspace, "rewind", "1", "--yes")
        assert (ran.code, "could not be restored: wall\n" in ran.stderr) == (1, True)
        assert (team.workspace / "wall/mine.log").read_text() == "mine\n"


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
        ran = await typed(team.workspace, "rewind", "9", "--yes")
        assert (ran.code, ran.stderr.splitlines()[0]) == (2, "deskmate: Team 'main' has no point 9")
        ran = await typed(team.workspace, "fork", "main")
        assert (ran.code, "To list the points, run: deskmate rewind TEAM" in ran.stderr) == (2, True)
        ran = await typed(team.workspace, "rewind", "main", "first")
        assert (ran.code, "'first' is not a valid number" in ran.stderr) == (2, True)


@pytest.mark.parametrize("option", ["--dry-run", "--force"])
async def test_what_concerns_files_is_refused_if_only_the_conversation_goes_back(tmp_path: Path, option: str) -> None:
    async with begin(tmp_path, in_git=True) as team:
        await team.run("paint red")
        ran = await typed(team.workspace, "rewind", "1", "--conversation", option)
        assert (ran.code, f"{option} concerns files" in ran.stderr) == (2, True)
        assert [row.split()[0] for row in (await typed(team.workspace, "teams")).stdout.splitlines()[1:]] == ["main"]


async def test_a_dry_run_with_force_names_what_would_be_removed(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=True) as team:
        await team.run("paint red")
        (team.workspace / "mine").write_text("mine\n")
        assert "keep (created since" in (await typed(team.workspace, "rewind", "1", "--dry-run")).stderr
        ran = await typed(team.workspace, "rewind", "1", "--dry-run", "--force")
        assert "remove (not as the team wrote it): mine" in ran.stderr
        assert (team.workspace / "mine").exists()


async def test_the_undo_command_is_on_a_line_of_its_own(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=True) as team:
        await team.run("paint red")
        (team.workspace / "mine").write_text("mine\n")
        ran = await typed(team.workspace, "rewind", "1", "--yes")
        assert ran.stderr.splitlines()[-3:] == [
            "Your files are as at point 1, except for the kept ones, which are new.",
            f"To remove the kept files, run: deskmate -C {team.workspace} rewind main 1 --force",
            f"To undo this, run: deskmate -C {team.workspace} rewind main 2",
        ]


async def test_a_forked_team_without_points_names_the_teams_that_may_have_some(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=True) as team:
        await team.run("paint red")
        await go_on(team, "main", "paint blue")
        ran = await typed(team.workspace, "fork", "main", "--at", "2")
        assert "It ends before your message: paint blue" in ran.stderr
        ran = await typed(team.workspace, "rewind", "main-2")
        assert ran.stdout.splitlines()[1:] == ["To list the points of another team, run: deskmate rewind TEAM"]


async def test_a_running_team_is_not_rewound_and_its_user_is_told_how_before_any_question(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=True) as team:
        await team.run("paint red")
        async with kept_stopped(team.workspace, "main"):
            ran = await typed(team.workspace, "rewind", "1")
        assert ran.stderr.splitlines()[-1] == "In its conversation, type: /rewind 1"
        assert "restore:" not in ran.stderr


async def test_a_fork_at_the_first_message_is_listed_and_stays_if_another_team_starts(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=True) as team:
        await team.run("paint red")
        assert (await typed(team.workspace, "fork", "main", "--at", "1", "--team", "again")).code == 0
        shown = (await typed(team.workspace, "teams")).stdout
        assert {row.split()[0] for row in shown.splitlines()[1:]} == {"main", "again"}
        await give_up_abandoned(Signing(settings().state, team.workspace))
        assert (team.workspace / ".teams/again").exists()
