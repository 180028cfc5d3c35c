"""FakeApp: an app behind the command line that does what a test says. No agent runs.

`run_command` runs a command in this process, `start_command` in another one.
"""

import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO, TypeAlias

import anyio
import anyio.lowlevel
import anyio.to_thread
from click.testing import CliRunner

from deskmate.app import Feed, Outcome, RunRequest
from deskmate.core.agent.entries import Began, Call, Said
from deskmate.core.prompt.prompts import TextDelta, Usage
from deskmate.core.team.status import Left
from deskmate.faces.cli.main import main
from deskmate.runtime.events import Changed, Recorded, Streamed, TeamEvent, TeamStarted

ANSWER = Outcome("main", "All green.", "answered", "", 3, Usage(1200, 80, 4000, 0), 0.0421)
SLOW_CALL = (
    Recorded("lead", 4, Said(calls=(Call(tool="bash", arguments={"command": "make test"}),))),
    Recorded("lead", 5, Began(calls=("lead:4.0",))),
)
HEAD = "anthropic:claude-sonnet-5-5, permission mode default\n"
SUM = "team main: 3 steps, 5,200 tokens in, 80 out, $0.0421\n"
OURS = ("DESKMATE_MODEL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL")

Env: TypeAlias = dict[str, str | None]


@dataclass
class FakeApp:
    """Tell the feed what the script holds, then answer, fail, or wait to be ended. Remember what was wanted."""

    events: Iterable[TeamEvent] = ()
    outcome: Outcome = ANSWER
    error: Exception | None = None
    waits: bool = False
    wanted: list[RunRequest] = field(default_factory=list)

    async def run(self, wanted: RunRequest, feed: Feed) -> Outcome:
        self.wanted.append(wanted)
        for event in self.events:
            feed.tell(event)
            await anyio.lowlevel.checkpoint()
        if self.error is not None:
            raise self.error
        if self.waits:
            await self._wait(feed)
        return self.outcome

    async def _wait(self, feed: Feed) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            feed.tell(Changed("lead", Left("put away")))


class StdinApp(FakeApp):
    """Wait for a line on stdin, whatever else happens."""

    async def _wait(self, feed: Feed) -> None:
        await anyio.to_thread.run_sync(sys.stdin.readline)


class StubbornApp(FakeApp):
    """Wait, and go on waiting when asked to stop."""

    async def _wait(self, feed: Feed) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.sleep_forever()


class LoggingApp(FakeApp):
    """Log what a terminal should not be told as it stands."""

    async def run(self, wanted: RunRequest, feed: Feed) -> Outcome:
        log = logging.getLogger("deskmate.odd")
        log.info("not worth a line")
        log.warning("left out: %s", "one\x1b[2J\ntwo")
        try:
            raise KeyError("gone\x1b]0;title\x07")
        except KeyError:
            log.exception("a tool failed")
        return await super().run(wanted, feed)


def endless() -> Iterable[TeamEvent]:
    while True:
        yield SLOW_CALL[0]


def flood(megabytes: int) -> Iterable[TeamEvent]:
    return [Streamed("lead", TextDelta("x" * 2**20))] * megabytes


def murmur(lines: int) -> Iterable[TeamEvent]:
    return [Changed("lead", Left("x" * 100))] * lines


APPS: Mapping[str, Callable[[], FakeApp]] = {
    "answers": FakeApp,
    "waits": lambda: FakeApp(SLOW_CALL, waits=True),
    "founds": lambda: FakeApp([TeamStarted("main-7"), *SLOW_CALL], waits=True),
    "talks": lambda: FakeApp(endless()),
    "told": lambda: StdinApp(SLOW_CALL, waits=True),
    "stubborn": lambda: StubbornApp(SLOW_CALL, waits=True),
    "floods": lambda: FakeApp([TeamStarted("main-7"), *flood(70), *SLOW_CALL], waits=True),
    "brims": lambda: FakeApp([*flood(1), *SLOW_CALL], waits=True),
    "gushes": lambda: FakeApp([*flood(3), *SLOW_CALL]),
    "murmurs": lambda: FakeApp(murmur(4000)),
    "lectures": lambda: FakeApp(outcome=replace(ANSWER, text="x" * 300_000)),
    "strange": lambda: FakeApp(outcome=Outcome("main", "naïve 漢", "answered", "", 1, Usage(), None)),
}


@dataclass(frozen=True)
class Ended:
    code: int
    stdout: str
    stderr: str


def run_command(*args: str, app: FakeApp | None = None, stdin: str = "", env: Mapping[str, str | None]) -> Ended:
    """Type a command in this process, with a scripted app behind it."""
    with (
        CliRunner().isolation(stdin, env={**dict.fromkeys([*OURS, "NO_COLOR"]), **env}),
        # Files, not what click puts there: the command line writes to descriptors.
        paper() as out,
        paper() as err,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = main(args, app)
        return Ended(code, written(out), written(err))


def paper() -> TextIO:
    """Return a file to be written to, with a descriptor of its own."""
    return tempfile.TemporaryFile("w+", encoding="utf-8", newline="")


def written(stream: TextIO) -> str:
    """Return all that a file holds."""
    stream.flush()
    stream.seek(0)
    return stream.read()


@contextmanager
def start_command(
    app: str, *args: str, home: Path, ignored: signal.Signals | None = None, closed: str = "", **env: str
) -> Iterator["subprocess.Popen[str]"]:
    """Play a command in another process, with one of APPS behind it; it does not outlive the context, nor a minute.

    `closed`: as a shell writes it, such as `>&-`.
    """
    words = "import sys; from tests.faces.fake_app import APPS, main; sys.exit(main(sys.argv[2:], APPS[sys.argv[1]]()))"
    process = subprocess.Popen(
        ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", words, app, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(home, ANTHROPIC_API_KEY="sk-test", **env),
        preexec_fn=None if ignored is None else lambda: signal.signal(ignored, signal.SIG_IGN),
    )
    deadline = threading.Timer(60, process.kill)
    deadline.start()
    with process:
        try:
            yield process
        finally:
            deadline.cancel()
            process.kill()


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return this process's environment for another one that has its own home, no settings of ours, usual buffers."""
    dropped = (*OURS, "XDG_CONFIG_HOME", "XDG_STATE_HOME", "NO_COLOR", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "HOME": str(home), **more}


def ended(process: "subprocess.Popen[str]", stdin: str | None = None) -> Ended:
    """Wait for a command's end, bounded."""
    stdout, stderr = process.communicate(stdin, timeout=60)
    return Ended(process.returncode, stdout, stderr)
