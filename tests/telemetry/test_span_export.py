"""An export that is killed anywhere and started again sends every span, and sends none in two versions."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from deskmate.core.telemetry.span_values import FinishedSpan, TeamIdentity
from deskmate.core.telemetry.team_metrics import Measured
from deskmate.core.telemetry.usage_facts import NO_CONTENT
from deskmate.telemetry.export_positions import ExportPositions
from deskmate.telemetry.span_export import NotSent, SpanExport
from deskmate.telemetry.team_reader import TeamReader
from deskmate.trust.folders import open_store
from tests.telemetry.team_story import Written, by_id, in_order, play, stored, streams_in, whole

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("telemetry")]


class Killed(Exception):
    """The process was killed after something was sent, and before anybody knew."""


class Receiver:
    """Takes spans. `refuses`: why it takes none. `kills`: after how many batches the process is killed."""

    def __init__(self) -> None:
        self.spans: list[FinishedSpan] = []
        self.metrics: Sequence[Measured] = ()
        self.refuses, self.kills = "", -1

    trouble = ""

    def send_spans(self, spans: Sequence[FinishedSpan]) -> str:
        if self.refuses:
            return self.refuses
        self.spans += spans
        self.kills -= 1
        if self.kills == 0:
            raise Killed
        return ""

    def send_metrics(self, metrics: Sequence[Measured], at: float) -> str:
        self.metrics = metrics
        return ""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[Written]:
    async def run() -> list[Written]:
        team = await play(tmp_path_factory.mktemp("story"))
        with open_store(team.workspace, "main") as store:
            return in_order(await streams_in(store))

    return anyio.run(run)


async def exporting(written: Sequence[Written], receiver: Receiver, state: Path | None) -> SpanExport:
    """Return an export by a new process of what is written so far."""

    def load(identity: TeamIdentity) -> ExportPositions:
        return ExportPositions.load(state, identity.trace_id, identity.team) if state else ExportPositions()

    reader = TeamReader(await stored(written), NO_CONTENT, sync=True)
    return SpanExport(reader, lambda identity: receiver, load, batch=3)


async def test_processes_that_follow_each_other_send_each_span_once(written: list[Written], tmp_path: Path) -> None:
    _, spans = whole(written)
    for cut in range(1, len(written), 5):
        receiver, state = Receiver(), tmp_path / str(cut)
        await (await exporting(written[:cut], receiver, state)).export(0.0)
        await (await exporting(written, receiver, state)).export(0.0, over=True)
        await (await exporting(written, receiver, state)).export(0.0, over=True)
        assert by_id(receiver.spans) == spans


async def test_a_kill_after_sending_sends_the_same_spans_again(written: list[Written], tmp_path: Path) -> None:
    _, spans = whole(written)
    for kills in range(1, len(spans) // 3):
        receiver, state = Receiver(), tmp_path / str(kills)
        receiver.kills = kills
        with pytest.raises(Killed):
            await (await exporting(written, receiver, state)).export(0.0, over=True)
        await (await exporting(written, receiver, state)).export(0.0, over=True)
        assert {span.span_id: span for span in receiver.spans} == spans
        assert all(span == spans[span.span_id] for span in receiver.spans)


async def test_what_is_not_accepted_stays_in_the_streams_and_is_sent_later(written: list[Written]) -> None:
    projection, spans = whole(written)
    receiver = Receiver()
    export = await exporting(written, receiver, None)
    for why in ("it is full", "it is still full"):
        receiver.refuses = why
        with pytest.raises(NotSent, match=why):
            await export.export(0.0, over=True)
        assert export.waiting <= 3 + 128
    receiver.refuses = ""
    await export.export(0.0, over=True)
    assert by_id(receiver.spans) == spans
    assert (export.sent, receiver.metrics) == (len(spans), projection.metrics)


async def test_positions_that_cannot_be_read_count_as_none(written: list[Written], tmp_path: Path) -> None:
    _, spans = whole(written)
    for text in ("", "{", "[]", '{"numbers": 7, "closed": []}', '{"numbers": {}, "closed": ["zz"]}'):
        receiver = Receiver()
        await (await exporting(written, Receiver(), tmp_path)).export(0.0)
        [file] = (tmp_path / "telemetry").iterdir()
        assert file.stat().st_mode & 0o777 == 0o600
        file.write_text(text)
        await (await exporting(written, receiver, tmp_path)).export(0.0, over=True)
        assert by_id(receiver.spans) == spans
