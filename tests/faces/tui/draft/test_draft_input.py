"""What is typed goes to whom it was written, is never lost, and is never taken for a key that stops something."""

from pathlib import Path

import anyio
import pytest
from textual import events

from deskmate.app import TeamEvent, TeamStarted
from deskmate.core.policy.permissions import Mode
from deskmate.core.prompt.prompts import Spoke
from deskmate.faces.common.items.mail_items import text_of
from deskmate.faces.tui.draft.draft_input import Draft
from deskmate.faces.tui.screen_app import addressed
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.provider_faults import Plan, Stall
from deskmate.testing.team_scripts import hears, member_of
from tests.faces.tui.busy_team import at_work
from tests.faces.tui.idle_sessions import SIZES
from tests.faces.tui.screen_harness import SOON, ScreenHarness, show_live_team, show_team
from tests.faces.tui.test_live_team import answers, leaving, team

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui")]
SMALL, LARGE = SIZES
KEYS = {"enter": "\r", "tab": "\t", "ctrl+d": "\x04", "space": " "}


def at_once(screen: ScreenHarness, *keys: str) -> None:
    """Press keys before anybody gets to the first."""
    for key in keys:
        screen.app.post_message(events.Key(key, KEYS.get(key, key)))


def said(screen: ScreenHarness, words: str) -> list[str]:
    """Return to whom words went."""
    mail = [letter.envelope for letter in screen.session.letters]
    return [one.recipient for one in mail if text_of(one.message) == words]


@pytest.mark.parametrize(
    ("text", "to", "taken"),
    [
        ("hello", "lead", "hello"),
        ("//etc", "lead", "//etc"),
        ("hello", "alice", "@alice hello"),
        ("//etc", "alice", "@alice /etc"),
        ("@@home", "alice", "@alice @home"),
        ("/team", "alice", "/team"),
        ("!ls", "alice", "!ls"),
        ("# a note", "alice", "# a note"),
        ("#3 is wrong", "alice", "@alice #3 is wrong"),
        ("!!now", "alice", "@alice !now"),
        ("@bob hello", "alice", "@bob hello"),
        ("@shot.png hello", "alice", "@alice @shot.png hello"),
    ],
)
def test_what_is_no_command_goes_to_whom_the_draft_names(text: str, to: str, taken: str) -> None:
    assert addressed(text, to, Path("/")) == taken


async def test_what_is_sent_goes_to_who_was_watched_then(tmp_path: Path) -> None:
    async with FakeProvider(team) as provider, show_live_team(tmp_path, provider, SMALL, "begin") as screen:
        await screen.sees("Ready.", "alice")
        at_once(screen, *"words", "enter", "tab")
        await screen.sees("to alice")
        await screen.until(lambda: bool(said(screen, "words")))
        at_once(screen, *"other", "enter")
        await screen.until(lambda: bool(said(screen, "other")))
        assert (said(screen, "words"), said(screen, "other")) == (["lead"], ["alice"])


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        (["alt+4"], "carol"),
        (["tab"], "alice"),
        (["tab", "tab"], "bob"),
        (["f2", "down"], "alice"),
        (["f4", "r"], "carol"),
    ],
)
async def test_a_reply_to_a_teammate_takes_at_most_three_keys_and_the_words(
    tmp_path: Path, keys: list[str], name: str
) -> None:
    async with show_team(await at_work(tmp_path), LARGE) as screen:
        await screen.sees("Which port?")
        await screen.press("x", "backspace")
        await screen.press(*keys)
        at_once(screen, *"for you", "enter")
        await screen.sees(f"said to {name}")
        assert len([*keys, "enter"]) <= 3


async def test_words_for_the_teammate_that_is_watched_take_only_enter(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), LARGE) as screen:
        await screen.press("alt+2")
        await screen.sees("to alice")
        at_once(screen, *"for you", "enter")
        await screen.sees("said to alice")


@pytest.mark.parametrize(("keys", "name"), [(["alt+4"], "carol"), (["tab", "tab"], "bob"), (["f4", "r"], "carol")])
async def test_words_typed_at_once_with_the_key_that_chooses_a_member_go_to_that_member(
    tmp_path: Path, keys: list[str], name: str
) -> None:
    async with show_team(await at_work(tmp_path), LARGE) as screen:
        await screen.press("x", "backspace")
        at_once(screen, *keys, *"for you", "enter")
        await screen.sees(f"said to {name}")


