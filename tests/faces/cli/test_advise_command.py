"""advise: what a finished team shows about parallel work."""

import json
from pathlib import Path

import pytest

from deskmate.core.team.roster_records import MemberIdle, MemberLeft, MemberWaiting, MemberWorking
from deskmate.core.team.task_fields import NewTask
from tests.faces.disk_teams import OpenTeam, at, founded, in_team
from tests.faces.fake_app import Env


async def works(opened: OpenTeam) -> None:
    ann = opened.roster.state.members["ann"]
    for subject in ("Parse", "Type"):
        task = await opened.board.create("lead", NewTask(subject))
        begun = await opened.board.claim(ann, task.id)
        await opened.board.complete("ann", task.id, begun.epoch)
    for event in (
        MemberWorking(name="ann", at=11.0),
        MemberWaiting(name="ann", on="permission", at=31.0),
        MemberIdle(name="ann", at=41.0),
        MemberLeft(name="ann", at=101.0),
    ):
        await opened.writer.append("roster", event.body())
    for member in ("lead", "ann", "ann", "lead"):
        await opened.spend(member, "anthropic:x", 0.5)


@pytest.mark.behaviour("advise")
def test_it_shows_the_path_the_waits_and_what_one_agent_would_have_cost(tmp_path: Path, env: Env) -> None:
    place = tmp_path / "work"
    place.mkdir()
    founded(place, "main", "ann")
    in_team(place, works)
    ended = at(place, "advise", env=env)
    assert (ended.code, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert lines[0] == "team main: 1 teammate, 2 done, 1m 40s, $2.0000"
    assert lines[1].startswith("critical path, ")
    assert lines[2] == "ann: worked 30s, waited 10s for permission, idle 1m 00s"
    assert lines[3] == "one agent, estimated: $1.5000 to $2.0000, about 30s of work"
    found = json.loads(at(place, "advise", "main", "--json", env=env).stdout)
    assert (found["done"], found["one_agent"]["least_usd"]) == (2, 1.5)


def test_a_lead_alone_has_no_estimate_and_an_unknown_team_is_refused(tmp_path: Path, env: Env) -> None:
    place = tmp_path / "work"
    place.mkdir()
    founded(place, "main")
    assert "No estimate" in at(place, "advise", env=env).stdout
    assert at(place, "advise", "nobody", env=env).code != 0
