"""Nothing of a server is left when Deskmate is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Level
from tests.mcp.server_harness import HOSTILE

pytestmark = pytest.mark.behaviour("mcp-client")
RUN = """
import anyio, sys
from pathlib import Path
from tests.mcp.server_harness import ServerHarness, running
async def main():
    harness = ServerHarness(Path(sys.argv[1]))
    harness.with_sandbox() if sys.argv[2] == "confined" else None
    servers = harness.servers("stubborn")
    async with running(servers):
        await harness.call(servers)
        print("ready", flush=True)
        await anyio.sleep_forever()
anyio.run(main)
"""


def left(place: Path) -> list[str]:
    """Return the servers of a place that still run."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
            environ = Path("/proc", entry, "environ").read_bytes()
        except OSError:
            continue
        if any(word.endswith(Path(HOSTILE).name.encode()) for word in words) and str(place).encode() in environ:
            found.append(entry)
    return found


def killed_at(place: Path, how: str) -> None:
    """Run a server in another process, and kill that process without a warning."""
    process = subprocess.Popen([sys.executable, "-c", RUN, str(place), how], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    assert left(place)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_server_in_the_sandbox_ends_with_the_process_that_started_it(
    tmp_path: Path, eventually: Callable[[Callable[[], object]], None]
) -> None:
    if find_sandbox(tmp_path / "trial", environ=os.environ).level is not Level.BUBBLEWRAP:
        pytest.skip("bubblewrap does not work here")
    killed_at(tmp_path, "confined")
    eventually(lambda: not left(tmp_path))


def test_a_server_outside_the_sandbox_is_ended_by_the_next_process(tmp_path: Path) -> None:
    from tests.mcp.server_harness import ServerHarness

    killed_at(tmp_path, "free")
    ServerHarness(tmp_path).servers("stubborn").sweep("lead")
    assert left(tmp_path) == []
