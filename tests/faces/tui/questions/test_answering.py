"""Answering on the whole screen: a question takes the keys when nobody types, and few keys answer it."""

from collections.abc import Callable
from pathlib import Path

import anyio.lowlevel
import pytest
from textual import events

from deskmate.core.prompt.prompts import Spoke
from deskmate.faces.tui.draft.draft_input import Draft
from deskmate.faces.tui.questions.question_panel import QuestionsPanel
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from tests.faces.tui.draft.test_draft_input import at_once, said
from tests.faces.tui.idle_sessions import SIZES
from tests.faces.tui.screen_harness import ScreenHarness, show_live_team

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui", "permission")]
SMALL, LARGE = SIZES
BUILD = Use("bash", {"command": "echo built"})
OLD, NEW = ("".join(f"    value_{n} = {name}({n})\n" for n in range(5)) for name in ("count", "count_fast"))


def builds(asked: Asked) -> Say:
    """Ask for a command, and tell what became of it."""
    return Say(asked.results[0].text[:60]) if asked.results else Say("I build.", [BUILD])


def edits(asked: Asked) -> Say:
    """Read two files, and edit five lines of each, one after the other."""
    done = sum(isinstance(passage, Spoke) for passage in asked.prompt.passages)
    if not done:
        return Say("I look.", [Use("read_file", {"path": name}) for name in ("a.py", "b.py")])
    if done > 2:
        return Say("Both are done.")
    return Say("I edit.", [Use("edit_file", {"path": "ab"[done - 1] + ".py", "old_text": OLD, "new_text": NEW})])


@pytest.mark.parametrize("size", SIZES)
async def test_two_small_edits_are_approved_with_two_keys(tmp_path: Path, size: tuple[int, int]) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(OLD)
    async with FakeProvider(edits) as provider, show_live_team(tmp_path, provider, size, "go") as screen:
        for name in ("a.py", "b.py"):
            await screen.asked(f"path: {name}")
            await screen.press("enter")
        await screen.sees("Both are done.")
    assert [(tmp_path / name).read_text() for name in ("a.py", "b.py")] == [NEW, NEW]


@pytest.mark.parametrize(("key", "outcome"), [("enter", "built"), ("3", "The user refused")])
async def test_a_question_is_answered_by_one_key_and_the_draft_has_the_keys_again(
    tmp_path: Path, key: str, outcome: str
) -> None:
    async with FakeProvider(builds) as provider, show_live_team(tmp_path, provider, SMALL, "go") as screen:
        await screen.asked("may I use bash?", "command: echo built")
        await screen.press(key)
        await screen.sees(outcome)
        await screen.sees_no("may I use bash?")
        await screen.press(*"yes")
        await screen.sees(" yes")


async def test_the_last_line_shows_only_keys_that_do_something_now(tmp_path: Path) -> None:
    async with FakeProvider(builds) as provider, show_live_team(tmp_path, provider, (160, 48)) as screen:
        assert not any("F5 answer" in line or "Esc interrupt" in line for line in screen.lines)
        await screen.press("slash")
        await screen.sees("Tab insert  Esc close")
        assert not any("Enter send" in line for line in screen.lines)
        await screen.press("escape")
        await screen.sees("Enter send")
        await screen.press("backspace")
        await screen.session.say("go")
        await screen.asked("F5 answer")
        await screen.press("4")
        await screen.sees("Enter send  Esc back")
        assert not any("Esc write" in line for line in screen.lines)


async def test_a_question_takes_no_keys_from_who_is_typing(tmp_path: Path) -> None:
    async with FakeProvider(builds) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.session.say("go")
        await screen.press(*"half of")
        await screen.sees("may I use bash?", "F5 to answer")
        draft = screen.app.screen.query_one(Draft)
        await screen.press(*" it")
        assert (draft.text, screen.app.focused) == ("half of it", draft)
        await screen.press("ctrl+c")
        await screen.asked()


async def test_who_starts_to_type_gets_the_keys_back_and_the_question_stays_open(tmp_path: Path) -> None:
    async with FakeProvider(builds) as provider, show_live_team(tmp_path, provider, SMALL, "go") as screen:
        await screen.asked()
        await screen.press(*"yan", "1", "space", "2")
        draft = screen.app.screen.query_one(Draft)
        assert (draft.text, screen.app.focused, len(screen.session.questions)) == ("yan1 2", draft, 1)


