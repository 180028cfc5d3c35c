"""How soon does the page of a large team show, and what happens in it? And does it grow while it is open?

The page is served by `deskmate web` and shown by a real browser. Both share the processors with the team.
"""

import asyncio
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
from playwright.async_api import Browser, Page, async_playwright

from benchmarks.faces import FILL_SECONDS, fill
from benchmarks.measure import RunFailed, Size, alone, percentile
from benchmarks.ours import TEAM, Unsynced, open_store
from benchmarks.report import Answer, Column, Table, below
from benchmarks.stub import environment
from deskmate.core.log.names import LEAD
from deskmate.core.team.messages import Plain
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.system_clock import SystemClock

MATES = 100
PAINT_MILLISECONDS, EVENT_MILLISECONDS, GROWTH = 1000.0, 200.0, 1.2
_QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
_LETTERS_AT_ONCE = 50
# So that the browser already waits when the message is sent.
_PAUSE_SECONDS, _PATIENCE_MILLISECONDS = 0.2, 120_000


def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure the page of one large team."""
    tasks, records, events = size.paged_team
    say(f"page: a team of {MATES} teammates, {tasks:,} tasks and {records:,} records")
    held = alone(partial(anyio.run, fill, folder, tasks, records, MATES), FILL_SECONDS)
    say(f"page: {size.starts} first views, {size.wakes} events, {events:,} records while it is open")
    paints, seen, heaps = asyncio.run(_measure(folder, size, events))
    rows = [
        ("first view: all members", percentile(paints, 0.5), percentile(paints, 0.99)),
        ("a message, from its append until it is shown", percentile(seen, 0.5), percentile(seen, 0.99)),
    ]
    columns = [Column("what"), Column("p50 ms", "{:.0f}"), Column("p99 ms", "{:.0f}")]
    memory = " and ".join(f"{heap / 1e6:.1f} MB after {at:,}" for at, heap in heaps.items())
    notes = (f"The team's records: {held}.", f"Memory of the page, after collecting garbage: {memory} more records.")
    first, last = heaps[events // 10], heaps[events]
    targets = [
        below("page: first view, p50", rows[0][1], PAINT_MILLISECONDS, "ms"),
        below("page: an event is shown, p99", rows[1][2], EVENT_MILLISECONDS, "ms"),
        below(f"page: memory after {events:,} records, of that after a tenth", last / first, GROWTH, "x"),
    ]
    return Answer([Table("Page: a large team in a browser", columns, rows, notes)], targets)


async def _measure(folder: Path, size: Size, events: int) -> tuple[list[int], list[int], dict[int, float]]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise RunFailed("There is no chromium. On Debian: apt-get install chromium")
    async with _served(folder) as link, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=_QUIET)
        paints = [await _first_view(browser, link) for _ in range(size.starts)]
        page = await browser.new_page()
        await _paint(page, link)
        store = open_store(folder)
        writer = LogWriter(Unsynced(store), SystemClock())
        roster = Roster(writer)
        await roster.refresh()
        mailbox = Mailbox(LEAD, writer, roster)
        seen = [await _event(page, mailbox, number) for number in range(size.wakes)]
        # The page keeps the newest records, so its memory is compared once it has as many as it keeps.
        heaps = {}
        for first, last in ((0, events // 10), (events // 10, events)):
            await _flood(page, mailbox, first, last)
            heaps[last] = await _heap(page)
        store.close()
        await browser.close()
        return paints, seen, heaps


async def _first_view(browser: Browser, link: str) -> int:
    """Return how long a page takes that nobody else shows, so that the server reads the team first."""
    page = await browser.new_page()
    took = await _paint(page, link)
    await page.close()
    return took


async def _flood(page: Page, mailbox: Mailbox, first: int, last: int) -> None:
    for number in range(first, last):
        await mailbox.send(f"mate-{number % MATES + 1}", Plain(content=f"more {number}: " + "words " * 20))
        if number % _LETTERS_AT_ONCE == 0:
            await asyncio.sleep(0.01)
    await mailbox.send("mate-1", Plain(content=f"the last of {last}"))
    await page.get_by_text(f"the last of {last}").wait_for(timeout=_PATIENCE_MILLISECONDS)


async def _paint(page: Page, link: str) -> int:
    began = time.monotonic_ns()
    await page.goto(link)
    await page.locator(".member").nth(MATES).wait_for()
    took = time.monotonic_ns() - began
    await page.get_by_role("tab", name="Mail").click()
    return took


async def _event(page: Page, mailbox: Mailbox, number: int) -> int:
    words = f"event {number} of this run"
    shown = asyncio.create_task(page.get_by_text(words).wait_for())
    await asyncio.sleep(_PAUSE_SECONDS)
    began = time.monotonic_ns()
    await mailbox.send(f"mate-{number % MATES + 1}", Plain(content=words))
    await shown
    return time.monotonic_ns() - began


async def _heap(page: Page) -> float:
    session = await page.context.new_cdp_session(page)
    await session.send("HeapProfiler.collectGarbage")
    usage = await session.send("Runtime.getHeapUsage")
    return float(usage["usedSize"])


@asynccontextmanager
async def _served(folder: Path) -> AsyncIterator[str]:
    command = [sys.executable, "-m", "deskmate", "-C", ".", "web", TEAM]
    env = environment(HOME=str(folder), XDG_CONFIG_HOME="", XDG_STATE_HOME="")
    web = await anyio.open_process(command, cwd=folder, env=env, stderr=subprocess.DEVNULL)
    async with web:
        assert web.stdout is not None
        try:
            yield (await web.stdout.receive()).decode().splitlines()[0]
        finally:
            web.terminate()
