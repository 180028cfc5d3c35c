"""What of a workspace is used in a process of its own: what the lead's process uses, and only while it is as it was."""

import anyio
import pytest

from deskmate.app import Feed, Wanted, run
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.scripts import Asked, Say
from deskmate.trust.approvals import survey
from tests.launchers import SOON, builds, lead, story
from tests.scenarios.playing import Room
from tests.scenarios.team.parts import who

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("trust")]


@pytest.mark.parametrize("changes", [False, True])
async def test_a_teammate_in_a_process_of_its_own_has_the_notes_that_were_trusted_and_no_others(
    room: Room, changes: bool
) -> None:
    notes = room.place / "AGENTS.md"
    notes.write_text("Speak softly.")

    def changing(asked: Asked) -> Say:
        if changes:
            notes.write_text("Speak loudly.")
        return lead(asked)

    async with FakeProvider({**story(builds("true")), "the lead of team": changing}) as provider:
        settings = room.settings(provider, "anthropic", launcher="process")
        consent = survey(room.place, settings.state, reads=True).whole
        with anyio.fail_after(SOON):
            await run(Wanted(room.place, "build it", None, settings, consent=consent), Feed())
        heard = {who(asked): "Speak softly." in asked.system for asked in provider.requests}
        assert not any("Speak loudly." in asked.system for asked in provider.requests)
    assert heard == {"lead": True, "alice": not changes}
