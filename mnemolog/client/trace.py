"""The caller's trace, in the headers of each request: so what the server does is part of it."""

from __future__ import annotations

import sys


def trace_headers() -> dict[str, str]:
    """Return the headers of the current trace, as OTEL_PROPAGATORS has them; none where the program makes no traces.

    OpenTelemetry is not imported for it: whoever has a span has imported it.
    """
    if "opentelemetry.trace" not in sys.modules:
        return {}
    from opentelemetry import propagate, trace  # noqa: PLC0415 - as said

    headers: dict[str, str] = {}
    if trace.get_current_span().get_span_context().is_valid:
        propagate.inject(headers)
    return headers
