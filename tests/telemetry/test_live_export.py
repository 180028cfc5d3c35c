"""A team that works while its spans are exported, seen by a collector on this machine."""

import logging
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from deskmate.app import environment
from deskmate.core.team.roster_records import TeamFounded
from deskmate.core.telemetry import conventions as names
from deskmate.core.telemetry.span_values import TeamIdentity
from deskmate.core.telemetry.usage_facts import NO_CONTENT
from deskmate.stores.memory_store import MemoryStore
from deskmate.telemetry import live_export, otlp_sender
from deskmate.telemetry.export_positions import ExportPositions
from deskmate.telemetry.span_export import Sender, SpanExport
from deskmate.telemetry.team_reader import TeamReader
from deskmate.testing import Asked, FakeClock, Say, Scenario
from deskmate.testing.team_scripts import in_turn, run_command, send_mail
from deskmate.trust.folders import open_store
from tests.runtime.team_process import until
from tests.scenarios.team.test_founded_team import script
from tests.telemetry.collector import Collector, attributes, collecting
from tests.telemetry.team_story import GOAL, WORDS, answer, in_order, streams_in, whole

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("telemetry")]
# Imported beforehand: on a busy machine that can take longer than a run waits at its end.
assert otlp_sender.__name__
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
# A run that ends while a batch is sent sends it once more, under the same ids.
AT_MOST = 2
SECRET = "-".join(["ghq", "4kdkf9", "3kd9f3", "kd93kd"])


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


async def spans_of(team: Scenario) -> set[str]:
    with open_store(team.workspace, "main") as store:
        _, spans = whole(in_order(await streams_in(store)))
    return {f"{id_:016x}" for id_ in spans}


async def test_a_run_exports_every_span_once_and_its_metrics(tmp_path: Path, collector: Collector) -> None:
    async with Scenario(tmp_path, answer) as team:
        environment()[ENDPOINT] = collector.url
        run = await team.run(GOAL)
        assert run.outcome.text.endswith(WORDS)
    assert set(collector.spans) == await spans_of(team)
    assert max(collector.times.values()) <= AT_MOST
    assert collector.names["invoke_workflow main"] == 1
    assert set(collector.metrics) == {metric.name for metric in names.METRICS}
    done = {
        attributes(one)[names.TASK_STATUS]: one.as_double
        for one in collector.metrics["deskmate.tasks"].gauge.data_points
    }
    assert done == {"pending": 0, "in_progress": 0, "completed": 2}
    assert collector.resource["service.name"] == "deskmate"


async def test_a_team_that_continues_exports_only_what_is_new(tmp_path: Path, collector: Collector) -> None:
    for words in (GOAL, "And now?", "And now?"):
        async with Scenario(tmp_path, answer) as team:
            environment()[ENDPOINT] = collector.url
            await (team.run(words) if words == GOAL else team.resume(words))
    assert set(collector.spans) == await spans_of(team)
    assert max(collector.times.values()) <= AT_MOST
    assert collector.names["invoke_workflow main"] == 3


async def test_what_a_run_could_not_export_is_exported_by_the_next_one(tmp_path: Path, collector: Collector) -> None:
    collector.status = 403
    for words in (GOAL, "And now?"):
        async with Scenario(tmp_path, answer) as team:
            environment()[ENDPOINT] = collector.url
            await (team.run(words) if words == GOAL else team.resume(words))
        assert collector.asked
        collector.status = 200
    assert set(collector.spans) == await spans_of(team)
    assert max(collector.times.values()) <= AT_MOST


async def test_a_collector_that_is_not_there_is_mentioned_once_and_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as closed, caplog.at_level(logging.WARNING):
        closed.bind(("127.0.0.1", 0))
        async with Scenario(tmp_path, answer) as team:
            environment()[ENDPOINT] = f"http://127.0.0.1:{closed.getsockname()[1]}"
            run = await team.run(GOAL)
    assert run.outcome.end == "answered"
    assert run.outcome.text.endswith(WORDS)
    assert [one.levelname for one in caplog.records if one.name == live_export.__name__] == ["WARNING"]


