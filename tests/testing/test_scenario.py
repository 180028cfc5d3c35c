"""A scenario runs a real team with scripted models, and leaves the process as it was."""

import os
from pathlib import Path

import pytest

from deskmate.testing import Asked, Say, Scenario, Use
from deskmate.testing.team_scripts import add_task, complete_task, given_task, in_turn, send_mail, spawn, write_file

pytestmark = pytest.mark.anyio


def teammate(asked: Asked) -> Say:
    if number := given_task(asked):
        # Mail before completion: completing the first task starts the second, whose mail then comes later for sure.
        ready = send_mail("lead", f"#{number} is ready.")
        return Say(calls=[write_file(f"part{number}.txt", "done"), ready, complete_task(number)])
    return Say("I wait.")


LEAD = in_turn(
    Say(calls=[add_task("parse", role="reader"), add_task("print", role="writer", blockedBy=[1])]),
    Say(calls=[spawn("alice", role="reader"), spawn("bob", role="writer")]),
    then=Say("Both are done."),
)


@pytest.mark.parametrize("launcher", ["inline", "process"])
async def test_a_scripted_team_works_to_the_end_and_says_who_did_what(tmp_path: Path, launcher: str) -> None:
    before = dict(os.environ)
    scripts = {"lead": LEAD, "alice": teammate, "bob": teammate}
    async with Scenario(tmp_path, scripts, launcher=launcher) as team:
        run = await team.run("Build it.")

    assert run.outcome.end == "answered"
    assert run.answer.endswith("Both are done.")
    assert run.owners == {"parse": "alice", "print": "bob"}
    assert run.statuses == {"parse": "completed", "print": "completed"}
    assert run.mail_to("lead") == [("alice", "#1 is ready."), ("bob", "#2 is ready.")]
    assert [ok for ok, _ in run.results_of("alice")] == [True, True, True]
    assert run.everyone_left
    assert [team.file(f"part{number}.txt") for number in (1, 2)] == ["done", "done"]
    assert dict(os.environ) == before


async def test_a_team_goes_on_in_the_next_scenario_of_its_folder(tmp_path: Path) -> None:
    async with Scenario(tmp_path, {"lead": in_turn(then=Say("First."))}) as team:
        await team.run()
    async with Scenario(tmp_path, {"lead": in_turn(then=Say("Second."))}) as team:
        run = await team.resume("And now?")

    assert run.answer == "Second."
    assert run.texts_of("lead") == ["First.", "Second."]


async def test_a_run_that_never_ends_is_cut_off(tmp_path: Path) -> None:
    def never(asked: Asked) -> Say:
        return Say(calls=[Use("bash", {"command": "sleep 600"})])

    async with Scenario(tmp_path, {"lead": never}, seconds=1) as team:
        with pytest.raises(TimeoutError):
            await team.run()


async def test_a_request_that_no_provider_would_take_fails_the_scenario(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, {})
    with pytest.raises(AssertionError, match="unpaired"):
        async with scenario:
            scenario.provider.complaints.append("an unpaired call")
