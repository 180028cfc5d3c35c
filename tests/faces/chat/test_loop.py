"""/loop: what the lead is told by the clock while a conversation is open."""

import time

import pytest

from deskmate.app.sessions.team_session import TeamSession
from deskmate.core.log.names import LEAD, SCHEDULE
from deskmate.core.schedule.schedules import ScheduleCreated
from tests.faces.chat.chat_harness import chat
from tests.faces.disk_teams import hands
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("schedules")]


async def test_loops_are_added_listed_and_ended(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        assert (await typist.types("/loop"))[0].startswith("Nothing is repeated")
        added = await typist.types("/loop 10m Is the build green?")
        assert added[0].startswith("added: 1 (every 10m, by user): Is the build green? (next ")
        cron = await typist.types("/schedule */5 9-17 * * 1-5 Look at the queue.")
        assert cron[0].startswith("added: 2 (*/5 9-17 * * 1-5 ")
        assert len(await typist.types("/loop")) == 2
        assert (await typist.types("/loop off 1"))[0].startswith("deleted: 1 ")
        assert [line[:3] for line in await typist.types("/loop")] == ["2 ("]


@pytest.mark.parametrize("line", ["/loop 10m", "/loop 5s x", "/loop tomorrow x", "/loop off", "/loop off 9"])
async def test_a_loop_that_cannot_be_is_refused(line: str, harness: AppHarness) -> None:
    async with chat(harness) as typist:
        assert (await typist.talk.carry_out(line)).refused
        assert (await typist.types("/loop"))[0].startswith("Nothing is repeated")


async def test_what_is_due_in_an_open_conversation_reaches_the_lead_once(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        created = ScheduleCreated(schedule=1, by="user", at=time.time() - 90, every=60.0, zone="UTC", content="Look.")

        def answered(session: TeamSession) -> bool:
            return session.spent.calls > 0

        async with hands(typist.session.workspace) as opened:
            await opened.writer.append(SCHEDULE, created.body())
        await typist.until(answered)
        scheduled = [one for one in await typist.mail(LEAD) if one[1] == "scheduled"]
    assert scheduled == [("user", "scheduled", "Look.")]
