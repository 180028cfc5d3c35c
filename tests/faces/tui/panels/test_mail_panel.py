"""The post panel: a line for each letter, the whole of it on Enter, the end in view unless somebody reads above."""

from pathlib import Path

import pytest

from deskmate.core.team.messages import (
    Broadcast,
    Interrupt,
    PermissionResponse,
    Plain,
    PlanResponse,
    ShutdownRequest,
    ShutdownResponse,
    Undeliverable,
)
from deskmate.core.team.roster_records import Joined
from deskmate.faces.tui.panels.mail_panel import PostPanel
from deskmate.testing import FakeClock
from tests.chaos.files.naughty_strings import NAUGHTY
from tests.faces.disk_teams import OpenTeam, hands
from tests.faces.tui.idle_sessions import SIZES, ask, hand_in
from tests.faces.tui.panel_harness import PanelHarness, show_panel
from tests.faces.tui.snapshots import assert_fits, compare

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui")]
DAY = 86400


async def written(team: OpenTeam, clock: FakeClock) -> None:
    """Write a letter of every kind."""
    lead, alice, user = (team.mailbox(name) for name in ("lead", "alice", "user"))
    clock.advance(-DAY)
    await user.send("lead", Plain(content="port the page to GraphQL"))
    clock.advance(DAY)
    await lead.broadcast(["alice", "bob", "carol"], Broadcast(content="The API is\nin api/v2."), id_="lead:3.0")
    clock.advance(60)
    await alice.send("bob", Plain(content="Which fields?\n\n- id\n- name", summary="fields"))
    plan = await hand_in(team, "alice", "# Plan\nread, write, test")
    await lead.send("alice", PlanResponse(request_id=plan, approve=False, content="test first"))
    plan = await hand_in(team, "alice", "# Plan\ntest, read, write")
    await lead.send("alice", PlanResponse(request_id=plan, approve=True))
    call = await ask(team, "alice", "bash", {"command": "make"}, "commands ask")
    await user.send("alice", PermissionResponse(request_id=call, approve=True))
    await lead.send("bob", ShutdownRequest(request_id="lead:9.0", content="all is done"))
    await team.mailbox("bob").send("lead", ShutdownResponse(request_id="lead:9.0", approve=False, content="one more"))
    await user.send("bob", Interrupt())
    lost = {"content": "are you there?"}
    await team.mailbox("carol").send("alice", Undeliverable(reason="dave has left", original=lost))


async def write(team: OpenTeam, *numbers: int) -> None:
    for n in numbers:
        await team.mailbox("lead").send("bob", Plain(content=f"letter {n}"))


async def forty(team: OpenTeam, clock: FakeClock) -> None:
    await write(team, *range(40))


async def write_more(folder: Path, *numbers: int) -> None:
    async with hands(folder) as team:
        await write(team, *numbers)


def mail(shown: PanelHarness) -> list[str]:
    """Return what is in view, without title and bar."""
    return [line[: shown.app.size.width - 1].rstrip() for line in shown.lines[1:]]


def last_words(shown: PanelHarness) -> list[str]:
    """Return the last word of each line in view."""
    return [line.split()[-1] for line in mail(shown) if line]


@pytest.mark.parametrize("size", SIZES)
async def test_every_kind_of_letter_is_a_line(tmp_path: Path, size: tuple[int, int]) -> None:
    async with show_panel(PostPanel(), tmp_path, written, size) as shown:
        await shown.press("f")
        await compare(shown.app, "post")


@pytest.mark.parametrize("size", SIZES)
async def test_enter_shows_the_whole_letter(tmp_path: Path, size: tuple[int, int]) -> None:
    async with show_panel(PostPanel(), tmp_path, written, size) as shown:
        await shown.press("f", "enter", "home", "down", "enter", "down", "enter", "down", "enter")
        await compare(shown.app, "post-unfolded")


async def test_at_first_what_agents_wrote_is_shown_and_the_title_says_how_much_is_hidden(tmp_path: Path) -> None:
    async def mixed(team: OpenTeam, clock: FakeClock) -> None:
        await written(team, clock)
        await team.mailbox("alice").send("user", Plain(content="Which colour?"))

    async with show_panel(PostPanel(), tmp_path, mixed) as shown:
        assert shown.lines[0].rstrip("─") == "─mail 10 of agents, 4 hidden"
        assert not [line for line in mail(shown) if "user →" in line or "permission" in line]
        assert "colour?" in last_words(shown)


