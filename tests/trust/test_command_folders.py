"""Commands: which are found in a workspace and in the user's folders, and what hostile folders come to."""

import os
import shutil
from pathlib import Path

import pytest

from deskmate.app.commands.usable_commands import first_command, list_commands
from deskmate.config import Settings
from deskmate.core.policy.trusted_files import Approval
from deskmate.trust.approvals import Consent, Trust, survey
from deskmate.trust.command_folders import FoundCommands, commands_of
from deskmate.trust.project_files import MOST_FILES, definitions_in, seen_in
from tests.claude_folders import GIT_HELPERS, PROJECT_KIT, WORKFLOW_SUITE
from tests.trust.markdown_files import write

pytestmark = pytest.mark.behaviour("commands", "trust")


def found_in(place: Path, *own: Path) -> FoundCommands:
    """Return the commands that there are if all of a workspace is trusted."""
    return commands_of(definitions_in(place, place), place, own)


def test_the_folders_of_known_repositories_are_read(place: Path) -> None:
    shutil.copytree(GIT_HELPERS, place / ".claude/commands/git")
    shutil.copytree(WORKFLOW_SUITE, place / ".claude/commands", dirs_exist_ok=True)
    shutil.copytree(PROJECT_KIT, place / ".deskmate/commands")
    found = found_in(place)
    assert sorted(found.by_name) == [
        "docs:api:publish",
        "git:commit",
        "git:fix-issue",
        "help",
        "plan-release",
        "review",
        "testing:harness",
    ]
    (problem,) = found.problems
    assert problem.startswith(".deskmate/commands/broken.md has no text")


def test_the_users_commands_win_a_name_and_of_a_workspace_ours_before_others(place: Path, tmp_path: Path) -> None:
    write(place / ".claude/commands", tidy="a", ship="b", look="c")
    write(place / ".deskmate/commands", ship="d")
    write(tmp_path / "own", tidy="e")
    found = found_in(place, tmp_path / "own", tmp_path / "nowhere")
    assert {name: one.prompt for name, one in found.by_name.items()} == {"tidy": "e", "ship": "d", "look": "c"}
    assert len(found.problems) == 2


def test_a_command_counts_only_with_the_bytes_that_were_approved(place: Path, settings: Settings) -> None:
    write(place / ".claude/commands", ship="Ship it.")
    assert list_commands(place, settings).usable == {}
    assert [(one.name, how) for one, how in list_commands(place, settings).untrusted] == [("ship", Approval.NEW)]
    assert seen_in(place, place) == [".claude/commands"]
    Trust(settings.state).approve(place, survey(place, settings.state, reads=True).whole)
    assert list(list_commands(place, settings).usable) == ["ship"]
    write(place / ".claude/commands", ship="Ship it now.")
    assert [(one.name, how) for one, how in list_commands(place, settings).untrusted] == [("ship", Approval.CHANGED)]
    assert (
        first_command("/ship", place, settings, Consent(survey(place, settings.state, reads=False).consent.definitions))
        is None
    )


def test_the_users_own_folders_are_not_read_inside_the_workspace(place: Path) -> None:
    write(place / "own", tidy="x")
    assert found_in(place, place / "own").by_name == {}


def test_links_out_of_the_workspace_are_not_followed(place: Path, tmp_path: Path) -> None:
    write(tmp_path / "outside", secret="Tell this.")
    commands = place / ".claude/commands"
    commands.mkdir(parents=True)
    (commands / "file.md").symlink_to(tmp_path / "outside/secret.md")
    (commands / "folder").symlink_to(tmp_path / "outside")
    (commands / "loop").symlink_to(commands)
    assert found_in(place).by_name == {}
    (place / ".deskmate").mkdir()
    (place / ".deskmate/commands").symlink_to(tmp_path / "outside")
    assert found_in(place).by_name == {}


def test_pipes_huge_files_and_odd_names_are_left_out(place: Path) -> None:
    commands = place / ".claude/commands"
    write(commands, fine="Do it.", huge="x" * 300_000)
    os.mkfifo(commands / "pipe.md")
    (commands / "od\x1b[2Jd.md").write_text("Clear.")
    (commands / "..md").write_text("Up.")
    found = found_in(place)
    assert list(found.by_name) == ["fine"]
    assert len(found.problems) == 2


def test_of_thousands_of_files_and_folders_only_the_first_are_read(place: Path) -> None:
    write(place / ".claude/commands", **{f"c{number:04}": "Do it." for number in range(MOST_FILES + 50)})
    for number in range(6000):
        (place / f".deskmate/commands/d{number}").mkdir(parents=True)
    assert len(found_in(place).by_name) == MOST_FILES


def test_the_users_folders_may_have_links(place: Path, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", tidy="Sweep.")
    (tmp_path / "own").mkdir()
    (tmp_path / "own/tidy.md").symlink_to(tmp_path / "elsewhere/tidy.md")
    assert list(found_in(place, tmp_path / "own").by_name) == ["tidy"]
