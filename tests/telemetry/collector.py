"""Collector: an OTLP/HTTP receiver on this machine that decodes what it gets with the protobuf of the conventions."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """What arrived. `spans` by id, `times`: how often each came. `metrics`: the last state of each, by name.

    `status`: what it answers.
    """

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.status = 200
        self.asked = 0
        self.raw = b""
        self.spans: dict[str, Any] = {}
        self.times: Counter[str] = Counter()
        self.metrics: dict[str, Any] = {}
        self.resource: dict[str, str] = {}
        self.headers: dict[str, str] = {}

    def take(self, path: str, body: bytes) -> None:
        """Take a request in."""
        self.raw += body
        if path == "/v1/metrics":
            wanted = ExportMetricsServiceRequest.FromString(body)
            found = [
                one for resource in wanted.resource_metrics for scope in resource.scope_metrics for one in scope.metrics
            ]
            self.metrics |= {metric.name: metric for metric in found}
            return
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resource = attributes(resource.resource)
            for span in (one for scope in resource.scope_spans for one in scope.spans):
                self.spans[span.span_id.hex()] = span
                self.times[span.span_id.hex()] += 1

    @property
    def names(self) -> Counter[str]:
        """How many spans of each name there are."""
        return Counter(span.name for span in self.spans.values())


def attributes(place: Any) -> dict[str, Any]:
    """Return the attributes of a span, a point or a resource, as plain values."""
    return {one.key: _plain(one.value) for one in place.attributes}


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [_plain(one) for one in value.array_value.values] if kind == "array_value" else getattr(value, kind)


@contextmanager
def collecting() -> Iterator[Collector]:
    """Run a collector on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.asked += 1
            collector.headers = dict(self.headers)
            if collector.status == 200:
                collector.take(self.path, body)
            self.send_response(collector.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector = Collector(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
