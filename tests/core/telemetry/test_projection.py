"""The story of a whole team as spans: the same ones, however often and in whatever portions its records are read."""

import random
from collections.abc import Sequence

import anyio
import pytest

from deskmate.core.log.names import ROSTER
from deskmate.core.log.records import Record
from deskmate.core.telemetry.projection import Projection, closing, identity_of, project
from deskmate.core.telemetry.span_values import FinishedSpan
from deskmate.trust.folders import open_store
from tests.telemetry.team_story import Written, by_id, in_order, play, streams_in, taken, whole


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[Written]:
    async def run() -> list[Written]:
        team = await play(tmp_path_factory.mktemp("story"))
        with open_store(team.workspace, "main") as store:
            return in_order(await streams_in(store))

    return anyio.run(run)


def test_it_is_one_tree_of_runs_turns_model_calls_and_tools(written: list[Written]) -> None:
    _, spans = whole(written)
    assert len({span.trace_id for span in spans.values()}) == 1
    parents = {(span.name.split()[0], _kind_of_parent(span, spans)) for span in spans.values()}
    assert parents == {
        ("invoke_workflow", ""),
        ("invoke_agent", "invoke_workflow"),
        ("invoke_agent", "execute_tool"),
        ("create_agent", "execute_tool"),
        ("chat", "invoke_agent"),
        ("execute_tool", "invoke_agent"),
    }
    assert all(span.start <= span.end for span in spans.values())


def _kind_of_parent(span: FinishedSpan, spans: dict[int, FinishedSpan]) -> str:
    return "" if span.parent_id is None else spans[span.parent_id].name.split()[0]


def test_a_turn_that_mail_caused_links_to_the_call_that_sent_it(written: list[Written]) -> None:
    _, spans = whole(written)
    links = [(span.name, link) for span in spans.values() for link in span.links]
    assert {(name, spans[link.span_id].name, link.message) for name, link in links} == {
        ("invoke_agent lead", "execute_tool SendMessage", call)
        for _, record in written
        if (call := str(record.body.get("id", ""))).startswith(("alice:", "bob:"))
    }


@pytest.mark.behaviour("telemetry")
def test_any_prefix_and_then_the_rest_gives_the_same_spans_and_metrics_as_the_whole(written: list[Written]) -> None:
    full, spans = whole(written)
    for cut in range(len(written) + 1):
        projection, first = taken(_begun(written), written[:cut])
        projection, rest = taken(projection, written[cut:])
        assert by_id([*first, *rest, *closing(projection, unfinished=True)]) == spans
        assert projection.metrics == full.metrics


@pytest.mark.behaviour("telemetry")
def test_portions_of_any_size_give_the_same_spans(written: list[Written]) -> None:
    _, spans = whole(written)
    for seed in range(20):
        rng, projection, found, at = random.Random(seed), _begun(written), list[FinishedSpan](), 0
        while at < len(written):
            size = rng.randint(1, 12)
            projection, some = taken(projection, written[at : at + size])
            found, at = [*found, *some], at + size
        assert by_id([*found, *closing(projection, unfinished=True)]) == spans


@pytest.mark.behaviour("telemetry")
def test_a_team_that_is_killed_and_resumed_at_any_point_has_the_same_spans_and_one_more_run(
    written: list[Written],
) -> None:
    _, spans = whole(written)
    for cut in range(2, len(written)):
        resumed = _resumed(written, cut)
        _, found = whole(resumed)
        runs = [span for span in found.values() if span.name.startswith("invoke_workflow")]
        assert [span.attributes["deskmate.run.attended"] for span in runs] == [False, True]
        assert _without_runs(found) == _without_runs(spans)


def _resumed(written: Sequence[Written], cut: int) -> list[Written]:
    """Return the records with one more start of the lead after so many of them. Later roster records move up."""
    at = _at(written[cut - 1][1])
    last = max(record.number for stream, record in written[:cut] if stream == ROSTER)
    start = Record(last + 1, {"type": "policy_set", "by": "user", "attended": True, "at": at})
    rest = [(name, Record(one.number + 1, one.body) if name == ROSTER else one) for name, one in written[cut:]]
    return [*written[:cut], (ROSTER, start), *rest]


def _at(record: Record) -> float:
    return float(str(record.body.get("at", record.body.get("timestamp", 0))))


def _without_runs(spans: dict[int, FinishedSpan]) -> dict[int, tuple[object, ...]]:
    """Return spans without what depends on runs: their parents, and those named after the roster's other numbers."""
    return {
        id_: (span.name, span.start, span.end, span.attributes, span.error, span.links)
        for id_, span in spans.items()
        if span.stream != ROSTER
    }


def _begun(written: Sequence[Written]) -> Projection:
    return Projection(identity_of([record for stream, record in written if stream == ROSTER], ()))


def test_two_teams_of_one_name_have_other_traces(written: list[Written]) -> None:
    first = written[0][1]
    other = Record(1, {**first.body, "run": "another process"})
    assert identity_of([first], ()).trace_id != identity_of([other], ()).trace_id


def test_members_of_a_team_that_the_lead_founded_are_in_the_trace_of_its_first_team(written: list[Written]) -> None:
    home = written[0][1]
    named = Record(1, {"type": "team_founded", "team": "web", "home": "main", "at": 5.0, "run": "x", "ord": 1})
    first, second = identity_of([home], ()), identity_of([named], [home])
    assert second.trace_id == first.trace_id
    assert second.call_span("lead:7.0") == first.call_span("lead:7.0")
    assert second.call_span("alice:7.0") != first.call_span("alice:7.0")
    projection, _ = project(Projection(second), ROSTER, [named])
    assert "log/lead" not in projection.streams
