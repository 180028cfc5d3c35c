"""Teams in a browser, and in an OpenTelemetry collector.

page_commands  web, export and telemetry, with their help
"""