async def test_only_the_letters_of_the_chosen_member_are_left_and_all_come_back(tmp_path: Path) -> None:
    async with show_panel(panel := PostPanel(), tmp_path, written) as shown:
        panel.choose("bob")
        await shown.press()
        at_first = shown.lines
        await shown.press("f", "f")
        await compare(shown.app, "post-of-bob")
        panel.choose("dave")
        await shown.pilot.pause()
        assert [line.rstrip("─") for line in shown.lines if line] == ["─mail 0 of dave, 13 hidden", "no mail yet"]
        await shown.press("f")
        assert shown.lines == at_first


async def test_the_end_stays_in_view_as_letters_come(tmp_path: Path) -> None:
    async with show_panel(PostPanel(), tmp_path, forty, (80, 10)) as shown:
        assert last_words(shown) == [str(n) for n in range(31, 40)]
        await write_more(tmp_path, 40, 41)
        await shown.look()
        assert last_words(shown) == [str(n) for n in range(33, 42)]
        await shown.pilot.resize_terminal(80, 6)
        await shown.pilot.pause()
        assert last_words(shown) == [str(n) for n in range(37, 42)]


@pytest.mark.parametrize("by", ["keys", "wheel", "reading"])
async def test_who_scrolled_up_or_reads_is_left_where_they_are(tmp_path: Path, by: str) -> None:
    async with show_panel(panel := PostPanel(), tmp_path, forty, (80, 10)) as shown:
        if by == "keys":
            await shown.press("pageup", "pageup")
        elif by == "reading":
            await shown.press("enter")
        else:
            panel.scroll_to(y=12, animate=False)
            await shown.pilot.pause()
        before = mail(shown)
        await write_more(tmp_path, 40, 41)
        await shown.look()
        assert mail(shown) == before
        await shown.press("end")
        assert last_words(shown)[-1] == "41"


async def test_who_reads_stays_where_they_are_when_the_oldest_letters_are_put_away(tmp_path: Path) -> None:
    async with show_panel(PostPanel(), tmp_path, forty, (80, 10)) as shown:
        await write_more(tmp_path, *range(40, 500))
        await shown.look()
        await shown.press("pageup", "pageup")
        before = mail(shown)
        await write_more(tmp_path, *range(500, 510))
        await shown.look()
        assert mail(shown) == before
        await shown.press("home")
        assert last_words(shown)[0] == "10"


async def test_a_letter_longer_than_the_panel_is_read_line_by_line_before_the_next_is_chosen(tmp_path: Path) -> None:
    async def long(team: OpenTeam, clock: FakeClock) -> None:
        for name in ("first", "second"):
            await team.mailbox("lead").send("bob", Plain(content="\n".join(f"{name} {n}" for n in range(12))))

    async with show_panel(PostPanel(), tmp_path, long, (80, 7)) as shown:
        await shown.press("home", "enter")
        read = [mail(shown)]
        for _ in range(8):
            await shown.press("down")
            read.append(mail(shown))
        assert {f"    first {n}" for n in range(12)} <= {line for page in read for line in page}
        # The first is still chosen: it is the one that is folded.
        await shown.press("enter")
        assert [line.split()[4] for line in mail(shown) if line] == ["first", "second"]


async def test_long_names_stay_distinct_and_leave_room_for_the_words(tmp_path: Path) -> None:
    async def named(team: OpenTeam, clock: FakeClock) -> None:
        for name in ("backend-developer-payments-api", "backend-developer-payments-web"):
            await team.roster.join(Joined(name=name, role="dev", at=clock.timestamp()))
        await team.mailbox("backend-developer-payments-api").send(
            "backend-developer-payments-web", Plain(content="The endpoint is /refunds")
        )

    async with show_panel(PostPanel(), tmp_path, named, (36, 4)) as shown:
        assert mail(shown)[0] == "22:13 back…api → back…web The endp…"


@pytest.mark.parametrize("size", [(30, 3), (30, 12), (120, 40)])
async def test_the_mail_fits_whatever_its_size_and_whatever_it_holds(tmp_path: Path, size: tuple[int, int]) -> None:
    async def odd(team: OpenTeam, clock: FakeClock) -> None:
        for one in NAUGHTY:
            await team.mailbox("alice").send("bob", Plain(content=one.encode(errors="replace").decode()))

    async with show_panel(PostPanel(), tmp_path, odd, size) as shown:
        for _ in range(10):
            await shown.press("enter", "pageup")
            assert_fits(shown.app)
