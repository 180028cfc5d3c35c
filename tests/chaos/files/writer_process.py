"""Append to three streams, the same again after an error, and say each number, under strace.

Every line on standard output is true when it is written: `<stream> <ordinal> <number>` for an acknowledged record,
`read <stream> <number> ...` for what a second store read.

`Writers` keeps one process with everything imported, which forks for each run. strace attaches to the fork before it
does anything, so that it follows no imports. A line of JSON comes in, `{"workspace": FOLDER, "out": FILE}`, and the
number of the fork goes out. After the next line the fork begins, and its exit code goes out when it has ended.
"""

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self, TypeVar

import anyio

from deskmate.errors import StoreUnavailable
from deskmate.stores.jsonl_store import JsonlStore

T = TypeVar("T")
# Each stream with the ordinals of the records that are appended together.
PLAN = (("mail/bob", (1,)), ("board", (1, 2, 3)), ("roster", (1,)), ("mail/bob", (2,)))
LATER = ("mail/bob", (3, 4))
TRIES = 4
ENOUGH_SECONDS = 60


@dataclass(frozen=True)
class Ended:
    """How a run ended, what it said before, and whether a fault was injected."""

    code: int
    said: list[list[str]]
    fired: bool
    errors: str


class Writers:
    """Runs of this program, each under strace with options of its own. They end with the block."""

    def __init__(self, strace: str, folder: Path) -> None:
        self._strace, self._out, self._notes = strace, folder / "out", folder / "strace"
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def run(self, workspace: Path, options: Sequence[str]) -> Ended:
        """Run once to the end in a workspace, under strace with these options."""
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps({"workspace": str(workspace), "out": str(self._out)}), file=self._process.stdin)
        pid = _line_of(self._process.stdout)
        command = [self._strace, "-f", "-o", str(self._notes), *options, "-p", pid.strip()]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as strace:
            assert strace.stderr
            assert "attached" in (words := _line_of(strace.stderr)), words
            print("go", file=self._process.stdin)
            code = int(_line_of(self._process.stdout))
            strace.communicate(timeout=ENOUGH_SECONDS)
        said = self._out.with_suffix(".stdout").read_text()
        # strace does not always live to see a kill.
        fired = "(INJECTED)" in self._notes.read_text() or code == -signal.SIGKILL
        return Ended(
            code, [line.split() for line in said.splitlines()], fired, self._out.with_suffix(".stderr").read_text()
        )


def _line_of(pipe: IO[str]) -> str:
    ready, _, _ = select.select([pipe], [], [], ENOUGH_SECONDS)
    assert ready, "it hangs"
    return pipe.readline()


# -- in the process ---------------------------------------------------------------------------------


def serve() -> None:
    """Fork for each request until the input ends. No thread is ever started here."""
    for line in sys.stdin:
        wanted = json.loads(line)
        wait, go_on = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(go_on)
            _be_run(Path(wanted["workspace"]), Path(wanted["out"]), wait)
        os.close(wait)
        print(pid, flush=True)
        sys.stdin.readline()
        os.close(go_on)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _be_run(workspace: Path, out: Path, wait: int) -> None:
    """Run to the end. Never returns."""
    code = 70
    try:
        for number, suffix in ((1, ".stdout"), (2, ".stderr")):
            os.dup2(os.open(out.with_suffix(suffix), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        # On systems where only a parent may trace, let anybody: PR_SET_PTRACER, PR_SET_PTRACER_ANY.
        ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)
        os.read(wait, 1)
        anyio.run(main, workspace)
        code = 0
    except StoreUnavailable as error:
        print(error, file=sys.stderr)
        code = 3
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def say(*words: object) -> None:
    os.write(1, " ".join(map(str, words)).encode() + b"\n")


async def insist(deed: Callable[[], Awaitable[T]]) -> T:
    """Try until it succeeds; give up with the store's own error."""
    for _ in range(TRIES - 1):
        try:
            return await deed()
        except StoreUnavailable as error:
            print(error, file=sys.stderr)
    return await deed()


async def main(workspace: Path) -> None:
    async def opened(create: bool = True) -> JsonlStore:
        return JsonlStore.open(workspace, "team", create=create)

    async def append(stream: str, ordinals: tuple[int, ...]) -> None:
        bodies = [
            {"type": "message", "content": f"{stream}-{ordinal}", "run": "child", "ord": ordinal}
            for ordinal in ordinals
        ]
        for ordinal, number in zip(ordinals, await insist(lambda: store.append(stream, *bodies)), strict=True):
            say(stream, ordinal, number)

    async def seated() -> None:
        async with store.hold("bob", "a note"):
            say("seated")

    store = await insist(opened)
    for stream, ordinals in PLAN:
        await append(stream, ordinals)
    reader = await insist(lambda: opened(create=False))
    for stream in sorted({stream for stream, _ in PLAN}):
        found = await insist(lambda: reader.read(stream))  # noqa: B023
        say("read", stream, *(item.number for item in found))
    await append(*LATER)
    await insist(seated)
    reader.close()
    store.close()


if __name__ == "__main__":
    serve()
