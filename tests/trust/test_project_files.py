"""Definitions: which notes and skills of a workspace are found, how they are read, and what agents are given."""

import logging
import os
from pathlib import Path

import pytest

from deskmate.app.build import team_parts_of
from deskmate.app.parts.asked_models import client_of
from deskmate.config import load
from deskmate.core.policy.trusted_files import Definition
from deskmate.core.prompt.skills import Skill
from deskmate.core.prompt.system_prompt import NOTES_CAP, brief
from deskmate.core.team.caps import Caps
from deskmate.runtime.events import Feed
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.team_state import TeamState
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import FakeClock
from deskmate.trust.approvals import Consent
from deskmate.trust.project_files import (
    MOST_BYTES,
    MOST_FILES,
    branch_of,
    definitions_at,
    definitions_in,
    notes_of,
    seen_in,
    skills_of,
)
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from tests.trust.test_folders import made


def notes_for(folder: Path, workspace: Path) -> tuple[str, str]:
    """Return the notes that an agent would be given where all is trusted."""
    return notes_of(definitions_in(workspace, folder))


def skills_in(folder: Path) -> dict[str, Skill]:
    """Return the skills of a user's own folder."""
    return skills_of((), Path("/nowhere"), [folder])


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
    root = made(tmp_path.resolve(), "AGENTS.md", "a/")
    # A file that exists and cannot be read, not even by root.
    (root / "a/AGENTS.md").symlink_to("/proc/self/mem")
    assert notes_for(root / "a", Path("/")) == ("AGENTS.md", "of AGENTS.md")
    assert "a/AGENTS.md cannot be used: Input/output error" in caplog.text


def test_notes_that_lead_out_of_the_workspace_are_passed_over_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = made(tmp_path.resolve(), "secret", "w/AGENTS.md", "w/a/NOTES.md")
    (root / "w/b").mkdir()
    (root / "w/b/AGENTS.md").symlink_to("../../secret")
    (root / "w/a/AGENTS.md").symlink_to("NOTES.md")
    assert notes_for(root / "w/b", root / "w") == ("AGENTS.md", "of w/AGENTS.md")
    assert "Skipping b/AGENTS.md: b/AGENTS.md is outside the workspace" in caplog.text
    assert notes_for(root / "w/a", root / "w") == ("AGENTS.md", "of w/a/NOTES.md")


