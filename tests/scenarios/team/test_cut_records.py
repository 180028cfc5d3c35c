"""A teammate whose records are cut or changed while it works does nothing twice, unless the user lets it go on."""

import shutil
import subprocess
from pathlib import Path

import pytest

from deskmate.app.user_actions import accept
from deskmate.core.agent.rules.supervise import RECORDS_CHANGED
from deskmate.core.log.names import LEAD, USER
from deskmate.core.prompt.prompts import Spoke
from deskmate.core.team.messages import Plain
from deskmate.core.team.status import status_detail, status_word
from deskmate.core.team.tasks import TaskStatus as TaskStatus
from deskmate.errors import Refused, StoreCorrupt
from deskmate.queries.damage import lost_of
from deskmate.testing import Asked, Say, Use
from deskmate.testing.provider_faults import ErrorStatus, Fault
from deskmate.testing.team_scripts import (
    MemberScript,
    TeamScripts,
    add_task,
    answer_stop,
    calls_in,
    complete_task,
    given_task,
    in_turn,
    request_in,
    send_mail,
    spawn,
    was_told,
)
from tests.scenarios.team.team_runner import TeamRunner

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("supervise", "M2", "C2")]

FILE = ".teams/main/bob_transcript.jsonl"
# The command that has the effect does this, too: its own result is the next that is to be recorded.
WAYS = {
    "removed": f"rm {FILE}",
    "emptied": f": > {FILE}",
    "cut": f"head -n 2 {FILE} > part; cat part > {FILE}",
    "cut within a line": f"head -c -40 {FILE} > part; cat part > {FILE}",
    "replaced by a part of it": f"head -n 2 {FILE} > part; mv part {FILE}",
    "made unreadable": f"mv {FILE} whole; mkdir {FILE}",
}
GO_ON = Plain(content="Go on without what is lost.")


def bob(damage: str) -> MemberScript:
    """Return a teammate that does its task, which damages its transcript, and completes it."""

    def works(asked: Asked) -> Say:
        if request := request_in(asked, "shutdown_request"):
            return Say(calls=[answer_stop(request)])
        used = [
            tool for passage in asked.prompt.passages if isinstance(passage, Spoke) for tool, _ in calls_in(passage)
        ]
        if not was_told(asked, "is yours now"):
            return Say("Ready.")
        if "bash" not in used:
            # What goes on after the loss has nothing more to damage.
            harm = "true" if was_told(asked, "is lost. The user knows this.") else damage
            return Say(calls=[Use("bash", {"command": f"echo done >> effects; {harm}"})])
        return Say(calls=[complete_task(1)]) if given_task(asked) or "TaskUpdate" not in used else Say("Done.")

    return works


def parts(damage: str) -> TeamScripts:
    return {"lead": in_turn(Say(calls=[add_task("one"), spawn("bob")])), "bob": bob(damage)}


def ends_when_told(number: int, asked: Asked) -> Fault | None:
    """Let the run end once the lead is told, so that it lets nobody go."""
    return ErrorStatus(400) if was_told(asked, "bob is parked") else None


@pytest.mark.parametrize("way", list(WAYS))
async def test_what_it_did_is_not_done_again_and_the_run_goes_on_without_it(runner: TeamRunner, way: str) -> None:
    played = await runner.play(parts(WAYS[way]))
    assert runner.file("effects") == "done\n"
    assert any(was_told(asked, RECORDS_CHANGED) for asked in played.requests_of(LEAD))
    assert (played.board.tasks[1].status, played.board.tasks[1].owner) == (TaskStatus.PENDING, None)
    assert (played.outcome.end, played.roster.members["bob"].here) == ("answered", False)


# What is left of its transcript may still say that it asked for the command, or even that it was to run.
@pytest.mark.parametrize(("way", "times"), [("removed", 2), ("cut", 2), ("cut within a line", 1)])
async def test_it_stays_parked_when_the_team_is_resumed_and_goes_on_once_the_user_writes_to_it(
    runner: TeamRunner, way: str, times: int
) -> None:
    await runner.play(parts(WAYS[way]), faults=ends_when_told)
    lead = in_turn(*[Say("I wait.")] * 3, Say(calls=[send_mail("bob", "Go on.")]))
    resumed = await runner.resume({"lead": lead}, faults=ends_when_told, goal="Let bob go on.")
    bob_ = resumed.roster.members["bob"]
    assert (runner.file("effects"), status_word(bob_.status), resumed.requests_of("bob")) == ("done\n", "parked", [])
    runner.send(USER, "bob", GO_ON)
    played = await runner.resume({**parts("true"), "lead": in_turn()}, goal="Go on.")
    assert was_told(played.requests_of("bob")[0], "is lost. The user knows this.")
    assert played.board.tasks[1].status is TaskStatus.COMPLETED
    # The user let it go on, and the model was told to look first: whether to do it again is for the model to say.
    assert runner.file("effects") == "done\n" * times
    assert (played.outcome.end, played.everyone_left) == ("answered", True)


