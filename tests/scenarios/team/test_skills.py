"""Skills of the user and of a workspace through the product: who has them, and who can read their files."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from deskmate.app import environment
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.scenario import Scenario
from deskmate.testing.team_scripts import in_turn, member_of, run_command, spawn
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Level
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.team.test_own_trees import git
from tests.scenarios.test_project_hooks import played, trust

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("skills")]


def skill(folder: Path, name: str, **files: str) -> Path:
    place = folder / name
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(f"---\nname: {name}\ndescription: How to {name}\n---\nRead steps.txt first.")
    for file, text in files.items():
        (place / f"{file}.txt").write_text(text)
    return place


def results(asked: Sequence[Asked], name: str) -> list[str]:
    return [block.text for one in asked if member_of(one) == name for block in one.results]


def using(*calls: Use) -> list[Say]:
    return [Say(calls=[call]) for call in calls]


@pytest.mark.parametrize("launcher", ["inline", "process"])
async def test_a_teammate_loads_a_skill_and_reads_its_files_but_changes_none(tmp_path: Path, launcher: str) -> None:
    place = skill(tmp_path / "home/.claude/skills", "release", steps="Tag it.")
    (tmp_path / "home/.claude/secret.txt").write_text("secret")
    (place / "link.txt").symlink_to(tmp_path / "home/.claude/secret.txt")
    (place / "up").symlink_to(tmp_path / "home")
    tina = using(
        Use("Skill", {"skill": "release"}),
        Use("read_file", {"path": f"{place}/steps.txt"}),
        Use("read_file", {"path": f"{place}/link.txt"}),
        Use("read_file", {"path": f"{place}/up/.claude/secret.txt"}),
        Use("read_file", {"path": f"{place}/../../secret.txt"}),
        Use("write_file", {"path": f"{place}/new.txt", "content": "x"}),
    )
    script = {"lead": in_turn(Say(calls=[spawn("tina")])), "tina": in_turn(*tina)}
    async with Scenario(tmp_path, script, launcher=launcher) as team:
        run = await team.run("Release it.")
    assert all("- release: How to release" in asked.system for asked in run.requests)
    loaded, steps, *refused = results(run.requests, "tina")
    assert f"Its files are in {place}." in loaded
    assert "Tag it." in steps
    assert len(refused) == 4
    assert not any("secret\n" in text or "created" in text for text in refused)
    assert not (place / "new.txt").exists()


async def test_an_agent_file_chooses_skills_and_without_any_there_is_no_skill_tool(tmp_path: Path) -> None:
    skills, agents = tmp_path / "home/.claude/skills", tmp_path / "home/.claude/agents"
    skill(skills, "release")
    skill(skills, "tidy")
    agents.mkdir()
    for name, words in {"one": "tidy, unknown", "none": "[]"}.items():
        (agents / f"{name}.md").write_text(f"---\nname: {name}\ndescription: x\nskills: {words}\n---\nDo it.")
    calls = [
        spawn("tina", subagent_type="one"),
        Use("Task", {"prompt": "x", "subagent_type": "none"}),
        Use("Task", {"prompt": "y", "subagent_type": "Explore"}),
    ]
    scripts = {
        "lead": in_turn(Say(calls=calls)),
        "tina": in_turn(Say(calls=[Use("Skill", {"skill": "release"})])),
    }

    def play(asked: Asked) -> Say:
        return Say("Done.") if "one job" in asked.system else scripts[member_of(asked)](asked)

    async with Scenario(tmp_path, play) as team:
        run = await team.run("Release it.")
    others = [asked for asked in run.requests if "one job" in asked.system]
    members = [asked for asked in run.requests if asked not in others]
    own = next(asked for asked in members if member_of(asked) == "tina")
    assert "- tidy: How to tidy" in own.system
    assert "release" not in own.system
    assert "Choose one of tidy" in results(members, "tina")[0]
    assert {("Skill" in asked.tools, "- tidy" in asked.system) for asked in others} == {(False, False), (True, True)}


@pytest.mark.behaviour("worktree")
async def test_a_teammate_in_its_own_copy_reads_the_files_of_a_skill_that_git_ignores(tmp_path: Path) -> None:
    harness = AppHarness.at(tmp_path / "work", tmp_path / "home")
    if find_sandbox(harness.home / "state", environ=environment()).level is not Level.BUBBLEWRAP:
        pytest.skip("no bubblewrap here")
    place = skill(harness.place / ".claude/skills", "release", steps="Tag it.")
    (harness.place / ".gitignore").write_text(".claude\n")
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=U", "-c", "user.email=u@e", "commit", "-qm", "One"]):
        git(harness.place, *words)
    trust(harness)
    read = [Use("read_file", {"path": f"{place}/steps.txt"}), run_command(f"cat {place}/steps.txt; touch {place}/new")]
    scripts = {
        "lead": in_turn(Say(calls=[spawn("ann", isolation="own")]), Say("Waiting."), then=Say("Done.")),
        "ann": in_turn(*using(Use("Skill", {"skill": "release"})), Say(calls=read), then=Say("Done.")),
    }
    async with FakeProvider(lambda asked: scripts[member_of(asked)](asked)) as provider:
        await played(harness, provider, sandbox=True)
        loaded, text, ran = results(provider.requests, "ann")
    assert f"Its files are in {place}." in loaded
    assert "Tag it." in text
    assert ran.startswith("Tag it.")
    assert not (place / "new").exists()
