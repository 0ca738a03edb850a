"""Telemetry by OpenTelemetry, whose SDK is imported only if its own environment variables ask for it.

`choice` reads the variables, `listener` turns what `schemas.telemetry` reports into spans and metrics, `start` puts the
two together for a worker.
"""
