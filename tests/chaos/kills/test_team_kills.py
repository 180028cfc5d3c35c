"""A team of which anyone is killed at any instant: it ends where it would have ended, and nobody is told a lie.

Every run is `deskmate run`, then `deskmate resume` until it ends by itself, against a provider that refuses each
conversation a real one would refuse. `scenarios.team.story` is what the models say, `agent_run` and `team_run` do the
killing, and `team_evidence` looks at what is left.
"""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.chaos import TIMES
from tests.chaos.files.independent_reader import Found
from tests.chaos.kills.agent_evidence import ledger
from tests.chaos.kills.agent_run import Ended, Fate
from tests.chaos.kills.agent_story import HOLD
from tests.chaos.kills.kill_harness import KillHarness, kill_harness
from tests.chaos.kills.team_evidence import TeamEvidence, at_seat, flaws, gather, players, survivors
from tests.chaos.kills.team_run import (
    BEFORE,
    ENOUGH_SECONDS,
    Kill,
    KilledTeam,
    Target,
    end_all,
    fill,
    records,
    typed,
)
from tests.scenarios.team import story

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="who still runs is found by /proc")
INLINE, PROCESSES, EACH = 8 * TIMES, 40 if TIMES > 1 else 2, 4 if TIMES > 1 else 2
INTERRUPTED = "The verify command of #4 was interrupted. Complete the task again."
AFTER = {path: content.encode() for path, content in {**story.AFTER, **BEFORE}.items()}
Eventually = Callable[[Callable[[], bool]], None]


@dataclass(frozen=True)
class Unkilled:
    """A run that nobody killed, what it left, and how many records it wrote."""

    ended: Ended
    evidence: TeamEvidence
    records: int


@pytest.fixture(scope="module")
def harness() -> Iterator[KillHarness]:
    with kill_harness(story.STORY, fill, end_all) as harness:
        yield harness


@pytest.fixture(scope="module")
def unkilled(harness: KillHarness) -> Unkilled:
    """A run in one process that nobody kills."""
    workspace = harness.workspace("unkilled")
    ended = harness.warm.play(*typed(workspace, "inline"))
    assert (ended.code, ended.out.endswith(f"{story.FINAL}\n")) == (0, True), ended.err
    return Unkilled(ended, look(harness, workspace), records(workspace))


def look(harness: KillHarness, workspace: Path) -> TeamEvidence:
    """Return what a run left behind, and what the provider refused since it was last asked."""
    return gather(workspace, harness.complaints())


def troubles(harness: KillHarness, unkilled: Unkilled, workspace: Path, printed: str) -> list[str]:
    """Return all that is wrong with a run."""
    found = flaws(look(harness, workspace), unkilled.evidence, story.LETTERS)
    return found if printed.endswith(f"{story.FINAL}\n") else [f"it said {printed!r}", *found]


def test_a_run_that_nobody_kills_has_no_flaw(harness: KillHarness, unkilled: Unkilled) -> None:
    evidence = unkilled.evidence
    assert evidence.agents.files == AFTER
    assert flaws(evidence, evidence, story.LETTERS) == []


# -- all in one process -----------------------------------------------------------------------------


def fates(point: int, whole: Ended) -> list[Fate]:
    """Return where the processes of one run are killed, one after the other; all points together cover a whole run."""
    rng = random.Random(point)
    if point % 8 == 7:
        first = Fate(command=1, seconds=rng.uniform(0, 0.05))
    else:
        first = Fate(deed=1 + int((point + rng.random()) * whole.deeds / INLINE))
    return [first, Fate(deed=rng.randint(1, whole.deeds))] if point % 3 == 2 else [first]


def outlived(harness: KillHarness, workspace: Path, doom: list[Fate]) -> tuple[Ended, int]:
    """Run, and resume after each kill, until it ends by itself; return how, and how often it was killed."""
    ended, kills = harness.warm.play(*typed(workspace, "inline"), fate=doom[0]), 0
    while ended.killed:
        kills += 1
        fate = doom[kills] if kills < len(doom) else None
        ended = harness.warm.play(*typed(workspace, "inline"), fate=fate)
    return ended, kills


