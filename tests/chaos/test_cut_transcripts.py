"""Transcripts cut, removed and replaced while their owners work: nobody does anything twice, and every run ends."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from deskmate.app import Recorded, TeamEvent
from deskmate.core.agent.rules.supervise import RECORDS_CHANGED
from deskmate.core.log.names import LEAD
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import add_task, complete_task, given_task, member_of, spawn, step
from tests.scenarios.team.conftest import launcher, runner
from tests.scenarios.team.team_runner import TeamRunner

__all__ = ["launcher", "runner"]
pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("supervise", "M2", "C2")]

SEEDS = range(30 if os.environ.get("DESKMATE_SOAK") else 3)
NAMES, TASKS = ("alice", "bob", "carol"), 9


def cut(file: Path, rng: random.Random) -> None:
    """Remove a file, cut it anywhere, or put the first part of it in its place."""
    data = file.read_bytes()
    part = data[: rng.randrange(len(data))]
    match rng.randrange(4):
        case 0:
            file.unlink()
        case 1:
            os.truncate(file, len(part))
        case 2:
            os.truncate(file, part.rfind(b"\n") + 1)
        case _:
            (aside := file.with_suffix(".part")).write_bytes(part)
            aside.replace(file)


def cutter(place: Path, rng: random.Random, cuts: list[str]) -> Callable[[TeamEvent], None]:
    """Return a listener that damages the transcripts of two teammates, each at some entry of its own.

    It notes whose in `cuts`: a teammate that gets too little of the work never comes that far.
    """
    moments = {name: rng.randint(3, 15) for name in rng.sample(NAMES, 2)}

    def listen(event: TeamEvent) -> None:
        if isinstance(event, Recorded) and moments.get(event.member) == event.number:
            cut(place / f".teams/main/{event.member}_transcript.jsonl", rng)
            cuts.append(event.member)

    return listen


def team(asked: Asked) -> Say:
    """Play everybody: each task leaves a line that says who did it."""
    if member_of(asked) == LEAD:
        calls = [*(add_task(f"task {n}") for n in range(1, TASKS + 1)), *map(spawn, NAMES)]
        return Say(calls=calls) if step(asked) == 0 else Say("I wait.")
    if number := given_task(asked):
        return Say(
            calls=[Use("bash", {"command": f"echo {member_of(asked)} >> effect{number}"}), complete_task(number)]
        )
    return Say("Ready.")


@pytest.mark.parametrize("seed", SEEDS)
async def test_whoever_loses_its_transcript_does_nothing_twice(runner: TeamRunner, seed: int) -> None:
    cuts = list[str]()
    played = await runner.play(team, cutter(runner.place, random.Random(seed), cuts))
    effects = {path.name: path.read_text().split() for path in runner.place.glob("effect*")}
    assert {name: sorted(set(lines)) for name, lines in effects.items()} == {
        name: sorted(lines) for name, lines in effects.items()
    }
    assert (RECORDS_CHANGED in "".join(map(str, played.streams.roster_items))) == bool(cuts)
    # Those whose records are whole have done all there was.
    assert (played.outcome.end, len(effects)) == ("answered", TASKS)
    assert all(not one.is_open for one in played.board.tasks.values())
