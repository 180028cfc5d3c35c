"""What sends spans and metrics with the OpenTelemetry SDK.

The SDK and its exporters read the usual variables: endpoint, headers, timeout, certificates, service name, resource.
Spans have the ids of the projection, not random ones. All spans are sent: to keep fewer, sample in the collector.
"""

import logging
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import TypeAlias

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from deskmate.core.telemetry.conventions import ERROR_TYPE, MESSAGE_ID, SCOPE
from deskmate.core.telemetry.span_values import FinishedSpan, TeamIdentity
from deskmate.core.telemetry.team_metrics import Distribution, Measured, MetricPoint

_KINDS = {"internal": trace.SpanKind.INTERNAL, "client": trace.SpanKind.CLIENT}
_LOGGERS = tuple(
    logging.getLogger(f"opentelemetry.exporter.otlp.proto.http.{name}")
    for name in ("trace_exporter", "metric_exporter")
)
_MOST_CHARS = 300
_OF_SYSTEM = re.compile(r"\[Errno -?\d+\] ([^\"')]+)")
_CUMULATIVE = AggregationTemporality.CUMULATIVE
Data: TypeAlias = Histogram | Sum | Gauge


class OtlpSender:
    """Sends for one team. `spans`, `metrics`: the exporters, by default over HTTP; None sends nothing of that kind."""

    def __init__(self, identity: TeamIdentity, spans: SpanExporter | None, metrics: MetricExporter | None) -> None:
        self._identity, self._spans, self._metrics = identity, spans, metrics
        self._resource = _resource(identity)
        self._ids, self._ended = _GivenIds(), _Ended()
        self._complaints: _Complaints | None = None
        # A cancelled export may still be sending on its thread.
        self._making = threading.Lock()
        provider = TracerProvider(
            sampler=ALWAYS_ON, resource=self._resource, shutdown_on_exit=False, id_generator=self._ids
        )
        provider.add_span_processor(self._ended)
        self._tracer = provider.get_tracer(SCOPE, version("deskmate"))

    @classmethod
    def of_environment(cls, identity: TeamIdentity, *, spans: bool = True, metrics: bool = True) -> "OtlpSender":
        """Return what sends to the collector that the usual variables name."""
        return cls(identity, OTLPSpanExporter() if spans else None, OTLPMetricExporter() if metrics else None)

    def send_spans(self, spans: Sequence[FinishedSpan]) -> str:
        """Send spans. Return why that failed, empty if it did not."""
        if self._spans is None or not spans:
            return ""
        with self._making:
            made = self._made(spans)
        with self._captured() as complaints:
            result = self._spans.export(made)
        return "" if result is SpanExportResult.SUCCESS else complaints.text

    def _made(self, spans: Sequence[FinishedSpan]) -> list[ReadableSpan]:
        for span in spans:
            self._ids.trace_id, self._ids.span_id = span.trace_id, span.span_id
            error = {ERROR_TYPE: span.error} if span.error else {}
            made = self._tracer.start_span(
                span.name,
                context=self._under(span),
                kind=_KINDS[span.kind],
                attributes={**span.attributes, **error},
                links=[trace.Link(self._place(one.span_id), {MESSAGE_ID: one.message}) for one in span.links],
                start_time=_nanoseconds(span.start),
            )
            if span.error:
                made.set_status(trace.StatusCode.ERROR)
            made.end(_nanoseconds(span.end))
        return self._ended.take()

    def _under(self, span: FinishedSpan) -> Context:
        # An empty context, so that no span of the calling program becomes the parent.
        empty = Context()
        if span.parent_id is None:
            return empty
        return trace.set_span_in_context(trace.NonRecordingSpan(self._place(span.parent_id)), empty)

    def _place(self, span_id: int) -> trace.SpanContext:
        sampled = trace.TraceFlags(trace.TraceFlags.SAMPLED)
        return trace.SpanContext(self._identity.trace_id, span_id, is_remote=False, trace_flags=sampled)

    def send_metrics(self, metrics: Sequence[Measured], at: float) -> str:
        """Send metrics as of a time. Return why that failed, empty if it did not."""
        if self._metrics is None:
            return ""
        times = _nanoseconds(self._identity.founded), _nanoseconds(at)
        made = [_metric(one, *times) for one in metrics if one.points]
        scope = ScopeMetrics(InstrumentationScope(SCOPE, version("deskmate")), made, "")
        with self._captured() as complaints:
            result = self._metrics.export(MetricsData([ResourceMetrics(self._resource, [scope], "")]))
        return "" if result is MetricExportResult.SUCCESS else complaints.text

    @property
    def trouble(self) -> str:
        """What went wrong with what is being sent now, before all tries are over. Empty if nothing did."""
        return self._complaints.first if self._complaints else ""

    @contextmanager
    def _captured(self) -> Iterator["_Complaints"]:
        complaints = self._complaints = _Complaints()
        for logger in _LOGGERS:
            logger.addFilter(complaints)
        try:
            yield complaints
        finally:
            self._complaints = None
            for logger in _LOGGERS:
                logger.removeFilter(complaints)


