"""A lead killed while it founds and closes a team, at any instant: it comes back to one team or the other, whole.

Every run is `deskmate run`, then `deskmate resume` until it ends by itself. `agent_run` does the killing, before a
deed that others could see afterwards.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from deskmate.core.prompt.prompts import ResultBlock, TextBlock, Told
from deskmate.testing import Asked, Say, Use
from tests.chaos import TIMES
from tests.chaos.kills.agent_run import Ended, Fate
from tests.chaos.kills.kill_harness import KillHarness, kill_harness

FINAL = "Founded, used and closed."
POINTS = 12 * TIMES


def play(asked: Asked) -> Say:
    """Found a team, put a task on its board, close it: whatever of that is not done yet, as far as was told."""
    passages = [passage for passage in asked.prompt.passages if isinstance(passage, Told)]
    blocks = [block for passage in passages for block in passage.blocks]
    words = "\n".join(block.text for block in blocks if isinstance(block, TextBlock | ResultBlock))
    if "You are back in team 'main'" in words:
        return Say(FINAL)
    if "You lead team 'web' now" not in words:
        return Say(calls=[Use("TeamCreate", {"team_name": "web"})])
    if "Created #1" not in words:
        return Say(calls=[Use("TaskCreate", {"subject": "try it"})])
    return Say(calls=[Use("TeamDelete", {"team_name": "web"})])


def run(harness: KillHarness, name: str, fate: Fate | None = None) -> Ended:
    """Run once in a new workspace of that name."""
    return harness.warm.play("-C", str(harness.workspace(name)), "run", "go", fate=fate)


def resume(harness: KillHarness, name: str, *team: str) -> Ended:
    """Resume in that workspace."""
    return harness.warm.play("-C", str(harness.folder / name), "resume", *team)


@pytest.fixture(scope="module")
def harness() -> Iterator[KillHarness]:
    with kill_harness(play) as harness:
        yield harness


@pytest.fixture(scope="module")
def unkilled(harness: KillHarness) -> Ended:
    # The first of all makes the user's key as well, and none does so after it.
    run(harness, "first")
    ended = run(harness, "unkilled")
    assert (ended.code, ended.out) == (0, f"{FINAL}\n"), ended.err
    assert flaws(harness.folder / "unkilled") == []
    return ended


def flaws(workspace: Path) -> list[str]:
    """Return what is wrong with what a run has left."""
    tops = {top: sorted(path.name for path in (workspace / top).iterdir()) for top in (".teams", ".tasks")}
    found = (
        [] if tops == {".teams": [".archive", ".gitignore", "main"], ".tasks": [".gitignore", "main"]} else [str(tops)]
    )
    archived = sorted((workspace / ".teams/.archive").iterdir())
    if len(archived) != 1:
        found.append(f"archived: {archived}")
    for place in archived:
        parts = sorted(path.name for path in place.iterdir())
        board = [json.loads(line) for line in (place / "tasks/board.jsonl").read_text().splitlines()]
        roster = [json.loads(line) for line in (place / "team/roster.jsonl").read_text().splitlines()]
        kinds = [body["type"] for body in board], [body["type"] for body in roster[:2]]
        if (parts, kinds) != (["tasks", "team"], (["task_created"], ["team_founded", "policy_set"])):
            found.append(f"{place.name}: {parts}, {kinds}")
    return found


@pytest.mark.behaviour("team-create", "team-delete", "resume")
@pytest.mark.parametrize("point", range(POINTS))
def test_a_lead_killed_anywhere_comes_back_to_one_team_or_the_other(
    harness: KillHarness, unkilled: Ended, point: int
) -> None:
    fate = Fate(deed=1 + point * unkilled.deeds // POINTS)
    name = f"killed-{point}"
    ended = run(harness, name, fate)
    assert ended.killed
    inboxes = (harness.folder / name / ".teams").glob("*/lead_inbox.jsonl")
    was_told = any(inbox.stat().st_size for inbox in inboxes)
    ended = resume(harness, name)
    if not was_told:
        # The goal is not in the lead's mailbox yet, so that there is nothing to go on with.
        assert (ended.code, ended.out) == (2, ""), ended.err
        return
    assert (ended.code, ended.out) == (0, f"{FINAL}\n"), ended.err
    assert flaws(harness.folder / name) == []
    assert harness.provider.complaints == []
