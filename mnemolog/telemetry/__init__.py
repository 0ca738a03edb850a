"""Telemetry with OpenTelemetry, whose SDK is imported only if its environment variables enable it.

`choice` reads the variables, `listener` turns the reports of `schemas.telemetry` into spans and metrics, and `start`
combines the two for a worker.
"""
