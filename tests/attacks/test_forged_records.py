"""Nothing that an agent runs or writes can forge, replay or alter a record; without a sandbox a command can."""

import os
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from deskmate.core.log.names import new_name
from deskmate.errors import BadName, ToolError
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox
from tests.attacks.forged_records import (
    BOARD,
    FORGINGS,
    MAIL,
    TEAM,
    TRUE,
    Forging,
    found,
    records,
    repository,
    taken_in,
)
from tests.tools.tool_desk import ToolDesk
from tests.workspace.escapes.escape_ground import Ground

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("forgery")]

TAKEN_IN = (TRUE, (), ["the true task"])


def workspace(root: Path, sandbox: Sandbox | None = None) -> LocalWorkspace:
    return LocalWorkspace(root, TEAM, "alice", sandbox=sandbox, grace_seconds=0.3, environ=os.environ)


async def forge(one: Forging, desk: LocalWorkspace) -> None:
    ran = await desk.run(f"echo tried\n{one.command}", timeout_seconds=20, blob="alice-1-0.txt")
    assert ran.output.startswith("tried"), ran


async def test_nothing_that_a_confined_command_does_touches_a_record(ground: Ground, bubblewrap: Sandbox) -> None:
    root = ground.workspace
    await found(root)
    desk, before = workspace(root, bubblewrap), records(root)
    won = []
    for one in FORGINGS:
        await forge(one, desk)
        if records(root) != before:
            won.append(one.name)
    assert won == []
    assert await taken_in(root) == TAKEN_IN


async def test_no_confined_command_reads_a_record(ground: Ground, bubblewrap: Sandbox) -> None:
    await found(ground.workspace)
    command = (
        "cat .teams/*/* .tasks/*/*; ls -aR .teams .tasks; grep -r true-7c21 .. /proc/1/root$PWD; find .. -name '*_in*'"
    )
    ran = await workspace(ground.workspace, bubblewrap).run(command, timeout_seconds=60, blob="alice-1-0.txt")
    assert "true-7c21" not in ran.output
    assert "alice_inbox" not in ran.output


@pytest.fixture(scope="module")
async def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("forging") / "ws"
    repository(root)
    await found(root)
    return root


async def test_without_a_sandbox_they_do_it(template: Path, tmp_path: Path) -> None:
    won = {}
    for number, one in enumerate(FORGINGS):
        root = tmp_path / str(number) / "ws"
        shutil.copytree(template, root, symlinks=True)
        before = records(root)
        await forge(one, workspace(root))
        won[one.name] = records(root) != before
    assert [one.name for one in FORGINGS if one.sure and not won[one.name]] == []


async def test_without_a_sandbox_the_runtime_believes_what_was_forged(template: Path, tmp_path: Path) -> None:
    root = tmp_path / "ws"
    shutil.copytree(template, root)
    for one in FORGINGS[:3]:
        await forge(replace(one), workspace(root))
    words, demands, board = await taken_in(root)
    assert (words[:2], demands, board) == (TRUE, ("lead:9.0",), ["the true task", "forged"])


# -- by the tools for files -------------------------------------------------------------------------

PATHS = [
    MAIL,
    BOARD,
    f"./.teams/../{MAIL}",
    f"src/../{MAIL}",
    f".TEAMS/{TEAM}/alice_inbox.jsonl",
    f".teams./{TEAM}/alice_inbox.jsonl",
    f".te\u200dams/{TEAM}/alice_inbox.jsonl",
    f".ｔasks/{TEAM}/board.jsonl",
    f"{{root}}/{MAIL}",
    f"../ws/{MAIL}",
    f"to-teams/{TEAM}/alice_inbox.jsonl",
    "to-team/bob_inbox.jsonl",
    "to-mail",
    f".teams/{TEAM}/roster.jsonl",
    f".teams/{TEAM}/config.json",
    f".teams/{TEAM}/new.seat",
    f".teams/{TEAM}/blobs/bob-1-0.txt",
    f".teams/{TEAM}/blobs/alice-1-0.txt",
    f".teams/{TEAM}/blobs/../alice_inbox.jsonl",
    ".teams/other/alice_inbox.jsonl",
    ".teams",
    ".tasks/new",
]


async def test_no_tool_for_files_writes_or_reads_a_record(template: Path, tmp_path: Path) -> None:
    root = tmp_path / "ws"
    shutil.copytree(template, root)
    for name, target in (("to-teams", ".teams"), ("to-team", f".teams/{TEAM}"), ("to-mail", MAIL)):
        (root / name).symlink_to(target)
    desk, before = ToolDesk(workspace(root)), records(root)
    forged = (root / "forged").read_text()
    for path in (path.format(root=root) for path in PATHS):
        for tool, arguments in (
            ("write_file", {"path": path, "content": forged}),
            ("edit_file", {"path": path, "old_text": "true", "new_text": "TRUE", "replace_all": True}),
            ("read_file", {"path": path}),
            ("grep", {"pattern": "true-7c21", "path": path}),
        ):
            with pytest.raises(ToolError):
                await desk.use(tool, **arguments)
    for pattern in ("**", ".teams/**", "*/*/*.jsonl", ".t*/**", "to-*/**"):
        assert "jsonl" not in (await desk.use("glob", pattern=pattern)).text.replace(pattern, "")
    assert "true-7c21" not in (await desk.use("grep", pattern="true-7c2")).text
    assert records(root) == before
    assert await taken_in(root) == TAKEN_IN


@pytest.mark.parametrize("other", ["bob-x", "bob-2", "bob-b0c0de", "bobby"])
async def test_a_blob_of_who_has_a_longer_name_is_not_ones_own(tmp_path: Path, other: str) -> None:
    bob, longer = (LocalWorkspace(tmp_path, TEAM, name, environ=os.environ) for name in ("bob", other))
    path = await longer.keep(f"{other}-12-0.txt", b"not for bob")
    for attempt in (bob.blob, bob.read, partial(bob.search, "bob", glob="")):
        with pytest.raises(ToolError):
            await attempt(path)
    assert (await bob.search("bob", f".teams/{TEAM}/blobs", "")).output == ""
    assert await longer.blob(path) == b"not for bob"


async def test_nobody_new_is_called_so_that_blobs_could_be_taken_for_anothers(tmp_path: Path) -> None:
    path = await LocalWorkspace(tmp_path, TEAM, "lead-3-4", environ=os.environ).keep("lead-3-4-7-0.txt", b"")
    # The subagent of lead:3.4 keeps its own there.
    assert await LocalWorkspace(tmp_path, TEAM, "lead", environ=os.environ).keep("lead-3-4-7-0.txt", b"") == path
    with pytest.raises(BadName, match="ends like the id of a call"):
        new_name("lead-3-4")
    assert [new_name("bob-2"), new_name("v2-bob-13"), new_name("release-2026-11", "team")]
