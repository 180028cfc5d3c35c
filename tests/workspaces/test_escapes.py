"""Nothing a command tries leads out of its workspace, whoever runs it; and the attempts are worth something."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deskmate.workspaces.landlock import SCOPES_SINCE, version
from deskmate.workspaces.levels import find_sandbox
from deskmate.workspaces.sandbox import Level
from tests.workspaces.escapes import ATTEMPTS, GIT, RECORDS
from tests.workspaces.ground import ROOT

NOBODY = "65534"
SECONDS = 240
# Not even without a sandbox do these lead anywhere, on one machine or the other.
MAY_FAIL = 15

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
USERS = [pytest.param([], id="as this user"), pytest.param([NOBODY], id="as an ordinary user", marks=as_root)]


@pytest.fixture
def parent() -> Iterator[Path]:
    """A folder that everybody may use, outside the temporary folders, which a sandbox hides."""
    within = next((place for place in (ROOT / ".bench", Path("/srv"), Path("/opt")) if is_of_use(place)), None)
    if within is None:
        pytest.skip("there is no folder outside /tmp that can be written, and reached by another user")
    within.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="escapes-", dir=within))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)
    if within == ROOT / ".bench":
        # It stays while somebody else is at work in it.
        with contextlib.suppress(OSError):
            within.rmdir()


def is_of_use(place: Path) -> bool:
    """Tell whether a folder can be written and, by whom root becomes, be reached."""
    there = place if place.exists() else place.parent
    reached = os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in (there, *there.parents))
    return os.access(there, os.W_OK) and reached


def tried(parent: Path, level: Level, user: list[str]) -> dict[str, bool]:
    """Return which attempts led out."""
    words = [sys.executable, "-m", "tests.workspaces.escaping", str(parent), level, *user]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, bool] = json.loads(run.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("user", USERS)
def test_no_attempt_leads_out_of_the_sandbox(parent: Path, tmp_path: Path, user: list[str]) -> None:
    if (found := find_sandbox(tmp_path)).level is not Level.BUBBLEWRAP:
        pytest.skip(found.reason)
    assert tried(parent, Level.BUBBLEWRAP, user) == {attempt.name: False for attempt in ATTEMPTS}


@pytest.mark.parametrize("user", USERS)
def test_a_fence_keeps_what_it_promises_and_no_more(parent: Path, tmp_path: Path, user: list[str]) -> None:
    if (found := find_sandbox(tmp_path, programs=[])).level is Level.NONE:
        pytest.skip(found.reason)
    beyond = {attempt.name for attempt in (*RECORDS, *GIT)} | {"mode", "time", "daemon without a trace"}
    if version() < SCOPES_SINCE:
        pytest.skip("this landlock does not know signals yet: nobody should try to kill everybody")
    assert tried(parent, Level.LANDLOCK, user) == {attempt.name: attempt.name in beyond for attempt in ATTEMPTS}


@pytest.mark.parametrize("user", USERS)
def test_without_a_sandbox_nearly_all_of_them_do(parent: Path, user: list[str]) -> None:
    found = tried(parent, Level.NONE, user)
    assert found.keys() == {attempt.name for attempt in ATTEMPTS if not attempt.wild}
    assert [name for name, won in found.items() if not won][MAY_FAIL:] == []