async def test_a_text_that_comes_all_at_once_is_sent_and_answers_nothing(tmp_path: Path) -> None:
    async with FakeProvider(builds) as provider, show_live_team(tmp_path, provider, SMALL, "go") as screen:
        await screen.asked()
        at_once(screen, *"no1", "enter")
        await screen.until(lambda: said(screen, "no1") == ["lead"])
        assert len(screen.session.questions) == 1


@pytest.mark.parametrize("words", ["hello", "2 more"])
@pytest.mark.parametrize(
    "moment",
    [
        lambda screen: not screen.session.questions,
        lambda screen: not screen.app.screen.query_one(QuestionsPanel).display,
        lambda screen: screen.app.focused is None or screen.app.focused is screen.app.screen.query_one(Draft),
    ],
    ids=["answered", "hidden", "unfocused"],
)
async def test_words_and_enter_typed_at_once_are_sent_when_a_question_has_just_vanished(
    tmp_path: Path, words: str, moment: Callable[[ScreenHarness], bool]
) -> None:
    async with FakeProvider(builds) as provider, show_live_team(tmp_path, provider, SMALL, "go") as screen:
        await screen.asked()
        await screen.session.answer(screen.session.questions[0], "no")
        while not moment(screen):
            await anyio.lowlevel.checkpoint()
        at_once(screen, *("space" if one == " " else one for one in words), "enter")
        await screen.until(lambda: said(screen, words) == ["lead"])


async def test_pasted_words_and_enter_are_sent_and_answer_nothing(tmp_path: Path) -> None:
    async with FakeProvider(builds) as provider, show_live_team(tmp_path, provider, SMALL, "go") as screen:
        await screen.asked()
        screen.app.post_message(events.Paste("hello"))
        at_once(screen, "enter")
        await screen.until(lambda: said(screen, "hello") == ["lead"])
        assert len(screen.session.questions) == 1


async def test_a_question_takes_no_keys_from_who_has_just_pressed_one(tmp_path: Path) -> None:
    async with FakeProvider(builds) as provider, show_live_team(tmp_path, provider, SMALL, "go") as screen:
        await screen.asked()
        await screen.press("escape")
        await screen.until(lambda: screen.app.screen.query_one(Draft).is_idle)
        screen.app.screen.query_one(QuestionsPanel).offer_again()
        at_once(screen, *"hello")
        screen.app.screen.post_message(QuestionsPanel.KeysWanted())
        at_once(screen, "enter")
        await screen.until(lambda: said(screen, "hello") == ["lead"])
        assert len(screen.session.questions) == 1


async def test_who_goes_back_to_writing_is_not_called_again_until_something_is_sent(tmp_path: Path) -> None:
    async with FakeProvider(builds) as provider, show_live_team(tmp_path, provider, SMALL, "go") as screen:
        await screen.asked()
        await screen.press("escape")
        await screen.sees("F5 to answer")
        draft = screen.app.screen.query_one(Draft)
        await screen.until(lambda: draft.is_idle)
        await screen.sees("F5 to answer")
        assert screen.app.focused is draft
        await screen.type("hurry")
        await screen.asked()


async def test_without_colours_the_marked_answer_and_the_marked_command_are_reversed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with FakeProvider(builds) as provider, show_live_team(tmp_path, provider, SMALL, "go") as screen:
        await screen.asked()
        await screen.press("down")
        await screen.until(lambda: [one[:6] for one in reversed_lines(screen)] == ["2. Yes"])
        await screen.press(*"/qui")
        await screen.until(lambda: any(one.startswith("/quit") for one in reversed_lines(screen)))
        assert [one for one in reversed_lines(screen) if "Yes" in one] == []


def reversed_lines(screen: ScreenHarness) -> list[str]:
    """Return what is drawn reversed, a line each."""
    strips = screen.app.screen._compositor.render_strips()
    lines = ("".join(one.text for one in strip if one.style and one.style.reverse).strip() for strip in strips)
    return [line for line in lines if line]


async def test_refusing_with_words_tells_the_asker_what_to_do(tmp_path: Path) -> None:
    async with FakeProvider(builds) as provider, show_live_team(tmp_path, provider, SMALL, "go") as screen:
        await screen.asked()
        await screen.press("down", "down", "down", "enter", *"use make", "enter")
        await screen.sees("The user refused this call: use make")
