"""A session: what a person sees of a team that is played here, and what becomes of what they say and answer."""

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import pytest

from deskmate.app import Feed, RunRequest
from deskmate.app.session import Session, attended
from deskmate.app.session_events import Turns
from deskmate.core.agent.entries import Compacted
from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.prompt.compaction import summary_request
from deskmate.core.team.status import Idle, Left, status_word
from deskmate.errors import BadInput, BadSettings, Refused, UnknownRecipient
from deskmate.faces.common.items.mail_items import text_of
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from tests.scenarios.app_harness import SOON, AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = pytest.mark.anyio

TOUCH = Use("bash", {"command": "touch done"})
SCOUT = Use("Task", {"name": "scout", "prompt": "Look around.", "description": "looks"})


@dataclass
class Sat:
    """A session, and what was asked of its provider."""

    session: Session
    provider: FakeProvider
    harness: AppHarness

    async def until(self, holds: Callable[[Session], object]) -> None:
        """Return once something holds of what is seen."""
        seen = anyio.Event()
        self.session.listen(lambda: seen.set() if holds(self.session) else None)
        if not holds(self.session):
            await seen.wait()

    def status(self, name: str) -> str:
        """Return what a member does."""
        return next((status_word(one.status) for one in self.session.members if one.name == name), "")

    async def idle(self, name: str = LEAD) -> None:
        """Return once a member rests, having said something."""
        await self.until(
            lambda session: any(m.name == name and m.status == Idle() and m.words for m in session.members)
        )


Script = Callable[[Asked], Say]


@asynccontextmanager
async def sitting(
    harness: AppHarness,
    script: Script,
    words: str | None,
    *,
    continues: bool = False,
    team: str | None = None,
    mode: str | None = "default",
    launcher: str = "inline",
) -> AsyncIterator[Sat]:
    with anyio.fail_after(SOON):
        async with FakeProvider(script) as provider:
            settings = harness.settings(provider, "anthropic", permission_mode=mode, launcher=launcher)
            async with attended(RunRequest(harness.place, words, team, settings, continues), Feed()) as session:
                yield Sat(session, provider, harness)


def touches_and_tells_the_last(asked: Asked) -> Say:
    """Touch a file, and repeat what came last."""
    return Say(f"It said: {asked.texts[-1]}") if asked.results else Say("I touch it.", [TOUCH])


def touches(asked: Asked) -> Say:
    """Touch a file, and tell what came of it."""
    return Say(f"It said: {asked.results[-1].text}") if asked.results else Say("I touch it.", [TOUCH])


def chats(asked: Asked) -> Say:
    return Say("Here.") if summary_request()[:40] not in asked.texts[-1] else Say("We said hello.")


def leads(asked: Asked) -> Say:
    """Have a scout that rests after a word; the lead rests once it is there."""
    if "Task" not in asked.tools:
        return Say("Nothing here.")
    return Say("It looks." if asked.results else "I have one look.", [] if asked.results else [SCOUT])


@pytest.mark.behaviour("permission", "P5")
async def test_a_question_shows_exactly_what_is_asked_and_a_yes_runs_it(harness: AppHarness) -> None:
    async with sitting(harness, touches, "Touch it.") as sat:
        await sat.until(lambda session: session.questions)
        (question,) = sat.session.questions
        assert (question.member, question.tool, question.arguments) == (LEAD, "bash", {"command": "touch done"})
        assert (sat.session.busy, (harness.place / "done").exists()) == ((LEAD,), False)
        await sat.session.answer(question, "yes")
        assert sat.session.questions == ()
        await sat.idle()
        assert ((harness.place / "done").exists(), sat.session.permitted.rules) == (True, ())


async def test_a_no_with_words_is_read_by_the_model(harness: AppHarness) -> None:
    async with sitting(harness, touches, "Touch it.") as sat:
        await sat.until(lambda session: session.questions)
        await sat.session.answer(sat.session.questions[0], "no", "Use cp.")
        await sat.idle()
        assert "Use cp." in sat.session.members[0].words
        assert not (harness.place / "done").exists()


async def test_always_adds_the_rule_that_was_shown_and_it_can_be_taken_back(harness: AppHarness) -> None:
    async with sitting(harness, touches, "Touch it.") as sat:
        await sat.until(lambda session: session.questions)
        question = sat.session.questions[0]
        await sat.session.answer(question, "always")
        assert sat.session.permitted.rules == (question.rule,)
        await sat.session.drop_rules(sat.session.permitted.rules)
        assert not sat.session.permitted.rules