@pytest.mark.behaviour("M1", "M2", "C1", "C2", "C4", "resume")
@pytest.mark.parametrize("batch", range(INLINE // EACH))
def test_a_team_in_one_process_killed_anywhere_ends_as_if_it_had_not_been(
    harness: KillHarness, unkilled: Unkilled, batch: int
) -> None:
    hit, found = 0, {}
    for point in range(batch * EACH, (batch + 1) * EACH):
        workspace, doom = harness.workspace(f"inline-{point}"), fates(point, unkilled.ended)
        ended, kills = outlived(harness, workspace, doom)
        hit += bool(kills)
        if trouble := troubles(harness, unkilled, workspace, ended.out if ended.code == 0 else ended.err):
            found[f"point {point}, {doom}"] = trouble
    assert found == {}
    # What overlaps may save a deed, so that the last few never come.
    assert hit >= EACH // 2


# -- each in a process of its own -------------------------------------------------------------------


def kills_at(target: Target, point: int, whole: int) -> list[Kill]:
    """Return the kills of one run; all points together cover it, from the first teammate on where they aim at one."""
    rng, first = random.Random(f"{target} {point}"), whole // 6 if target == "teammate" else 0
    number = first + int((point + rng.random()) * (whole - first) * 0.9 / PROCESSES)
    kills = [Kill(target, number, rng.choice(story.MATES))]
    if point % 4 == 1:
        kills.append(Kill(target, number + rng.randint(1, whole // 4), rng.choice(story.MATES)))
    return kills


@pytest.mark.behaviour("M1", "M2", "C1", "C2", "C4", "S1", "resume")
@pytest.mark.parametrize("batch", range(PROCESSES // EACH))
@pytest.mark.parametrize("target", ["lead", "teammate", "everything"])
def test_a_team_in_processes_ends_as_if_nobody_had_been_killed(
    harness: KillHarness, unkilled: Unkilled, target: Target, batch: int
) -> None:
    hit, found = 0, {}
    for point in range(batch * EACH, (batch + 1) * EACH):
        workspace, kills = harness.workspace(f"{target}-{point}"), kills_at(target, point, unkilled.records)
        team = KilledTeam(workspace, harness.environ, patient=point % 2 == 0)
        printed = team.outlive(*kills)
        hit += bool(team.met)
        if trouble := troubles(harness, unkilled, workspace, printed):
            found[f"point {point}, {kills}"] = trouble
    assert found == {}
    # Who is to be killed may have left before.
    assert hit >= EACH // 2


@pytest.mark.behaviour("C1", "C2", "C4", "S1", "resume")
@pytest.mark.parametrize("target", ["lead", "teammate", "everything"])
def test_a_command_whose_agent_is_killed_is_ended_told_and_run_again(
    harness: KillHarness, unkilled: Unkilled, target: Target
) -> None:
    workspace = harness.workspace(f"verifying-{target}")
    (workspace / HOLD).touch()
    team = KilledTeam(workspace, harness.environ, patient=True)
    printed = team.outlive(Kill(target, name="analyst", commands=1))
    assert troubles(harness, unkilled, workspace, printed) == []
    # A process that outlives its lead ends by itself, maybe before the test looks.
    assert target == "lead" or bool(team.left) is (target != "teammate")
    analyst = gather(workspace).transcripts["analyst"]
    assert [found.body["text"] for found in analyst if found.body.get("ok") is False] == [INTERRUPTED]


@pytest.mark.behaviour("S1", "resume")
def test_who_is_slow_to_end_with_a_killed_lead_is_waited_for(
    harness: KillHarness, unkilled: Unkilled, eventually: Eventually
) -> None:
    workspace = harness.workspace("slow")
    (workspace / HOLD).touch()
    team = KilledTeam(workspace, harness.environ)
    with team.lead():
        eventually(lambda: bool(ledger(workspace)))
        (slow,), _ = at_seat(workspace, "analyst")
        os.kill(slow, signal.SIGSTOP)
    (transcript,) = workspace.glob(".teams/*/analyst_transcript.jsonl")
    said = transcript.read_bytes()
    with team.lead() as lead:
        eventually(lambda: at_seat(workspace, "analyst")[1] != [])
        assert at_seat(workspace, "analyst")[0] == [slow]
        assert transcript.read_bytes() == said
        os.kill(slow, signal.SIGCONT)
        printed = team.printed(lead.wait(ENOUGH_SECONDS))
    assert troubles(harness, unkilled, workspace, printed) == []


# -- the eye itself -----------------------------------------------------------------------------------

Change = Callable[[TeamEvidence], TeamEvidence]
Records = list[Found]


def with_mail(name: str, change: Callable[[Records], Records]) -> Change:
    return lambda found: replace(found, mail={**found.mail, name: change([*found.mail[name]])})


def with_transcript(name: str, change: Callable[[Records], Records]) -> Change:
    def changed(found: TeamEvidence) -> TeamEvidence:
        transcripts = {**found.transcripts, name: change([*found.transcripts[name]])}
        return replace(found, agents=replace(found.agents, transcripts=transcripts))

    return changed


def with_board(change: Callable[[Records], Records]) -> Change:
    return lambda found: replace(found, board=change([*found.board]))


def with_roster(change: Callable[[Records], Records]) -> Change:
    return lambda found: replace(found, roster=change([*found.roster]))


def both(first: Change, second: Change) -> Change:
    return lambda found: second(first(found))


def of_type(records: Records, type_: str) -> Found:
    """Return the last record of a type."""
    return [record for record in records if record.body["type"] == type_][-1]


def again(type_: str, **fields: object) -> Callable[[Records], Records]:
    """Return what adds the last record of a type once more, with other fields."""

    def change(records: Records) -> Records:
        record = of_type(records, type_)
        return [*records, replace(record, body={**record.body, **fields})]

    return change


def without(type_: str) -> Callable[[Records], Records]:
    return lambda records: [record for record in records if record is not of_type(records, type_)]


def other(type_: str, **fields: object) -> Callable[[Records], Records]:
    """Return what gives the last record of a type other fields."""
    return lambda records: without(type_)(again(type_, **fields)(records)[:-1]) + again(type_, **fields)(records)[-1:]


def unheard(words: str) -> Callable[[Records], Records]:
    """Return what takes a letter out of a transcript."""

    def change(record: Found) -> Found:
        mail = [message for message in record.body.get("mail", ()) if message.get("content") != words]
        return replace(record, body={**record.body, "mail": mail})

    return lambda records: [change(record) for record in records]


def came_back(found: TeamEvidence) -> TeamEvidence:
    """Let the report come back to its sender, who hears it."""
    letter = of_type([*found.mail["lead"]], "message")
    body = {**letter.body, "type": "undeliverable", "id": f"undeliverable/{letter.body['id']}"}
    heard = Found(999, 999, {"type": "heard", "mail": [body], "run": found.transcripts["analyst"][-1].body["run"]})
    returned = both(
        with_mail("analyst", lambda mail: [*mail, replace(letter, body=body)]),
        with_transcript("analyst", lambda records: [*records, heard]),
    )
    return returned(with_transcript("lead", unheard(story.REPORT))(found))


REPORT = ("analyst", story.REPORT)
VIOLATIONS: dict[str, tuple[Change, list[str]]] = {
    "nothing": (lambda found: found, []),
    "a letter lost": (
        with_transcript("lead", unheard(story.REPORT)),
        ["lead never heard {report}", f"lead is missing {REPORT}"],
    ),
    "a letter that came back": (came_back, [f"lead is missing {REPORT}"]),
    "a letter never sent": (
        both(with_transcript("lead", unheard(story.REPORT)), with_mail("lead", without("message"))),
        ["{report} was told as sent and is in no mailbox", f"lead is missing {REPORT}"],
    ),
    "a letter out of nowhere": (
        with_mail("lead", without("message")),
        ["{report} was told as sent and is in no mailbox", "lead heard {report}, which is not in its mailbox"],
    ),
    "a letter sent twice under one id": (with_mail("lead", again("message")), []),
    "a letter sent twice": (with_mail("lead", again("message", id="x")), ["lead never heard x"]),
    "a task completed again by a repeat": (with_board(again("task_completed")), []),
    "a task completed twice": (
        with_board(again("task_completed", cause=None, receipt=None)),
        ["task #4 was created by lead, claimed by analyst, completed by analyst, completed by analyst"],
    ),
    "a task never completed": (
        with_board(without("task_completed")),
        ["task #4 was created by lead, claimed by analyst"],
    ),
    "a task of another": (
        with_board(other("task_claimed", by="backend", task=5)),
        ["task #4 was created by lead, completed by analyst", "task #5 was claimed by backend"],
    ),
    "an edge lost": (
        with_board(other("task_created", blocked_by=[2])),
        ["task #4 was claimed by analyst, completed by analyst, created by lead"],
    ),
    "a yes lost": (
        with_mail("lead", without("shutdown_response")),
        ["{leaver} answered {request} with []", "lead heard {answer}, which is not in its mailbox"],
    ),
    "a second yes": (
        with_mail("lead", again("shutdown_response", id="x")),
        ["lead never heard x", "{leaver} answered {request} with [True, True]"],
    ),
    "a no": (
        with_mail("lead", other("shutdown_response", approve=False)),
        ["{leaver} answered {request} with [False]"],
    ),
    "someone stayed": (with_roster(without("member_left")), ["{last} left with []"]),
    "someone was made to leave": (with_roster(other("member_left", agreed=False)), ["{last} left with [False]"]),
    "someone left twice": (with_roster(again("member_left")), ["{last} left with [True, True]"]),
    "someone was parked": (with_roster(again("member_left", type="member_parked")), ["{last} was parked"]),
    "two players": (
        with_transcript("lead", lambda records: [*records, Found(999, 999, {"type": "x", "run": "y"}), records[-1]]),
        ["lead was played by two at once"],
    ),
    "verified twice": (lambda found: replace(found, checks=[*found.checks] * 2), ["{check} verified 2 times"]),
    "verified by nobody": (lambda found: replace(found, checks=()), ["task #4 has a receipt of nothing"]),
    "verified by no call": (
        lambda found: replace(found, checks=[*found.checks, "x"]),
        ["x verified without being journalled"],
    ),
    "verified by another process": (
        with_board(other("task_completed", run="x")),
        ["task #4 has a receipt of a process that did not begin to verify it"],
    ),
    "a survivor": (
        lambda found: replace(found, agents=replace(found.agents, processes=[7])),
        ["process 7 still runs"],
    ),
    "a bad conversation": (lambda found: replace(found, complaints=["no"]), ["refused: no"]),
}


@pytest.mark.parametrize("violation", VIOLATIONS)
def test_what_must_not_be_is_seen(harness: KillHarness, unkilled: Unkilled, violation: str) -> None:
    evidence, (change, expected) = unkilled.evidence, VIOLATIONS[violation]
    answer = of_type([*evidence.mail["lead"]], "shutdown_response").body
    words = {
        "report": of_type([*evidence.mail["lead"]], "message").body["id"],
        "leaver": answer["sender"],
        "answer": answer["id"],
        "request": answer["request_id"],
        "last": of_type([*evidence.roster], "member_left").body["name"],
        "check": evidence.checks[0],
    }
    found = flaws(change(evidence), evidence, story.LETTERS)
    assert sorted(found) == sorted(flaw.format(**words) for flaw in expected)


def test_who_still_runs_is_seen(harness: KillHarness, eventually: Eventually) -> None:
    workspace = harness.workspace("surviving")
    player = [sys.executable, "-c", "input()", "-C", str(workspace), "play", "bob"]
    command = {**harness.environ, "DESKMATE_ROOT": str(workspace)}
    with (
        subprocess.Popen(player, stdin=subprocess.PIPE) as first,
        subprocess.Popen(["cat"], stdin=subprocess.PIPE, env=command) as second,
    ):
        eventually(lambda: {*survivors(workspace)} == {first.pid, second.pid})
        assert players(workspace) == {first.pid: "bob"}
    assert survivors(workspace) == []
