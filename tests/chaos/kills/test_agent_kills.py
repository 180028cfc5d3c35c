"""An agent killed at any instant and resumed: it ends where it would have ended, and hides nothing from its model.

Every run is `deskmate run`, then `deskmate resume` until it ends by itself, against a provider that refuses each
conversation a real one would refuse. `agent_story` is what the model says, `agent_run` does the killing, and
`agent_evidence` looks at what is left.
"""

import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from deskmate.core.agent.open_calls import OUTCOME_UNKNOWN
from tests.chaos import TIMES
from tests.chaos.files.independent_reader import Found, look
from tests.chaos.kills import agent_run
from tests.chaos.kills.agent_evidence import Evidence, flaws, gather, ledger, processes
from tests.chaos.kills.agent_run import Ended, Fate
from tests.chaos.kills.agent_story import GO_ON, GOAL, HOLD, LAST_WORDS, fill, play
from tests.chaos.kills.kill_harness import KillHarness, kill_harness

POINTS = 1_000 if TIMES > 1 else 50
EACH = 10
Eventually = Callable[[Callable[[], bool]], None]


@dataclass(frozen=True)
class Unkilled:
    """A run that nobody killed, and what it left."""

    ended: Ended
    evidence: Evidence


@pytest.fixture(scope="module")
def harness() -> Iterator[KillHarness]:
    with kill_harness(play, fill) as harness:
        yield harness


@pytest.fixture(scope="module")
def unkilled(harness: KillHarness) -> Unkilled:
    workspace = harness.workspace("unkilled")
    ended = harness.warm.play(*typed(workspace))
    evidence = gather(workspace)
    assert (ended.code, ended.out) == (0, f"{LAST_WORDS}\n"), ended.err
    assert [*flaws(evidence, evidence.files), *harness.complaints()] == []
    return Unkilled(ended, evidence)


def typed(workspace: Path, words: str | None = None) -> list[str]:
    """Return what a person types who wants the goal reached: as much as was not said before, and these words."""
    team = workspace / ".teams" / "main"
    if not look(team / "roster.jsonl").records:
        deed = ["run", GOAL, "--new-team", "main"]
    elif not look(team / "lead_inbox.jsonl").records:
        deed = ["resume", "main", GOAL]
    else:
        deed = ["resume", "main", *([words] if words else [])]
    return ["-C", str(workspace), *deed, "--permission-mode", "bypass", "--no-sandbox"]


# -- killed anywhere ----------------------------------------------------------------------------------


