"""A teammate in a process of its own that is asked to end after its step: it is cut off nowhere, and goes on later."""

import sys
from dataclasses import replace

import anyio
import pytest

from deskmate.core.log.names import log
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from tests.launchers.process_team import ALICE, SOON, fact, process_team, story, used
from tests.scenarios.app_harness import AppHarness

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="what runs is looked up in /proc"),
]


def waits(asked: Asked) -> Say:
    """Run a command that waits for a file, and say so."""
    if not used(asked, "bash"):
        return Say(calls=[Use("bash", {"command": "touch begun; until [ -e go ]; do sleep 0.05; done; touch done"})])
    return Say("Ready.")


async def test_the_command_that_runs_ends_first_and_nothing_more_is_asked(harness: AppHarness) -> None:
    finishing = anyio.Event()
    async with FakeProvider(story(waits)) as provider, process_team(harness, provider) as team:
        with anyio.fail_after(SOON):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(replace(team.launcher, finishing=finishing).play, ALICE)
                await fact((harness.place / "begun").exists)
                finishing.set()
                (harness.place / "go").touch()
        assert (harness.place / "done").exists()
        assert ((await team.member()).here, len(provider.requests)) == (True, 1)
        kinds = [record["type"] for record in await harness.records(log(ALICE))]
        assert kinds[-1] == "did"


async def test_who_is_asked_before_its_process_has_started_ends_too(harness: AppHarness) -> None:
    finishing = anyio.Event()
    finishing.set()
    async with FakeProvider(story(waits)) as provider, process_team(harness, provider) as team:
        with anyio.fail_after(SOON):
            await replace(team.launcher, finishing=finishing).play(ALICE)
        assert ((await team.member()).here, provider.requests) == (True, [])
