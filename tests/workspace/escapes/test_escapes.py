"""No command gets out of its workspace, whichever way it runs. The attempts work if there is no sandbox."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from deskmate.workspace.sandbox.landlock import SCOPES_SINCE, version
from deskmate.workspace.sandbox.levels import PROGRAMS, find_sandbox
from deskmate.workspace.sandbox.mounts import Level
from deskmate.workspace.sandbox.resource_limits import counts_processes
from tests.workspace.escapes.escape_ground import ROOT
from tests.workspace.escapes.escape_table import ATTEMPTS, GIT, LINKS, RECORDS
from tests.workspace.escapes.socket_run import FAMILIES
from tests.workspace.escapes.tree_run import ATTEMPTS as IN_TREES

NOBODY = "65534"
SECONDS = 240
# Not even without a sandbox do these lead anywhere, on one machine or the other.
MAY_FAIL = 15

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
USERS = [pytest.param([], id="as this user"), pytest.param([NOBODY], id="as an ordinary user", marks=as_root)]
# The other user has its turn with bubblewrap, and everywhere in a soak: a run of all attempts costs ten seconds.
SELDOM = [USERS[0], pytest.param([NOBODY], id="as an ordinary user", marks=[as_root, pytest.mark.soak])]


def run_as(parent: Path, module: str, level: Level, user: list[str], before: Sequence[str] = ()) -> dict[str, Any]:
    """Return what one of the programs beside this prints. `before`: words that start it in some other way."""
    words = [*before, sys.executable, "-m", f"tests.workspace.{module}", str(parent), level, *user]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def tried(parent: Path, level: Level, user: list[str]) -> dict[str, Any]:
    """Return which attempts led out."""
    return run_as(parent, "escapes.escape_run", level, user)


@pytest.mark.parametrize("level", [Level.BUBBLEWRAP, Level.LANDLOCK])
@pytest.mark.parametrize("user", USERS)
@pytest.mark.behaviour("limits")
def test_whoever_takes_all_there_is_comes_to_an_end_that_is_told_and_its_neighbour_goes_on(
    parent: Path, tmp_path: Path, user: list[str], level: Level
) -> None:
    found = find_sandbox(tmp_path, programs=[] if level is Level.LANDLOCK else PROGRAMS, environ=os.environ)
    if found.level is not level or not counts_processes():
        pytest.skip(found.reason)
    ends = run_as(parent, "escapes.exhaustion_run", level, user)
    # Where it cannot go on forking, the shell gives up; or it is still at it.
    assert ends.pop("fork bomb") in [
        [None, "timed out after 0.5 s; a command may have 60 processes and threads", "alive\n"],
        [254, "a command may have 60 processes and threads", "alive\n"],
    ]
    assert ends == {
        "endless output": [None, "stopped after 64 MB of output", "alive\n"],
        "endless file": [153, "a file may not be larger than 1 MiB", "alive\n"],
        "memory hog": [1, "a process may use 300 MiB of memory", "alive\n"],
        "sleep for ever": [None, "timed out after 0.2 s", "alive\n"],
        "many threads": [1, "a command may have 60 processes and threads", "alive\n"],
        "deep folders": [0, "", "alive\n"],
        "busy for ever": [None, "timed out after 0.2 s", "alive\n"],
    }


@pytest.mark.parametrize("user", USERS)
@pytest.mark.behaviour("hosts")
def test_whoever_runs_it_a_command_reaches_what_is_listed_and_nothing_else(
    parent: Path, tmp_path: Path, user: list[str]
) -> None:
    if (found := find_sandbox(tmp_path, environ=os.environ)).level is not Level.BUBBLEWRAP:
        pytest.skip(found.reason)
    words = "commands may not reach 127.0.0.1:PORT: the user can allow it with --network HOST or the setting 'network'"
    assert run_as(parent, "escapes.reach_run", Level.BUBBLEWRAP, user) == {
        "listed": ["hello\n", ""],
        "other": [
            f"urllib.error.HTTPError: HTTP Error 403: {words}\n",
            words,
        ],
    }


@pytest.mark.parametrize("user", USERS)
@pytest.mark.behaviour("sandbox")
def test_no_attempt_leads_out_of_the_sandbox(parent: Path, tmp_path: Path, user: list[str]) -> None:
    if (found := find_sandbox(tmp_path, environ=os.environ)).level is not Level.BUBBLEWRAP:
        pytest.skip(found.reason)
    assert tried(parent, Level.BUBBLEWRAP, user) == {attempt.name: False for attempt in ATTEMPTS}


@pytest.mark.parametrize("user", SELDOM)
@pytest.mark.behaviour("worktree")
def test_no_attempt_leads_out_of_a_tree(parent: Path, tmp_path: Path, user: list[str]) -> None:
    if (found := find_sandbox(tmp_path, environ=os.environ)).level is not Level.BUBBLEWRAP:
        pytest.skip(found.reason)
    words = [sys.executable, "-m", "tests.workspace.escapes.tree_run", str(parent), *user]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[-1]) == {attempt.name: False for attempt in IN_TREES}


@pytest.mark.parametrize("user", SELDOM)
@pytest.mark.behaviour("fence")
def test_a_fence_keeps_what_it_promises_and_no_more(parent: Path, tmp_path: Path, user: list[str]) -> None:
    if (found := find_sandbox(tmp_path, programs=[], environ=os.environ)).level is Level.NONE:
        pytest.skip(found.reason)
    beyond = {attempt.name for attempt in (*RECORDS, *GIT)}
    # A top that became git's own folder is disarmed afterwards, at every level.
    beyond -= {"the workspace as git's own folder"}
    beyond |= {"mode", "time", "daemon without a trace", "limits of another process"}
    if version() < SCOPES_SINCE:
        pytest.skip("this landlock does not know signals yet: nobody should try to kill everybody")
    assert tried(parent, Level.LANDLOCK, user) == {attempt.name: attempt.name in beyond for attempt in ATTEMPTS}


@pytest.mark.parametrize("user", SELDOM)
def test_without_a_sandbox_nearly_all_of_them_do(parent: Path, user: list[str]) -> None:
    found = tried(parent, Level.NONE, user)
    assert found.keys() == {attempt.name for attempt in ATTEMPTS if not attempt.wild}
    # Links in git's folder are removed at every level.
    held = {attempt.name for attempt in LINKS}
    assert [name for name, won in found.items() if not won and name not in held][MAY_FAIL:] == []
    assert {name for name in held if found[name]} <= {"hard links"}


@pytest.mark.parametrize("level", [Level.BUBBLEWRAP, Level.LANDLOCK])
@pytest.mark.parametrize("user", USERS)
@pytest.mark.behaviour("sandbox")
def test_a_command_makes_sockets_of_four_families_and_no_others(
    parent: Path, tmp_path: Path, user: list[str], level: Level
) -> None:
    found = find_sandbox(tmp_path, programs=[] if level is Level.LANDLOCK else PROGRAMS, environ=os.environ)
    if found.level is not level:
        pytest.skip(found.reason)
    answers = run_as(parent, "escapes.socket_run", level, user)
    families = dict.fromkeys(FAMILIES, "EAFNOSUPPORT") | dict.fromkeys((1, 2, 10, 16), "made")
    pairs = dict.fromkeys(FAMILIES, "EAFNOSUPPORT") | {1: "made"}
    netlink = dict.fromkeys(range(23), "EPROTONOSUPPORT") | {0: "made"}
    expected = {f"socket {number}": answer for number, answer in families.items()}
    # The upper half of the first argument means nothing to the kernel.
    expected |= {"long 1": "made", "long 40": "EAFNOSUPPORT"}
    expected |= {f"netlink {number}": answer for number, answer in netlink.items()}
    if not socket.has_dualstack_ipv6():
        expected["socket 10"] = "EAFNOSUPPORT"
    told = {f"pair {number}": answer for number, answer in pairs.items()}
    closed = expected
    if level is Level.LANDLOCK:
        closed = dict.fromkeys(expected, "EPERM")
        expected |= {"socket 1": "EAFNOSUPPORT", "long 1": "EAFNOSUPPORT"}
    assert answers == {"off": closed | told, "on": expected | told}


SHARED = ("unshare", "--mount", "--propagation", "shared")
NOTHING = {"read": False, "overwritten": False, "made": False}


@as_root
@pytest.mark.parametrize(
    ("level", "reached"),
    [
        (Level.BUBBLEWRAP, NOTHING),
        # Read-only like all that lies outside the workspace.
        (Level.LANDLOCK, NOTHING | {"read": True}),
        (Level.NONE, dict.fromkeys(NOTHING, True)),
    ],
)
@pytest.mark.parametrize("user", USERS)
@pytest.mark.behaviour("sandbox")
def test_what_is_mounted_while_a_command_runs_is_not_its_to_write(
    parent: Path, tmp_path: Path, user: list[str], level: Level, reached: dict[str, bool]
) -> None:
    if subprocess.run([*SHARED, "true"], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    found = find_sandbox(tmp_path, programs=[] if level is Level.LANDLOCK else PROGRAMS, environ=os.environ)
    if level is not Level.NONE and found.level is not level:
        pytest.skip(found.reason)
    assert run_as(parent, "escapes.mount_run", level, user, SHARED) == reached
