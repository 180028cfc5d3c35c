"""What is exported to an OpenTelemetry collector, by the usual variables.

The SDK of OpenTelemetry reads those that say where to and how: endpoints, headers, timeouts, certificates, resource.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from deskmate.core.values import frozen

_USUAL = "http://localhost:4318"


@frozen
class TelemetryChoice:
    """What is exported. `place`: where to, for people. `content`: also texts of people and models."""

    place: str
    spans: bool
    metrics: bool
    content: bool
    disabled: bool


def telemetry_choice(environ: Mapping[str, str]) -> TelemetryChoice:
    """Return what the variables say. Without an endpoint, all goes to the usual one on this machine."""
    endpoint, of_spans, of_metrics = (
        environ.get(f"OTEL_EXPORTER_OTLP_{signal}ENDPOINT", "") for signal in ("", "TRACES_", "METRICS_")
    )
    # One endpoint for a single kind means that only this kind is wanted.
    by_kind = bool(of_spans or of_metrics) and not endpoint
    captured = environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").strip().lower()
    return TelemetryChoice(
        place=_shown(of_spans or endpoint or of_metrics or _USUAL),
        spans=_wanted(environ, "TRACES") and (bool(of_spans) or not by_kind),
        metrics=_wanted(environ, "METRICS") and (bool(of_metrics) or not by_kind),
        content=captured in ("true", "span_only", "span_and_event"),
        disabled=environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true",
    )


def _wanted(environ: Mapping[str, str], kind: str) -> bool:
    return environ.get(f"OTEL_{kind}_EXPORTER", "").strip().lower() != "none"


def _shown(endpoint: str) -> str:
    """Return an address without a password and without what is after the path."""
    try:
        parts = urlsplit(endpoint)
        host, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that cannot be read"
    return f"{parts.scheme}://{host}{port}{parts.path}"
