"""Make the pictures of the documentation from the running product: `make pictures`.

The demo plays in a terminal that nobody sees, from its start to its last page, and becomes a picture that moves. Then
it plays on a screen, and a picture is taken when what it shows is there. What commands print comes from a terminal of
their own.
"""

import io
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
from rich.console import Console
from rich.text import Text
from textual.pilot import Pilot

from deskmate.app import Feed
from deskmate.app.demo_team import prepare, rehearsal
from deskmate.app.session import Answer, Session
from deskmate.core.team.open_questions import Question
from deskmate.faces.tui.screen_app import DeskmateApp
from docs.pictures.film import FONTS, film
from docs.pictures.recording import record, shortened

HERE = Path(__file__).parent
WIDE, SMALL = (140, 42), (80, 24)
SOON_SECONDS = 60.0
COMMANDS = {"board": ["board", "graphql"], "teams": ["teams"], "inbox": ["inbox", "lead", "graphql"]}
COLUMNS, LINES = 100, 30
FILM = (120, 40)
# No pause is longer, and the last page stays for a while.
PAUSE_SECONDS, FILM_SECONDS, PAGE_SECONDS = 1.2, 40.0, 7.0
LOOK_SECONDS = 3.0


class _Nobody:
    """An onlooker who never answers; the script does, once the picture is taken."""

    patience_seconds = 2.0

    async def ask(self, question: Question, stays: Callable[[], None]) -> Answer:
        while True:
            await anyio.sleep_forever()

    def told(self, question: Question, answer: Answer, by_person: bool) -> None:
        """Look on."""


async def _screens(folder: Path) -> None:
    feed = Feed()
    async with rehearsal(folder, feed) as show:
        app = DeskmateApp(show.session, feed)
        async with app.run_test(size=WIDE) as pilot, anyio.create_task_group() as tasks:
            tasks.start_soon(show.play, _Nobody())
            with anyio.fail_after(SOON_SECONDS):
                await _until(pilot, show.session, _asks_to_run)
                _keep("screen", app.export_screenshot(title="deskmate"))
                await pilot.resize_terminal(*SMALL)
                await pilot.pause()
                _keep("small", app.export_screenshot(title="deskmate"))
                await pilot.resize_terminal(*WIDE)
                await _until(pilot, show.session, _all_done)
                await pilot.press("f1")
                await pilot.pause()
                _keep("help", app.export_screenshot(title="deskmate"))
            tasks.cancel_scope.cancel()


def _asks_to_run(session: Session) -> bool:
    return any(question.tool == "bash" for question in session.questions)


def _all_done(session: Session) -> bool:
    return bool(session.board.current) and not any(task.is_open for task in session.board.current)


async def _until(pilot: Pilot[None], session: Session, holds: Callable[[Session], bool]) -> None:
    while not holds(session):
        await session.looked()
    await pilot.pause(0.5)


def _commands(folder: Path) -> None:
    for name, words in COMMANDS.items():
        console = Console(record=True, width=COLUMNS, file=io.StringIO())
        console.print(Text(f"$ deskmate {' '.join(words)}", style="bold"))
        console.print(Text.from_ansi(_printed(words, folder)))
        _keep(name, console.export_svg(title="deskmate"))


def _printed(words: list[str], folder: Path) -> str:
    """Return what a command prints to a terminal."""
    main, side = pty.openpty()
    environ = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    subprocess.run(["stty", "cols", str(COLUMNS), "rows", str(LINES)], stdin=side, check=True)
    command = [sys.executable, "-m", "deskmate", "-C", str(folder), *words]
    subprocess.run(command, stdin=side, stdout=side, stderr=side, env=environ, check=True)
    os.close(side)
    with open(main, "rb", closefd=True) as terminal:
        return _all(terminal.fileno()).replace("\r\n", "\n")


def _all(number: int) -> str:
    """Return all that a terminal was sent; at its end Linux says that there is an error."""
    sent = b""
    while True:
        try:
            piece = os.read(number, 65536)
        except OSError:
            return sent.decode()
        if not piece:
            return sent.decode()
        sent += piece


def _keep(name: str, svg: str) -> None:
    # A picture fetches nothing: it is shown in a font that is there.
    shown = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    shown = re.sub(r"<!-- Generated with .*? -->\s*", "", shown)
    shown = re.sub(r"font-family: ?Fira Code[^;]*;", f"font-family: {FONTS};", shown)
    (HERE / f"{name}.svg").write_text(shown)
    print(HERE / f"{name}.svg")


def _record() -> None:
    """Record the demo, leaving its screen a while after it is over."""
    own = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    own["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environ = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    frames = record(
        [sys.executable, "-m", "deskmate", "demo"], FILM, {**environ, **own}, {"Press q": (LOOK_SECONDS, "q")}
    )
    still = next(number for number, frame in enumerate(frames) if frame.shows("may I use"))
    frames = shortened(frames, PAUSE_SECONDS, FILM_SECONDS)
    _keep("demo", film(frames, frames[-1].seconds + PAGE_SECONDS, FILM, "deskmate demo", still))


def main() -> None:
    _record()
    folder = prepare()
    anyio.run(_screens, folder)
    _commands(folder)


if __name__ == "__main__":
    main()
