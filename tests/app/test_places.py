"""Places: which folder is worked in, which team is meant, which notes and skills an agent is given."""

import logging
import os
from pathlib import Path

import pytest

from deskmate.app.furnishing import connected, furnished
from deskmate.app.places import branch_of, free_team, latest_team, notes_for, skills_in, workspace_of
from deskmate.config import load
from deskmate.core.briefs import NOTES_CAP, brief
from deskmate.core.skills import Skill
from deskmate.core.spending import Caps
from deskmate.errors import Refused, UnsafeFolder
from deskmate.runtime.board import Board
from deskmate.runtime.feed import Feed
from deskmate.runtime.office import Office
from deskmate.runtime.purse import Purse
from deskmate.runtime.roster import Roster
from deskmate.runtime.streams import Pen
from deskmate.stores.memory import MemoryStore
from deskmate.testing import FakeClock
from deskmate.workspaces.sandbox import Level, Sandbox


def made(root: Path, *paths: str) -> Path:
    """Make these files and, where the path ends with a slash, folders; return the root."""
    for path in paths:
        place = root / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"of {path}")
    return root


# -- the workspace ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        pytest.param(["a/b/c/"], "a/b/c", id="nothing above"),
        pytest.param(["a/.git/", "a/b/c/"], "a", id="a repository above"),
        pytest.param(["a/.git", "a/b/c/"], "a", id="a worktree above"),
        pytest.param(["a/b/.git/", "a/.git/", "a/b/c/"], "a/b", id="the nearest repository"),
        pytest.param(["a/.teams/", "a/b/.git/", "a/b/c/"], "a", id="teams before a repository"),
        pytest.param(["a/.teams/", "a/b/c/.teams/"], "a/b/c", id="teams here"),
    ],
)
def test_the_workspace_is_the_nearest_with_teams_else_the_repository_else_the_folder(
    tmp_path: Path, there: list[str], expected: str
) -> None:
    root = made(tmp_path.resolve(), *there)
    assert workspace_of(root / "a/b/c") == root / expected


def test_a_link_to_a_folder_is_the_folder_it_leads_to(tmp_path: Path) -> None:
    root = made(tmp_path.resolve(), "a/.git/", "a/b/")
    (root / "link").symlink_to(root / "a/b")
    assert workspace_of(root / "link") == root / "a"


@pytest.mark.parametrize(("path", "words"), [("nowhere", "is not there"), ("file", "is no folder")])
def test_what_is_no_folder_is_no_workspace(tmp_path: Path, path: str, words: str) -> None:
    made(tmp_path, "file")
    with pytest.raises(UnsafeFolder, match=words):
        workspace_of(tmp_path / path)


# -- the team ---------------------------------------------------------------------------------------


def test_the_first_free_team_is_main_then_counted(tmp_path: Path) -> None:
    assert free_team(tmp_path) == "main"
    made(tmp_path, ".teams/main/", ".teams/main-3/")
    assert free_team(tmp_path) == "main-2"
    made(tmp_path, ".teams/main-2/")
    assert free_team(tmp_path) == "main-4"


def test_a_name_that_a_broken_link_has_taken_is_not_free(tmp_path: Path) -> None:
    made(tmp_path, ".teams/")
    (tmp_path / ".teams/main").symlink_to(tmp_path / "gone")
    assert free_team(tmp_path) == "main-2"


def test_the_latest_team_is_the_one_last_written_to(tmp_path: Path) -> None:
    made(tmp_path, ".teams/old/roster.jsonl", ".teams/new/roster.jsonl", ".teams/new/config.json", ".teams/empty/")
    os.utime(tmp_path / ".teams/old/roster.jsonl", (100, 100))
    os.utime(tmp_path / ".teams/new/roster.jsonl", (200, 200))
    made(tmp_path, ".teams/old/config.json", ".teams/.archive/x-1/roster.jsonl", ".teams/Not a team/roster.jsonl")
    assert latest_team(tmp_path) == "new"


