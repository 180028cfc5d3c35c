"""Whole runs with a goal: its command really runs, and the run ends when it succeeds, or says why not."""

import os
import signal
from functools import partial
from pathlib import Path

import pytest
from anyio import to_thread

from deskmate.app.run_request import RunRequest
from deskmate.app.runner import run
from deskmate.app.sessions.run_outcome import Outcome
from deskmate.config import environment, load
from deskmate.core.agent.entries import Noticed, read_entry
from deskmate.core.goals import GoalRound
from deskmate.core.log.names import LEAD, log
from deskmate.core.log.records import Record
from deskmate.models.scripted import Say
from deskmate.queries.stream_reader import Reading
from deskmate.runtime.events import Feed
from deskmate.testing import Asked, Scenario
from deskmate.testing.team_scripts import step, write_file
from tests.warm_program import run_deskmate

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("goals")]

LINES = 'test "$(wc -l < out.txt)" = 3 || { wc -l < out.txt; exit 1; }'
OWN = {"sandbox": False, "permission_mode": "bypass"}


def adds_a_line(asked: Asked) -> Say:
    """Write one more line each turn, and say that it is done."""
    turn, within = divmod(step(asked), 2)
    return Say("Done") if within else Say("I write.", [write_file("out.txt", "line\n" * (turn + 1))])


def only_talks(asked: Asked) -> Say:
    return Say("Done")


async def ended(team: Scenario, until: GoalRound | None, *, continues: bool = False, **settings: object) -> Outcome:
    wanted = load(environment(), {**OWN, **settings})
    goal = None if continues else "Go."
    return await run(RunRequest(team.workspace, goal, None, wanted, continues, until=until), Feed())


def rounds(team: Scenario) -> list[tuple[int, bool, str]]:
    found = [entry.goal for entry in notices(team)]
    return [(goal.round, goal.met, goal.ended) for goal in found if goal]


def notices(team: Scenario) -> list[Noticed]:
    """Return what the lead was told of its goal."""
    entries = (
        read_entry(item.body) for item in Reading(team.workspace, "main").items(log(LEAD)) if isinstance(item, Record)
    )
    return [entry for entry in entries if isinstance(entry, Noticed) and entry.goal]


async def test_a_run_goes_on_until_its_command_succeeds(tmp_path: Path) -> None:
    async with Scenario(tmp_path, adds_a_line) as team:
        outcome = await ended(team, GoalRound(until=LINES))
        assert team.file("out.txt") == "line\n" * 3
        assert rounds(team) == [(0, False, ""), (1, False, ""), (2, False, ""), (3, True, "")]
    assert (outcome.end, outcome.goal and outcome.goal.met, outcome.leaves_work) == ("answered", True, False)


async def test_a_run_whose_command_never_succeeds_ends_after_three_rounds_without_change(tmp_path: Path) -> None:
    async with Scenario(tmp_path, only_talks) as team:
        outcome = await ended(team, GoalRound(until="false"))
    assert outcome.goal is not None
    assert (outcome.goal.round, outcome.goal.ended) == (3, "3 rounds without change")
    assert outcome.leaves_work


async def test_a_command_that_flaps_between_two_failures_ends_too(tmp_path: Path) -> None:
    flaps = "test -f x && rm x && echo one && exit 1; touch x; echo two; exit 2"
    async with Scenario(tmp_path, only_talks) as team:
        outcome = await ended(team, GoalRound(until=flaps))
    assert outcome.goal is not None
    assert (outcome.goal.round, outcome.goal.ended) == (4, "3 rounds without change")


async def test_a_cap_that_is_reached_stops_it_and_a_resumed_run_goes_on_with_the_next_round(tmp_path: Path) -> None:
    async with Scenario(tmp_path, adds_a_line) as team:
        outcome = await ended(team, GoalRound(until=LINES), max_tokens=1)
        assert outcome.end == "parked"
        before = rounds(team)
        resumed = await ended(team, None, continues=True)
        after = rounds(team)
    assert after[: len(before)] == before
    assert [number for number, _, _ in after] == list(range(len(after)))
    assert resumed.goal is not None
    assert resumed.goal.met


async def test_a_rule_that_denies_the_command_denies_it_here_too(tmp_path: Path) -> None:
    async with Scenario(tmp_path, only_talks) as team:
        outcome = await ended(team, GoalRound(until="touch made"), permission={"deny": ["bash(touch *)"]})
        assert not (team.workspace / "made").exists()
        told = [entry.text for entry in notices(team)]
    assert outcome.goal is not None
    assert not outcome.goal.met
    assert "was not run" in told[1]


async def test_a_judge_is_asked_at_the_end_of_each_turn_and_its_words_are_told(tmp_path: Path) -> None:
    def judged(asked: Asked) -> Say:
        if "<condition>" in asked.texts[-1]:
            return Say("MET. The page is there." if step(asked) > 1 else "NOT MET: there is no page.")
        return Say("Done")

    async with Scenario(tmp_path, judged) as team:
        outcome = await ended(team, GoalRound(until="the page is there", judge=True))
        assert rounds(team) == [(0, False, ""), (1, False, ""), (2, True, "")]
        assert "there is no page" in notices(team)[1].text
    assert outcome.goal is not None
    assert (outcome.goal.met, outcome.steps) == (True, 4)


async def test_a_run_that_is_killed_between_two_rounds_resumes_at_the_same_round(tmp_path: Path) -> None:
    killed = list[int]()

    def kills(asked: Asked) -> Say:
        if any("round 1" in text for text in asked.texts) and not killed:
            note = Reading(team.workspace, "main").holder() or ""
            killed.append(int(note.split()[-1]))
            os.kill(killed[0], signal.SIGKILL)
        return adds_a_line(asked)

    async with Scenario(tmp_path, kills) as team:
        words = ["run", "Go.", "--until", LINES, "--no-sandbox", "--permission-mode", "bypass"]
        await to_thread.run_sync(partial(run_deskmate, words, folder=team.workspace, env=dict(os.environ)))
        before = rounds(team)
        outcome = await ended(team, None, continues=True)
        after = rounds(team)
    assert (before, len(killed)) == ([(0, False, ""), (1, False, "")], 1)
    assert [number for number, _, _ in after] == list(range(len(after)))
    assert outcome.goal is not None
    assert outcome.goal.met
