"""A live run, killed at any step of git while work comes in: the next one ends as if nothing had happened.

The team has merged work. A run hands it over before its lead thinks, with a checkpoint before that, and is killed there
before a git, while it runs, after it, or together with it while it holds a lock.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from deskmate.testing import Say
from deskmate.testing.fake_provider import FakeProvider
from tests.chaos.kills.handover_desk import PREPARATIONS, HandoverDesk, Preparation
from tests.warm_program import run_deskmate

pytestmark = pytest.mark.behaviour("worktree")
# How many points are tried in an ordinary run.
STEPS = 2


class RunDesk(HandoverDesk):
    """The same, for runs of the team."""

    def run(self) -> int:
        """Run the team as a person does who wants to know how far it is."""
        inbox = self.root / ".teams/main/lead_inbox.jsonl"
        goal = [] if inbox.exists() and inbox.stat().st_size else ["How far are you?"]
        words = ["resume", "main", *goal, "--no-sandbox", "--permission-mode", "bypass", "--output", "json"]
        ran = run_deskmate(words, folder=self.root, env=self.git.environ, seconds=300, pid_file=self.git.victim)
        assert ran.returncode in (0, -9), ran.stderr.decode()
        return ran.returncode


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(FakeProvider(lambda _: Say("All is done."))) as provider,
    ):
        yield provider


@pytest.mark.parametrize("prepare", PREPARATIONS, ids=lambda prepare: prepare.__name__)
def test_a_run_that_is_killed_while_work_comes_in_is_finished_by_the_next_one(
    tmp_path: Path, provider: FakeProvider, prepare: Preparation
) -> None:
    desk = RunDesk(tmp_path, prepare, {"ANTHROPIC_BASE_URL": provider.url})
    assert desk.flaws(desk.run, prepare.__name__, STEPS) == {}
