"""Starts a worker's telemetry if OpenTelemetry's variables enable it; logs a warning if packages for it are missing.

The worker serves without telemetry then, so that variables set for a whole cluster cannot keep it from starting.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

from mnemolog.telemetry.choice import NotPossible, chosen
from schemas.telemetry import listen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    from mnemolog.telemetry.choice import Choice, Exporter

log = logging.getLogger("mnemolog")
MISSING = "OTEL_* variables ask for telemetry, and its packages are missing: pip install 'mnemolog[otel]'"


@contextmanager
def telemetry(environment: Mapping[str, str]) -> Iterator[None]:
    """Export the spans and metrics of the block according to the variables; flush at its end."""
    try:
        choice = chosen(environment)
    except NotPossible as error:
        log.warning("no telemetry: %s", error)
        choice = None
    if choice is None:
        yield
        return
    try:
        from mnemolog.telemetry.listener import OpenTelemetry  # noqa: PLC0415 - only if it is enabled

        tracers, meters = _providers(choice, environment)
    except ImportError:
        log.warning(MISSING)
        yield
        return
    try:
        with listen(OpenTelemetry(tracers, meters, has_words=choice.has_words)):
            yield
    finally:
        tracers.shutdown()
        meters.shutdown()


def _providers(choice: Choice, environment: Mapping[str, str]) -> tuple[TracerProvider, MeterProvider]:
    """Return new providers; the process-wide providers stay unchanged. Raises ImportError.

    The SDK itself reads the variables of the exporters, the sampler, the batches and the resource.
    """
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 - only if it is enabled
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415

    given = environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    is_named = environment.get("OTEL_SERVICE_NAME") or "service.name=" in given
    named = {} if is_named else {"service.name": "mnemolog"}
    resource = Resource.create({**named, "service.version": version("mnemolog")})
    return _tracers(TracerProvider, resource, choice.traces), _meters(MeterProvider, resource, choice.metrics)


def _tracers(make: type[TracerProvider], resource: Resource, exporter: Exporter) -> TracerProvider:
    from opentelemetry.sdk.trace.export import (  # noqa: PLC0415 - as above
        BatchSpanProcessor,
        ConsoleSpanExporter,
        SimpleSpanProcessor,
    )

    provider = make(resource=resource, shutdown_on_exit=False)
    if exporter == "console":
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
    elif exporter == "otlp":
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415

        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _meters(make: type[MeterProvider], resource: Resource, exporter: Exporter) -> MeterProvider:
    from opentelemetry.sdk.metrics.export import (  # noqa: PLC0415 - as above
        ConsoleMetricExporter,
        PeriodicExportingMetricReader,
    )

    if exporter == "none":
        return make((), resource=resource, shutdown_on_exit=False)
    if exporter == "console":
        return make([PeriodicExportingMetricReader(ConsoleMetricExporter())], resource, shutdown_on_exit=False)
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415

    return make([PeriodicExportingMetricReader(OTLPMetricExporter())], resource, shutdown_on_exit=False)
