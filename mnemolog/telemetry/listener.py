"""The listener that creates OpenTelemetry's spans and metrics; the only file that uses its API."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from schemas.bounded_cache import BoundedCache
from schemas.telemetry import TRACEPARENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from schemas.telemetry import Attributes, Carrier, Kind, Span

SCOPE: Final = "mnemolog"
OPERATION: Final = "gen_ai.operation.name"
ERROR: Final = "error.type"
MEMORIES_KEPT: Final = 10_000
"""The memories whose trace is kept until a search first finds them."""
OF_OPERATIONS: Final = (OPERATION, "gen_ai.request.model", ERROR)
OF_REQUESTS: Final = ("http.request.method", "http.route", "http.response.status_code", "url.scheme", ERROR)
"""The attributes of durations; never ids of memories, tenants or users."""
SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
_KINDS: Final = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
    "consumer": SpanKind.CONSUMER,
}
_W3C: Final = TraceContextTextMapPropagator()


class OpenSpan:
    """An OpenTelemetry span with the attributes of its duration."""

    def __init__(self, inner: trace.Span, attributes: Attributes, *, has_words: bool) -> None:
        self._inner = inner
        self._has_words = has_words
        self.noted: dict[str, str | int | float | bool] = dict(attributes)

    @property
    def traceparent(self) -> str | None:
        """See `Span`."""
        carrier: dict[str, str] = {}
        _W3C.inject(carrier, trace.set_span_in_context(self._inner, Context()))
        return carrier.get(TRACEPARENT)

    def note(self, attributes: Attributes) -> None:
        """See `Span`."""
        self.noted.update(attributes)
        self._inner.set_attributes(dict(attributes))

    def reveal(self, attributes: Callable[[], Attributes]) -> None:
        """See `Span`."""
        if self._has_words and self._inner.is_recording():
            self._inner.set_attributes(dict(attributes()))

    def rename(self, name: str) -> None:
        """See `Span`."""
        self._inner.update_name(name)

    def fail(self, kind: str) -> None:
        """See `Span`."""
        self.note({ERROR: kind})
        self._inner.set_status(Status(StatusCode.ERROR))


class OpenTelemetry:
    """Passes spans and durations on to providers, which the caller must shut down."""

    def __init__(self, tracers: TracerProvider, meters: MeterProvider, *, has_words: bool = False) -> None:
        """`has_words` is whether queries and the content of memories become attributes."""
        self._tracer = tracers.get_tracer(SCOPE)
        meter = meters.get_meter(SCOPE)
        self._operations = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="GenAI operation duration.",
            explicit_bucket_boundaries_advisory=SECONDS,
        )
        self._requests = meter.create_histogram(
            "http.server.request.duration",
            unit="s",
            description="Duration of HTTP server requests.",
            explicit_bucket_boundaries_advisory=SECONDS,
        )
        self._has_words = has_words
        self._made = BoundedCache[str, str](MEMORIES_KEPT)

    @contextmanager
    def span(
        self, name: str, attributes: Attributes, *, kind: Kind, of: Carrier | None, is_measured: bool
    ) -> Iterator[Span]:
        """See `Listener`. The parent is the span that the carrier names, else the current span, if any."""
        parent = None if of is None else _W3C.extract(of)
        began = time.perf_counter()
        with self._tracer.start_as_current_span(
            name,
            context=parent or None,
            kind=_KINDS[kind],
            attributes=dict(attributes),
            record_exception=False,  # its text may quote a user
            set_status_on_exception=False,
        ) as inner:
            opened = OpenSpan(inner, attributes, has_words=self._has_words)
            try:
                yield opened
            except Exception as error:
                opened.fail(type(error).__name__)
                raise
            finally:
                if is_measured:
                    self._measure(opened, kind, time.perf_counter() - began)

    def current(self) -> Span:
        """See `Listener`."""
        return OpenSpan(trace.get_current_span(), {}, has_words=self._has_words)

    def made(self, memory_id: str, traceparent: str) -> None:
        """See `Listener`. Beyond the limit, the oldest memories are dropped."""
        self._made.put(memory_id, traceparent)

    def found(self, memory_ids: Iterable[str]) -> None:
        """See `Listener`."""
        now = trace.get_current_span()
        for memory_id in memory_ids:
            if (traceparent := self._made.pop(memory_id)) is not None:
                context = trace.get_current_span(_W3C.extract({TRACEPARENT: traceparent})).get_span_context()
                now.add_link(context, {"gen_ai.memory.record.id": memory_id})

    def _measure(self, opened: OpenSpan, kind: Kind, seconds: float) -> None:
        if kind == "server":
            self._requests.record(seconds, {name: opened.noted[name] for name in OF_REQUESTS if name in opened.noted})
        elif OPERATION in opened.noted:
            told = {name: opened.noted[name] for name in OF_OPERATIONS if name in opened.noted}
            self._operations.record(seconds, told | {"gen_ai.provider.name": SCOPE})
