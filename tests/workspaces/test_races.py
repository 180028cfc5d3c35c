"""Somebody swaps folders and files for links while they are read and written: nothing ever gets out or in."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deskmate.core.fingerprints import fingerprint
from deskmate.errors import ToolError
from deskmate.workspaces.local import LocalWorkspace

pytestmark = pytest.mark.anyio

SECONDS = 3

# A process of its own, so that it swaps while a thread of ours stands between two calls of the kernel.
RACER = """
import contextlib, os, shutil, sys
os.chdir(sys.argv[1])
os.mkdir('real')
open('real/secret', 'w').write('inside')
open('file', 'w').write('inside')
while True:
    for _ in range(100):
        os.link('file', 'next')
        os.rename('next', 'f')
        os.symlink('../outside/secret', 'next')
        os.rename('next', 'f')
    for _ in range(100):
        with contextlib.suppress(OSError):
            os.rename('real', 'd')
            os.rename('d', 'real')
            os.symlink('../outside', 'd')
            os.unlink('d')
    if os.path.isdir('d') and not os.path.islink('d'):
        # Written to just when there was none, so that it was made.
        shutil.rmtree('d', ignore_errors=True)
    open('turned', 'w').close()
"""


@pytest.fixture
def racing(root: Path, eventually: Callable[[Callable[[], bool]], None]) -> Iterator[None]:
    """Let `d` be a folder of the workspace and a link out of it by turns, and `f` a file and a link."""
    with subprocess.Popen([sys.executable, "-c", RACER, str(root)]) as racer:
        eventually((root / "turned").exists)
        yield
        assert racer.poll() is None
        racer.kill()


@pytest.mark.behaviour("tools-safety")
@pytest.mark.usefixtures("racing")
async def test_no_race_of_links_reaches_outside(root: Path, workspace: LocalWorkspace) -> None:
    outside = root.parent / "outside"
    inside, secret = fingerprint(b"inside"), fingerprint(b"SECRET")
    read = written = refused = 0
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        for path in ("f", "d/secret", "f"):
            try:
                assert await workspace.read(path) == b"inside"
                read += 1
            except ToolError:
                refused += 1
        for path, known in (("f", inside), ("f", secret), ("d/new", None), ("d/secret", inside), ("d/secret", secret)):
            try:
                await workspace.write(path, b"inside", known=known)
                written += 1
            except ToolError:
                refused += 1
        assert (os.listdir(outside), (outside / "secret").read_bytes()) == (["secret"], b"SECRET")
    assert min(read, written, refused) > 0
