"""A scripted app to put behind a face, and what it takes to type at it in this process or another."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
from click.testing import CliRunner

from deskmate.app import Feed, Outcome, Wanted
from deskmate.core.entries import Began, Call, Said
from deskmate.core.prompts import Usage
from deskmate.errors import DeskmateError
from deskmate.faces.cli.main import main
from deskmate.runtime.feed import Happening, Recorded

ANSWER = Outcome("main", "All green.", "answered", "", 3, Usage(1200, 80, 4000, 0), 0.0421)
SLOW_CALL = (
    Recorded("lead", 4, Said(calls=(Call(tool="bash", arguments={"command": "make test"}),))),
    Recorded("lead", 5, Began(calls=("lead:4.0",))),
)
OURS = ("DESKMATE_MODEL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL")


@dataclass
class ScriptedApp:
    """Tell the feed what the script holds, then answer, fail, or wait to be ended. Remember what was wanted."""

    happenings: Iterable[Happening] = ()
    outcome: Outcome = ANSWER
    error: DeskmateError | None = None
    waits: bool = False
    wanted: list[tuple[str, Wanted]] = field(default_factory=list)

    async def run(self, wanted: Wanted, feed: Feed) -> Outcome:
        return await self._play("run", wanted, feed)

    async def resume(self, wanted: Wanted, feed: Feed) -> Outcome:
        return await self._play("resume", wanted, feed)

    async def _play(self, deed: str, wanted: Wanted, feed: Feed) -> Outcome:
        self.wanted.append((deed, wanted))
        for happening in self.happenings:
            feed.tell(happening)
            await anyio.lowlevel.checkpoint()
        if self.error is not None:
            raise self.error
        if self.waits:
            await self._wait()
        return self.outcome

    async def _wait(self) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            print("put away", file=sys.stderr, flush=True)


class ToldByStdin(ScriptedApp):
    """Wait for a line on stdin, whatever else happens."""

    async def _wait(self) -> None:
        await anyio.to_thread.run_sync(sys.stdin.readline)


def endless() -> Iterable[Happening]:
    while True:
        yield SLOW_CALL[0]


APPS: Mapping[str, Callable[[], ScriptedApp]] = {
    "answers": ScriptedApp,
    "waits": lambda: ScriptedApp(SLOW_CALL, waits=True),
    "talks": lambda: ScriptedApp(endless()),
    "told": lambda: ToldByStdin(SLOW_CALL, waits=True),
    "strange": lambda: ScriptedApp(outcome=Outcome("main", "naïve 漢", "answered", "", 1, Usage(), None)),
}


@dataclass(frozen=True)
class Ended:
    code: int
    stdout: str
    stderr: str


def typed(*args: str, app: ScriptedApp | None = None, stdin: str = "", env: Mapping[str, str | None]) -> Ended:
    """Type a command in this process, with a scripted app behind it."""
    with CliRunner().isolation(stdin, env={**dict.fromkeys([*OURS, "NO_COLOR"]), **env}) as (out, err, _):
        code = main(args, app)
        sys.stdout.flush()
        sys.stderr.flush()
        return Ended(code, out.getvalue().decode(), err.getvalue().decode())


def child(
    app: str, *args: str, home: Path, ignored: signal.Signals | None = None, **env: str
) -> "subprocess.Popen[str]":
    """Start a command in another process, with one of APPS behind it."""
    words = "import sys; from tests.faces import APPS, main; sys.exit(main(sys.argv[2:], APPS[sys.argv[1]]()))"
    return subprocess.Popen(
        [sys.executable, "-c", words, app, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(home, ANTHROPIC_API_KEY="sk-test", **env),
        preexec_fn=None if ignored is None else lambda: signal.signal(ignored, signal.SIG_IGN),
    )


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return this process's environment for another one that has its own home, no settings of ours, usual buffers."""
    dropped = (*OURS, "XDG_CONFIG_HOME", "NO_COLOR", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "HOME": str(home), **more}


def ended(process: "subprocess.Popen[str]", stdin: str | None = None) -> Ended:
    """Wait for a command's end, bounded."""
    stdout, stderr = process.communicate(stdin, timeout=60)
    return Ended(process.returncode, stdout, stderr)
