"""What an agent runs is read by its shell from a descriptor: nobody else sees it, and it does what it did as a word."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from deskmate.ports import Ran
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox
from tests.workspace.conftest import Make

pytestmark = pytest.mark.anyio

CANARY = "canary-in-words"


@pytest.fixture(params=["none", "bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox | None:
    return None if request.param == "none" else request.getfixturevalue(request.param)


def seen_by_everybody() -> Iterator[bytes]:
    """Yield the words of all processes."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            yield (process / "cmdline").read_bytes()
        except OSError:
            continue


def is_seen() -> bool:
    return any(CANARY.encode() in words for words in seen_by_everybody())


async def run(workspace: LocalWorkspace, command: str) -> Ran:
    with anyio.fail_after(60):
        return await workspace.run(command, timeout_seconds=30, blob="lead-1-0.txt")


async def test_no_list_of_processes_shows_what_is_run(
    root: Path, workspace: LocalWorkspace, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    command = f": {CANARY}; touch began; until [ -e go ]; do sleep 0.01; done; echo {CANARY}"
    got: list[Ran] = []

    async def go_on() -> None:
        got.append(await run(workspace, command))

    async with anyio.create_task_group() as group:
        group.start_soon(go_on)
        await to_thread.run_sync(eventually, (root / "began").exists)
        seen = is_seen()
        (root / "go").touch()
    assert (seen, got) == (False, [Ran(0, f"{CANARY}\n")])


def test_one_that_has_it_among_its_words_is_found(eventually: Callable[[Callable[[], bool]], None]) -> None:
    with subprocess.Popen(["sh", "-c", f"read line; : {CANARY}"], stdin=subprocess.PIPE) as process:
        # The kernel shows the words of a program a moment after it has begun.
        eventually(is_seen)
        process.communicate(b"\n")


@pytest.mark.parametrize("program", ["rg", "grep"])
async def test_no_list_of_processes_shows_what_is_searched_for(
    root: Path, make: Make, eventually: Callable[[Callable[[], bool]], None], program: str
) -> None:
    (root / "bin").mkdir()
    fake = root / "bin" / program
    fake.write_text("#!/bin/sh\ntouch began; until [ -e go ]; do sleep 0.01; done\n")
    fake.chmod(0o755)
    for needed in ("sh", "touch", "sleep", "bash"):
        (root / "bin" / needed).symlink_to(str(shutil.which(needed)))
    workspace = make(environ={"PATH": str(root / "bin"), "HOME": "/nowhere"})
    async with anyio.create_task_group() as group:
        group.start_soon(workspace.search, CANARY, ".", "")
        await to_thread.run_sync(eventually, (root / "began").exists)
        seen = is_seen()
        (root / "go").touch()
    assert not seen


@pytest.mark.parametrize(
    "text",
    [
        "exit 7",
        "echo a\nfalse",
        "echo $((1/0))\necho after",
        "echo ${x?no}\necho after",
        "foo-no\necho $?",
        "echo $LINENO\necho $LINENO\nfoo-no",
        "echo $0 $# $@ $-",
        "readonly x=1\nx=2\necho after",
        "cat <<E\nhello $((1 + 1))\nE\n",
        "cat <<E\nhello",
        "cat; read x; echo $? [$x]",
        "echo a\\\n",
        "echo a\\",
        "echo a\n\n\n",
        "set -e\nfalse\necho no",
        "set -u\necho $nope\necho no",
        "return 3\necho after",
        "trap 'echo bye' EXIT\nexit 4",
        "exec sh -c 'exit 5'",
        "exec /no/such\necho after",
        "sleep 0.01 & wait; echo $?",
        "f() { echo $FUNCNAME $LINENO; }\nf",
        "#!/bin/sh\n# comment\necho x",
        "shopt -s expand_aliases\nalias q='echo q'\nq",
        "shopt -s extglob\necho @(a|b)",
        "printf %s '\x01\x02\x7f\x1b\udcff\udcc3' | od -c",
        "echo $'a\\tb' {a,b} a!b",
        "echo a\r\necho b\r\n",
        "trap 'echo err $LINENO' ERR\nfalse\ntrue",
        "exec 3>&1; echo x >&3",
        "open=(/proc/$$/fd/*); echo ${open[@]##*/}",
        "open=(/proc/self/fd/*); echo ${open[@]##*/}; ls /proc/self/fd",
        "eval 'echo $LINENO\nfoo-no'",
        "source /dev/stdin <<< 'echo s $LINENO'",
        "for i in 1 2; do\necho $i\nfoo-no\ndone",
        "sh -c 'kill -9 $$'; echo $?",
        "break\nlocal x\n. /no/such\necho $?",
    ],
)
async def test_a_text_does_what_it_does_as_a_word_of_bash(root: Path, make: Make, text: str) -> None:
    shell = shutil.which("bash")
    assert shell
    known = subprocess.run(
        [shell, "-c", text],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    ran = await run(make(), text)
    told = known.stdout.decode(errors="replace").replace("\r", "")
    assert (ran.exit, numberless(ran.output.replace("\r", ""))) == (known.returncode, numberless(told))


def numberless(text: str) -> str:
    """Return what bash says of a killed process without its number."""
    return re.sub(r" +\d+ Killed", " Killed", text)


async def test_a_syntax_error_is_told_by_its_line(workspace: LocalWorkspace) -> None:
    ran = await run(workspace, "echo a\necho )")
    assert (ran.exit, ran.output.splitlines()[0]) == (2, "a")
    assert "line 2: syntax error near unexpected token `)'" in ran.output
    assert "`echo )'" in ran.output


async def test_without_bash_another_shell_runs_it(root: Path, make: Make) -> None:
    (root / "bin").mkdir()
    for needed in ("cat", "grep"):
        (root / "bin" / needed).symlink_to(str(shutil.which(needed)))
    workspace = make(environ={"PATH": str(root / "bin"), "HOME": "/nowhere"})
    assert await run(workspace, "cat <<E\n$0\nE\ncat; exit 3") == Ran(3, "/bin/sh\n")
