"""Sends spans and metrics of teams to an OpenTelemetry collector. Imported only if the user wants that.

team_reader       the streams of a team, read and projected
span_export       what is new in a team, sent in batches
otlp_sender       what sends spans and metrics with the OpenTelemetry SDK
live_export       the export of a team that runs in this process
export_positions  how far a team was exported, kept between processes

The rules are in `core.telemetry`: which spans there are, and what they say. This package only reads and sends.
"""
