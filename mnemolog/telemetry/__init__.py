"""Telemetry by OpenTelemetry, whose SDK is imported only where its own environment variables ask for it.

`choice` reads the variables, `listener` makes spans and metrics of what `schemas.telemetry` is told, `start` puts the
two together for a worker.
"""
