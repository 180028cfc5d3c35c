"""The board panel: what blocks stands above what it blocks, and all that the board has of a task can be read."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.strip import Strip

from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import Note, Receipt, Task, TaskStatus
from deskmate.faces.common.items.task_items import TaskItem
from deskmate.faces.tui.drawing.styled_lines import Line, plain, width
from deskmate.faces.tui.panels.board_outline import Look, below, head, outline
from deskmate.faces.tui.panels.board_panel import BoardPanel
from deskmate.testing import FakeClock
from tests.chaos.files.naughty_strings import NAUGHTY
from tests.faces.disk_teams import OpenTeam, hands, obeyed
from tests.faces.tui.idle_sessions import NOW, SIZES
from tests.faces.tui.panel_harness import show_panel
from tests.faces.tui.snapshots import assert_fits, compare

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui")]


async def worked(team: OpenTeam, clock: FakeClock) -> None:
    """Put up a board with a task in every state."""
    board, members = team.board, team.roster.state.members
    await board.create("lead", NewTask("list the endpoints", verify="test -f endpoints.md"))
    await board.create(
        "lead", NewTask("read the API", description="Every endpoint.\nAnd who calls it.", verify="make check")
    )
    await board.create(
        "lead", NewTask("write the schema", blocked_by=[2], role="schema", verify="test -f schema.graphql")
    )
    await board.create("lead", NewTask("port the page", blocked_by=[3], owner="bob"))
    await board.create("lead", NewTask("look at the logs"))
    await board.create("lead", NewTask("tell the users", blocked_by=[3, 5], description="A letter of one page."))
    await board.create("lead", NewTask("find a name", owner="carol"))
    await board.create("lead", NewTask("sweep"))
    first = await board.claim(members["alice"], 1)
    output = "".join(f"line {n}\n" for n in range(14))
    receipt = Receipt(
        command="test -f endpoints.md", workspace="/home/ann/shop", commit="a" * 40, exit=0, output=output
    )
    await board.complete("alice", 1, first.epoch, receipt=receipt)
    swept = await board.claim(members["bob"], 8)
    await board.complete("bob", 8, swept.epoch)
    clock.advance(200)
    taken = await board.claim(members["bob"], 2)
    await board.release("bob", 2, taken.epoch, note="found half of them;\nthe rest is in api/v2")
    await board.claim(members["alice"], 2)
    clock.advance(100)


async def free(team: OpenTeam, clock: FakeClock) -> None:
    """Leave the board empty."""


async def thousand(team: OpenTeam, clock: FakeClock) -> None:
    for n in range(1, 1001):
        await team.board.create("lead", NewTask(f"task number {n}", blocked_by=[n - 1] if n % 3 == 0 else []))


# -- the order ------------------------------------------------------------------------------------


def task(id_: int, *waits_for: int) -> TaskItem:
    return TaskItem(Task(id_, f"task {id_}"), waits_for)


@given(st.randoms(use_true_random=False), st.integers(0, 40))
def test_each_task_stands_once_and_below_all_that_block_it(chance: random.Random, count: int) -> None:
    tasks = [task(n, *chance.sample(range(1, n), min(n - 1, chance.randint(0, 3)))) for n in range(1, count + 1)]
    # The board has them by number; that a blocker has the lower one is not promised.
    names = dict(enumerate(chance.sample(range(1, count + 1), count), 1))
    tasks = sorted(
        (task(names[one.task.id], *(names[n] for n in one.waits_for)) for one in tasks), key=lambda one: one.task.id
    )
    order = [id_ for id_, _ in outline(tasks)]
    assert sorted(order) == [one.task.id for one in tasks]
    assert all(order.index(other) < order.index(one.task.id) for one in tasks for other in one.waits_for)


def test_what_waits_stands_right_below_the_last_it_waits_for_and_deeper() -> None:
    assert outline([task(1), task(2), task(3, 1), task(4, 2), task(5, 3)]) == [(1, 0), (3, 1), (5, 2), (2, 0), (4, 1)]


def test_a_ring_is_shown_from_its_lowest_number_on_and_what_is_not_there_blocks_nothing() -> None:
    assert outline([task(1, 3), task(2, 1), task(3, 2), task(4, 9)]) == [(4, 0), (1, 0), (2, 1), (3, 2)]


def test_a_chain_of_thousands_is_no_trouble() -> None:
    chain = [task(1), *(task(n, n - 1) for n in range(2, 5001))]
    assert [id_ for id_, _ in outline(chain)] == list(range(1, 5001))


# -- what is seen ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_the_board_shows_every_state(tmp_path: Path, size: tuple[int, int]) -> None:
    async with show_panel(BoardPanel(), tmp_path, worked, size) as shown:
        await compare(shown.app, "board")


@pytest.mark.parametrize("size", SIZES)
async def test_tasks_and_what_is_done_unfold(tmp_path: Path, size: tuple[int, int]) -> None:
    async with show_panel(BoardPanel(), tmp_path, worked, size) as shown:
        await shown.press("enter", "end", "enter", "down", "enter")
        await compare(shown.app, "board-unfolded")


async def test_without_a_task_the_board_says_so(tmp_path: Path) -> None:
    async with show_panel(BoardPanel(), tmp_path, free) as shown:
        await shown.press("down", "up", "enter", "end", "home", "pagedown")
        assert [line for line in shown.lines if line] == ["─board" + "─" * 74, "no tasks yet"]


async def test_a_task_is_unfolded_and_folded_by_a_click(tmp_path: Path) -> None:
    async with show_panel(panel := BoardPanel(), tmp_path, worked) as shown:
        before = shown.lines
        await shown.pilot.click(panel, offset=(5, 1))
        assert "    Every endpoint." in shown.lines
        await shown.pilot.click(panel, offset=(5, 1))
        assert shown.lines == before


async def drop(folder: Path, task: int) -> None:
    """Take a task off the board, as somebody else does."""
    async with hands(folder) as others:
        await others.board.delete("lead", task)


async def test_the_board_is_shown_as_it_is_now_and_what_was_chosen_and_unfolded_stays(tmp_path: Path) -> None:
    async with show_panel(BoardPanel(), tmp_path, worked) as shown:
        await shown.press("down", "down", "down", "down", "enter")
        unfolded = shown.lines.index("    A letter of one page.")
        await drop(tmp_path, 5)
        await shown.look()
        assert shown.lines[0].startswith("─board 2/7─")
        assert shown.lines.index("    A letter of one page.") == unfolded - 1
        await shown.press("enter")
        assert "    A letter of one page." not in shown.lines


class Measuring(BoardPanel):
    """A board that remembers how wide it was when it set out what stands below its tasks."""

    def below(self, key: str, cells: int) -> list[Line]:
        self.widths = {*getattr(self, "widths", ()), cells}
        return super().below(key, cells)


async def test_what_changed_while_the_board_was_hidden_is_there_when_it_comes_back(tmp_path: Path) -> None:
    async with show_panel(panel := Measuring(), tmp_path, worked) as shown:
        await shown.press("enter", "down", "down", "down", "enter")
        panel.display = False
        await shown.pilot.pause()
        await drop(tmp_path, 5)
        await shown.look()
        panel.display = True
        await shown.pilot.pause()
        assert ("    Every endpoint." in shown.lines, any("#5" in line for line in shown.lines)) == (True, False)
        assert panel.widths == {79}


async def test_in_a_low_panel_those_that_are_done_come_into_view_when_they_are_unfolded(tmp_path: Path) -> None:
    async with show_panel(BoardPanel(), tmp_path, worked, (80, 4)) as shown:
        await shown.press("end", "enter")
        assert [line.split()[1:3] for line in shown.lines[1:]] == [["2", "done"], ["#1", "list"], ["#8", "sweep"]]


class Counting(BoardPanel):
    """A board that counts the lines it draws."""

    drawn = 0

    def render_line(self, y: int) -> Strip:
        self.drawn += 1
        return super().render_line(y)


async def test_only_what_changed_is_drawn_again(tmp_path: Path) -> None:
    async with show_panel(panel := Counting(), tmp_path, worked) as shown:
        panel.drawn = 0
        await shown.look()
        assert panel.drawn == 0
        # The age of the one task in progress.
        await shown.look(NOW + 60)
        assert panel.drawn == 1


async def test_of_a_thousand_tasks_only_those_in_view_are_drawn(tmp_path: Path) -> None:
    async with show_panel(panel := Counting(), tmp_path, thousand) as shown:
        await shown.press("home")
        panel.drawn = 0
        await shown.press("end")
        assert shown.lines[-1].split()[:5] == ["○", "#1000", "task", "number", "1000"]
        assert 0 < panel.drawn <= 3 * 23
        await shown.press("pageup", "home", "pagedown")
        assert shown.lines[0].startswith("─board 0/1000─")
        assert len(shown.app.query("*")) < 10


# -- whatever it holds ----------------------------------------------------------------------------

ODD = [one for one in NAUGHTY if one.strip()]


@pytest.mark.parametrize("cells", [30, 35, 79])
def test_long_names_of_owners_stay_distinct_and_the_subject_keeps_half_of_the_line(cells: int) -> None:
    owners = ("backend-developer-payments-api", "backend-developer-payments-web")
    lines = []
    for owner in owners:
        item = TaskItem(Task(4, "rewrite the refunds of the shop", owner=owner, status=TaskStatus.IN_PROGRESS))
        lines.append(plain(head(item, 0, cells, Look({4: item}, {}, NOW))))
    assert [[end in line for end in ("-api", "-web")] for line in lines] == [[True, False], [False, True]]
    assert all("#4 rewrite" in line for line in lines)


@pytest.mark.parametrize("cells", [30, 41, 80, 120])
def test_no_line_of_a_task_is_too_wide_or_obeyed(cells: int) -> None:
    for odd in NAUGHTY:
        receipt = Receipt(command=odd, workspace=odd, commit=odd, exit=1, output=odd)
        words: dict[str, Any] = {"subject": odd, "description": odd, "role": odd, "verify": odd}
        names: dict[str, Any] = {"notes": (Note("a" * 64, odd),), "created_by": "b" * 64, "edits": {"role": "c" * 64}}
        waits = Task(1, **words, **names, receipt=receipt, blocked_by=frozenset({2}))
        works = replace(waits, receipt=None, owner="alice", status=TaskStatus.IN_PROGRESS)
        for one in (TaskItem(waits, (2,)), TaskItem(works)):
            look = Look({1: one, 2: one}, {}, NOW)
            lines = [head(one, 9, cells, look), *below(one, cells, look)]
            assert max(map(width, lines)) <= cells
            assert [found for line in lines for found in obeyed(plain(line))] == []


@pytest.mark.parametrize("size", [(30, 3), (120, 40)])
async def test_the_board_fits_whatever_its_size_and_whatever_it_holds(tmp_path: Path, size: tuple[int, int]) -> None:
    async def odd(team: OpenTeam, clock: FakeClock) -> None:
        for n, subject in enumerate(ODD):
            await team.board.create(
                "lead", NewTask(subject, description=subject, verify=subject, blocked_by=[n] if n else [])
            )

    async with show_panel(BoardPanel(), tmp_path, odd, size) as shown:
        for _ in range(12):
            await shown.press("enter", "pagedown")
            assert_fits(shown.app)
