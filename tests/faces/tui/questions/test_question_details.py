"""What is asked, as it is seen: every kind of question, whole, exact, at any size, whatever it holds."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from deskmate.app import Feed
from deskmate.app.session import attended
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.open_questions import Question
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import EMPTY
from deskmate.faces.common.items.question_items import question_groups
from deskmate.faces.common.items.text_changes import diff_of
from deskmate.faces.tui.drawing.file_preview import FilePreview, standing_at
from deskmate.faces.tui.drawing.styled_lines import plain, width
from deskmate.faces.tui.questions.answer_options import option_rows, options_of
from deskmate.faces.tui.questions.question_details import People, body, gist, head
from deskmate.faces.tui.questions.question_sheet import Parts, sheet
from deskmate.testing import FakeClock, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from tests.chaos.files.naughty_strings import NAUGHTY
from tests.faces.disk_teams import OpenTeam, obeyed
from tests.faces.tui.idle_sessions import NOW, SIZES, START, QuestionApp, ask, asking, hand_in, send_out
from tests.faces.tui.snapshots import assert_fits, compare, text
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui", "permission")]
CODE = "def price(book):\n    return book.price\n"
NOBODY = People({}, EMPTY, NOW)
CONSOLE = Console(width=200)


async def bash(team: OpenTeam) -> None:
    await team.board.create("lead", NewTask("write the schema"))
    await team.board.claim(team.roster.state.members["alice"], 1)
    command = "cd api &&\n\tmake \x1b[8mclean\u202e && make"
    await ask(team, "alice", "bash", {"command": command, "timeout": 60}, "no rule allows it", "allow bash(cd api *)")


async def edit(team: OpenTeam) -> None:
    new = CODE.replace("book.price", "round(book.price, 2)") + "\n# 価格\n"
    await ask(
        team, "bob", "edit_file", {"path": "shop/book.py", "old_text": CODE, "new_text": new, "replace_all": True}
    )


async def write(team: OpenTeam) -> None:
    await ask(team, "bob", "write_file", {"path": "book.py", "content": CODE.replace("price", "cost") + "\n"})


async def write_new(team: OpenTeam) -> None:
    await ask(team, "bob", "write_file", {"path": "notes/new.md", "content": "# New\n\nwords\n"})


async def other(team: OpenTeam) -> None:
    await ask(team, "carol", "mcp__shop__order", {"books": [{"id": 1, "title": "漢字"}], "to": None, "odd key\n": ""})


async def plan(team: OpenTeam) -> None:
    await hand_in(team, "carol", "# Port the page\n\n" + "\n".join(f"{n}. do part {n}" for n in range(1, 31)))


async def subagent(team: OpenTeam) -> None:
    await ask(team, await send_out(team, "lead"), "bash", {"command": "ls"}, "no rule allows it", "allow bash(ls)")


async def queue(team: OpenTeam) -> None:
    for name in ("alice", "bob", "carol"):
        await ask(team, name, "bash", {"command": "make test"}, "no rule allows it", "allow bash(make test)")
    for kind in (edit, other, plan, subagent, bash):
        await kind(team)


KINDS = [bash, edit, write, write_new, other, plan, subagent, queue]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
async def test_every_kind_of_question_is_shown_whole(tmp_path: Path, kind: Any, size: tuple[int, int]) -> None:
    async def asked(team: OpenTeam, clock: FakeClock) -> None:
        await kind(team)

    (tmp_path / "book.py").write_text(CODE)
    async with asking(tmp_path, asked, size) as (app, pilot):
        await app.seen(pilot)
        await app.workers.wait_for_complete()
        await pilot.pause()
        await compare(app, f"question-{kind.__name__}")


async def test_a_refused_answer_says_why_next_to_it(tmp_path: Path) -> None:
    async def asked(team: OpenTeam, clock: FakeClock) -> None:
        await plan(team)

    async with asking(tmp_path, asked) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("enter")
        await pilot.pause()
        await compare(app, "question-refused")


async def test_the_line_for_words_stands_below_the_question(tmp_path: Path) -> None:
    async def asked(team: OpenTeam, clock: FakeClock) -> None:
        await queue(team)

    async with asking(tmp_path, asked) as (app, pilot):
        await app.seen(pilot)
        await pilot.press("4")
        await pilot.pause()
        await compare(app, "question-words")


# -- exactly what is asked for ----------------------------------------------------------------------


def question(tool: str = "bash", member: str = "alice", **arguments: Any) -> Question:
    return Question(f"{member}:3.0", member, START, Shake.PERMISSION, tool, arguments)


def shown(asked: Question, cells: int = 80, standing: FilePreview | None = None) -> list[str]:
    return [plain(line) for line in body(asked, cells, CONSOLE, standing)]


def test_nothing_in_a_command_can_hide() -> None:
    assert shown(question(command="ls\x1b]0;; rm -rf ~\x07" + " " * 200 + "; id")) == [
        r"command: ls\x1b]0;; rm -rf ~\x07",
        "    ; id",
    ]
    assert shown(question(command="ls" + "\n" * 900 + "; id")) == ["command: ", "  ls", "… 899 empty lines", "  ; id"]


def test_nothing_in_a_plan_can_hide() -> None:
    hidden = "1. tidy\x1b]0;2. rm -rf data\x07\u200b\n3. report"
    asked = Question("alice:3.0", "alice", START, Shake.PLAN, plan=hidden)
    assert shown(asked) == [r"1. tidy\x1b]0;2. rm -rf data\x07\u200b", "3. report"]
    assert plain(gist((asked,), 80, NOBODY)) == r"alice a plan: 1. tidy\x1b]0;2. rm -rf data\x07\u200b 3. report"


def test_a_plan_is_rendered_unless_that_leaves_out_a_letter() -> None:
    def lines(plan: str) -> list[str]:
        return shown(Question("alice:3.0", "alice", START, Shake.PLAN, plan=plan))

    assert lines("# Port\n\n1. **Read** `a.py`\n\n```sh\nmake\n```") == ["Port", "", "1. Read a.py", "", "  make"]
    for hidden in ("Read.\n\n[x]: rm -rf", "``` rm -rf data\nls\n```"):
        assert lines(hidden) == hidden.split("\n")


def test_the_rule_that_an_answer_would_add_is_shown_exactly() -> None:
    short, long = (replace(question(command="a"), rule=f"allow bash({text})") for text in ("a\n\u200bb", "a" * 500))
    first, second = ["".join(map(plain, option_rows(options_of((one,))[1], 80))) for one in (short, long)]
    assert first == r"2. Yes, and don't ask again for bash(a\x0a\u200bb)"
    assert "".join(second.split()) == f"2.Yes,anddon'taskagainforbash({'a' * 500})"


def test_a_reason_that_says_nothing_is_left_out() -> None:
    asked = replace(question("edit_file", path="a", old_text="b", new_text="c"), reason="edit_file edits files")
    assert shown(asked) == ["path: a", "- b", "+ c"]
    assert shown(replace(asked, reason="a rule says so"))[-1] == "because a rule says so"


def test_an_edit_shows_all_of_both_texts_as_a_difference() -> None:
    asked = question("edit_file", path="a.py", old_text="one\ntwo\nthree", new_text="one\n2\nthree\n", mode=7)
    assert shown(asked) == ["path: a.py", "mode: 7", "  one", "- two", "+ 2", "  three", "+ "]
    asked = question("edit_file", path="a.py", old_text="one\n", new_text="two\n")
    assert shown(asked) == ["path: a.py", "- one", "+ two"]


def test_an_edit_is_shown_in_its_file_with_line_numbers_and_the_lines_around_it() -> None:
    file = FilePreview("", "".join(f"line {n}\r\n" for n in range(1, 21)))
    asked = question("edit_file", path="a", old_text="line 10\n", new_text="line ten\nand\u200b more\n")
    assert shown(asked, standing=file) == [
        "path: a",
        " 7   line 7",
        " 8   line 8",
        " 9   line 9",
        "10 - line 10",
        "10 + line ten",
        r"11 + and\u200b more",
        "12   line 11",
        "13   line 12",
        "14   line 13",
    ]
    every = question("edit_file", path="a", old_text="ne 2", new_text="NE 2", replace_all=True)
    assert [line for line in shown(every, standing=file) if line[3:4] in "+-" or line == "⋯"] == [
        " 2 - line 2",
        " 2 + liNE 2",
        "⋯",
        "20 - line 20",
        "20 + liNE 20",
    ]


@pytest.mark.parametrize("current", ["", "other\n", "one\none\n"])
def test_an_edit_that_does_not_fit_its_file_shows_both_texts(current: str) -> None:
    asked = question("edit_file", path="a", old_text="one\n", new_text="two\n")
    assert shown(asked, standing=FilePreview("", current)) == ["path: a", "- one", "+ two"]


def test_a_last_line_end_adds_no_line_to_a_difference() -> None:
    assert shown(question("write_file", path="a", content="one\n")) == ["path: a", "+ one"]
    assert shown(question("edit_file", path="a", old_text="one\n", new_text="")) == ["path: a", "- one"]
    assert diff_of("edit_file", {"old_text": "one\n", "new_text": "two\n"}, compares=False) == "-one\n+two"


async def test_an_edit_is_compared_with_the_current_file(tmp_path: Path) -> None:
    async def asked(team: OpenTeam, clock: FakeClock) -> None:
        await ask(team, "bob", "edit_file", {"path": "book.py", "old_text": "return", "new_text": "yield"})

    (tmp_path / "book.py").write_text(CODE)
    async with asking(tmp_path, asked) as (app, pilot):
        await app.seen(pilot)
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "2 +     yield book.price" in text(app)


def test_a_text_too_long_to_compare_is_shown_as_taken_away_and_put_there() -> None:
    old, new = ([f"{word} {n}" for n in range(1100)] for word in ("old", "new"))
    lines = shown(question("edit_file", path="a", old_text="\n".join(old), new_text="\n".join(new)))
    assert lines == ["path: a", *(f"- {line}" for line in old), *(f"+ {line}" for line in new)]


def test_arguments_that_are_no_texts_are_shown_as_they_are() -> None:
    assert shown(question("edit_file", path=["a"], old_text=1, new_text="x")) == [
        "path: ",
        "  [",
        '    "a"',
        "  ]",
        "old_text: 1",
        "new_text: x",
    ]


def test_what_would_be_replaced_is_shown_and_nothing_but_a_plain_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old\n")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "long").write_bytes(b"x" * 300_000)
    os.mkfifo(tmp_path / "pipe")
    asked = question("write_file", path="a", content="new\n")
    assert shown(asked, standing=standing_at(tmp_path, "a")) == [
        "path: a",
        "replaces the current file",
        "- old",
        "+ new",
    ]
    found = [standing_at(tmp_path, path).words for path in ("none/here", "bytes", "long", "pipe", ".", "\0", "a/b")]
    assert found == [
        "creates a new file",
        "replaces a file of 2 bytes that is not text",
        "replaces a file of 300,000 bytes, too large to compare",
        "the path exists and is not a file",
        "the path exists and is not a file",
        "the current file cannot be read: its path is invalid",
        "the current file cannot be read: Not a directory",
    ]


async def test_what_was_found_for_a_question_is_not_shown_with_the_next(tmp_path: Path) -> None:
    async def asked(team: OpenTeam, clock: FakeClock) -> None:
        await write_new(team)
        await bash(team)

    async with asking(tmp_path, asked) as (app, pilot):
        app.questions.show(app.session, NOW)
        # Before anybody could look where the file is to be written.
        app.questions.action_choose(1)
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert ("timeout: 60" in text(app), "creates a new file" in text(app)) == (True, False)
        app.questions.action_choose(-1)
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "creates a new file" in text(app)


def test_only_questions_that_differ_in_nothing_but_who_asks_are_the_same() -> None:
    asked = [question(command="a"), question(member="bob", command="a"), question(member="carol", command="a ")]
    assert question_groups([*asked, replace(asked[0], id="alice:4.0", rule="allow bash(a)")]) == [
        (asked[0], asked[1]),
        (asked[2],),
        (replace(asked[0], id="alice:4.0", rule="allow bash(a)"),),
    ]


# -- at any size, whatever it holds -----------------------------------------------------------------


@pytest.mark.parametrize("cells", [30, 41, 80, 120])
def test_no_line_of_a_question_is_too_wide_or_obeyed(cells: int) -> None:
    for odd in NAUGHTY:
        asked = [
            question(odd, command=odd, **dict[str, Any]({f"{odd}.": {odd: [odd]}})),
            question("edit_file", old_text=odd, new_text=""),
        ]
        asked += [replace(question(), shake=Shake.PLAN, plan=odd, reason=odd), replace(question(), rule=odd)]
        for one in asked:
            answers = [row for option in options_of((one, one)) for row in option_rows(option, cells, "why")]
            lines = [head((one,), cells, NOBODY), gist((one, one), cells, NOBODY), *body(one, cells, CONSOLE), *answers]
            assert max(map(width, lines)) <= cells
            assert [found for line in lines for found in obeyed(plain(line))] == []


@pytest.mark.parametrize("height", range(1, 30))
def test_whatever_the_height_there_is_what_is_asked(height: int) -> None:
    lines = [((f"line {n}", ""),) for n in range(12)]
    parts = Parts((("head", ""),), (("gist", ""),), lines, [(n, (("r", ""),)) for n in range(5)])
    made_out = sheet(parts, 0, 80, height)
    assert len(made_out.lines) <= height
    assert plain(made_out.lines[0]) == ("head" if height > 1 else "gist")
    # All of the body is there, or can be scrolled to.
    seen = {line for offset in range(12) for line in sheet(parts, min(offset, 12 - made_out.window), 80, height).lines}
    assert height < 2 or set(lines) <= seen


@pytest.mark.parametrize("size", [(30, 6), (31, 13), (120, 40)])
async def test_the_panel_fits_whatever_its_size_and_whatever_it_holds(tmp_path: Path, size: tuple[int, int]) -> None:
    async def asked(team: OpenTeam, clock: FakeClock) -> None:
        for one in NAUGHTY[::5]:
            await ask(team, "alice", "bash", {"command": one.encode(errors="replace").decode()}, "odd")

    async with asking(tmp_path, asked, size) as (app, pilot):
        await app.seen(pilot)
        for _ in app.session.questions:
            await pilot.press("right")
            assert app.questions.region.height <= max(int(size[1] * 0.85), 3)
            assert_fits(app)


# -- a team that plays ------------------------------------------------------------------------------


async def test_a_lead_that_asks_goes_on_once_it_is_answered(harness: AppHarness) -> None:
    script = [Say("May I?", [Use("bash", {"command": "echo yes > asked.txt"})]), Say("Thank you.")]
    async with FakeProvider(script) as provider:
        wanted = harness.wanted(provider, "anthropic", "ask", permission_mode="default")
        async with attended(wanted, Feed()) as session:
            app = QuestionApp(session)

            def show() -> None:
                # As on the screen: by the widget itself, because a timer works only there.
                app.questions.call_later(app.questions.show, session, NOW)

            session.listen(show)
            async with app.run_test(size=(80, 24)) as pilot:
                while "command: echo yes > asked.txt" not in text(app):
                    await pilot.pause(0.01)
                app.questions.focus()
                app.clock.advance(1)
                await pilot.press("enter")
                while session.busy or not (harness.place / "asked.txt").exists():
                    await pilot.pause(0.01)
                assert not app.questions.display
