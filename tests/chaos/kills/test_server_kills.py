"""Clients and the server itself killed at any instant: nothing is lost, nothing is done twice."""

import os
from pathlib import Path

import pytest

from deskmate.testing.servers.postgres_server import postgres_programs
from tests.chaos.kills.test_store_kills import CLEAN, storm, verdict

SOAK = bool(os.environ.get("DESKMATE_SOAK"))
MESSAGES, MAIL_KILLS, TASKS, CLAIM_KILLS, SERVER_KILLS = (
    (100_000, 1_000, 10_000, 500, 20) if SOAK else (800, 30, 60, 12, 2)
)
# A server that is missing is reported by the tests of its store.
needs_postgres = pytest.mark.skipif(postgres_programs() is None, reason="PostgreSQL is not installed")


@needs_postgres
def test_mail_outlives_kills_of_everybody_and_of_the_database(tmp_path: Path) -> None:
    words = ["--messages", str(MESSAGES), "--kills", str(MAIL_KILLS), "--processes", "4" if not SOAK else "8"]
    toll = storm(tmp_path, "mail", *words, "--server", "postgres", "--server-kills", str(SERVER_KILLS))
    assert verdict(toll) == {"done": MESSAGES, **CLEAN}
    assert toll["server_kills"] == SERVER_KILLS


@needs_postgres
def test_every_task_is_done_once_though_claimers_and_the_database_are_killed(tmp_path: Path) -> None:
    words = ["--tasks", str(TASKS), "--kills", str(CLAIM_KILLS), "--processes", "4" if not SOAK else "16"]
    toll = storm(tmp_path, "claims", *words, "--server", "postgres", "--server-kills", str(SERVER_KILLS))
    assert verdict(toll) == {"done": TASKS, **CLEAN}
    assert toll["server_kills"] == SERVER_KILLS
