"""Mail that was heard and mail that was not, after the power failed between hearings that were not synced."""

import random
from contextlib import closing
from pathlib import Path

import pytest

from deskmate.core.agent.entries import Heard, Started
from deskmate.core.team.messages import Plain
from deskmate.core.team.roster_records import Joined
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.streams.transcript import Transcript
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing import FakeClock
from deskmate.testing.fake_disk import LosingFiles

RUNS = 100
# How much a power loss takes depends on when files were synced, so on a busy machine a hole may take more runs.
MOST_RUNS = 2_000
IDS = ["m0", "m1", "m2"]


@pytest.mark.behaviour("M1", "M2")
@pytest.mark.anyio
async def test_mail_is_heard_once_though_the_power_took_an_earlier_hearing_and_left_a_later_one(tmp_path: Path) -> None:
    holes = 0
    for seed in range(MOST_RUNS):
        if holes and seed >= RUNS:
            break
        folder = tmp_path / str(seed)
        folder.mkdir()
        files = LosingFiles(folder, random.Random(seed), page=512)
        with closing(JsonlStore.open(folder, "team", create=True, files=files)) as store:
            await _hear_each(LogWriter(store, FakeClock()))
            files = files.lose()
        with closing(JsonlStore.open(folder, "team", files=files)) as store:
            writer = LogWriter(store, FakeClock())
            transcript = await Transcript.load(writer, "bob")
            left = _heard(transcript)
            holes += left != IDS[: len(left)]
            while await Mailbox("bob", writer, Roster(writer)).hear(transcript):
                pass
            assert sorted(_heard(transcript)) == IDS, f"seed {seed}"
    assert holes, "no run lost an earlier hearing and kept a later one"


async def _hear_each(writer: LogWriter) -> None:
    """Let bob hear three messages, each in an entry of its own that fills most of a page."""
    roster = Roster(writer)
    await roster.found("team")
    await roster.join(Joined(name="bob", at=0))
    transcript = await Transcript.load(writer, "bob")
    await transcript.record(Started(name="bob"))
    for id_ in IDS:
        await Mailbox("lead", writer, roster).send("bob", Plain(content="x" * 400), id_=id_)
        await Mailbox("bob", writer, roster).hear(transcript)


def _heard(transcript: Transcript) -> list[str]:
    return [body["id"] for _, entry in transcript.entries if isinstance(entry, Heard) for body in entry.mail]
