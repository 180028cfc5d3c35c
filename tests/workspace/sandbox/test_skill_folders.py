"""Skills of the user are in folders that are hidden from commands: only the skills themselves can be read."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from deskmate.errors import ToolError
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.levels import PROGRAMS, find_sandbox
from deskmate.workspace.sandbox.mounts import Level
from tests.workspace.escapes.escape_ground import Ground, ground

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("skills")]


@pytest.fixture
def on(parent: Path) -> Iterator[Ground]:
    with ground(parent, repository=False) as laid:
        yield laid


@pytest.fixture
def skill(on: Ground) -> Path:
    place = on.home / ".claude/skills/release"
    place.mkdir(parents=True)
    (place / "steps.txt").write_text("Tag it.")
    (on.home / ".claude/token.txt").write_text("secret token")
    (place / "link.txt").symlink_to(on.home / ".claude/token.txt")
    return place


def workspace(on: Ground, skill: Path, level: Level) -> LocalWorkspace:
    sandbox = find_sandbox(on.state, environ=on.environ(), programs=[] if level is Level.LANDLOCK else PROGRAMS)
    if sandbox.level is not level:
        pytest.skip(sandbox.reason)
    return LocalWorkspace(on.workspace, "main", "lead", environ=on.environ(), sandbox=sandbox, skills=(skill,))


@pytest.mark.parametrize("level", [Level.BUBBLEWRAP, Level.LANDLOCK])
async def test_commands_read_a_skill_and_nothing_beside_it_and_change_nothing(
    on: Ground, skill: Path, level: Level
) -> None:
    command = f"cat {skill}/steps.txt; cat {skill}/link.txt; ls {skill.parent.parent}; touch {skill}/new"
    with anyio.fail_after(120):
        ran = await workspace(on, skill, level).run(command, timeout_seconds=60, blob="lead-1-0.txt")
    assert "Tag it." in ran.output
    assert "secret token" not in ran.output
    assert not (skill / "new").exists()


async def test_a_link_that_replaced_the_folder_of_a_skill_leads_nowhere(on: Ground, skill: Path) -> None:
    used = workspace(on, skill, Level.BUBBLEWRAP)
    assert await used.read(f"{skill}/steps.txt") == b"Tag it."
    skill.rename(skill.parent / "old")
    skill.symlink_to(on.home / ".claude")
    with pytest.raises(ToolError):
        await used.read(f"{skill}/token.txt")
