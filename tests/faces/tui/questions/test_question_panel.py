"""The questions panel: what is asked is seen whole before it is answered, and only what was seen is answered."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from textual.containers import VerticalScroll
from textual.widgets import Input

from deskmate.core.team.messages import PermissionResponse, PlanResponse
from deskmate.faces.tui.questions.answer_guard import QUIET_SECONDS, UNSEEN_SECONDS
from deskmate.faces.tui.questions.answer_list import AnswerList
from deskmate.testing import FakeClock
from tests.faces.disk_teams import OpenTeam, hands
from tests.faces.tui.idle_sessions import NOW, QuestionApp, ask, asking, hand_in
from tests.faces.tui.snapshots import text

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui", "permission")]
PLAN = "# Port the page\n\n" + "\n".join(f"{n}. do the part number {n}" for n in range(1, 41))

# The plan as it is rendered.
READ = PLAN.removeprefix("# ").splitlines()


def rows(app: QuestionApp) -> set[str]:
    """Return what can be read, without the space at the begin of lines."""
    return {line.strip() for line in text(app)}


async def three(team: OpenTeam, clock: FakeClock) -> None:
    """Have alice, bob and carol ask, for one thing each."""
    await ask(team, "alice", "bash", {"command": "make"}, "commands ask", "allow bash(make)")
    await ask(team, "bob", "bash", {"command": "rm build"}, "commands ask")
    await hand_in(team, "carol", PLAN)


async def the_same(team: OpenTeam, clock: FakeClock) -> None:
    """Have alice, bob and carol ask for the same, and bob for something else before."""
    await ask(team, "bob", "bash", {"command": "ls"}, "commands ask")
    for name in ("alice", "bob", "carol"):
        await ask(team, name, "bash", {"command": "make"}, "commands ask", "allow bash(make)")


@dataclass(frozen=True)
class Said:
    """What somebody was answered."""

    kind: type[Any]
    approve: bool
    words: str = ""


async def told(folder: Path, name: str) -> list[Said]:
    async with hands(folder) as team:
        found = [one.message for one in await team.mail_of(name) if one.sender == "user"]
    answers = [one for one in found if isinstance(one, PermissionResponse | PlanResponse)]
    return [Said(type(one), one.approve, one.content) for one in answers]


def in_front(app: QuestionApp) -> str:
    """Return who asks in front, or the beginning of it."""
    return next(line for above, line in zip(text(app), text(app)[1:], strict=False) if " question" in above).split()[0]


# -- answering ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "approve"), [(["enter"], True), (["1"], True), (["3"], False), (["down", "down", "enter"], False)]
)
async def test_a_key_answers_the_question_in_front(tmp_path: Path, keys: list[str], approve: bool) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press(*keys)
        await pilot.pause()
        assert [one.member for one in app.session.questions] == ["bob", "carol"]
        assert app.session.permitted.rules == ()
        assert app.focused is app.answer_list
    assert await told(tmp_path, "alice") == [Said(PermissionResponse, approve)]


async def test_the_next_question_begins_with_its_first_answer_marked(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        assert (in_front(app), app.answer_list.highlighted) == ("bob", 0)


async def test_no_is_said_with_words(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("4", *"any", "enter")
        await pilot.pause()
        assert app.answers == [("alice", "no", "any")]
        assert app.focused is app.answer_list
    assert await told(tmp_path, "alice") == [Said(PermissionResponse, False, "any")]


async def test_words_that_were_not_sent_answer_nothing(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        # Enter without a word, keys that mean something elsewhere, and away again.
        await pilot.press("4", "enter", "1", "down", "2", "escape")
        await pilot.pause()
        assert (app.answers, app.focused, in_front(app)) == ([], app.answer_list, "alice")
        await pilot.press("4")
        assert app.query_one(Input).value == ""


async def test_escape_is_left_to_the_app_while_no_words_are_typed(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("escape")
        assert app.escapes == 1
        await pilot.press("4", "escape")
        assert (app.escapes, app.focused) == (1, app.answer_list)


@pytest.mark.parametrize(
    ("keys", "answer"), [(["1"], "yes"), (["2"], "always"), (["4", *"test", "enter"], "no")], ids=["1", "2", "4"]
)
async def test_a_plan_is_approved_with_or_without_edits_or_refused_with_words(
    tmp_path: Path, keys: list[str], answer: str
) -> None:
    async with asking(tmp_path, three, (80, 70)) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("right", "right")
        app.clock.advance(1)
        await pilot.press(*keys)
        await pilot.pause()
        words = "test" if answer == "no" else ""
        assert app.answers == [("carol", answer, words)]
    assert await told(tmp_path, "carol") == [Said(PlanResponse, answer != "no", words)]


async def test_the_number_of_an_answer_that_a_question_leaves_out_chooses_nothing(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("right")
        app.clock.advance(1)
        await pilot.press("2")
        await pilot.pause()
        assert (app.answers, app.focused, in_front(app)) == ([], app.answer_list, "bob")
        await pilot.press("3")
        await pilot.pause()
        assert app.answers == [("bob", "no", "")]


async def test_an_answer_for_later_questions_shows_its_rule_and_is_there_only_if_a_rule_can_stand_in(
    tmp_path: Path,
) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        assert "2. Yes, and don't ask again for bash(make)" in text(app)
        await pilot.press("2")
        await pilot.pause()
        assert (app.answers, app.session.permitted.rules) == ([("alice", "always", "")], ("allow bash(make)",))
        assert [line for line in text(app) if line[:2] in ("1.", "2.", "3.", "4.")] == [
            "1. Yes",
            "3. No",
            "4. No, and tell it what to do instead",
        ]


async def test_without_the_focus_no_key_answers(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        app.query_one(VerticalScroll).focus()
        await pilot.press("enter", *"1234")
        assert app.answers == []


async def test_letters_answer_nothing_and_are_passed_on(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press(*"yes", "space", "9")
        await pilot.pause()
        assert (app.answers, app.typed) == ([], "yes 9")


# -- only what was seen ---------------------------------------------------------------------------


async def test_a_key_pressed_before_the_question_could_be_seen_is_ignored(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        app.questions.show(app.session, NOW)
        await pilot.pause()
        app.questions.focus()
        app.clock.advance(UNSEEN_SECONDS - 0.01)
        await pilot.press("1", "enter", "4")
        assert app.answers == []
        app.clock.advance(QUIET_SECONDS)
        await pilot.press("enter")
        await pilot.pause()
        app.clock.advance(UNSEEN_SECONDS)
        await pilot.press("enter")
        await pilot.pause()
        assert [member for member, _, _ in app.answers] == ["alice", "bob"]


async def test_a_key_that_repeats_answers_one_question_and_the_list_says_why_no_more(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        for _ in range(40):
            await pilot.press("enter")
            app.clock.advance(0.03)
        assert app.answers == [("alice", "yes", "")]
        assert "1. Yes  Not yet: this question is new. Press it again in a second." in text(app)
        app.clock.advance(QUIET_SECONDS)
        with anyio.fail_after(10):
            while any("Not yet" in line for line in text(app)):
                await pilot.pause(0.02)
        await pilot.press("enter")
        await pilot.pause()
        assert app.answers == [("alice", "yes", ""), ("bob", "yes", "")]


async def test_a_question_that_takes_the_keys_by_itself_ignores_what_is_pressed_then(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        app.questions.show(app.session, NOW)
        await pilot.pause()
        app.clock.advance(1)
        app.questions.take_keys()
        await pilot.press("enter")
        assert (app.answers, app.focused) == ([], app.answer_list)


async def test_a_question_asks_for_the_keys_until_it_had_them(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        app.questions.show(app.session, NOW)
        await pilot.pause()
        assert app.wanted > 0
        app.questions.take_keys()
        await pilot.pause()
        before = app.wanted
        app.query_one(VerticalScroll).focus()
        app.questions.show(app.session, NOW)
        await pilot.pause()
        assert app.wanted == before
        app.questions.offer_again()
        app.questions.show(app.session, NOW)
        await pilot.pause()
        assert app.wanted == before + 1


async def test_the_app_is_told_once_what_was_in_front_long_enough_to_be_seen(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        app.questions.show(app.session, NOW)
        await pilot.pause()
        assert app.told == []
        for _ in range(3):
            await app.seen(pilot)
        await pilot.press("right")
        for _ in range(3):
            await app.seen(pilot)
        assert app.told == ["alice", "bob"]


async def test_a_key_that_bounces_answers_once_though_the_session_is_slow(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        # Both before the app gets to the first.
        for index in (0, 2):
            app.questions.on_answer_list_chosen(AnswerList.Chosen(index))
        await pilot.pause()
        assert app.answers == [("alice", "yes", "")]


async def test_an_answer_chosen_before_the_answers_are_laid_out_is_not_an_error(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        answers = app.answer_list
        answers.styles.width = 0
        await pilot.pause()
        answers.offer([[(("Yes", ""),)], [(("No", ""),)]], [1, 2])
        for index in (0, 1):
            answers.mark(index, 1)
            assert answers.highlighted == index


async def test_what_comes_later_does_not_push_away_the_question_in_front(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("right")
        app.clock.advance(UNSEEN_SECONDS)
        async with hands(tmp_path) as team:
            await ask(team, "lead", "bash", {"command": "ls"})
        await app.session.look()
        app.questions.show(app.session, NOW)
        await pilot.press("enter")
        await pilot.pause()
        assert [member for member, _, _ in app.answers] == ["bob"]


async def test_where_the_lead_answered_first_the_words_become_a_message_to_the_asker(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("right", "right")
        app.clock.advance(UNSEEN_SECONDS)
        await pilot.press("4", *"too late")
        plan = next(one for one in app.session.questions if one.member == "carol")
        async with hands(tmp_path) as team:
            await team.mailbox("lead").send("carol", PlanResponse(request_id=plan.id, approve=True))
        await app.session.look()
        app.questions.show(app.session, NOW)
        await pilot.pause()
        assert (app.answers, in_front(app), app.query_one(Input).value) == ([], "alice", "")
        assert app.typed == "@carol too late"
        assert ["carol is no longer open" in note.message for note in app._notifications] == [True]


async def test_the_panel_is_there_only_while_somebody_asks(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        assert not app.questions.display
        for key in ("3", "3", "4"):
            await app.seen(pilot)
            assert app.questions.display
            await pilot.press(key)
            await pilot.pause()
        await pilot.press(*"no", "enter")
        await pilot.pause()
        assert (app.session.questions, app.questions.display) == ((), False)


# -- those who ask the same -----------------------------------------------------------------------


async def test_those_who_ask_the_same_are_answered_one_by_one_by_the_first_answer(tmp_path: Path) -> None:
    async with asking(tmp_path, the_same) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("right")
        for _ in range(2):
            app.clock.advance(1)
            await pilot.press("enter")
            await pilot.pause()
        assert app.answers == [("alice", "yes", ""), ("bob", "yes", "")]
        assert in_front(app) == "carol"


@pytest.mark.parametrize(
    ("choice", "answers"),
    [
        ("5. Yes to all 3", ["yes", "yes", "yes"]),
        ("2. Yes to all 3, and don't ask again for bash(make)", ["always", "yes", "yes"]),
        ("6. No to all 3", ["no", "no", "no"]),
    ],
)
async def test_those_who_ask_the_same_are_answered_together(tmp_path: Path, choice: str, answers: list[str]) -> None:
    async with asking(tmp_path, the_same) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("right")
        assert choice in text(app)
        app.clock.advance(1)
        await pilot.press(choice[0])
        await pilot.pause()
        assert app.answers == [(name, said, "") for name, said in zip(("alice", "bob", "carol"), answers, strict=True)]
        assert app.session.permitted.rules == (("allow bash(make)",) if "always" in answers else ())
        assert in_front(app) == "bob"


# -- read to the end ------------------------------------------------------------------------------


async def long(team: OpenTeam, clock: FakeClock) -> None:
    await hand_in(team, "carol", PLAN)


async def test_what_is_longer_than_the_panel_is_allowed_only_once_its_end_was_seen(tmp_path: Path) -> None:
    async with asking(tmp_path, long) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("enter", "2")
        assert app.answers == []
        assert "2. Yes, and accept edits from now on  Not yet: 28 lines below. Press End first." in text(app)
        await pilot.press("end")
        assert not any("Not yet" in line for line in text(app))
        await pilot.press("home", "1")
        await pilot.pause()
        assert app.answers == [("carol", "yes", "")]


async def test_what_is_not_read_to_its_end_can_be_refused(tmp_path: Path) -> None:
    async with asking(tmp_path, long) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("4", *"no", "enter")
        await pilot.pause()
        assert app.answers == [("carol", "no", "no")]


async def test_a_rule_that_is_not_all_in_sight_is_not_added(tmp_path: Path) -> None:
    async def wide(team: OpenTeam, clock: FakeClock) -> None:
        await ask(team, "alice", "bash", {"command": "make"}, "", f"allow bash({'a' * 2000})")

    async with asking(tmp_path, wide) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("2")
        assert (app.answers, app.session.permitted.rules) == ([], ())
        app.clock.advance(1)
        await pilot.press("1")
        await pilot.pause()
        assert app.answers == [("alice", "yes", "")]


# -- mouse and scrolling --------------------------------------------------------------------------


async def test_a_rule_below_the_fold_is_shown_by_the_first_key_and_added_by_the_second(tmp_path: Path) -> None:
    async def wide(team: OpenTeam, clock: FakeClock) -> None:
        await ask(team, "alice", "bash", {"command": "make"}, "", f"allow bash({'a' * 120})")

    async with asking(tmp_path, wide, (80, 8)) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("2")
        assert (app.answers, app.answer_list.highlighted) == ([], 1)
        app.clock.advance(1)
        await pilot.press("2")
        await pilot.pause()
        assert app.answers == [("alice", "always", "")]


async def test_an_answer_can_be_clicked_once_the_question_was_seen(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        app.query_one(VerticalScroll).focus()
        await pilot.click(offset=(4, text(app).index("3. No")))
        await pilot.pause()
        assert app.answers == [("alice", "no", "")]
        await pilot.click(offset=(4, text(app).index("1. Yes")))
        await pilot.pause()
        assert len(app.answers) == 1


async def test_another_question_is_brought_to_the_front_by_a_click(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.click(offset=(2, text(app).index("then bob bash rm build")))
        await pilot.pause()
        assert in_front(app) == "bob"
        await pilot.press("left", "left")
        assert in_front(app) == "alice"


async def test_the_panel_leaves_room_on_a_small_screen_and_the_whole_plan_can_be_read(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("right", "right")
        await pilot.pause()
        assert app.questions.region.height == 20
        read = rows(app)
        for _ in range(12):
            await pilot.press("pagedown")
            read |= rows(app)
        assert [line for line in READ if line not in read] == []
        end = text(app)
        await pilot.press("home", "end")
        assert text(app) == end
        await pilot.resize_terminal(80, 120)
        await pilot.pause()
        assert set(READ) <= rows(app)


async def test_another_question_is_read_from_its_begin(tmp_path: Path) -> None:
    async def two(team: OpenTeam, clock: FakeClock) -> None:
        await hand_in(team, "alice", PLAN)
        await hand_in(team, "bob", f"{PLAN}\nand more")

    async with asking(tmp_path, two) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("end")
        assert READ[0] not in rows(app)
        await pilot.press("right")
        assert READ[0] in rows(app)