async def test_a_collector_that_never_answers_does_not_keep_a_run_from_ending(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        async with Scenario(tmp_path, answer) as team:
            environment()[ENDPOINT] = f"http://127.0.0.1:{silent.getsockname()[1]}"
            run = await team.run(GOAL)
    assert run.outcome.text.endswith(WORDS)
    assert [one.levelname for one in caplog.records if one.name == live_export.__name__] == ["WARNING"]


async def test_no_error_of_the_sdk_ends_what_keeps_the_team(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def make(identity: TeamIdentity) -> Sender:
        raise ValueError("OTEL_EXPORTER_OTLP_TIMEOUT is no number")

    store, clock = MemoryStore(), FakeClock()
    await store.append("roster", {**TeamFounded(team="main", at=1.0).body(), "run": "x", "ord": 1})
    export = SpanExport(TeamReader(store, NO_CONTENT, sync=True), make, lambda identity: ExportPositions())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(live_export.LiveExport(store, clock, export, "http://here", ends_run=True).keep)
        for number in range(3):
            await until(lambda: clock.sleeping == 1)
            clock.advance(live_export.EVERY_SECONDS)
            await store.append("spend", {"type": "spent", "run": "x", "ord": number + 2})
        tasks.cancel_scope.cancel()
    [warning] = [one.getMessage() for one in caplog.records if one.name == live_export.__name__]
    assert "http://here: ValueError: OTEL_EXPORTER_OTLP_TIMEOUT is no number." in warning


async def test_nothing_that_was_said_leaves_this_machine_by_default(tmp_path: Path, collector: Collector) -> None:
    async with Scenario(tmp_path, answer) as team:
        environment()[ENDPOINT] = collector.url
        await team.run(GOAL)
    assert collector.spans
    for text in (GOAL, WORDS, "is done.", "Look around.", "There is a parser.", "parse", str(tmp_path)):
        assert text.encode() not in collector.raw


async def test_on_request_texts_are_exported_and_no_secret_is(tmp_path: Path, collector: Collector) -> None:
    def careless(asked: Asked) -> Say:
        command = run_command(f"echo {SECRET}")
        return in_turn(Say(f"It is {SECRET}.", calls=[command, send_mail("user", SECRET)]), then=Say(WORDS))(asked)

    async with Scenario(tmp_path, careless) as team:
        environment().update({ENDPOINT: collector.url, CONTENT: "true", "LAB_TOKEN": SECRET})
        await team.run(f"The token is {SECRET}.")
    assert b"[redacted: LAB_TOKEN]" in collector.raw
    assert WORDS.encode() in collector.raw
    assert SECRET.encode() not in collector.raw
    kept = {key for span in collector.spans.values() for key in attributes(span)}
    assert set(names.CONTENT) <= kept


async def test_spans_that_are_turned_on_later_include_those_from_before(tmp_path: Path, collector: Collector) -> None:
    for words, traces in (("Go.", "none"), ("And now?", "otlp")):
        async with Scenario(tmp_path, in_turn(then=Say(WORDS))) as team:
            environment().update({ENDPOINT: collector.url, "OTEL_TRACES_EXPORTER": traces})
            await (team.run(words) if traces == "none" else team.resume(words))
        assert bool(collector.spans) == (traces == "otlp")
    assert set(collector.spans) == await spans_of(team)


@pytest.mark.parametrize("extra", ["disabled", "none"])
async def test_it_can_be_switched_off(tmp_path: Path, collector: Collector, extra: str) -> None:
    off = {"OTEL_SDK_DISABLED": "true"}
    none = {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}
    async with Scenario(tmp_path, in_turn(then=Say(WORDS))) as team:
        environment().update({ENDPOINT: collector.url, **(off if extra == "disabled" else none)})
        await team.run(GOAL)
    assert collector.asked == 0


async def test_a_teammate_in_a_process_of_its_own_is_exported_too(tmp_path: Path, collector: Collector) -> None:
    async with Scenario(tmp_path, answer, launcher="process") as team:
        environment()[ENDPOINT] = collector.url
        await team.run(GOAL)
    assert set(collector.spans) == await spans_of(team)
    assert collector.names["invoke_agent alice"] >= 1


async def test_a_team_that_the_lead_founds_and_closes_is_in_the_same_trace(
    tmp_path: Path, collector: Collector
) -> None:
    async with Scenario(tmp_path, script) as team:
        environment()[ENDPOINT] = collector.url
        await team.run("Build the web page.")
    spans = collector.spans
    assert len({span.trace_id for span in spans.values()}) == 1
    assert {span.parent_span_id.hex() for span in spans.values()} - {""} <= set(spans)
    assert {"invoke_workflow main", "invoke_workflow web", "invoke_agent wendy"} <= set(collector.names)
    caused = {spans[link.span_id.hex()].name for span in spans.values() for link in span.links}
    assert caused == {"execute_tool SendMessage"}


_RUN = """
import sys, anyio
from pathlib import Path
from deskmate.testing import Scenario
from tests.telemetry.team_story import answer
async def main():
    async with Scenario(Path(sys.argv[1]), answer) as team:
        await team.run("Go.")
anyio.run(main)
print(*(name for name in sys.modules if name.split(".")[0] == "opentelemetry"))
"""
_START = """
import sys
sys.argv = ["deskmate", "run", "--help"]
import deskmate.app.runner, deskmate.faces.cli.run_command
print(*(name for name in sys.modules if "telemetry" in name))
"""


def test_without_a_collector_nothing_of_it_is_imported() -> None:
    """The tests themselves import the projection, so a start is looked at, and no run."""
    done = subprocess.run([sys.executable, "-c", _START], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_run_without_a_collector_imports_no_sdk(tmp_path: Path) -> None:
    top = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(tmp_path)], capture_output=True, text=True, check=True, cwd=top
    )
    assert done.stdout.split() == []
