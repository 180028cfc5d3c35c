"""A rehearsal: every agent that asks gets an answer, also one with the name of a member of an earlier team."""

from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest

from deskmate.app import Feed, RunRequest
from deskmate.app.demo_team import Rehearsal, Rehearsed
from deskmate.app.runner import founded
from deskmate.app.session import Answer, session_with
from deskmate.core.team.open_questions import Question
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.team_scripts import MemberScript, all_texts, in_turn, member_of
from tests.scenarios.app_harness import SOON, AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = pytest.mark.anyio


def during(team: str) -> tuple[Say, ...]:
    """Return what the lead says to found a team with an alice, wait for her, and put it away."""
    hired = Use("Task", {"name": "alice", "prompt": f"You are in {team}.", "role": "dev", "description": "helps"})
    return (
        Say(calls=[Use("TeamCreate", {"team_name": team})]),
        Say(calls=[hired]),
        Say("I wait."),
        Say(calls=[Use("TeamDelete", {"force": True})]),
    )


def play(asked: Asked) -> Say:
    """Play the lead of one team after the other; or alice, who touches a file named as her team."""
    if member_of(asked) == "lead":
        return in_turn(*during("first"), *during("second"), then=Say("Done."))(asked)
    team = all_texts(asked)[0].split("You are in ")[1].split(".")[0]
    return Say("Done.") if asked.results else Say("I touch it.", [Use("bash", {"command": f"touch {team}"})])


class Person:
    """Who says the same to everything, and remembers what that was."""

    patience_seconds = 60.0

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.asked: list[Question] = []
        self.heard: list[tuple[Answer, bool]] = []

    async def ask(self, question: Question, stays: Callable[[], None]) -> Answer:
        self.asked.append(question)
        return self._answer

    def told(self, question: Question, answer: Answer, by_person: bool) -> None:
        self.heard.append((answer, by_person))


class LatePerson(Person):
    """Who is known to be there at once, and takes more time to answer than there is."""

    patience_seconds = 0.01

    async def ask(self, question: Question, stays: Callable[[], None]) -> Answer:
        over = anyio.current_time() + self.patience_seconds
        stays()
        while anyio.current_time() <= over:
            await anyio.lowlevel.checkpoint()
        return await super().ask(question, stays)


async def rehearse(harness: AppHarness, part: MemberScript, person: Person) -> Rehearsed:
    """Play a part to the end with a person there."""
    with anyio.fail_after(SOON):
        async with FakeProvider(part) as provider:
            wanted = RunRequest(
                harness.place, "Begin.", None, harness.settings(provider, "anthropic", permission_mode="default")
            )
            async with (
                founded(wanted, Feed(), attended=True) as (team_parts, teams),
                session_with(team_parts, teams) as session,
            ):
                return await Rehearsal(session, team_parts).play(person)


@pytest.mark.behaviour("P5", "team-delete")
async def test_a_namesake_in_the_next_team_who_asks_under_the_same_id_is_answered_too(harness: AppHarness) -> None:
    rehearsed = await rehearse(harness, play, person := Person("yes"))
    assert [one.arguments["command"] for one in person.asked] == ["touch first", "touch second"]
    assert (len({one.id for one in person.asked}), person.heard) == (1, 2 * [("yes", True)])
    assert (rehearsed.outcome.text, (harness.place / "second").exists()) == ("I wait.\n\nDone.", True)


@pytest.mark.behaviour("permission")
async def test_a_person_who_is_there_has_all_the_time(harness: AppHarness) -> None:
    part = in_turn(Say(calls=[Use("bash", {"command": "touch done"})]), then=Say("Done."))
    await rehearse(harness, part, person := LatePerson("yes"))
    assert person.heard == [("yes", True)]


@pytest.mark.behaviour("permission")
async def test_where_no_rule_can_stand_in_for_the_person_an_always_is_a_yes_and_told_as_one(
    harness: AppHarness,
) -> None:
    part = in_turn(Say(calls=[Use("bash", {"command": "touch $(echo done)"})]), then=Say("Done."))
    await rehearse(harness, part, person := Person("always"))
    assert ([one.rule for one in person.asked], person.heard) == ([None], [("yes", True)])
    assert (harness.place / "done").exists()
