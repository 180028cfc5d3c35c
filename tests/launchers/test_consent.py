"""What of a workspace is used in a process of its own: what the lead's process uses, and only while it is as it was."""

import anyio
import pytest

from deskmate.app import Feed, RunRequest, run
from deskmate.testing import Asked, Say
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.team_scripts import member_of
from deskmate.trust.approvals import survey
from tests.launchers.process_team import SOON, builds, lead, story
from tests.scenarios.app_harness import AppHarness

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("trust")]


@pytest.mark.parametrize("changes", [False, True])
async def test_a_teammate_in_a_process_of_its_own_has_the_notes_that_were_trusted_and_no_others(
    harness: AppHarness, changes: bool
) -> None:
    notes = harness.place / "AGENTS.md"
    notes.write_text("Speak softly.")

    def changing(asked: Asked) -> Say:
        if changes:
            notes.write_text("Speak loudly.")
        return lead(asked)

    async with FakeProvider({**story(builds("true")), "the lead of team": changing}) as provider:
        settings = harness.settings(provider, "anthropic", launcher="process")
        consent = survey(harness.place, settings.state, reads=True).whole
        with anyio.fail_after(SOON):
            await run(RunRequest(harness.place, "build it", None, settings).with_consent(consent), Feed())
        heard = {member_of(asked): "Speak softly." in asked.system for asked in provider.requests}
        assert not any("Speak loudly." in asked.system for asked in provider.requests)
    assert heard == {"lead": True, "alice": not changes}