def test_a_board_that_was_written_to_counts_as_its_team(tmp_path: Path) -> None:
    for at, name in enumerate(("old", "new"), 1):
        for file in (tmp_path / ".teams" / name / "roster.jsonl", tmp_path / ".tasks" / name / "board.jsonl"):
            file.parent.mkdir(parents=True)
            file.touch()
            os.utime(file, (at, at))
    os.utime(tmp_path / ".tasks" / "old" / "board.jsonl", (3, 3))
    assert latest_team(tmp_path) == "old"


def test_a_team_is_as_new_as_the_newest_of_its_streams(tmp_path: Path) -> None:
    made(tmp_path, ".teams/one/roster.jsonl", ".teams/two/roster.jsonl", ".teams/two/lead_transcript.jsonl")
    for path, seconds in (("one/roster", 200), ("two/roster", 100), ("two/lead_transcript", 300)):
        os.utime(tmp_path / f".teams/{path}.jsonl", (seconds, seconds))
    assert latest_team(tmp_path) == "two"


@pytest.mark.parametrize("there", [[], [".teams/"], [".teams/.archive/", ".teams/file"]])
def test_where_there_is_no_team_it_says_how_to_begin_one(tmp_path: Path, there: list[str]) -> None:
    made(tmp_path, *there)
    with pytest.raises(Refused, match="begin one with: deskmate, or deskmate run"):
        latest_team(tmp_path)


# -- the notes --------------------------------------------------------------------------------------


@pytest.mark.behaviour("prompt")
@pytest.mark.parametrize(
    ("there", "expected"),
    [
        pytest.param([], ("AGENTS.md", ""), id="none"),
        pytest.param(["w/AGENTS.md", "w/a/AGENTS.md"], ("AGENTS.md", "of w/a/AGENTS.md"), id="the nearest"),
        pytest.param(["w/AGENTS.md", "w/a/b/"], ("AGENTS.md", "of w/AGENTS.md"), id="from above"),
        pytest.param(["w/AGENTS.md", "w/a/b/CLAUDE.md"], ("AGENTS.md", "of w/AGENTS.md"), id="before a nearer other"),
        pytest.param(["w/CLAUDE.md", "w/a/CLAUDE.md"], ("CLAUDE.md", "of w/a/CLAUDE.md"), id="the other, nearest"),
        pytest.param(["AGENTS.md", "w/CLAUDE.md"], ("CLAUDE.md", "of w/CLAUDE.md"), id="none from outside"),
        pytest.param(["w/AGENTS.md/", "w/CLAUDE.md"], ("CLAUDE.md", "of w/CLAUDE.md"), id="a folder is no file"),
    ],
)
def test_the_nearest_notes_up_to_the_workspace_are_taken(
    tmp_path: Path, there: list[str], expected: tuple[str, str]
) -> None:
    root = made(tmp_path.resolve(), "w/a/b/", *there)
    assert notes_for(root / "w/a/b", root / "w") == expected


def test_notes_that_are_no_utf_8_are_read_as_far_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_bytes(b"caf\xe9 first")
    assert notes_for(tmp_path.resolve(), tmp_path.resolve()) == ("AGENTS.md", "caf\ufffd first")


def test_who_works_from_outside_of_the_workspace_reads_the_notes_at_its_top(tmp_path: Path) -> None:
    root = made(tmp_path.resolve(), "w/AGENTS.md", "elsewhere/AGENTS.md")
    assert notes_for(root / "elsewhere", root / "w") == ("AGENTS.md", "of w/AGENTS.md")


def test_notes_that_cannot_be_read_are_passed_over_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = made(tmp_path.resolve(), "AGENTS.md", "a/AGENTS.md")
    (root / "a/AGENTS.md").unlink()
    # A file that is there and gives an error to whoever reads it, root included.
    (root / "a/AGENTS.md").symlink_to("/proc/self/mem")
    assert notes_for(root / "a", Path("/")) == ("AGENTS.md", "of AGENTS.md")
    assert "a/AGENTS.md cannot be read (Input/output error) and is left out" in caplog.text


