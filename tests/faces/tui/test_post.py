"""The post panel: a line for each letter, the whole of it on Enter, the end in view unless somebody reads above."""

from pathlib import Path

import pytest

from deskmate import Broadcast, Plain
from deskmate.core.messages import (
    Interrupt,
    PermissionResponse,
    PlanResponse,
    ShutdownRequest,
    ShutdownResponse,
    Undeliverable,
)
from deskmate.faces.tui.post import PostPanel
from deskmate.testing import FakeClock
from tests.chaos.naughty import NAUGHTY
from tests.faces.teams import Hands, hands, obeyed
from tests.faces.tui.sessions import NOW, SIZES, Host, ask, hand_in, made, session_at
from tests.faces.tui.snapshots import compare, text

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui")]
DAY = 86400


async def written(team: Hands, clock: FakeClock) -> None:
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


def numbered(*numbers: int, sender: str = "lead") -> list[Plain]:
    return [Plain(content=f"letter {sender} {n}") for n in numbers]


async def forty(team: Hands, clock: FakeClock) -> None:
    for message in numbered(*range(40)):
        await team.mailbox("lead").send("bob", message)


async def write_more(folder: Path, *numbers: int, sender: str = "lead") -> None:
    async with hands(folder) as team:
        for message in numbered(*numbers, sender=sender):
            await team.mailbox(sender).send("bob", message)


def shown(app: Host) -> list[str]:
    """Return what is in view, without title and bar."""
    return [line[: app.size.width - 1].rstrip() for line in text(app)[1:]]


def seen(app: Host) -> list[str]:
    """Return the last word of each line in view."""
    return [line.split()[-1] for line in shown(app) if line]


@pytest.mark.parametrize("size", SIZES)
async def test_every_kind_of_letter_is_a_line(tmp_path: Path, size: tuple[int, int]) -> None:
    async with session_at(await made(tmp_path, written)) as session:
        panel = PostPanel()
        async with (app := Host(panel)).run_test(size=size) as pilot:
            panel.show(session, NOW)
            await pilot.pause()
            compare(app, "post")


@pytest.mark.parametrize("size", SIZES)
async def test_enter_shows_the_whole_letter(tmp_path: Path, size: tuple[int, int]) -> None:
    async with session_at(await made(tmp_path, written)) as session:
        panel = PostPanel()
        async with (app := Host(panel)).run_test(size=size) as pilot:
            panel.show(session, NOW)
            panel.focus()
            await pilot.press("enter", "home", "down", "enter", "down", "enter", "down", "enter")
            await pilot.pause()
            compare(app, "post-unfolded")


async def test_only_the_letters_of_the_chosen_member_are_left_and_all_come_back(tmp_path: Path) -> None:
    async with session_at(await made(tmp_path, written)) as session:
        panel = PostPanel()
        async with (app := Host(panel)).run_test(size=(80, 24)) as pilot:
            panel.show(session, NOW)
            panel.choose("bob")
            panel.focus()
            await pilot.pause()
            everything = text(app)
            await pilot.press("f")
            compare(app, "post-of-bob")
            panel.choose("dave")
            await pilot.pause()
            assert [line.rstrip("─") for line in text(app) if line] == ["─mail 0 of dave", "no mail yet"]
            await pilot.press("f")
            assert text(app) == everything


async def test_the_end_stays_in_view_as_letters_come(tmp_path: Path) -> None:
    async with session_at(await made(tmp_path, forty)) as session:
        panel = PostPanel()
        async with (app := Host(panel)).run_test(size=(80, 10)) as pilot:
            panel.show(session, NOW)
            await pilot.pause()
            assert seen(app) == [str(n) for n in range(31, 40)]
            await write_more(tmp_path, 40, 41)
            await session.look()
            panel.show(session, NOW)
            await pilot.pause()
            assert seen(app) == [str(n) for n in range(33, 42)]
            await pilot.resize_terminal(80, 6)
            await pilot.pause()
            assert seen(app) == [str(n) for n in range(37, 42)]


@pytest.mark.parametrize("by", ["keys", "wheel", "reading"])
async def test_who_scrolled_up_or_reads_is_left_where_they_are(tmp_path: Path, by: str) -> None:
    async with session_at(await made(tmp_path, forty)) as session:
        panel = PostPanel()
        async with (app := Host(panel)).run_test(size=(80, 10)) as pilot:
            panel.show(session, NOW)
            panel.focus()
            await pilot.pause()
            if by == "keys":
                await pilot.press("pageup", "pageup")
            elif by == "reading":
                await pilot.press("enter")
            else:
                panel.scroll_to(y=12, animate=False)
            await pilot.pause()
            before = shown(app)
            await write_more(tmp_path, 40, 41)
            await session.look()
            panel.show(session, NOW)
            await pilot.pause()
            assert shown(app) == before
            await pilot.press("end")
            await pilot.pause()
            assert seen(app)[-1] == "41"


async def test_who_reads_stays_where_they_are_when_the_oldest_letters_are_put_away(tmp_path: Path) -> None:
    async with session_at(await made(tmp_path, forty)) as session:
        panel = PostPanel()
        async with (app := Host(panel)).run_test(size=(80, 10)) as pilot:
            await write_more(tmp_path, *range(40, 500))
            await session.look()
            panel.show(session, NOW)
            panel.focus()
            await pilot.pause()
            await pilot.press("pageup", "pageup")
            await pilot.pause()
            before = shown(app)
            await write_more(tmp_path, *range(500, 510))
            await session.look()
            panel.show(session, NOW)
            await pilot.pause()
            assert shown(app) == before
            await pilot.press("home")
            await pilot.pause()
            assert seen(app)[0] == "10"


async def test_a_letter_longer_than_the_panel_is_read_line_by_line_before_the_next_is_chosen(tmp_path: Path) -> None:
    async def long(team: Hands, clock: FakeClock) -> None:
        for name in ("first", "second"):
            await team.mailbox("lead").send("bob", Plain(content="\n".join(f"{name} {n}" for n in range(12))))

    async with session_at(await made(tmp_path, long)) as session:
        panel = PostPanel()
        async with (app := Host(panel)).run_test(size=(80, 7)) as pilot:
            panel.show(session, NOW)
            panel.focus()
            await pilot.press("home", "enter")
            await pilot.pause()
            read = [shown(app)]
            for _ in range(8):
                await pilot.press("down")
                read.append(shown(app))
            assert {f"    first {n}" for n in range(12)} <= {line for page in read for line in page}
            # The first is still chosen: it is the one that is folded.
            await pilot.press("enter")
            assert [line.split()[4] for line in shown(app) if line] == ["first", "second"]


@pytest.mark.parametrize("size", [(30, 3), (30, 12), (120, 40)])
async def test_the_mail_fits_whatever_its_size_and_whatever_it_holds(tmp_path: Path, size: tuple[int, int]) -> None:
    async def odd(team: Hands, clock: FakeClock) -> None:
        for one in NAUGHTY:
            await team.mailbox("alice").send("bob", Plain(content=one.encode(errors="replace").decode()))

    async with session_at(await made(tmp_path, odd)) as session:
        panel = PostPanel()
        async with (app := Host(panel)).run_test(size=size) as pilot:
            panel.show(session, NOW)
            panel.focus()
            for _ in range(10):
                await pilot.press("enter", "pageup")
                assert [found for line in text(app) for found in obeyed(line)] == []
                assert {strip.cell_length for strip in app.screen._compositor.render_strips()} == {size[0]}
