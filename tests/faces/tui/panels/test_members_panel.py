"""Members: who is there and what each does, for one and for sixty, as a list and on a strip."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.strip import Strip

from deskmate.app import Recorded
from deskmate.core.agent.entries import Began, Call, Said
from deskmate.core.team.roster_records import MemberIdle, MemberWorking
from deskmate.core.team.status import Waiting
from deskmate.core.team.task_fields import NewTask
from deskmate.faces.tui.panels.members_panel import Members, _fitting, in_order, window
from deskmate.testing import FakeClock
from tests.chaos.files.naughty_strings import NAUGHTY
from tests.faces.disk_teams import OpenTeam, hands, obeyed
from tests.faces.tui.busy_team import at_work
from tests.faces.tui.idle_sessions import NOW, SIZES, PanelApp, made, session_at
from tests.faces.tui.screen_harness import show_team
from tests.faces.tui.snapshots import compare, text

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui")]
SMALL, LARGE = SIZES
SIXTY = tuple((f"mate{number:02}", "dev") for number in range(1, 61))


async def busy(team: OpenTeam, clock: FakeClock) -> None:
    for name, _ in SIXTY[::2]:
        await team.roster.status(MemberWorking(name=name, at=clock.timestamp()))


async def sixty(folder: Path) -> Path:
    (folder / "shop").mkdir()
    return await made(folder / "shop", busy, *SIXTY)


async def test_members_are_chosen_by_keys_and_by_a_click(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), LARGE) as screen:
        await screen.sees("make serve")
        await screen.press("tab")
        await screen.sees("to alice")
        await screen.press("alt+down", "alt+down")
        await screen.sees("to carol")
        await screen.press("alt+up", "alt+up")
        await screen.sees("to alice")
        await screen.press("f2", "down", "k", "j")
        await screen.sees("to bob", "may I use bash?")
        y = next(y for y, line in enumerate(screen.lines) if "■ dave" in line)
        await screen.pilot.click(offset=(3, y))
        await screen.sees("to dave", "parked: no money left")


@pytest.mark.parametrize(
    ("room", "shown"), [(30, " waiting: plan <1 min"), (15, " waiting: plan"), (10, " waiting"), (4, "")]
)
def test_what_a_member_waits_for_is_left_out_before_its_state_is_cut(room: int, shown: str) -> None:
    assert _fitting(Waiting("plan"), " waiting: plan", " <1 min", room) == shown


async def test_the_title_tells_how_many_are_here_and_how_many_left(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), LARGE) as screen:
        here = sum(member.here for member in screen.session.members)
        left = len(screen.session.members) - here
        assert left
        await screen.sees(f"members {here}, {left} left")


async def test_the_choice_goes_round_and_ends_at_both_ends_of_the_list(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), SMALL) as screen:
        await screen.press("alt+up")
        await screen.sees("to erin", "· erin")
        await screen.press("tab")
        await screen.sees("to lead")
        await screen.sees_no("· erin")
        await screen.press("f2", "up")
        await screen.sees("to lead")
        await screen.press(*["down"] * 9)
        await screen.sees("to erin")


async def test_a_click_on_the_strip_chooses(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), SMALL) as screen:
        await screen.sees("◐ bob")
        await screen.pilot.click("#strip", offset=(screen.lines[1].index("bob"), 0))
        await screen.sees("to bob")


async def test_who_is_watched_is_watched_anew_from_its_end(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), SMALL) as screen:
        await screen.sees("make serve")
        await screen.press("f6", "O", "g")
        await screen.sees("below: End")
        await screen.press("tab", "alt+up")
        await screen.sees("make serve")
        await screen.sees_no("below: End")
        await screen.sees_no("command: make serve")


@pytest.mark.parametrize("size", SIZES)
async def test_sixty_are_listed_a_line_each_and_the_chosen_one_is_in_sight(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with show_team(await sixty(tmp_path), size) as screen:
        await screen.sees("mate01")
        await screen.press("alt+up")
        await screen.sees("to mate60", "mate60")
        await compare(screen.app, "sixty")
        await screen.press("f2")
        await screen.sees("choose")
        await screen.press(*["up"] * 30)
        await screen.sees("to mate30", "members 61")
        await compare(screen.app, "sixty-members")


async def test_sixty_need_no_more_widgets_than_one(tmp_path: Path) -> None:
    folder = await sixty(tmp_path)
    async with show_team(folder, LARGE) as screen:
        await screen.sees("mate01")
        before = list(screen.app.screen.walk_children())
        async with hands(folder) as team:
            for name, _ in SIXTY:
                await team.roster.status(MemberIdle(name=name, words="Done.", at=NOW - 5))
        await screen.session.look()
        await screen.sees("mate01 idle <1 min")
        await screen.press(*["tab"] * 10)
        await screen.sees("to mate10")
        assert list(screen.app.screen.walk_children()) == before


async def test_where_there_is_little_room_a_name_keeps_both_ends_and_the_status_gives_way(tmp_path: Path) -> None:
    async def claimed(team: OpenTeam, clock: FakeClock) -> None:
        await team.board.create("lead", NewTask("write"))
        await team.board.claim(team.roster.state.members["a-rather-long-name"], 1)

    async with session_at(await made(tmp_path, claimed, ("a-rather-long-name", "dev"), ("bob", "dev"))) as session:
        panel = Members()
        async with (app := PanelApp(panel)).run_test(size=(26, 6)) as pilot:
            panel.show(in_order(session), "lead", NOW)
            await pilot.pause()
            assert text(app)[2:5:2] == ["2 ● a-rather…ong-name #1", "3 ● bob 15 min"]


async def test_in_one_line_each_the_role_or_the_last_words_are_beside_the_status_if_there_is_room(
    tmp_path: Path,
) -> None:
    async with show_team(await at_work(tmp_path), SMALL) as screen:
        await screen.press("f2")
        await screen.sees("3 ◐ bob waiting: permission 13 min  dev", "4 ○ carol idle 13 min  The page is ported.")


async def test_the_list_says_what_each_member_is_doing_now(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), LARGE) as screen:
        await screen.sees("2 ● alice")
        call = Call(tool="bash", arguments={"command": "pytest -q tests/test_schema.py --verbose"})
        screen.feed.tell(Recorded("alice", 5, Said(calls=(call,))))
        screen.feed.tell(Recorded("alice", 6, Began(calls=("alice:5.0",))))
        await screen.session.look()
        await screen.sees("    bash pytest -q test… 0:00")


async def test_alt_and_a_digit_choose_a_member(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), LARGE) as screen:
        await screen.press("alt+3")
        await screen.sees("to bob")
        await screen.press("alt+9")
        await screen.press("alt+1")
        await screen.sees("to lead")


class Counting(Members):
    """Count the lines that are drawn."""

    drawn = 0

    def render_line(self, y: int) -> Strip:
        self.drawn += 1
        return super().render_line(y)


async def test_only_lines_that_changed_are_drawn(tmp_path: Path) -> None:
    folder = await sixty(tmp_path)
    async with session_at(folder) as session:
        panel = Counting()
        async with PanelApp(panel).run_test(size=(30, 70)) as pilot:
            panel.show(in_order(session), "lead", NOW)
            await pilot.pause()
            panel.drawn = 0
            panel.show(in_order(session), "lead", NOW)
            await pilot.pause()
            assert panel.drawn == 0
            async with hands(folder) as team:
                await team.roster.status(MemberIdle(name="mate07", words="Done.", at=NOW - 5))
            await session.look()
            panel.show(in_order(session), "lead", NOW)
            await pilot.pause()
            assert panel.drawn == 1


async def test_words_of_members_are_no_commands_to_the_terminal(tmp_path: Path) -> None:
    async def naughty(team: OpenTeam, clock: FakeClock) -> None:
        for (name, _), words in zip(SIXTY, NAUGHTY, strict=False):
            await team.roster.status(MemberIdle(name=name, words=words, at=clock.timestamp()))

    async with show_team(
        await made(tmp_path, naughty, *((name, NAUGHTY[5]) for name, _ in SIXTY)), (160, 150)
    ) as screen:
        await screen.sees("mate60")
        assert all(obeyed(line) == [] for line in screen.lines)
        assert all(line[31:32] in ("─", " ", "") for line in screen.lines[1:120])


@given(st.lists(st.integers(1, 30), min_size=1, max_size=80), st.data(), st.integers(0, 200))
def test_the_strip_holds_the_chosen_one_and_as_many_beside_it_as_fit(
    widths: list[int], data: st.DataObject, room: int
) -> None:
    place = data.draw(st.integers(0, len(widths) - 1))
    first, last = window(widths, place, room)
    taken = sum(widths[first:last]) + 2 * (last - first)
    assert first <= place < last
    assert last - first == 1 or taken <= room
    assert first == 0 or taken + widths[first - 1] + 2 > room
    assert last == len(widths) or taken + widths[last] + 2 > room
