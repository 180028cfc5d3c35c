"""A lead that leads a named team while teammates of its first team go on, through the product."""

import json

import pytest

from deskmate.core.log.names import LEAD
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import hears, in_turn, spawn, step
from deskmate.texts import text
from tests.scenarios.team.team_runner import TeamRunner
from tests.scenarios.team.two_teams import FINAL, script

pytestmark = pytest.mark.anyio
LAST_WORD = "Both have left, and this is my answer."


@pytest.fixture(params=["inline", "process"])
def launcher(request: pytest.FixtureRequest) -> str:
    """Launch teammates in both ways: here is shown that they do the same."""
    return str(request.param)


@pytest.mark.behaviour("two-teams", "team-create", "team-delete")
async def test_teammates_at_home_go_on_while_the_lead_works_in_another_team(runner: TeamRunner) -> None:
    played = await runner.play(script)
    assert (played.outcome.team, played.outcome.end) == ("main", "answered")
    assert played.outcome.text.endswith(FINAL)
    assert (runner.file("home.txt"), runner.file("more.txt")) == ("blue", "blue")
    assert played.outcome.files == ("home.txt", "more.txt")
    # The lead created the second task from the other team.
    assert played.statuses == {"write home.txt": "completed", "write more.txt": "completed"}
    entries = runner.place / ".teams/main/lead_transcript.jsonl"
    heard = [json.loads(line) for line in entries.read_text().splitlines()]
    teams = {body.get("team") for body in heard if body["type"] == "heard" and body["mail"]}
    assert teams == {None, "main"}


def forgetful(asked: Asked) -> Say:
    """Start two teams, then forget about them."""
    if step(asked) < 3:
        calls = (spawn("alice"), Use("TeamCreate", {"team_name": "web"}), spawn("wendy"))
        return Say(calls=[calls[step(asked)]])
    gone = hears(asked, "alice@main left") and hears(asked, "wendy left")
    return Say(LAST_WORD) if gone else Say("I think that is all.")


@pytest.mark.behaviour("two-teams", "headless", "shutdown", "P2")
async def test_an_unattended_run_ends_after_both_teams_have_left_with_one_reminder_and_one_last_word(
    runner: TeamRunner,
) -> None:
    played = await runner.play({LEAD: forgetful, "alice": in_turn(), "wendy": in_turn()})
    assert (played.outcome.end, played.outcome.text) == ("answered", f"I think that is all.\n\n{LAST_WORD}")
    assert played.outcome.dismissed == ("alice@main", "wendy")
    reminders = [noticed.text for noticed in played.notices if noticed.quiet]
    assert reminders == [f"{text('reminder')}\nThis team too: main. Ask its members by NAME@main."]
    assert played.everyone_left


@pytest.mark.behaviour("two-teams")
async def test_a_name_alone_means_the_team_that_the_lead_is_in(runner: TeamRunner) -> None:
    calls = (
        spawn("alice"),
        Use("TeamCreate", {"team_name": "web"}),
        Use("SendMessage", {"recipient": "alice", "content": "hello"}),
        Use("SendMessage", {"recipient": "nobody@main", "content": "hello"}),
        Use("SendMessage", {"recipient": "alice@main", "content": "hello"}),
    )

    def lead(asked: Asked) -> Say:
        return Say(calls=[calls[step(asked)]]) if step(asked) < len(calls) else Say("Sent.")

    played = await runner.play({LEAD: lead, "alice": in_turn()})
    assert [text for _, text in played.results_of(LEAD)[2:]] == [
        "'alice' is not on team 'web', but on your other team. Write to alice@main.",
        "'nobody@main' is not on that team. Teammates there: alice@main.",
        "sent to alice@main",
    ]