def _resource(identity: TeamIdentity) -> Resource:
    found = Resource.create()
    ours = {"service.instance.id": f"{identity.trace_id:032x}-{identity.team}"}
    if str(found.attributes.get("service.name", "")).startswith("unknown_service"):
        ours |= {"service.name": "deskmate", "service.version": version("deskmate")}
    return found.merge(Resource(ours))


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e6) * 1000


class _GivenIds(IdGenerator):
    """Gives the ids that were set, not random ones."""

    trace_id = span_id = 1

    def generate_span_id(self) -> int:
        return self.span_id

    def generate_trace_id(self) -> int:
        return self.trace_id


class _Ended(SpanProcessor):
    """Keeps the spans that ended."""

    def __init__(self) -> None:
        self._spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self._spans.append(span)

    def take(self) -> list[ReadableSpan]:
        """Return the spans that ended, and forget them."""
        spans, self._spans = self._spans, []
        return spans


# -- metrics --------------------------------------------------------------------------------------


def _metric(measured: Measured, begin: int, now: int) -> Metric:
    definition = measured.definition
    return Metric(definition.name, definition.meaning, definition.unit, _data(measured, begin, now))


def _data(measured: Measured, begin: int, now: int) -> Data:
    definition = measured.definition
    if definition.kind == "histogram":
        return Histogram([_histogram_point(one, definition.bounds, begin, now) for one in measured.points], _CUMULATIVE)
    points = [_number_point(one, begin, now) for one in measured.points]
    if definition.kind == "counter":
        return Sum(points, _CUMULATIVE, is_monotonic=True)
    return Gauge(points)


def _number_point(point: MetricPoint, begin: int, now: int) -> NumberDataPoint:
    assert not isinstance(point.value, Distribution), "only histograms have distributions"
    return NumberDataPoint(point.attributes, begin, now, point.value)


def _histogram_point(point: MetricPoint, bounds: tuple[float, ...], begin: int, now: int) -> HistogramDataPoint:
    value = point.value
    assert isinstance(value, Distribution), "a histogram has distributions"
    return HistogramDataPoint(
        attributes=point.attributes,
        start_time_unix_nano=begin,
        time_unix_nano=now,
        count=value.count,
        sum=value.total,
        bucket_counts=value.counts,
        explicit_bounds=bounds,
        min=value.least,
        max=value.most,
    )


# -- what the exporters log -----------------------------------------------------------------------


def _reason_in(message: str) -> str:
    """Return the reason of the system in a message that quotes every layer above it, else the message."""
    found = _OF_SYSTEM.search(message)
    return found[1] if found else message[:_MOST_CHARS]


class _Complaints(logging.Filter):
    """Takes what the exporters log on this thread out of the log. Their first words say why an export failed."""

    def __init__(self) -> None:
        super().__init__()
        self.first = ""
        self._thread = threading.get_ident()

    @property
    def text(self) -> str:
        """Why an export failed."""
        return self.first or "the collector did not accept it"

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is logged: only those of other threads."""
        if threading.get_ident() != self._thread:
            return True
        self.first = self.first or _reason_in(record.getMessage())
        return False
