"""Play `deskmate` in forks of one warm process, each killed where it is told to be.

A line of JSON comes in, `{"args": [...], "out": FILE, "fate": {...}}`, and one goes out once that fork has ended:
`{"code": 0, "deeds": 219, "commands": 5}`, both counts 0 if it was killed. A deed is what others can see afterwards: a
file made, opened to be written, renamed, linked or removed, or a program started. Python tells of each before it is
done, so that nothing of the product is replaced. `test_agent_kills` above keeps such a process.

    python -m tests.chaos.kills.agent_run SIN ARGUMENTS       play `deskmate` once, and do wrong
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from tests.warm_program import ROOT, warm_up

DEEDS = {"os.mkdir", "os.rename", "os.link", "os.remove", "subprocess.Popen"}
ENOUGH_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Fate:
    """Where a process is killed: before its `deed`-th deed, or so many seconds after its `command`-th command began."""

    deed: int = 0
    command: int = 0
    seconds: float = 0


@dataclass(frozen=True, slots=True)
class Ended:
    """How one process ended: below zero by a signal. What it did is counted only if it ended by itself."""

    code: int
    deeds: int
    commands: int
    out: str
    err: str

    @property
    def killed(self) -> bool:
        """Whether its fate met it."""
        return self.code == -signal.SIGKILL


class Warm:
    """The warm process, as a test sees it; it ends with the block."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self._out = folder / "out"
        self._process = subprocess.Popen(
            [sys.executable, "-B", "-m", __name__],
            cwd=ROOT,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def play(self, *args: str, fate: Fate | None = None) -> Ended:
        """Let a fork play `deskmate` with these arguments; return once it has ended."""
        assert self._process.stdin
        assert self._process.stdout
        wanted = {"args": args, "out": str(self._out), "fate": asdict(fate or Fate())}
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], ENOUGH_SECONDS)
        assert ready, f"deskmate {args} hangs: {self._words('.stderr')}"
        ended = json.loads(self._process.stdout.readline())
        return Ended(**ended, out=self._words(".stdout"), err=self._words(".stderr"))

    def _words(self, suffix: str) -> str:
        return self._out.with_suffix(suffix).read_text()


# -- in the warm process ----------------------------------------------------------------------------


def serve() -> None:
    """Serve until the input ends. No thread is ever started here: it forks."""
    warm_up()
    for line in sys.stdin:
        wanted = json.loads(line)
        print(json.dumps(_forked(wanted["args"], Path(wanted["out"]), Fate(**wanted["fate"]))), flush=True)


def _forked(args: list[str], out: Path, fate: Fate) -> dict[str, int]:
    told, tell = os.pipe()
    pid = os.fork()
    if not pid:
        _be_played(args, out, fate, tell)
    os.close(tell)
    with os.fdopen(told) as pipe:
        counts = json.loads(pipe.read() or '{"deeds": 0, "commands": 0}')
    _, status = os.waitpid(pid, 0)
    return {"code": os.waitstatus_to_exitcode(status), **counts}


def _be_played(args: list[str], out: Path, fate: Fate, tell: int) -> None:
    """Be `deskmate` to the end, one way or the other. Never returns."""
    code = 70
    try:
        for number, suffix in ((1, ".stdout"), (2, ".stderr")):
            os.dup2(os.open(out.with_suffix(suffix), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        doom = Doom(fate)
        sys.addaudithook(doom.hear)
        code = _deskmate(args)
        os.write(tell, json.dumps({"deeds": doom.deeds, "commands": doom.commands}).encode())
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _deskmate(args: list[str]) -> int:
    from deskmate.faces.cli.main import main

    return main(args)


class Doom:
    """Counts what this process does, and kills it when its time has come."""

    def __init__(self, fate: Fate) -> None:
        self._fate = fate
        self.deeds, self.commands = 0, 0

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        """Hear of something that is about to be done."""
        if event in DEEDS or (event == "open" and args[2] & os.O_CREAT):
            self.deeds += 1
            if self.deeds == self._fate.deed:
                _die()
        if event == "subprocess.Popen" and args[1][0].endswith("sh"):
            self.commands += 1
            if self.commands == self._fate.command:
                timer = threading.Timer(self._fate.seconds, _die)
                timer.daemon = True
                timer.start()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


# -- what must be found out -------------------------------------------------------------------------


def _forget_to_journal() -> None:
    """Run calls without having said so before."""
    from deskmate.core.agent.entries import Began, Entry
    from deskmate.runtime.streams.transcript import Transcript

    record = Transcript.record

    async def forgetful(self: Transcript, *entries: Entry) -> int:
        kept = [entry for entry in entries if not isinstance(entry, Began)]
        return await record(self, *kept) if kept else self.memory.number

    Transcript.record = forgetful  # type: ignore[method-assign]


def _run_again() -> None:
    """Take every call for one that may run twice."""
    from deskmate.core.agent.rules import decide

    decide._repeatable = lambda call: True


SINS: dict[str, Callable[[], None]] = {"forget to journal": _forget_to_journal, "run again": _run_again}

if __name__ == "__main__":
    if sys.argv[1:]:
        SINS[sys.argv[1]]()
        sys.exit(_deskmate(sys.argv[2:]))
    serve()
