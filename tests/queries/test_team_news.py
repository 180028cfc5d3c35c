"""A reader learns of everything that happened since it last looked, and waits if nothing did."""

from pathlib import Path

import anyio
import pytest

from deskmate.core.team.messages import Plain
from deskmate.core.team.task_fields import NewTask
from deskmate.queries.team_news import SeenNews, follow_news
from tests.faces.disk_teams import hands

pytestmark = pytest.mark.anyio


async def look(folder: Path, cursor: str | None = None, seconds: float = 0, team: str | None = None) -> SeenNews:
    with anyio.fail_after(30):
        return [news async for news in follow_news(folder, team, cursor, seconds)][-1]


async def test_nothing_is_news_twice(tmp_path: Path) -> None:
    async with hands(tmp_path) as opened:
        await opened.roster.found("main")
        first = await look(tmp_path)
        assert first.cursor == "r1.b0.u0.l0.p0"
        assert (await look(tmp_path, first.cursor)).changed == ()
        await opened.board.create("lead", NewTask("write"))
        second = await look(tmp_path, first.cursor)
        assert (second.changed, second.cursor) == (("board",), "r1.b1.u0.l0.p0")
        assert (await look(tmp_path, first.cursor)).changed == ("board",)
        assert (await look(tmp_path, second.cursor)).changed == ()


async def test_a_reader_that_waits_is_woken_by_mail_to_the_user(tmp_path: Path) -> None:
    async with hands(tmp_path) as opened:
        await opened.roster.found("main")
        cursor = (await look(tmp_path)).cursor
        found: list[SeenNews] = []

        async def wait() -> None:
            found.append(await look(tmp_path, cursor, seconds=25))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await opened.mailbox("lead").send("user", Plain(content="hello"))
        assert [news.changed for news in found] == [("mail",)]


async def test_the_begin_and_the_end_of_the_process_are_news(tmp_path: Path) -> None:
    async with hands(tmp_path) as opened:
        await opened.roster.found("main")
        idle = await look(tmp_path)
        async with opened.writer.store.hold("lead", "process 7"):
            running = await look(tmp_path, idle.cursor)
            assert (running.changed, running.live) == (("process",), True)
        assert (await look(tmp_path, running.cursor)).changed == ("process",)


@pytest.mark.behaviour("two-teams")
async def test_what_happens_in_the_other_team_of_the_lead_is_news_of_either(tmp_path: Path) -> None:
    async with hands(tmp_path) as opened, hands(tmp_path, "web") as away:
        await opened.roster.found("main")
        alone = await look(tmp_path, team="main")
        assert (alone.other, alone.cursor) == ("", "r1.b0.u0.l0.p0")
        await away.roster.found("web", home="main")
        both = await look(tmp_path, alone.cursor, team="main")
        assert (both.other, both.changed, both.cursor) == ("web", ("members", "board"), "r1.b0.u0.l0.p0.web.r1.b0")
        at_web = await look(tmp_path, team="web")
        assert (at_web.other, at_web.cursor) == ("main", "r1.b0.u0.l0.p0.main.r1.b0")
        found: list[SeenNews] = []

        async def wait() -> None:
            found.append(await look(tmp_path, both.cursor, seconds=25, team="main"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await away.board.create("lead", NewTask("write"))
        assert [news.changed for news in found] == [("board",)]
        await opened.board.create("lead", NewTask("write"))
        assert (await look(tmp_path, at_web.cursor, team="web")).changed == ("board",)
