"""A lead killed at any instant while it leads a named team and its home goes on: both teams come back, whole.

Every run is `deskmate run`, then `deskmate resume` until it ends by itself, by the name of either team if both are
there. `agent_run` does the killing, before a deed that others could see afterwards.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos import TIMES
from tests.chaos.kills.agent_run import Ended, Fate
from tests.chaos.kills.kill_harness import KillHarness, kill_harness
from tests.scenarios.team.two_teams import FINAL, script

POINTS = 16 * TIMES


def run(harness: KillHarness, name: str, fate: Fate | None = None) -> Ended:
    """Run once in a new workspace of that name."""
    options = ("--permission-mode", "acceptEdits")
    return harness.warm.play("-C", str(harness.workspace(name)), "run", "go", *options, fate=fate)


@pytest.fixture(scope="module")
def harness() -> Iterator[KillHarness]:
    with kill_harness(script) as harness:
        yield harness


@pytest.fixture(scope="module")
def unkilled(harness: KillHarness) -> Ended:
    # The first of all makes the user's key as well, and none does so after it.
    run(harness, "first")
    ended = run(harness, "unkilled")
    assert ended.code == 0, ended.err
    assert flaws(harness.folder / "unkilled", ended) == []
    return ended


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def flaws(workspace: Path, ended: Ended) -> list[str]:
    """Return what is wrong with what a run has left."""
    home, archived = workspace / ".teams/main", [*(workspace / ".teams/.archive").iterdir()]
    found = [] if len(archived) == 1 else [f"archived: {archived}"]
    found += [] if ended.out.endswith(f"{FINAL}\n") else [f"answer: {ended.out}"]
    found += [file for file in ("home.txt", "more.txt") if (workspace / file).read_text() != "blue"]
    board = lines(workspace / ".tasks/main/board.jsonl")
    # The lead creates and edits the second task from its other team.
    for kind, ids in (("task_created", [1, 2]), ("task_edited", [2]), ("task_completed", [1, 2])):
        changed = [body["task"] for body in board if body["type"] == kind]
        found += [] if changed == ids else [f"{kind}: {changed}"]
    for name, roster in (("alice", home / "roster.jsonl"), ("wendy", archived[0] / "team/roster.jsonl")):
        ends = [body for body in lines(roster) if body["type"] == "member_left" and body["name"] == name]
        found += [] if len(ends) == 1 else [f"{name} left {len(ends)} times"]
    heard = [one for body in lines(home / "lead_transcript.jsonl") if body["type"] == "heard" for one in body["mail"]]
    mail = [(str(one["sender"]), str(one["id"])) for one in heard]
    return found + [f"heard twice: {id_}" for id_ in mail if mail.count(id_) > 1]


@pytest.mark.behaviour("two-teams", "resume", "M1", "M2")
@pytest.mark.parametrize("point", range(POINTS))
def test_a_lead_of_two_teams_that_is_killed_comes_back_to_both(
    harness: KillHarness, unkilled: Ended, point: int
) -> None:
    name = f"killed-{point}"
    ended = run(harness, name, Fate(deed=1 + point * unkilled.deeds // POINTS))
    if not ended.killed:
        # Teammates run at the same time, so this run may have fewer deeds.
        return
    workspace = harness.folder / name
    inboxes = (workspace / ".teams").glob("*/lead_inbox.jsonl")
    was_told = any(inbox.stat().st_size for inbox in inboxes)
    both = (workspace / ".teams/web/lead_inbox.jsonl").exists() and point % 2
    ended = harness.warm.play("-C", str(workspace), "resume", *(["web"] if both else []))
    if not was_told:
        # The goal is not in the lead's mailbox yet, so that there is nothing to go on with.
        assert (ended.code, ended.out) == (2, ""), ended.err
        return
    assert ended.code == 0, ended.err
    assert flaws(workspace, ended) == []
    assert harness.complaints() == []