# -- the lead ---------------------------------------------------------------------------------------


def cuts_itself(way: str) -> MemberScript:
    """Return a lead that has an effect once and damages its own transcript with it."""

    def works(asked: Asked) -> Say:
        spoken = [passage for passage in asked.prompt.passages if isinstance(passage, Spoke)]
        if was_told(asked, "is lost. The user knows this.") or any(map(calls_in, spoken)):
            return Say("That was all.")
        damage = WAYS[way].replace(FILE, ".teams/main/lead_transcript.jsonl")
        return Say(calls=[Use("bash", {"command": f"echo done >> effects; {damage}"})])

    return works


@pytest.mark.parametrize("launcher", ["inline"])
@pytest.mark.parametrize("way", ["removed", "emptied", "cut", "cut within a line", "replaced by a part of it"])
async def test_a_lead_whose_records_were_cut_goes_on_once_the_user_accepts_that(runner: TeamRunner, way: str) -> None:
    with pytest.raises(StoreCorrupt):
        await runner.play({"lead": cuts_itself(way)})
    for _ in range(2):
        with pytest.raises(StoreCorrupt, match="deskmate doctor main --accept"):
            await runner.resume({"lead": cuts_itself(way)}, goal="Go on.")
    name, lost = lost_of(runner.place, None)
    assert [one.stream for one in lost] == ["log/lead"]
    await accept(runner.place, name, [(one.stream, one.number) for one in lost])
    with pytest.raises(Refused, match="no losses to accept"):
        lost_of(runner.place, None)
    played = await runner.resume({"lead": cuts_itself(way)})
    assert (played.outcome.text, runner.file("effects")) == ("That was all.", "done\n")


@pytest.mark.parametrize("way", ["removed", "cut"])
async def test_a_transcript_that_was_cut_while_nobody_played_parks_its_owner(runner: TeamRunner, way: str) -> None:
    await runner.play(parts("true"), faults=lambda _, asked: ErrorStatus(400) if task_done(asked) else None)
    keep_mark(runner.place / FILE)
    await runner.scenario().streams()
    subprocess.run(["bash", "-c", WAYS[way]], cwd=runner.place, check=True)
    played = await runner.resume({"lead": in_turn()}, faults=ends_when_told, goal="Go on.")
    assert (runner.file("effects"), played.requests_of("bob")) == ("done\n", [])
    assert RECORDS_CHANGED in status_detail(played.roster.members["bob"].status)
    name, lost = lost_of(runner.place, None)
    await accept(runner.place, name, [(one.stream, one.number) for one in lost])
    played = await runner.resume({"lead": in_turn(), "bob": in_turn()}, goal="Go on.")
    assert was_told(played.requests_of("bob")[0], "is lost. The user knows this.")
    assert (played.outcome.end, played.everyone_left, runner.file("effects")) == ("answered", True, "done\n")


def keep_mark(file: Path) -> None:
    """Move a file to an inode whose mark in the lock file no other file overwrites: of two the last is remembered."""
    taken = {other.stat().st_ino % 128 for other in file.parent.iterdir() if other != file}
    for number in range(200):
        if file.stat().st_ino % 128 not in taken:
            return
        copy = Path(shutil.copy(file, file.with_name(f"copy{number}")))
        # Both are kept until then, so that the inode is another one.
        copy.replace(file)
        (file.parent / f"spare{number}").touch()
    raise AssertionError("inodes are not given by chance")


def task_done(asked: Asked) -> bool:
    """Tell whether the lead was told of a quiet team, which is once the task is done."""
    return was_told(asked, "Since you last looked") and was_told(asked, "bob is idle")


# -- what is shared ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "file",
    [".teams/main/bob_inbox.jsonl", ".teams/main/spend.jsonl", ".teams/main/roster.jsonl", ".tasks/main/board.jsonl"],
)
@pytest.mark.parametrize("how", ["rm", "truncate -s 0"])
async def test_a_run_whose_other_records_are_cut_ends_with_an_error_and_did_nothing_twice(
    runner: TeamRunner, file: str, how: str
) -> None:
    lead = in_turn(Say(calls=[add_task("one"), spawn("bob")]), Say(calls=[send_mail("bob", "hello")]))
    with pytest.raises(StoreCorrupt, match="Restore the whole file"):
        await runner.play({"lead": lead, "bob": bob(f"{how} {file}")})
    assert runner.file("effects") == "done\n"
