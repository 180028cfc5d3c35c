"""Clients and the servers themselves killed at any instant: nothing is lost, nothing is done twice."""

import os
from pathlib import Path

import pytest

from deskmate.testing.servers.cut_network import can_cut
from deskmate.testing.servers.nats_servers import nats_program
from deskmate.testing.servers.postgres_server import postgres_programs
from tests.chaos.kills.test_store_kills import CLEAN, storm, verdict

SOAK = bool(os.environ.get("DESKMATE_SOAK"))
MESSAGES, MAIL_KILLS, TASKS, CLAIM_KILLS, SERVER_KILLS = (
    (100_000, 600, 10_000, 300, 20) if SOAK else (800, 30, 60, 12, 2)
)
PROCESSES = 8 if SOAK else 4
# Servers that are missing are reported by the tests of their stores.
SERVERS = [
    pytest.param("postgres", marks=pytest.mark.skipif(postgres_programs() is None, reason="no PostgreSQL")),
    pytest.param("nats", marks=pytest.mark.skipif(nats_program() is None, reason="no nats-server")),
    # Three servers that are killed, stopped and cut off.
    pytest.param(
        "nats-network", marks=[pytest.mark.soak, pytest.mark.skipif(not (nats_program() and can_cut()), reason="none")]
    ),
]


@pytest.mark.parametrize("server", SERVERS)
def test_mail_outlives_kills_of_clients_and_servers(tmp_path: Path, server: str) -> None:
    words = ["--messages", str(MESSAGES), "--kills", str(MAIL_KILLS), "--processes", str(PROCESSES)]
    toll = storm(tmp_path, "mail", *words, "--server", server, "--server-kills", str(SERVER_KILLS))
    assert verdict(toll) == {"done": MESSAGES, **CLEAN}
    assert toll["server_kills"] == SERVER_KILLS


@pytest.mark.parametrize("server", SERVERS)
def test_every_task_is_done_once_though_claimers_and_servers_are_killed(tmp_path: Path, server: str) -> None:
    words = ["--tasks", str(TASKS), "--kills", str(CLAIM_KILLS), "--processes", str(PROCESSES)]
    toll = storm(tmp_path, "claims", *words, "--server", server, "--server-kills", str(SERVER_KILLS))
    assert verdict(toll) == {"done": TASKS, **CLEAN}
    assert toll["server_kills"] == SERVER_KILLS
