"""Agent files: which are found in a workspace and in the user's folders, and what hostile ones come to."""

import os
from pathlib import Path

import pytest

from deskmate.app.parts.usable_types import agent_types, list_types
from deskmate.config import Settings, load
from deskmate.core.policy.trusted_files import Approval
from deskmate.trust.approvals import Trust, survey
from deskmate.trust.project_files import MOST_FILES, definitions_in, seen_in
from deskmate.trust.type_files import FoundTypes, types_of
from tests.trust.markdown_files import write

pytestmark = pytest.mark.behaviour("agent-types", "trust")


def agent_file(name: str, fields: str = "", body: str = "Do it.") -> str:
    return f"---\nname: {name}\ndescription: does it\n{fields}\n---\n{body}"


def found_in(place: Path, *own: Path) -> FoundTypes:
    """Return the types that there are if all of a workspace is trusted."""
    return types_of(definitions_in(place, place), place, own)


def test_the_users_types_win_a_name_and_of_a_workspace_ours_before_others(place: Path, tmp_path: Path) -> None:
    write(place / ".claude/agents", tidy=agent_file("tidy"), ship=agent_file("ship"), look=agent_file("look"))
    write(place / ".deskmate/agents", ship=agent_file("ship"))
    write(tmp_path / "own", mine=agent_file("tidy"))
    found = found_in(place, tmp_path / "own", tmp_path / "nowhere")
    files = {name: profile.file for name, profile in found.by_name.items()}
    assert files == {
        "tidy": f"{tmp_path}/own/mine.md",
        "ship": ".deskmate/agents/ship.md",
        "look": ".claude/agents/look.md",
    }
    assert found.problems == (
        ".claude/agents/ship.md: its agent type 'ship' is already described by .deskmate/agents/ship.md",
        f".claude/agents/tidy.md: its agent type 'tidy' is already described by {tmp_path}/own/mine.md",
    )


def test_files_in_folders_are_read_and_have_the_names_that_they_say(place: Path, tmp_path: Path) -> None:
    write(place / ".claude/agents/research", locator=agent_file("code-locator"))
    write(place / ".claude/agents/a/b/c/d", deep=agent_file("deep"))
    write(place / ".claude/agents/a/b/c/d/e", deeper=agent_file("deeper"))
    write(tmp_path / "own/team", mine=agent_file("mine"))
    (place / ".claude/agents/out").symlink_to(tmp_path / "own")
    assert sorted(found_in(place, tmp_path / "own").by_name) == ["code-locator", "deep", "mine"]


def test_a_broken_file_is_one_problem_and_the_others_are_used(place: Path) -> None:
    write(place / ".claude/agents", bad="no front matter", good=agent_file("good"), README="# Agents")
    found = found_in(place)
    assert list(found.by_name) == ["good"]
    assert [problem.split(" has")[0] for problem in found.problems] == [".claude/agents/bad.md"]


def test_a_huge_file_a_link_out_of_the_workspace_and_a_pipe_are_not_read(
    place: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(place / ".claude/agents", good=agent_file("good"))
    with (place / ".claude/agents/huge.md").open("wb") as file:
        file.truncate(10**9)
    (tmp_path / "secret.md").write_text(agent_file("secret"))
    (place / ".claude/agents/link.md").symlink_to(tmp_path / "secret.md")
    os.mkfifo(place / ".claude/agents/pipe.md")
    (place / ".deskmate").mkdir()
    (place / ".deskmate/agents").symlink_to("/etc")
    assert list(found_in(place).by_name) == ["good"]
    told = [record.getMessage().split(":")[0] for record in caplog.records]
    assert told == [f"Skipping .claude/agents/{name}.md" for name in ("huge", "link", "pipe")]


def test_a_huge_file_of_the_user_is_not_read_and_a_link_is_followed(place: Path, tmp_path: Path) -> None:
    write(tmp_path / "dotfiles", linked=agent_file("linked"))
    own = tmp_path / "own"
    own.mkdir()
    (own / "linked.md").symlink_to(tmp_path / "dotfiles/linked.md")
    with (own / "huge.md").open("wb") as file:
        file.truncate(10**9)
    found = found_in(place, own)
    assert list(found.by_name) == ["linked"]
    assert found.problems == (f"{own}/huge.md: it is larger than 256,000 bytes",)


def test_more_files_than_anybody_looks_through_are_cut_with_a_warning(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(
        place / ".claude/agents", **{f"t{number:03}": agent_file(f"t{number:03}") for number in range(MOST_FILES + 1)}
    )
    assert len(found_in(place).by_name) == MOST_FILES
    assert f"has {MOST_FILES + 1} agent files" in caplog.text


def test_a_folder_of_the_user_in_the_workspace_is_not_read_because_agents_can_write_there(place: Path) -> None:
    write(place / ".config/deskmate/agents", mine=agent_file("mine"))
    assert found_in(place, place / ".config/deskmate/agents").by_name == {}


def test_nothing_is_opened_or_used_before_it_is_trusted_and_nothing_that_changed_since(
    place: Path, settings: Settings
) -> None:
    write(place / ".claude/agents", tidy=agent_file("tidy"), ship=agent_file("ship"))
    assert seen_in(place, place) == [".claude/agents"]
    closed = survey(place, settings.state, reads=False)
    assert (dict(closed.unused), closed.consent.definitions) == ({".claude/agents": None}, ())
    Trust(settings.state).approve(place, survey(place, settings.state, reads=True).whole)
    write(place / ".claude/agents", tidy=agent_file("tidy", "permissionMode: bypassPermissions"))
    found = survey(place, settings.state, reads=False)
    assert list(agent_types(place, settings, found.consent.definitions).by_name) == ["ship"]
    listed = list_types(place, settings)
    assert [one.name for one in listed.trusted] == ["ship"]
    assert [(one.name, approval) for one, approval in listed.untrusted] == [("tidy", Approval.CHANGED)]


def test_a_file_that_is_trusted_for_one_run_is_listed_as_used_in_that_run(place: Path, settings: Settings) -> None:
    write(place / ".claude/agents", tidy=agent_file("tidy"))
    whole = survey(place, settings.state, reads=True).whole
    assert [one.name for one in list_types(place, settings, whole).trusted] == ["tidy"]
    write(place / ".claude/agents", tidy=agent_file("tidy", body="Changed."))
    listed = list_types(place, settings, whole)
    assert (listed.trusted, [one.name for one, _ in listed.untrusted]) == ((), ["tidy"])


def test_a_model_that_is_set_up_is_used_and_any_other_is_that_of_the_team(place: Path, settings: Settings) -> None:
    models = {"a": "claude-opus-4-1", "b": "ollama", "c": "openai:gpt-5.5", "d": "inherit", "e": "\x1b[2J"}
    write(place / ".claude/agents", **{name: agent_file(name, f"model: {model}") for name, model in models.items()})
    found = agent_types(place, settings, definitions_in(place, place)).by_name
    assert [found[name].model for name in models] == ["anthropic:claude-opus-4-1", None, None, None, None]
    assert found["b"].flaws == ("the model ollama is not set up, so the model of the team is used",)


def test_both_folders_of_the_user_are_known(tmp_path: Path, settings: Settings) -> None:
    home = tmp_path.resolve() / "home"
    assert settings.agent_folders == (home / ".config/deskmate/agents", home / ".claude/agents")
    moved = load({"HOME": str(home), "CLAUDE_CONFIG_DIR": "/elsewhere"}, {})
    assert moved.agent_folders[1] == Path("/elsewhere/agents")
