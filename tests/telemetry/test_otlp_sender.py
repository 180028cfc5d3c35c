"""What leaves this process: spans with the given ids, metrics as of now, nothing else."""

import logging

import pytest
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from deskmate.core.telemetry import conventions as names
from deskmate.core.telemetry.span_values import FinishedSpan, SpanLink, TeamIdentity
from deskmate.core.telemetry.team_metrics import Distribution, Measured, MetricPoint
from deskmate.telemetry.otlp_sender import OtlpSender
from tests.telemetry.collector import attributes, collecting

TEAM = TeamIdentity("seed", "main", founded=1000.0)
RUN = FinishedSpan("invoke_workflow main", TEAM.trace_id, 7, None, 1000.0, 1009.5, {names.TEAM: "main"})
CHAT = FinishedSpan(
    name="chat flash",
    trace_id=TEAM.trace_id,
    span_id=8,
    parent_id=7,
    start=1001.25,
    end=1002.0,
    attributes={names.INPUT_TOKENS: 9, names.FINISH_REASONS: ("stop",), names.COST: 0.5},
    kind="client",
    links=(SpanLink(9, "bob:4.1"),),
    error="parked",
)


def test_spans_have_the_ids_times_links_and_errors_of_the_projection() -> None:
    exporter = InMemorySpanExporter()
    assert OtlpSender(TEAM, exporter, None).send_spans([RUN, CHAT]) == ""
    run, chat = exporter.get_finished_spans()
    assert run.context is not None
    assert chat.context is not None
    assert (run.context.trace_id, run.context.span_id, run.parent) == (TEAM.trace_id, 7, None)
    assert chat.parent is not None
    assert (chat.parent.span_id, chat.parent.trace_id, chat.context.span_id) == (7, TEAM.trace_id, 8)
    assert (run.start_time, chat.start_time, chat.end_time) == (1000 * 10**9, 1001_250 * 10**6, 1002 * 10**9)
    assert (run.kind, chat.kind) == (SpanKind.INTERNAL, SpanKind.CLIENT)
    assert (run.status.status_code, chat.status.status_code) == (StatusCode.UNSET, StatusCode.ERROR)
    assert chat.attributes == {**CHAT.attributes, "error.type": "parked"}
    assert [(link.context.span_id, link.attributes) for link in chat.links] == [(9, {names.MESSAGE_ID: "bob:4.1"})]


def test_the_resource_says_which_team_and_the_users_variables_win(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = InMemorySpanExporter()
    OtlpSender(TEAM, exporter, None).send_spans([RUN])
    monkeypatch.setenv("OTEL_SERVICE_NAME", "our-teams")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=ci")
    OtlpSender(TEAM, exporter, None).send_spans([RUN])
    ours, theirs = (span.resource.attributes for span in exporter.get_finished_spans())
    assert ours["service.name"] == "deskmate"
    assert (theirs["service.name"], theirs["deployment.environment.name"]) == ("our-teams", "ci")
    assert ours["service.instance.id"] == theirs["service.instance.id"] == f"{TEAM.trace_id:032x}-main"
    # Nothing of the machine or its user.
    assert {key.split(".")[0] for key in ours} == {"service", "telemetry"}


def test_a_collector_gets_spans_and_metrics_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    value = Distribution((0,) * (len(names.TOKEN_USAGE.bounds) + 1)).plus(100, names.TOKEN_USAGE.bounds)
    metrics = (
        Measured(names.TOKEN_USAGE, (MetricPoint({names.TEAM: "main"}, value),)),
        Measured(names.MODEL_COST, (MetricPoint({names.TEAM: "main"}, 0.5),)),
        Measured(names.TEAM_TASKS, (MetricPoint({names.TEAM: "main"}, 3.0),)),
        Measured(names.TEAM_MEMBERS, ()),
    )
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc")
        sender = OtlpSender.of_environment(TEAM)
        assert (sender.send_spans([RUN, CHAT]), sender.send_metrics(metrics, 1060.0)) == ("", "")
    assert collector.headers["authorization"] == "Bearer abc"
    assert attributes(collector.spans["0000000000000008"])[names.FINISH_REASONS] == ["stop"]
    assert set(collector.metrics) == {"gen_ai.client.token.usage", "deskmate.model.cost", "deskmate.tasks"}
    [tokens] = collector.metrics["gen_ai.client.token.usage"].histogram.data_points
    assert (tokens.count, tokens.sum, tokens.start_time_unix_nano) == (1, 100.0, 1000 * 10**9)
    cost = collector.metrics["deskmate.model.cost"].sum
    assert (cost.is_monotonic, cost.aggregation_temporality, cost.data_points[0].as_double) == (True, 2, 0.5)
    assert collector.metrics["deskmate.tasks"].gauge.data_points[0].time_unix_nano == 1060 * 10**9


def test_a_failure_is_returned_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with collecting() as collector:
        collector.status = 403
        spans = OTLPSpanExporter(endpoint=f"{collector.url}/v1/traces", timeout=1)
        metrics = OTLPMetricExporter(endpoint=f"{collector.url}/v1/metrics", timeout=1)
        sender = OtlpSender(TEAM, spans, metrics)
        with caplog.at_level(logging.DEBUG, "opentelemetry"):
            assert "403" in sender.send_spans([RUN])
            assert "403" in sender.send_metrics((Measured(names.TEAM_TASKS, (MetricPoint({}, 1.0),)),), 1060.0)
        assert not [one for one in caplog.records if one.name.startswith("opentelemetry")]


def test_an_exporter_of_one_kind_sends_only_that() -> None:
    sender = OtlpSender(TEAM, None, None)
    assert (sender.send_spans([RUN]), sender.send_metrics((), 1060.0)) == ("", "")
