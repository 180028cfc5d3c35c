"""A real browser for tests of the page."""

import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Browser, Page, async_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
_INSTALL = "There is no chromium. On Debian: apt-get install chromium"
# CI must not skip these. Elsewhere, the reason says what is missing.
needs_browser = pytest.mark.skipif(not CHROMIUM and not os.environ.get("CI"), reason=_INSTALL)
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    """Start a browser."""
    assert CHROMIUM, _INSTALL
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=CHROMIUM, args=_QUIET)
        try:
            yield started
        finally:
            await started.close()


@asynccontextmanager
async def opened(link: str, **options: Any) -> AsyncIterator[Page]:
    """Open a page in a browser of its own. It must report no error, and ask nobody but the server."""
    async with browser() as started:
        context = await started.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        page = await context.new_page()
        errors: list[str] = []
        origin = link.partition("/#")[0]
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: errors.append(f"a dialog: {dialog.message}"))
        page.on(
            "request",
            lambda request: None if request.url.startswith((origin, "data:", "blob:")) else errors.append(request.url),
        )
        await page.goto(link)
        yield page
        assert errors == []


async def view(page: Page, name: str) -> None:
    """Choose a view of a team."""
    await page.get_by_role("tab", name=name, exact=True).click()


async def slide(page: Page, share: float) -> None:
    """Move the slider over the past to a part of its line, from 0 to 1."""
    await page.get_by_role("slider", name="Time").evaluate(
        "(one, share) => { one.value = share; one.dispatchEvent(new Event('input', {bubbles: true})) }", share
    )


async def violations(page: Page) -> list[str]:
    """Return what the checker finds that keeps people from using the page."""
    await page.evaluate(AXE_SCRIPT)
    result = await page.evaluate("() => axe.run({resultTypes: ['violations']})")
    serious = [one for one in result["violations"] if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {json.dumps([node['html'][:120] for node in one['nodes'][:3]])}" for one in serious]