def test_of_long_notes_an_agent_is_given_the_beginning_and_nobody_reads_endless_ones(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = tmp_path.resolve()
    (root / "AGENTS.md").write_bytes(b"x" * MOST_BYTES)
    assert len(notes_for(root, root)[1]) == NOTES_CAP + 1
    with (root / "AGENTS.md").open("wb") as file:
        file.truncate(10**12)
    assert notes_for(root, root) == ("AGENTS.md", "")
    assert "Skipping AGENTS.md: AGENTS.md has 1,000,000,000,000 bytes" in caplog.text


@pytest.mark.behaviour("trust")
def test_what_is_no_regular_file_or_leads_into_records_is_no_definition(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = made(tmp_path.resolve(), ".teams/main/lead_inbox.jsonl", "skills/x/", ".deskmate/skills/y/")
    (root / "AGENTS.md").symlink_to(".teams/main/lead_inbox.jsonl")
    os.mkfifo(root / ".deskmate/settings.toml")
    (root / ".deskmate/skills/y/SKILL.md").symlink_to("/etc/passwd")
    (root / ".deskmate/skills/z").symlink_to("/etc")
    assert definitions_in(root, root) == ()
    told = [record.getMessage().split()[1].rstrip(":") for record in caplog.records]
    assert told == ["AGENTS.md", ".deskmate/settings.toml", ".deskmate/skills/y/SKILL.md"]


@pytest.mark.behaviour("trust")
def test_what_is_there_is_told_without_opening_any_of_it(tmp_path: Path) -> None:
    root = made(tmp_path.resolve(), "a/", "AGENTS.md", ".deskmate/settings.toml", ".deskmate/skills/x/SKILL.md")
    before = [(root / path).stat().st_atime_ns for path in ("AGENTS.md", ".deskmate/settings.toml")]
    assert seen_in(root, root / "a") == ["AGENTS.md", ".deskmate/settings.toml", ".deskmate/skills"]
    assert [(root / path).stat().st_atime_ns for path in ("AGENTS.md", ".deskmate/settings.toml")] == before
    assert seen_in(root / "a", root / "a") == []


def test_more_skills_than_anybody_looks_through_are_cut_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = made(tmp_path.resolve(), *(f".deskmate/skills/s{number:03}/SKILL.md" for number in range(MOST_FILES + 1)))
    found = definitions_in(root, root)
    assert (len(found), found[-1].path) == (MOST_FILES, f".deskmate/skills/s{MOST_FILES - 1:03}/SKILL.md")
    assert f"has {MOST_FILES + 1} skills" in caplog.text


def test_the_branch_is_that_of_a_repository_or_worktree_and_never_looked_for_above_the_workspace(
    tmp_path: Path,
) -> None:
    (tmp_path / "repo/.git/worktrees/w").mkdir(parents=True)
    (tmp_path / "repo/.git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "repo/.git/worktrees/w/HEAD").write_text("ref: refs/heads/side/way\n")
    (tmp_path / "repo/deep/er").mkdir(parents=True)
    (tmp_path / "w").mkdir()
    (tmp_path / "w/.git").write_text(f"gitdir: {tmp_path}/repo/.git/worktrees/w\n")
    (tmp_path / "none").mkdir()
    found = [branch_of(tmp_path / place) for place in ("repo", "repo/deep/er", "w", "none")]
    assert found == ["main", None, "side/way", None]


@pytest.mark.behaviour("trust")
@pytest.mark.parametrize("head", ["ref: refs/heads/x\n\nObey", "ref: refs/heads/obey me", "ref: refs/heads/a\x1b[2J"])
def test_a_name_that_git_would_not_take_for_a_branch_is_not_told(tmp_path: Path, head: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text(head)
    assert branch_of(tmp_path) is None


@pytest.mark.anyio
@pytest.mark.behaviour("prompt")
async def test_an_agent_is_given_the_notes_of_the_folder_that_was_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made(tmp_path.resolve(), "w/AGENTS.md", "w/a/AGENTS.md", "elsewhere/AGENTS.md")
    monkeypatch.chdir(root / "elsewhere")
    writer = LogWriter(MemoryStore(), FakeClock())
    roster = Roster(writer)
    team_state = TeamState(writer, roster, Board(writer, roster), Budget(writer, Caps()), Feed())
    settings = load({"HOME": str(root), "ANTHROPIC_API_KEY": "sk-test"}, {})
    async with client_of(settings) as client:
        consent = Consent(definitions_in(root / "w", root / "w/a"), trusted=True)
        team_parts = team_parts_of(root / "w", "main", settings, team_state, client, Sandbox(Level.NONE), consent)
        text = brief(team_parts.started().made_of)
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


@pytest.mark.behaviour("trust", "skills")
def test_the_skills_of_a_project_stand_beside_the_users_own_which_win_a_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = made(tmp_path.resolve(), "own/tidy/", "w/.deskmate/skills/tidy/", "w/.deskmate/skills/ship/")
    (root / "own/tidy/SKILL.md").write_text(skill("tidy", "mine"))
    (root / "w/.deskmate/skills/tidy/SKILL.md").write_text(skill("tidy", "theirs"))
    (root / "w/.deskmate/skills/ship/SKILL.md").write_text(skill("ship"))
    found = skills_of(definitions_in(root / "w", root / "w"), root / "w", [root / "own"])
    assert found == {
        "tidy": Skill("tidy", "mine", "How.", str(root / "own/tidy")),
        "ship": Skill("ship", "does it", "How.", str(root / "w/.deskmate/skills/ship")),
    }
    assert f"{root}/w/.deskmate/skills/tidy has the same name as {root}/own/tidy" in caplog.text


@pytest.mark.behaviour("trust", "skills")
def test_skills_for_claude_code_are_used_after_those_for_deskmate(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = tmp_path.resolve()
    for path in ("own/a", "claude/a", "claude/b", "w/.deskmate/skills/c", "w/.claude/skills/c", "w/.claude/skills/d"):
        made(root, f"{path}/")
        (root / path / "SKILL.md").write_text(skill(path[-1], f"in {path}"))
    found = skills_of(definitions_in(root / "w", root / "w"), root / "w", [root / "own", root / "claude"])
    assert [one.description for one in found.values()] == [
        "in own/a",
        "in claude/b",
        "in w/.deskmate/skills/c",
        "in w/.claude/skills/d",
    ]
    assert f"{root}/claude/a has the same name as {root}/own/a" in caplog.text
    assert f"{root}/w/.claude/skills/c has the same name as {root}/w/.deskmate/skills/c" in caplog.text


@pytest.mark.behaviour("trust", "skills")
def test_skills_of_the_user_in_the_workspace_are_not_read_because_agents_could_write_them(tmp_path: Path) -> None:
    root = made(tmp_path.resolve(), "home/.claude/skills/a/", "link/")
    (root / "home/.claude/skills/a/SKILL.md").write_text(skill("a"))
    (root / "link/skills").symlink_to(root / "home/.claude/skills")
    folders = [root / "home/.claude/skills", root / "link/skills"]
    assert skills_of((), root / "home", folders) == {}
    assert set(skills_of((), root / "elsewhere", folders)) == {"a"}


@pytest.mark.behaviour("trust", "skills")
def test_an_agent_file_named_like_a_skill_is_no_skill(tmp_path: Path) -> None:
    root = made(tmp_path.resolve(), ".claude/agents/")
    (root / ".claude/agents/SKILL.md").write_text(skill("reviewer"))
    found = definitions_in(root, root)
    assert [one.path for one in found] == [".claude/agents/SKILL.md"]
    assert skills_of(found, root, []) == {}


@pytest.mark.behaviour("skills")
def test_what_is_no_file_or_too_large_is_no_skill_and_does_not_stop_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made(tmp_path, "pipe/", "large/", "gone/", "good/")
    os.mkfifo(tmp_path / "pipe/SKILL.md")
    (tmp_path / "large/SKILL.md").write_bytes(skill("large").encode() + b"x" * MOST_BYTES)
    (tmp_path / "gone/SKILL.md").symlink_to(tmp_path / "nowhere")
    (tmp_path / "good/SKILL.md").write_text(skill("good"))
    assert set(skills_in(tmp_path)) == {"good"}
    for name in ("pipe", "large", "gone"):
        assert f"{name}/SKILL.md" in caplog.text


@pytest.mark.behaviour("trust", "skills")
def test_a_skill_of_a_project_that_leads_out_of_the_workspace_is_not_used(tmp_path: Path) -> None:
    root = made(tmp_path.resolve(), "out/", "w/.claude/skills/a/")
    (root / "out/SKILL.md").write_text(skill("a"))
    (root / "w/.claude/skills/a/SKILL.md").symlink_to(root / "out/SKILL.md")
    (root / "w/.claude/skills/b").symlink_to(root / "out")
    assert definitions_in(root / "w", root / "w") == ()


def test_definitions_at_paths_are_those_that_are_still_there(tmp_path: Path) -> None:
    made(tmp_path, "AGENTS.md")
    found = definitions_at(tmp_path.resolve(), ["AGENTS.md", ".deskmate/settings.toml"])
    assert found == (Definition("AGENTS.md", b"of AGENTS.md"),)
