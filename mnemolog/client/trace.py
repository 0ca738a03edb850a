"""The caller's trace in the headers of each request, which makes the server's work part of that trace."""

from __future__ import annotations

import sys


def trace_headers() -> dict[str, str]:
    """Return the headers of the current trace, as OTEL_PROPAGATORS defines them; none if the program makes no traces.

    OpenTelemetry is not imported for this, because a program with a span has already imported it.
    """
    if "opentelemetry.trace" not in sys.modules:
        return {}
    from opentelemetry import propagate, trace  # noqa: PLC0415 - as said

    headers: dict[str, str] = {}
    if trace.get_current_span().get_span_context().is_valid:
        propagate.inject(headers)
    return headers