def fates(point: int, whole: Ended) -> list[Fate]:
    """Return where the processes of one run are killed, one after the other; all points together cover a whole run."""
    rng = random.Random(point)
    if point % 4 == 3:
        first = Fate(command=rng.randint(1, whole.commands), seconds=rng.uniform(0, 0.08))
    else:
        first = Fate(deed=1 + point * whole.deeds // POINTS)
    return [first, Fate(deed=rng.randint(1, whole.deeds))] if point % 3 == 2 else [first]


def outlived(harness: KillHarness, workspace: Path, doom: list[Fate], words: str | None) -> tuple[Ended, int]:
    """Run, and resume after each kill, until it ends by itself; return how, and how often it was killed."""
    ended, kills = harness.warm.play(*typed(workspace), fate=doom[0]), 0
    while ended.killed:
        kills += 1
        fate = doom[kills] if kills < len(doom) else None
        ended = harness.warm.play(*typed(workspace, words), fate=fate)
    return ended, kills


@pytest.mark.behaviour("C1", "C2", "C4", "resume")
@pytest.mark.parametrize("batch", range(POINTS // EACH))
def test_killed_anywhere_it_ends_as_if_it_had_not_been(harness: KillHarness, unkilled: Unkilled, batch: int) -> None:
    hit, troubles = 0, {}
    for point in range(batch * EACH, (batch + 1) * EACH):
        workspace, doom = harness.workspace(f"point-{point}"), fates(point, unkilled.ended)
        words = GO_ON if point % 5 == 4 else None
        ended, kills = outlived(harness, workspace, doom, words)
        if not kills:
            # What overlaps may save a deed, so that the last few never come. Then kill another run near its end.
            workspace, doom = harness.workspace(f"point-{point}-again"), [Fate(deed=ended.deeds - point % 10)]
            ended, kills = outlived(harness, workspace, doom, words)
        hit += bool(kills)
        found = [*flaws(gather(workspace), unkilled.evidence.files), *harness.complaints()]
        if (ended.code, ended.out) != (0, f"{LAST_WORDS}\n"):
            found.append(f"it ended with {ended.code}: {ended.out} {ended.err}")
        if found:
            troubles[f"point {point}, {doom}"] = found
    assert troubles == {}
    assert hit >= EACH // 2


# -- killed before the first record -------------------------------------------------------------------


def test_killed_before_its_first_record_a_team_leaves_its_name_free(harness: KillHarness) -> None:
    run = ["run", GOAL, "--permission-mode", "bypass", "--no-sandbox"]
    left = set()
    for deed in range(1, 100):
        workspace = harness.workspace(f"founding-{deed}")
        ended = harness.warm.play("-C", str(workspace), *run, fate=Fate(deed=deed))
        assert ended.killed
        if look(workspace / ".teams/main/roster.jsonl").records:
            break
        left |= {path.name for path in workspace.glob(".t*/main/*")}
        teams = harness.warm.play("-C", str(workspace), "teams")
        assert (teams.code, "There is no team" in teams.err, "damaged" in teams.err) == (2, True, False)
        assert "bad" not in harness.warm.play("-C", str(workspace), "doctor").out
        ended = harness.warm.play("-C", str(workspace), *run)
        assert (ended.code, ended.out) == (0, f"{LAST_WORDS}\n"), ended.err
        assert [path.name for path in workspace.glob(".teams/[a-z]*")] == ["main"]
    assert {".lock", "lead.seat", "signature"} <= left
    assert harness.complaints() == []


# -- killed from outside ------------------------------------------------------------------------------

DESKMATE = ("-m", "deskmate")


def killed_in_a_command(
    harness: KillHarness, workspace: Path, eventually: Eventually, commands: int, program: tuple[str, ...] = DESKMATE
) -> None:
    """Run in a process of its own, and kill it while the last of so many commands waits to go on."""
    go_on = workspace / HOLD
    with subprocess.Popen(
        [sys.executable, *program, *typed(workspace)], env=dict(harness.environ), stderr=subprocess.DEVNULL
    ) as process:
        for number in range(1, commands + 1):
            go_on.touch()
            eventually(lambda: len(ledger(workspace)) == number)  # noqa: B023
            if number < commands:
                go_on.unlink()
        process.kill()
    assert process.returncode == -signal.SIGKILL


def resumed(harness: KillHarness, workspace: Path, program: tuple[str, ...] = DESKMATE) -> str:
    """Resume in a process of its own; return what it answers."""
    command = [sys.executable, *program, *typed(workspace)]
    ended = subprocess.run(command, env=dict(harness.environ), capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="what still runs is found by /proc")
@pytest.mark.behaviour("C1", "C2", "C4", "resume")
def test_a_command_that_outlives_its_agent_is_ended_and_told_as_interrupted(
    harness: KillHarness, unkilled: Unkilled, eventually: Eventually
) -> None:
    workspace = harness.workspace("outliving")
    killed_in_a_command(harness, workspace, eventually, commands=1)
    left, (sign,) = processes(workspace), ledger(workspace)
    assert left != []
    # It would wait for ever. Other agents that run a command need not.
    (workspace / f"{HOLD}-{sign}").touch()
    (workspace / HOLD).unlink()
    assert resumed(harness, workspace) == f"{LAST_WORDS}\n"
    evidence = gather(workspace)
    assert [*flaws(evidence, unkilled.evidence.files), *harness.complaints()] == []
    assert {*left}.isdisjoint(processes(workspace))
    told = [found.body["text"] for found in evidence.transcripts["lead"] if found.body.get("ok") is False]
    assert told == [
        f"Interrupted. {OUTCOME_UNKNOWN}",
        "release.log does not exist. Look for it with glob.",
    ]


@pytest.mark.behaviour("C2")
@pytest.mark.parametrize(
    ("sin", "flaw"),
    [
        ("forget to journal", "lead:{said}.0 was journalled 0 times"),
        ("run again", "lead:{said}.0 was ended by a process that did not begin it, and does not say so"),
    ],
)
def test_an_agent_that_runs_a_call_twice_is_found_out(
    harness: KillHarness, unkilled: Unkilled, eventually: Eventually, sin: str, flaw: str
) -> None:
    workspace, sinner = harness.workspace(sin), ("-m", agent_run.__name__, sin)
    killed_in_a_command(harness, workspace, eventually, commands=1, program=sinner)
    (workspace / HOLD).unlink()
    (sign,) = ledger(workspace)
    resumed(harness, workspace, sinner)
    found = flaws(gather(workspace), unkilled.evidence.files)
    assert {f"{sign} ran 2 times", flaw.format(said=sign.split("-")[1])} <= {*found}
    assert harness.complaints() == []


# -- the eye itself -----------------------------------------------------------------------------------

COMMAND = "lead:14.0"


def changed(evidence: Evidence, change: Callable[[list[Found]], list[Found]]) -> Evidence:
    """Return evidence in which the lead's transcript is another."""
    return replace(evidence, transcripts={**evidence.transcripts, "lead": change([*evidence.transcripts["lead"]])})


def of_type(records: list[Found], type_: str) -> Found:
    """Return the entry of a type that is about the first command of the story."""
    found = [record for record in records if record.body["type"] == type_]
    return next(record for record in found if COMMAND in (record.body.get("call"), *record.body.get("calls", ())))


def without(type_: str) -> Callable[[list[Found]], list[Found]]:
    return lambda records: [record for record in records if record is not of_type(records, type_)]


def rewritten(type_: str, **fields: object) -> Callable[[list[Found]], list[Found]]:
    def change(records: list[Found]) -> list[Found]:
        old = of_type(records, type_)
        return [replace(old, body={**old.body, **fields}) if record is old else record for record in records]

    return change


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(without("did"), ["lead:14.0 has 0 results"], id="no result"),
        pytest.param(
            lambda records: [*records, of_type(records, "did")], ["lead:14.0 has 2 results"], id="two results"
        ),
        pytest.param(
            without("began"),
            ["lead:14.0 was journalled 0 times", "lead-14-0.txt ran without being journalled"],
            id="no journal",
        ),
        pytest.param(
            lambda records: [*records, of_type(records, "began")], ["lead:14.0 was journalled 2 times"], id="two"
        ),
        pytest.param(
            rewritten("did", run="another"),
            ["lead:14.0 was ended by a process that did not begin it, and does not say so"],
            id="ended by another",
        ),
        pytest.param(
            rewritten("did", ok=False, text="Interrupted. Its outcome is unknown."),
            ["lead:14.0 is told as interrupted by the process that ran it"],
            id="interrupted by nobody",
        ),
        pytest.param(
            rewritten("did", ok=False, text="Skipped: something more urgent came"),
            ["lead:14.0 was journalled 1 times"],
            id="skipped but run",
        ),
        pytest.param(lambda records: [records[0], *records], ["lead was started 2 times"], id="started twice"),
        pytest.param(lambda records: [*records, records[1]], ["lead heard {goal} 2 times"], id="heard twice"),
        pytest.param(
            lambda records: [*without("began")(records), replace(of_type(records, "began"), number=99)],
            ["lead:14.0 ended before it began"],
            id="journalled too late",
        ),
    ],
)
def test_a_transcript_that_hides_something_is_seen(
    unkilled: Unkilled, change: Callable[[list[Found]], list[Found]], expected: list[str]
) -> None:
    goal = unkilled.evidence.transcripts["lead"][1].body["mail"][0]["id"]
    found = flaws(changed(unkilled.evidence, change), unkilled.evidence.files)
    assert found == [flaw.format(goal=goal) for flaw in expected]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"ran": ["lead-14-0.txt"] * 2}, "lead-14-0.txt ran 2 times", id="a command twice"),
        pytest.param({"ran": []}, "lead-14-0.txt never ran", id="no command"),
        pytest.param({"ran": ["lead-99-0.txt"]}, "lead-99-0.txt ran without being journalled", id="a strange command"),
        pytest.param({"files": {}}, "calc.py is not as it would be: None", id="a file missing"),
        pytest.param({"files": {"x": b"y"}}, "x is not as it would be: b'y'", id="a file too many"),
        pytest.param({"processes": [7]}, "process 7 still runs", id="a process"),
        pytest.param({"damage": ["a.jsonl"]}, "a.jsonl holds lines that are no records", id="damage"),
    ],
)
def test_what_should_not_be_there_is_seen(unkilled: Unkilled, fields: dict[str, object], expected: str) -> None:
    assert expected in flaws(replace(unkilled.evidence, **fields), unkilled.evidence.files)  # type: ignore[arg-type]
