"""Nothing a command tries leads out of its workspace, whoever runs it; and the attempts are worth something."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from deskmate.workspaces.levels import find_sandbox
from deskmate.workspaces.sandbox import Level
from tests.workspaces.escapes import ATTEMPTS
from tests.workspaces.ground import ROOT

NOBODY = "65534"
SECONDS = 240
# Not even without a sandbox do these lead anywhere, on one machine or the other.
MAY_FAIL = 15

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
USERS = [pytest.param([], id="as this user"), pytest.param([NOBODY], id="as an ordinary user", marks=as_root)]


def tried(parent: Path, level: Level, user: list[str]) -> dict[str, bool]:
    """Return which attempts led out."""
    words = [sys.executable, "-m", "tests.workspaces.escaping", str(parent), level, *user]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, bool] = json.loads(run.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("user", USERS)
def test_no_attempt_leads_out_of_the_sandbox(parent: Path, tmp_path: Path, user: list[str]) -> None:
    if (found := find_sandbox(tmp_path)).level is Level.NONE:
        pytest.skip(found.reason)
    assert tried(parent, Level.BUBBLEWRAP, user) == {attempt.name: False for attempt in ATTEMPTS}


@pytest.mark.parametrize("user", USERS)
def test_without_a_sandbox_nearly_all_of_them_do(parent: Path, user: list[str]) -> None:
    found = tried(parent, Level.NONE, user)
    assert found.keys() == {attempt.name for attempt in ATTEMPTS if not attempt.wild}
    assert [name for name, won in found.items() if not won][MAY_FAIL:] == []
