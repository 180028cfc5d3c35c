"""Somebody swaps folders and files for links while tools read, write and look: nothing ever gets out or in."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from deskmate.core.agent.tool_results import Result
from deskmate.errors import ToolError
from deskmate.workspace.local_workspace import LocalWorkspace
from tests.attacks import link_racer
from tests.attacks.link_racer import CANARY, INSIDE, OURS
from tests.tools.tool_desk import ToolDesk

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tools-safety")]

# Of all tools together; each has its share.
SECONDS = 5.0
SOAK_SECONDS = 60.0
MIN_SWAPS = 500

Deed = Callable[[ToolDesk, int], Awaitable[None]]


@dataclass(frozen=True)
class Arena:
    """Where it is raced, what is outside, and how often somebody swapped so far."""

    root: Path
    outside: Path
    counter: Path

    @property
    def swaps(self) -> int:
        return int.from_bytes(self.counter.read_bytes(), "little")

    def state(self) -> dict[str, tuple[int, int, bytes]]:
        """Return all that is outside: a folder was changed also when what was made in it is gone again."""
        paths = (self.outside, *self.outside.rglob("*"))
        stats = {path: path.lstat() for path in paths}
        return {
            str(path): (found.st_mode, found.st_mtime_ns, path.read_bytes() if path.is_file() else b"")
            for path, found in stats.items()
        }


@pytest.fixture(params=[True, False], ids=["repository", "folder"])
def arena(request: pytest.FixtureRequest, tmp_path: Path) -> Arena:
    """A workspace, known to git or not."""
    link_racer.lay(tmp_path)
    made = Arena(tmp_path / "ws", tmp_path / "outside", tmp_path / "count")
    made.counter.write_bytes(bytes(8))
    if request.param:
        subprocess.run(["git", "init", "-q", made.root], check=True)
    return made


@contextlib.contextmanager
def racing(arena: Arena, names: str) -> Iterator[None]:
    """Have somebody swap these names for links until the end."""
    words = [sys.executable, "-S", link_racer.__file__, str(arena.root.parent), str(arena.counter), *names.split()]
    with subprocess.Popen(words) as process:
        try:
            deadline = time.monotonic() + 30
            while not arena.swaps:
                assert time.monotonic() < deadline, "the racer never began"
            yield
            assert process.poll() is None
        finally:
            process.kill()


# -- what is tried ----------------------------------------------------------------------------------


async def read(desk: ToolDesk, number: int) -> None:
    path = ("d/secret", "top/d/secret", "f", str(Path(desk.workspace.root) / "d" / "secret"))[number % 4]
    assert CANARY not in (await desk.use("read_file", path=path)).text


async def write(desk: ToolDesk, number: int) -> None:
    path = (f"d/new-{number}", f"top/d/{number}/new", "d/secret", "f", "h", "top/d/secret")[number % 6]
    if number % 6 > 1:
        await read_known(desk, path)
    await desk.use("write_file", path=path, content=f"{INSIDE}\n")


async def edit(desk: ToolDesk, number: int) -> None:
    path = ("d/secret", "f", "h", "top/d/secret")[number % 4]
    text = await read_known(desk, path)
    old, new = (INSIDE, INSIDE.upper()) if INSIDE in text else (INSIDE.upper(), INSIDE)
    if "linked" in text:
        old, new = "linked", INSIDE
    await desk.use("edit_file", path=path, old_text=old, new_text=new)


async def read_known(desk: ToolDesk, path: str) -> str:
    result = await desk.use("read_file", path=path)
    assert CANARY not in result.text
    return result.text


async def glob(desk: ToolDesk, number: int) -> None:
    pattern = ("**", "d/*", "top/**", "**/*name")[number % 4]
    assert CANARY not in without_pattern(await desk.use("glob", pattern=pattern))


async def grep(desk: ToolDesk, number: int) -> None:
    path = (".", "d", "f", "top/d", "d/secret", OURS)[number % 6]
    # One that the canary matches, and that is no part of it: the pattern is told in an answer.
    assert CANARY not in (await desk.use("grep", pattern="(can|ins)[a-z]", path=path)).text


async def blobs(desk: ToolDesk, number: int) -> None:
    workspace = desk.workspace
    if number % 3 == 0:
        await workspace.keep(f"lead-9-{number}.txt", b"kept")
    elif number % 3 == 1:
        assert CANARY.encode() not in await workspace.blob(f"{OURS}/lead-{1 + number % 2}-0.txt")
    else:
        ran = await workspace.run("seq 9000", timeout_seconds=30, blob=f"lead-8-{number}.txt")
        assert CANARY not in ran.output


def without_pattern(result: Result) -> str:
    return "" if result.text.startswith("No file matches") else result.text


TOOLS = [
    pytest.param(read, "d top f", id="read_file"),
    pytest.param(write, "d top f h", id="write_file"),
    pytest.param(edit, "d top f h", id="edit_file"),
    pytest.param(glob, "d top", id="glob"),
    pytest.param(grep, "d f", id="grep"),
    pytest.param(blobs, "blobs blob", id="blobs"),
]


async def attack(arena: Arena, deed: Deed, names: str, seconds: float) -> None:
    """Try it for so long, however often it is refused, until it was done and there were swaps enough."""
    desk = ToolDesk(LocalWorkspace(arena.root, "main", "lead", grace_seconds=0.3, environ=os.environ))
    before, done = arena.state(), 0
    with racing(arena, names):
        deadline = time.monotonic() + seconds
        for number in count():
            with contextlib.suppress(ToolError):
                await deed(desk, number)
                done += 1
            if time.monotonic() > deadline and done and arena.swaps > MIN_SWAPS:
                break
            assert time.monotonic() < deadline + 30, (number, done, arena.swaps)
    assert arena.state() == before


@pytest.mark.parametrize(("deed", "names"), TOOLS)
async def test_no_race_of_links_reaches_outside(arena: Arena, deed: Deed, names: str) -> None:
    await attack(arena, deed, names, SECONDS / len(TOOLS) / 2)


@pytest.mark.soak
@pytest.mark.parametrize(("deed", "names"), TOOLS)
async def test_no_race_of_links_reaches_outside_in_a_minute_for_each_tool(arena: Arena, deed: Deed, names: str) -> None:
    await attack(arena, deed, names, SOAK_SECONDS / 2)


# -- the same, without a race -----------------------------------------------------------------------


@pytest.fixture
async def led_out(tmp_path: Path) -> ToolDesk:
    """A workspace in which the programs that list and search have followed a link out of it."""
    link_racer.lay(tmp_path)
    root, programs = tmp_path / "ws", tmp_path / "bin"
    programs.mkdir()
    (root / "link").symlink_to("../outside")
    listed = "link/secret f d/secret link/d/secret .teams/main/blobs/lead-1-0.txt"
    found = [f"./{path}\\000{line}:{at}:{text}\\n" for path, line, at, text in HITS]
    for name, printed in (("git", f"printf '%s\\0' {listed}"), ("rg", f"printf '{''.join(found)}'")):
        (programs / name).write_text(f"#!/bin/sh\n{printed}\n")
        (programs / name).chmod(0o755)
    environ = {"PATH": f"{programs}:{os.environ['PATH']}"}
    return ToolDesk(LocalWorkspace(root, "main", "lead", environ=environ))


HITS = [
    ("link/secret", 1, 0, CANARY),
    ("f", 1, 0, INSIDE),
    ("f", 1, 0, CANARY),
    ("f", 1, 0, f"{INSIDE} [... {CANARY}]"),
    ("f", 1, 0, f"{INSIDE} [... omitted end of long line]"),
    ("d/secret", 1, 2, INSIDE[2:]),
    ("d/secret", 1, 3, INSIDE),
    ("top/../../outside/secret", 1, 0, CANARY),
    (".teams/main/blobs/bob-1-0.txt", 1, 0, INSIDE),
]


async def test_what_a_program_listed_outside_is_not_found(led_out: ToolDesk) -> None:
    assert sorted((await led_out.use("glob", pattern="**")).text.split()) == ["d/secret", "f"]


async def test_what_a_program_read_outside_is_not_shown(led_out: ToolDesk) -> None:
    assert (await led_out.use("grep", pattern="x")).text.splitlines() == [
        f"f:1:{INSIDE}",
        f"f:1:{INSIDE} [... omitted end of long line]",
        f"d/secret:1:{INSIDE[2:]}",
    ]


# -- what the racer is worth ------------------------------------------------------------------------


def checked(arena: Arena, path: str) -> Path:
    """Do as many have done: resolve a path, compare how it begins, and use it afterwards."""
    if not os.path.realpath(arena.root / path).startswith(f"{arena.root}/"):
        raise ToolError(f"{path} lies outside the workspace")
    return arena.root / path


def naive_read(arena: Arena, number: int) -> bool:
    return CANARY in checked(arena, ("d/secret", "top/d/secret", "f")[number % 3]).read_text()


def naive_write(arena: Arena, number: int) -> bool:
    checked(arena, f"d/{number}").write_text("x")
    return (arena.outside / str(number)).exists()


def naive_list(arena: Arena, number: int) -> bool:
    return any(CANARY in name for name in os.listdir(checked(arena, "top/d")))


def naive_search(arena: Arena, number: int) -> bool:
    words = ["grep", "-rn", "can", str(checked(arena, "d"))]
    return CANARY in subprocess.run(words, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("naive", [naive_read, naive_write, naive_list, naive_search])
def test_who_checks_a_path_and_then_uses_it_is_led_out(arena: Arena, naive: Callable[[Arena, int], bool]) -> None:
    deadline = time.monotonic() + 30
    with racing(arena, "d top f"):
        for number in count():
            with contextlib.suppress(ToolError, OSError):
                if naive(arena, number):
                    return
            assert time.monotonic() < deadline, "the racer is too slow to be of any worth"
