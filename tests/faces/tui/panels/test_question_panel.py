"""The questions panel: what is asked is seen whole before it is answered, and only what was seen is answered."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from textual.containers import VerticalScroll
from textual.widgets import Input

from deskmate.core.team.messages import PermissionResponse, PlanResponse
from deskmate.faces.tui.panels.answer_guard import QUIET_SECONDS, UNSEEN_SECONDS
from deskmate.testing import FakeClock
from tests.faces.disk_teams import OpenTeam, hands
from tests.faces.tui.idle_sessions import NOW, QuestionApp, ask, asking, hand_in
from tests.faces.tui.snapshots import text

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui", "permission")]
PLAN = "# Port the page\n\n" + "\n".join(f"{n}. do the part number {n}" for n in range(1, 41))


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


@pytest.mark.parametrize(("key", "approve"), [("y", True), ("n", False)])
async def test_a_key_answers_the_question_in_front(tmp_path: Path, key: str, approve: bool) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press(key)
        await pilot.pause()
        assert [one.member for one in app.session.questions] == ["bob", "carol"]
        assert app.session.permitted.rules == ()
    assert await told(tmp_path, "alice") == [Said(PermissionResponse, approve)]


async def test_no_is_said_with_words(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("w", *"any", "enter")
        await pilot.pause()
        assert app.answers == [("alice", "no", "any")]
        assert app.focused is app.questions
    assert await told(tmp_path, "alice") == [Said(PermissionResponse, False, "any")]


async def test_words_that_were_not_sent_answer_nothing(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        # Enter without a word, keys that mean something elsewhere, and away again.
        await pilot.press("w", "enter", "y", "down", "Y", "escape")
        await pilot.pause()
        assert (app.answers, app.focused, in_front(app)) == ([], app.questions, "alice")
        await pilot.press("w")
        assert app.query_one(Input).value == ""


async def test_escape_is_left_to_the_app_while_no_words_are_typed(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("escape")
        assert app.escapes == 1
        await pilot.press("w", "escape")
        assert (app.escapes, app.focused) == (1, app.questions)


async def test_a_plan_is_answered_with_words(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("down", "down")
        app.clock.advance(1)
        await pilot.press("a")
        await pilot.press("w", *"test", "enter")
        await pilot.pause()
        assert app.answers == [("carol", "no", "test")]
    assert await told(tmp_path, "carol") == [Said(PlanResponse, False, "test")]


async def test_always_is_neither_offered_nor_taken_where_no_rule_could_stand_in(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        assert "y yes  a always (adds the rule: allow bash(make))  n no  w no, with words" in text(app)
        await pilot.press("down")
        app.clock.advance(1)
        await pilot.press("a", "A")
        assert "y yes  n no  w no, with words" in text(app)
        assert app.answers == []


async def test_without_the_focus_no_key_answers(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        app.query_one(VerticalScroll).focus()
        await pilot.press(*"yanwYAN")
        assert app.answers == []


# -- only what was seen ---------------------------------------------------------------------------


async def test_a_key_pressed_before_the_question_could_be_seen_is_ignored(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        app.questions.show(app.session, NOW)
        await pilot.pause()
        app.questions.focus()
        app.clock.advance(UNSEEN_SECONDS - 0.01)
        await pilot.press(*"yanw")
        assert app.answers == []
        app.clock.advance(QUIET_SECONDS)
        await pilot.press("y")
        await pilot.pause()
        app.clock.advance(UNSEEN_SECONDS)
        await pilot.press("y")
        await pilot.pause()
        assert [member for member, _, _ in app.answers] == ["alice", "bob"]


async def test_who_goes_on_typing_when_another_question_comes_answers_nothing(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("n")
        await pilot.pause()
        # The first of these came too early; the rest come one by one, each after the question could be seen.
        for key in ("w", *"ask", "space", *"nay", "Y"):
            await pilot.press(key)
            app.clock.advance(QUIET_SECONDS - 0.1)
        assert app.answers == [("alice", "no", "")]
        assert any("new question. Read it" in line for line in text(app))
        app.clock.advance(QUIET_SECONDS)
        await pilot.press("n")
        await pilot.pause()
        assert app.answers == [("alice", "no", ""), ("bob", "no", "")]


async def test_the_app_is_told_once_what_was_in_front_long_enough_to_be_seen(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        app.questions.show(app.session, NOW)
        await pilot.pause()
        assert app.told == []
        for _ in range(3):
            await app.seen(pilot)
        await pilot.press("down")
        for _ in range(3):
            await app.seen(pilot)
        assert app.told == ["alice", "bob"]


async def test_a_key_that_bounces_answers_once_though_the_session_is_slow(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        # Both before the app gets to the first.
        app.questions.action_answer("yes")
        app.questions.action_answer("no")
        await pilot.pause()
        assert app.answers == [("alice", "yes", "")]


async def test_what_comes_later_does_not_push_away_the_question_in_front(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("down")
        app.clock.advance(UNSEEN_SECONDS)
        async with hands(tmp_path) as team:
            await ask(team, "lead", "bash", {"command": "ls"})
        await app.session.look()
        app.questions.show(app.session, NOW)
        await pilot.press("y")
        await pilot.pause()
        assert [member for member, _, _ in app.answers] == ["bob"]


async def test_where_the_lead_answered_first_the_next_question_comes_forward_unseen(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("down", "down")
        app.clock.advance(UNSEEN_SECONDS)
        await pilot.press("w", *"too late")
        plan = next(one for one in app.session.questions if one.member == "carol")
        async with hands(tmp_path) as team:
            await team.mailbox("lead").send("carol", PlanResponse(request_id=plan.id, approve=True))
        await app.session.look()
        app.questions.show(app.session, NOW)
        app.clock.advance(UNSEEN_SECONDS)
        await pilot.press("enter", "y")
        await pilot.pause()
        assert (app.answers, in_front(app), app.query_one(Input).value) == ([], "alice", "")
        notes = [note.message for note in app._notifications]
        assert notes == ["The question of carol is not open any more. Nothing was sent."]


async def test_the_panel_is_there_only_while_somebody_asks(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        assert not app.questions.display
        for _ in range(3):
            await app.seen(pilot)
            assert app.questions.display
            await pilot.press("n")
            await pilot.pause()
        assert (app.session.questions, app.questions.display) == ((), False)


# -- those who ask the same -----------------------------------------------------------------------


async def test_those_who_ask_the_same_are_one_after_the_other_answered_by_a_small_letter(tmp_path: Path) -> None:
    async with asking(tmp_path, the_same) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("Y", "N", "down")
        assert app.answers == []
        for _ in range(2):
            app.clock.advance(1)
            await pilot.press("y")
            await pilot.pause()
        assert app.answers == [("alice", "yes", ""), ("bob", "yes", "")]
        assert in_front(app) == "carol"


@pytest.mark.parametrize(
    ("key", "answers"),
    [("Y", ["yes", "yes", "yes"]), ("N", ["no", "no", "no"]), ("A", ["always", "yes", "yes"])],
)
async def test_those_who_ask_the_same_are_answered_together_by_a_capital(
    tmp_path: Path, key: str, answers: list[str]
) -> None:
    async with asking(tmp_path, the_same) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("down")
        await pilot.press(key)
        assert app.answers == []
        app.clock.advance(1)
        await pilot.press(key)
        if key == "A":
            app.clock.advance(1)
            await pilot.press(key)
        await pilot.pause()
        assert app.answers == [(name, said, "") for name, said in zip(("alice", "bob", "carol"), answers, strict=True)]
        assert app.session.permitted.rules == (("allow bash(make)",) if key == "A" else ())
        assert in_front(app) == "bob"


# -- always ---------------------------------------------------------------------------------------


async def test_always_shows_its_rule_and_is_asked_for_twice(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        # A key that bounces asks once.
        await pilot.press("a", "a")
        assert app.answers == []
        assert "a again adds the rule: allow bash(make), for the whole team" in text(app)
        app.clock.advance(UNSEEN_SECONDS)
        await pilot.press("a")
        await pilot.pause()
        assert (app.answers, app.session.permitted.rules) == ([("alice", "always", "")], ("allow bash(make)",))


@pytest.mark.parametrize("other", ["x", "A", "pagedown", "escape"])
async def test_any_other_key_between_takes_always_back(tmp_path: Path, other: str) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        for key in ("a", other, "a"):
            await pilot.press(key)
            app.clock.advance(UNSEEN_SECONDS)
        await pilot.pause()
        assert (app.answers, app.session.permitted.rules) == ([], ())


# -- read to the end ------------------------------------------------------------------------------


async def test_what_is_longer_than_the_panel_is_allowed_only_once_its_end_was_seen(tmp_path: Path) -> None:
    async def long(team: OpenTeam, clock: FakeClock) -> None:
        await hand_in(team, "carol", PLAN)

    async with asking(tmp_path, long) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("y", "Y")
        assert app.answers == []
        assert "─1 question: PgDn: 34 lines more to read before a yes" in "\n".join(text(app)).replace("━", "─")
        assert "read the question to its end first" in {note.message[15:49] for note in app._notifications}
        await pilot.press("end")
        assert "PgDn: " not in text(app)[11]
        await pilot.press("home", "y")
        await pilot.pause()
        assert app.answers == [("carol", "yes", "")]


async def test_what_is_not_read_to_its_end_can_be_refused(tmp_path: Path) -> None:
    async def long(team: OpenTeam, clock: FakeClock) -> None:
        await hand_in(team, "carol", PLAN)

    async with asking(tmp_path, long) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("n")
        await pilot.pause()
        assert app.answers == [("carol", "no", "")]


# -- mouse and scrolling --------------------------------------------------------------------------


async def test_a_key_can_be_clicked_once_the_question_was_seen(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        keys = "y yes  a always (adds the rule: allow bash(make))  n no  w no, with words"
        await pilot.click(offset=(keys.index("n no"), text(app).index(keys)))
        await pilot.pause()
        assert app.answers == [("alice", "no", "")]
        await pilot.click(offset=(1, text(app).index("y yes  n no  w no, with words")))
        await pilot.pause()
        assert len(app.answers) == 1


async def test_another_question_is_brought_to_the_front_by_a_click(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.click(offset=(2, text(app).index("bob bash rm build")))
        await pilot.pause()
        assert in_front(app) == "bob"
        await pilot.press("up", "up")
        assert in_front(app) == "alice"


async def test_the_panel_takes_half_of_a_small_screen_and_the_whole_plan_can_be_read(tmp_path: Path) -> None:
    async with asking(tmp_path, three) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("down", "down")
        await pilot.pause()
        assert app.questions.region.height == 12
        read = set(text(app))
        for _ in range(12):
            await pilot.press("pagedown")
            read |= set(text(app))
        assert [line for line in PLAN.splitlines() if line not in read] == []
        end = text(app)
        await pilot.press("home", "end")
        assert text(app) == end
        await pilot.resize_terminal(80, 120)
        await pilot.pause()
        assert set(PLAN.splitlines()) <= set(text(app))


async def test_another_question_is_read_from_its_begin(tmp_path: Path) -> None:
    async def two(team: OpenTeam, clock: FakeClock) -> None:
        await hand_in(team, "alice", PLAN)
        await hand_in(team, "bob", f"{PLAN}\nand more")

    async with asking(tmp_path, two) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("end")
        assert PLAN.splitlines()[0] not in text(app)
        await pilot.press("down")
        assert PLAN.splitlines()[0] in text(app)