async def test_a_question_whose_answer_could_not_be_sent_is_open_still(harness: AppHarness) -> None:
    async with sitting(harness, touches, "Touch it.") as sat:
        # Asked first, then told on the roster.
        await sat.until(lambda session: session.questions and sat.status(LEAD) == "waiting")
        before = sat.session.questions
        with pytest.raises(BadInput):
            await sat.session.answer(before[0], "no", "x" * 300_000)
        await sat.session.look()
        assert (sat.session.questions, sat.status(LEAD)) == (before, "waiting")
        await sat.session.answer(before[0], "no")
        await sat.idle()


@pytest.mark.behaviour("permission")
async def test_what_is_permitted_meanwhile_answers_what_waits(harness: AppHarness) -> None:
    async with sitting(harness, touches, "Touch it.") as sat:
        await sat.until(lambda session: session.questions)
        await sat.session.set_mode(Mode.DONT_ASK)
        await sat.until(lambda session: not session.questions)
        await sat.idle()
        assert (harness.place / "done").exists()


@pytest.mark.behaviour("permission")
async def test_always_also_lets_go_what_waits_and_is_like_it(harness: AppHarness) -> None:
    def twice(asked: Asked) -> Say:
        return Say("Both.") if asked.results else Say("I make two.", [make, make])

    make = Use("bash", {"command": "mktemp -p ."})

    async with sitting(harness, twice, "Touch them.") as sat:
        await sat.until(lambda session: len(session.questions) == 2)
        first, second = sat.session.questions
        await sat.session.answer(first, "always")
        await sat.idle()
        assert len(list(harness.place.glob("tmp.*"))) == 2
        await sat.until(lambda session: not session.questions)
        for late in (first, second):
            with pytest.raises(Refused, match="no longer open"):
                await sat.session.answer(late, "no")


@pytest.mark.behaviour("P5", "resume")
async def test_a_question_waits_over_a_restart_and_is_answered_then(harness: AppHarness) -> None:
    async with sitting(harness, touches, "Touch it.") as sat:
        await sat.until(lambda session: session.questions)
        before, home = sat.session.questions, sat.session.home
    async with sitting(harness, touches, None, team=home, continues=True) as sat:
        assert (sat.session.questions, sat.session.home) == (before, home)
        await sat.session.answer(before[0], "yes")
        await sat.idle()
    assert (harness.place / "done").exists()


@pytest.mark.behaviour("P5", "resume")
async def test_a_question_that_waits_is_denied_in_a_run_that_nobody_attends(harness: AppHarness) -> None:
    async with sitting(harness, touches, "Touch it.") as sat:
        await sat.until(lambda session: session.questions)
    async with FakeProvider(touches) as provider:
        outcome = await harness.resume(provider, "anthropic", permission_mode=None)
    assert ("nobody is here to answer" in outcome.text, (harness.place / "done").exists()) == (True, False)


async def test_what_the_user_says_leaves_a_question_open_and_is_read_when_the_asker_goes_on(
    harness: AppHarness,
) -> None:
    async with sitting(harness, touches_and_tells_the_last, "Touch it.") as sat:
        await sat.until(lambda session: session.questions)
        await sat.session.say("Mind the cache.")
        (question,) = sat.session.questions
        await sat.session.answer(question, "yes")
        await sat.idle()
        assert (harness.place / "done").exists()
        assert "Mind the cache." in sat.session.members[0].words


@pytest.mark.parametrize("launcher", ["inline", "process"])
async def test_the_end_of_a_turn_is_known_when_nobody_will_do_anything_by_itself(
    harness: AppHarness, launcher: str
) -> None:
    async with sitting(harness, leads, "Have one look.", mode="bypass", launcher=launcher) as sat:
        turns = Turns(sat.session, lull_seconds=math.inf)
        sat.session.listen(turns.look)
        await turns.over()
        assert [sat.status(name) for name in (LEAD, "scout")] == ["idle", "idle"]
        await sat.session.say("Look again.", "scout")
        await turns.over()
        scouts = [asked for asked in sat.provider.requests if "Task" not in asked.tools]
        assert len(scouts) == 2


