"""MCP's own conformance suite on our server and our client: a part of it. `make conformance` runs all of it.

It is skipped if the suite is not installed, or if Node is older than 22.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faces.mcp import conformance

pytestmark = [pytest.mark.behaviour("mcp-server"), pytest.mark.slow]
SERVER = ["tools-list", "server-stateless", "http-header-validation", "dns-rebinding-protection", "caching"]
CLIENT = ["tools_call", "auth/metadata-default", "auth/token-endpoint-auth-basic", "auth/iss-wrong-issuer"]
VERSION = "2026-07-28"


@pytest.fixture(scope="module")
def suite() -> str:
    """The program of the suite."""
    found = shutil.which("conformance")
    if found is None or subprocess.run([found, "--version"], capture_output=True, check=False).returncode:
        pytest.skip(f"needs Node 22 and: npm install -g {conformance.SUITE[-1]}")
    return found


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of our server."""
    return conformance.served(tmp_path_factory.mktemp("served"))


@pytest.mark.parametrize("scenario", SERVER)
def test_our_server_passes(suite: str, url: str, scenario: str) -> None:
    assert conformance.passes((suite,), url, scenario, VERSION)


@pytest.mark.parametrize("scenario", CLIENT)
def test_our_client_passes(suite: str, scenario: str) -> None:
    command = f"{sys.executable} -m tests.mcp.conformance_client"
    words = [suite, "client", "--command", command, "--scenario", scenario, "--spec-version", VERSION]
    top = Path(__file__).parents[3]
    ran = subprocess.run(words, cwd=top, capture_output=True, text=True, timeout=120, check=False)
    assert re.search(r"Passed: (\d+)/\1, 0 failed, 0 warnings", ran.stdout + ran.stderr), ran.stdout[-2000:]
