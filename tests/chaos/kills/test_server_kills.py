"""Clients and the servers themselves killed at any instant: nothing is lost, nothing is done twice."""

import os
from pathlib import Path

import pytest

from deskmate.testing.servers.cut_network import can_cut
from tests.chaos.kills.test_store_kills import CLEAN, storm, verdict
from tests.servers.needed import need_nats, need_postgres

SOAK = bool(os.environ.get("DESKMATE_SOAK"))
MESSAGES, MAIL_KILLS, TASKS, CLAIM_KILLS, SERVER_KILLS = (
    (100_000, 600, 10_000, 300, 20) if SOAK else (800, 30, 60, 12, 2)
)
PROCESSES = 8 if SOAK else 4
# Three servers that are killed, stopped and cut off.
NETWORK = pytest.param(
    "nats-network",
    marks=[pytest.mark.soak, pytest.mark.skipif(not can_cut(), reason="network namespaces need root")],
)


@pytest.fixture(params=["postgres", "nats", NETWORK])
def server(request: pytest.FixtureRequest) -> str:
    """A kind of server that is installed here."""
    kind = str(request.param)
    (need_postgres if kind == "postgres" else need_nats)()
    return kind


def test_mail_outlives_kills_of_clients_and_servers(tmp_path: Path, server: str) -> None:
    words = ["--messages", str(MESSAGES), "--kills", str(MAIL_KILLS), "--processes", str(PROCESSES)]
    toll = storm(tmp_path, "mail", *words, "--server", server, "--server-kills", str(SERVER_KILLS))
    assert verdict(toll) == {"done": MESSAGES, **CLEAN}
    assert toll["server_kills"] == SERVER_KILLS


def test_every_task_is_done_once_though_claimers_and_servers_are_killed(tmp_path: Path, server: str) -> None:
    words = ["--tasks", str(TASKS), "--kills", str(CLAIM_KILLS), "--processes", str(PROCESSES)]
    toll = storm(tmp_path, "claims", *words, "--server", server, "--server-kills", str(SERVER_KILLS))
    assert verdict(toll) == {"done": TASKS, **CLEAN}
    assert toll["server_kills"] == SERVER_KILLS
