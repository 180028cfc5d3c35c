"""Snapshots: what a screen shows, as text with its styles below, kept in a folder and compared.

`DESKMATE_SNAPSHOTS=write` in the environment writes them again. Look at the difference before you commit it.
"""

import difflib
import os
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import anyio
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.strip import Strip

from tests.faces.disk_teams import obeyed

SOON = 8
FOLDER = Path(__file__).parent / "snapshots"
_ATTRIBUTES = ("bold", "dim", "italic", "underline", "reverse", "strike", "blink")


async def compare(app: App[Any], name: str) -> None:
    """Raise AssertionError where the screen does not come to look as it did when the snapshot of that name was kept.

    It waits, because a screen is drawn in several steps and a busy machine may pause between two of them.
    """
    width, height = app.size
    file = FOLDER / f"{name}-{width}x{height}.txt"
    if os.environ.get("DESKMATE_SNAPSHOTS") == "write":
        file.write_text(_shown(app), encoding="utf-8")
    assert file.exists(), f"there is no snapshot {file.name}; write it with DESKMATE_SNAPSHOTS=write and look at it"
    kept = file.read_text(encoding="utf-8")
    with anyio.move_on_after(SOON):
        while _shown(app) != kept:  # noqa: ASYNC110 - no event tells that a screen has been drawn
            await anyio.sleep(0.05)
        return
    lines = difflib.unified_diff(kept.splitlines(), _shown(app).splitlines(), file.name, "the screen now", lineterm="")
    raise AssertionError("\n".join(lines))


def _shown(app: App[Any]) -> str:
    return "\n".join(screen(app)) + "\n"


def text(app: App[Any]) -> list[str]:
    """Return the lines of a screen, without what has no text at their ends."""
    return [strip.text.rstrip() for strip in _strips(app)]


def assert_fits(app: App[Any]) -> None:
    """Raise AssertionError where a line is not as wide as the screen, or holds what a terminal would obey."""
    assert {strip.cell_length for strip in _strips(app)} == {app.size.width}
    assert [found for line in text(app) for found in obeyed(line)] == []


def screen(app: App[Any]) -> list[str]:
    """Return the lines of a screen and, for each, from which cell to which it has a style that is not the usual one."""
    strips = _strips(app)
    usual = _usual(strips)
    styles = [f"{y}: {'; '.join(found)}" for y, strip in enumerate(strips) if (found := list(_runs(strip, usual)))]
    return [*(f"{strip.text.rstrip()}" for strip in strips), "-- styles", *styles]


def _strips(app: App[Any]) -> list[Strip]:
    return app.screen._compositor.render_strips()


def _usual(strips: list[Strip]) -> tuple[str, str]:
    """Return the colours that most of what can be read has."""
    found: list[Counter[str]] = [Counter(), Counter()]
    for segment in (segment for strip in strips for segment in strip):
        style = segment.style or Style()
        for counter, colour in zip(found, (style.color, style.bgcolor), strict=True):
            counter[colour.name if colour else ""] += len(segment.text.strip())
    return found[0].most_common(1)[0][0], found[1].most_common(1)[0][0]


def _runs(strip: Strip, usual: tuple[str, str]) -> Iterator[str]:
    cell = 0
    for look, segments in groupby(strip, lambda segment: _look(segment, usual)):
        end = cell + sum(segment.cell_length for segment in segments)
        if look and end > cell:
            yield f"{cell}-{end} {look}"
        cell = end


def _look(segment: Segment, usual: tuple[str, str]) -> str:
    style = segment.style or Style()
    on = [name for name in _ATTRIBUTES if getattr(style, name)]
    front, back = (colour.name if colour else "" for colour in (style.color, style.bgcolor))
    # Where there is nothing to read, its colour is none.
    ink = [front] if front != usual[0] and (segment.text.strip() or style.reverse) else []
    return " ".join([*on, *ink, *([f"on {back}"] if back != usual[1] else [])])
