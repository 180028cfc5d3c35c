"""Teammates on hosts that have no repository: each works in its own copy, and its work comes back merged."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from deskmate.core.log.names import BOARD
from deskmate.core.log.records import Record
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import all_texts, step
from tests.app.hosts.host_harness import HostSpace, has_done, host_space, story
from tests.servers.nats_nodes import nats_server, nats_url
from tests.servers.postgres import postgres_server, postgres_url

__all__ = ["nats_server", "nats_url", "postgres_server", "postgres_url"]
pytestmark = pytest.mark.anyio

LINES = "".join(f"line {number}\n" for number in range(9))
# Keeps what both sides wrote.
_RESOLVE = "sed -i -e '/^<<<<<<</d' -e '/^=======/d' -e '/^>>>>>>>/d' shared.txt"


@pytest.fixture(params=["postgres", "nats"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def git(root: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True, text=True).stdout.strip()


def lead(asked: Asked) -> Say:
    made = [Use("TaskCreate", {"subject": f"number {one}", "verify": f"test -e {one}.txt"}) for one in (1, 2)]
    mates = [{"name": "ann", "host": "one"}, {"name": "bob", "host": "two"}]
    says: Sequence[Say] = [
        Say("I create the tasks.", made),
        Say("I start the team.", [Use("Task", {"prompt": "You work.", **mate}) for mate in mates]),
    ]
    return says[step(asked)] if step(asked) < len(says) else Say("I wait.")


def teammate(asked: Asked) -> Say:
    """Change the line that both change, and resolve a conflict."""
    given = re.findall(r"Task #(\d+) is yours now", "\n".join(all_texts(asked)))
    number = given[-1] if given else ""
    done = Use("TaskUpdate", {"taskId": number, "status": "completed"})
    if not given or has_done(asked, done):
        return Say("Ready.")
    # Both have begun before one of them ends.
    command = f"sleep 2; sed -i 's/^line 3$/line 3 of {number}/' shared.txt; echo {number} > {number}.txt"
    work, resolve = Use("bash", {"command": command}), Use("bash", {"command": _RESOLVE})
    return Say("I resolve the conflict.", [resolve, done]) if has_done(asked, work) else Say("I work.", [work, done])


def machine(space: HostSpace, folder: Path) -> HostSpace:
    """Return the same space as seen from another machine: its own home, and a folder without the repository."""
    other = replace(space, place=folder / "work", home=folder / "home")
    for each in (other.place, other.home):
        each.mkdir(parents=True)
    return other


async def test_work_of_two_hosts_without_the_repository_is_merged_and_a_conflict_is_resolved(
    url: str, tmp_path: Path
) -> None:
    async with host_space(url, tmp_path, story(lead, teammate)) as space:
        root = space.place
        git(root, "init", "-q", "-b", "trunk")
        git(root, "config", "user.name", "U")
        git(root, "config", "user.email", "u@example.org")
        (root / "shared.txt").write_text(LINES)
        git(root, "add", "-A")
        git(root, "commit", "-qm", "First")
        for name in ("one", "two"):
            machine(space, tmp_path / name).start(name)
        await space.up("one", "two")
        outcome = await space.run(isolation="own")
        assert (outcome.end, outcome.dismissed) == ("answered", ("ann", "bob"))
        assert space.done() == [1, 2]
        bodies = [item.body for item in space.items(BOARD) if isinstance(item, Record)]
        returned = [str(body["reason"]) for body in bodies if body["type"] == "task_returned"]
        assert len(returned) == 1
        assert "shared.txt" in returned[0]
        # All of it was handed over to the files of the user.
        text = (root / "shared.txt").read_text()
        assert {"line 3 of 1", "line 3 of 2"} <= set(text.splitlines())
        assert ((root / "1.txt").read_text(), (root / "2.txt").read_text()) == ("1\n", "2\n")
        assert git(root, "status", "--porcelain", "--", "*.txt") == ""
        assert {name: sorted(hosts) for name, hosts in space.where().items()} == {"ann": ["one"], "bob": ["two"]}
        for name in ("one", "two"):
            assert not list((tmp_path / name / "work").glob("*.txt")), "nobody works in the folder of a host"