async def test_what_was_sent_before_leaving_is_said(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        at_once(screen, *"words", "enter", "ctrl+d")
        await leaving(screen)
        await screen.session.look()
        assert said(screen, "words") == ["lead"]


def two(asked: Asked) -> Say:
    """Ask for one command, and then for another."""
    done = sum(isinstance(passage, Spoke) for passage in asked.prompt.passages)
    return Say("I go on.", [Use("bash", {"command": f"touch file{done}"})] if done < 2 else [])


async def test_a_yes_without_a_number_is_for_what_was_seen_when_it_was_typed(tmp_path: Path) -> None:
    async with FakeProvider(two) as provider, show_live_team(tmp_path, provider, SMALL, "go") as screen:
        await screen.sees("touch file0")
        (first,) = screen.session.questions
        await screen.press(*"/yes")
        await screen.session.answer(first, "no")
        await screen.until(lambda: any(one.key != first.key for one in screen.session.questions))
        await screen.press("enter")
        await screen.sees("Add its number", "touch file1")
        assert len(screen.session.questions) == 1


async def test_a_yes_without_a_number_is_taken_once_the_question_could_be_seen(tmp_path: Path) -> None:
    async with FakeProvider(two) as provider, show_live_team(tmp_path, provider, SMALL, "go") as screen:
        await screen.sees("touch file0")
        with anyio.fail_after(SOON):
            while not (tmp_path / "file0").exists():
                await screen.type("/yes")
                await screen.pilot.pause(0.3)


# -- who is watched -------------------------------------------------------------------------------


def obeys(asked: Asked) -> Say:
    """Have a lead that founds a team, hires alice and puts the team away, each when it is told to."""
    deeds = {
        "found": Use("TeamCreate", {"team_name": "first"}),
        "hire": Use("Task", {"name": "alice", "prompt": "Wait.", "role": "dev"}),
        "dismiss": Use("TeamDelete", {"force": True}),
    }
    told = (
        []
        if member_of(asked) == "alice" or asked.results
        else [use for word, use in deeds.items() if hears(asked, word)]
    )
    return Say("Done.", told)


async def test_the_next_member_is_asked_for_just_when_the_team_is_gone(tmp_path: Path) -> None:
    async with FakeProvider(obeys) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.session.set_mode(Mode.DONT_ASK)
        await screen.type("found")
        await screen.until(lambda: screen.session.team == "first" and not screen.session.busy)
        await screen.type("hire")
        await screen.until(lambda: len(screen.session.members) == 2 and not screen.session.busy)
        await screen.press("tab")
        await screen.sees("to alice")

        def hear(event: TeamEvent) -> None:
            if isinstance(event, TeamStarted):
                at_once(screen, "tab")

        screen.feed.listen(hear)
        await screen.session.say("dismiss")
        await screen.until(lambda: screen.session.team == "main" or not screen.app.is_running)
        await screen.sees("to lead")
        assert screen.app.trouble is None


@pytest.mark.parametrize("keys", [["alt+home"], ["f2", "home"]])
async def test_a_key_goes_straight_to_the_lead(tmp_path: Path, keys: list[str]) -> None:
    async with show_team(await at_work(tmp_path), SMALL) as screen:
        await screen.press("tab", "tab")
        await screen.sees_no("to lead")
        await screen.press(*keys)
        await screen.sees("to lead")


@pytest.mark.parametrize("key", ["end", "ctrl+end"])
async def test_a_key_goes_to_the_end_of_the_conversation_while_one_writes(tmp_path: Path, key: str) -> None:
    words = "\n".join(f"line {number}" for number in range(100))
    async with FakeProvider([Say(words)]) as provider, show_live_team(tmp_path, provider, SMALL, "go") as screen:
        await screen.sees("line 99")
        await screen.press("pageup", "pageup")
        await screen.sees_no("line 99")
        await screen.press(key)
        await screen.sees("line 99")


async def test_the_title_names_the_key_that_goes_to_the_end_now(tmp_path: Path) -> None:
    words = "\n".join(f"line {number}" for number in range(100))
    async with FakeProvider([Say(words)]) as provider, show_live_team(tmp_path, provider, SMALL, "go") as screen:
        await screen.sees("line 99")
        await screen.press("pageup", "pageup")
        await screen.sees("below: End")
        await screen.press(*"draft")
        await screen.sees("below: Ctrl-End")
        await screen.press("f6")
        await screen.sees("below: End")
        await screen.press("f4")
        await screen.sees("to lead")
        await screen.press("ctrl+end", "f6")
        await screen.sees("line 99")
        await screen.sees_no("below")


# -- what is half typed ---------------------------------------------------------------------------


async def test_what_is_half_typed_is_dropped_before_anybody_is_interrupted(tmp_path: Path) -> None:
    plan: Plan = {0: Stall(0.5)}
    async with (
        FakeProvider([Say("half of it, and then the rest")], faults=plan) as provider,
        show_live_team(tmp_path, provider, SMALL, "go") as screen,
    ):
        await screen.until(lambda: screen.session.busy == ("lead",))
        await screen.press(*"draft", "escape")
        draft = screen.app.screen.query_one(Draft)
        assert draft.text == "draft"
        await screen.press("ctrl+c")
        assert (draft.text, screen.session.busy) == ("", ("lead",))
        await screen.press("up")
        assert draft.text == "draft"
        await screen.press("ctrl+c", "ctrl+c")
        await screen.sees("lead was interrupted")


async def test_the_end_of_a_show_leaves_the_keys_to_who_is_typing(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.press(*"s")
        screen.app.end_show("That was the show.")
        await screen.sees("That was the show.", "Send or clear what you typed, then press q to leave.")
        await screen.press("q")
        await screen.sees(" sq")
        await screen.press("enter")
        await screen.until(lambda: said(screen, "sq") == ["lead"])
        await screen.press("q")
        await leaving(screen)


async def test_what_was_typed_before_moves_no_cursor(tmp_path: Path) -> None:
    naughty = "\x1b]0;owned\x07hi \x9b31mthere\nyou"
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL, before=[naughty]) as screen:
        await screen.press("up")
        assert screen.app.screen.query_one(Draft).text == "hi there\nyou"


async def test_y_and_enter_answer_who_asks_and_other_words_leave_the_question_open(tmp_path: Path) -> None:
    async with FakeProvider(two) as provider, show_live_team(tmp_path, provider, SMALL, "go") as screen:
        await screen.sees("touch file0")
        await screen.press(*"/questions", "enter")
        await screen.sees("answer with y 1")
        await screen.press(*"Hurry", "enter")
        await screen.sees("question 1 is still open: y, a or n")
        await screen.press("y", "enter")
        await screen.sees("yes to lead: bash touch file0", "touch file1")
        assert said(screen, "y") == []
