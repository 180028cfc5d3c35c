"""The usual variables of OpenTelemetry say what is exported."""

import pytest

from deskmate.config import names_collector
from deskmate.config.telemetry_choice import TelemetryChoice, telemetry_choice

GENERAL, SPANS, METRICS = (f"OTEL_EXPORTER_OTLP_{kind}ENDPOINT" for kind in ("", "TRACES_", "METRICS_"))
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
PLACE = "https://otel.example.org:4318/x"
ALL = TelemetryChoice(PLACE, spans=True, metrics=True, content=False, disabled=False)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({GENERAL: PLACE}, ALL),
        ({GENERAL: "https://me:pw@otel.example.org:4318/x?key=1#2"}, ALL),
        ({SPANS: PLACE}, TelemetryChoice(PLACE, spans=True, metrics=False, content=False, disabled=False)),
        ({METRICS: PLACE}, TelemetryChoice(PLACE, spans=False, metrics=True, content=False, disabled=False)),
        (
            {GENERAL: PLACE, "OTEL_METRICS_EXPORTER": "none"},
            TelemetryChoice(PLACE, spans=True, metrics=False, content=False, disabled=False),
        ),
        (
            {GENERAL: PLACE, "OTEL_TRACES_EXPORTER": " None "},
            TelemetryChoice(PLACE, spans=False, metrics=True, content=False, disabled=False),
        ),
        (
            {GENERAL: PLACE, "OTEL_SDK_DISABLED": "TRUE"},
            TelemetryChoice(PLACE, spans=True, metrics=True, content=False, disabled=True),
        ),
        ({}, TelemetryChoice("http://localhost:4318", spans=True, metrics=True, content=False, disabled=False)),
        (
            {GENERAL: "http://[bad"},
            TelemetryChoice("an address that cannot be read", spans=True, metrics=True, content=False, disabled=False),
        ),
    ],
)
def test_endpoints_and_exporters_say_what_is_sent(environ: dict[str, str], expected: TelemetryChoice) -> None:
    assert telemetry_choice(environ) == expected


@pytest.mark.parametrize(
    ("value", "captured"),
    [
        ("true", True),
        ("SPAN_ONLY", True),
        ("span_and_event", True),
        ("false", False),
        ("event_only", False),
        ("", False),
    ],
)
def test_texts_are_exported_only_if_the_variable_says_so(value: str, captured: bool) -> None:
    assert telemetry_choice({GENERAL: PLACE, CONTENT: value}).content is captured


def test_only_an_endpoint_turns_the_export_on() -> None:
    assert [names_collector({name: PLACE}) for name in (GENERAL, SPANS, METRICS)] == [True] * 3
    assert not names_collector({GENERAL: "", "OTEL_SERVICE_NAME": "x", CONTENT: "true"})