def test_notes_that_lead_out_of_the_workspace_are_passed_over_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = made(tmp_path.resolve(), "secret", "w/AGENTS.md", "w/a/NOTES.md")
    (root / "w/b").mkdir()
    (root / "w/b/AGENTS.md").symlink_to("../../secret")
    (root / "w/a/AGENTS.md").symlink_to("NOTES.md")
    assert notes_for(root / "w/b", root / "w") == ("AGENTS.md", "of w/AGENTS.md")
    assert "w/b/AGENTS.md leads out of the workspace and is left out" in caplog.text
    assert notes_for(root / "w/a", root / "w") == ("AGENTS.md", "of w/a/NOTES.md")


def test_of_endless_notes_only_the_beginning_is_read(tmp_path: Path) -> None:
    with (tmp_path / "AGENTS.md").open("wb") as file:
        file.truncate(10**12)
    assert len(notes_for(tmp_path.resolve(), tmp_path.resolve())[1]) == NOTES_CAP + 1


def test_the_branch_is_found_in_a_worktree_and_below_the_top(tmp_path: Path) -> None:
    (tmp_path / "repo/.git/worktrees/w").mkdir(parents=True)
    (tmp_path / "repo/.git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "repo/.git/worktrees/w/HEAD").write_text("ref: refs/heads/side/way\n")
    (tmp_path / "repo/deep/er").mkdir(parents=True)
    (tmp_path / "w").mkdir()
    (tmp_path / "w/.git").write_text(f"gitdir: {tmp_path}/repo/.git/worktrees/w\n")
    (tmp_path / "none").mkdir()
    found = [branch_of(tmp_path / place) for place in ("repo", "repo/deep/er", "w", "none")]
    assert found == ["main", "main", "side/way", None]


@pytest.mark.anyio
@pytest.mark.behaviour("prompt")
async def test_an_agent_is_given_the_notes_of_the_folder_that_was_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made(tmp_path.resolve(), "w/AGENTS.md", "w/a/AGENTS.md", "elsewhere/AGENTS.md")
    monkeypatch.chdir(root / "elsewhere")
    pen = Pen(MemoryStore(), FakeClock())
    roster = Roster(pen)
    office = Office(pen, roster, Board(pen, roster), Purse(pen, Caps()), Feed())
    settings = load({"HOME": str(root), "ANTHROPIC_API_KEY": "sk-test"}, {})
    async with connected(settings) as client:
        furniture = await furnished(
            root / "w", "main", settings, office, client, Sandbox(Level.NONE), folder=root / "w/a"
        )
        text = brief(furniture.started().made_of)
    assert "of w/a/AGENTS.md" in text
    assert "elsewhere" not in text


# -- the skills -------------------------------------------------------------------------------------


def skill(name: str, description: str = "does it") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\nHow."


@pytest.mark.behaviour("skills")
def test_every_folder_with_a_whole_skill_is_found_and_a_broken_one_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made(tmp_path, "broken/SKILL.md", "folder/SKILL.md/", "none/README.md", "good/", "better/")
    (tmp_path / "good/SKILL.md").write_text(skill("good"))
    (tmp_path / "better/SKILL.md").write_bytes(skill("better").encode() + b"\xff")
    with caplog.at_level(logging.WARNING):
        found = skills_in(tmp_path)
    assert found == {
        "better": Skill("better", "does it", "How.\ufffd", str(tmp_path / "better")),
        "good": Skill("good", "does it", "How.", str(tmp_path / "good")),
    }
    warned = [record.getMessage() for record in caplog.records]
    assert ["broken/SKILL.md has no front matter" in one for one in warned].count(True) == 1
    assert ["folder/SKILL.md" in one for one in warned].count(True) == 1


@pytest.mark.behaviour("skills")
def test_of_two_skills_of_one_name_the_first_is_kept_and_the_other_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made(tmp_path, "a/", "b/")
    (tmp_path / "a/SKILL.md").write_text(skill("tidy", "first"))
    (tmp_path / "b/SKILL.md").write_text(skill("tidy", "second"))
    assert skills_in(tmp_path)["tidy"].description == "first"
    assert f"{tmp_path}/b" in caplog.text


def test_no_folder_is_no_skills(tmp_path: Path) -> None:
    assert skills_in(tmp_path / "nowhere") == {}