@pytest.mark.behaviour("urgent")
async def test_who_is_interrupted_rests_and_goes_on_at_a_word(harness: AppHarness) -> None:
    async with sitting(harness, touches, "Touch it.") as sat:
        await sat.until(lambda session: session.questions)
        await sat.session.interrupt()
        await sat.until(lambda session: not session.busy)
        with pytest.raises(UnknownRecipient):
            await sat.session.go_on("nobody")
        await sat.session.go_on(LEAD)
        await sat.until(lambda session: session.members[0].words.startswith("It said") and not session.busy)
        with pytest.raises(Refused):
            await sat.session.go_on(LEAD)


async def test_members_tasks_and_mail_are_seen_and_a_teammate_hears_the_user_and_leaves_when_asked(
    harness: AppHarness,
) -> None:
    async with sitting(harness, leads, "Have one look.") as sat:
        await sat.idle("scout")
        await sat.session.say("And now?", "scout")
        await sat.until(lambda session: any(one.envelope.recipient == "scout" for one in session.letters))
        assert [(m.name, m.colour) for m in sat.session.members] == [(LEAD, ""), ("scout", "cyan")]
        heard = [one.envelope for one in sat.session.letters if one.envelope.recipient == "scout"]
        assert [(one.sender, text_of(one.message)) for one in heard] == [("user", "And now?")]
        await sat.session.stop("scout")
        await sat.until(lambda session: isinstance(session.members[1].status, Left))
        for name in (LEAD, "user", "scout", "nobody"):
            with pytest.raises((Refused, UnknownRecipient)):
                await sat.session.stop(name)


@pytest.mark.behaviour("permission")
async def test_a_narrower_mode_for_the_team_narrows_everybody(harness: AppHarness) -> None:
    async with sitting(harness, leads, "Have one look.", mode="bypass") as sat:
        await sat.idle("scout")
        await sat.session.set_mode(Mode.BYPASS, "scout")
        await sat.session.set_mode(Mode.DEFAULT)
        permitted = sat.session.permitted
        assert (permitted.mode, permitted.modes) == (Mode.DEFAULT, {"scout": Mode.DEFAULT})
        with pytest.raises(UnknownRecipient):
            await sat.session.set_mode(Mode.BYPASS, "nobody")


async def test_another_model_is_asked_from_the_next_step_on(harness: AppHarness) -> None:
    async with sitting(harness, chats, "Hello.") as sat:
        await sat.idle()
        assert sat.session.choose_model("gpt-5") == "openai:gpt-5"
        with pytest.raises(BadSettings):
            sat.session.choose_model("nobody:knows")
        await sat.session.say("And now?")
        await sat.until(lambda session: len(sat.provider.requests) == 2)
        assert [asked.model for asked in sat.provider.requests] == ["claude-sonnet-4-5", "gpt-5"]
        assert sat.session.model == "openai:gpt-5"


async def test_the_chosen_model_is_asked_for_who_is_hired_afterwards_also_in_a_process_of_its_own(
    harness: AppHarness,
) -> None:
    async with sitting(harness, leads, None, launcher="process") as sat:
        sat.session.choose_model("anthropic:claude-opus-4-5")
        await sat.session.say("Have one look.")
        await sat.idle("scout")
        assert {asked.model for asked in sat.provider.requests} == {"claude-opus-4-5"}


@pytest.mark.behaviour("compact-auto")
async def test_room_is_made_when_the_user_wants_it_and_kept_is_what_they_name(harness: AppHarness) -> None:
    async with sitting(harness, chats, None) as sat:
        with pytest.raises(Refused):
            await sat.session.make_room()
        await sat.session.say("Hello.")
        await sat.idle()
        await sat.session.make_room("the greeting")
        last = 0
        while not any(isinstance(entry, Compacted) for _, entry in await sat.session.entries(LEAD)):
            await sat.session.changed(LEAD, last)
            last = (await sat.session.entries(LEAD))[-1][0]
        assert "the greeting" in sat.provider.requests[-1].texts[-1]
        await sat.session.say("Still there?")
        await sat.until(lambda session: len(sat.provider.requests) == 3)
        assert "We said hello." in str(sat.provider.requests[-1].prompt.passages[0])


async def test_without_a_name_a_new_team_is_founded_and_the_latest_is_gone_on_with_where_that_is_wanted(
    harness: AppHarness,
) -> None:
    homes = []
    for continues in (False, False, True):
        async with sitting(harness, chats, "Hello.", continues=continues) as sat:
            await sat.idle()
            homes.append((sat.session.home, sat.session.team))
    assert homes == [("main", "main"), ("main-2", "main-2"), ("main-2", "main-2")]
