"""A collector in this process: it takes OTLP over HTTP at a socket, as OpenTelemetry's own does, and decodes it."""

from __future__ import annotations

import gzip
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

if TYPE_CHECKING:
    from collections.abc import Iterator


class Receiver(ThreadingHTTPServer):
    """Keeps what was exported to it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.traces: list[Any] = []
        self.metrics: list[Any] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def spans(self) -> list[Any]:
        return [s for t in list(self.traces) for r in t.resource_spans for o in r.scope_spans for s in o.spans]

    def services(self) -> set[str]:
        resources = [one.resource for trace in list(self.traces) for one in trace.resource_spans]
        return {a.value.string_value for one in resources for a in one.attributes if a.key == "service.name"}

    def metric_names(self) -> set[str]:
        found = [m for e in list(self.metrics) for r in e.resource_metrics for o in r.scope_metrics for m in o.metrics]
        return {one.name for one in found}

    def until(self, *names: str, seconds: float = 30.0) -> None:
        """Wait until spans of these names have arrived."""
        end = time.monotonic() + seconds
        while not set(names) <= {span.name for span in self.spans()}:
            assert time.monotonic() < end, f"only {sorted({span.name for span in self.spans()})} arrived"
            time.sleep(0.05)


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        assert self.headers["content-type"] == "application/x-protobuf"
        if self.path == "/v1/traces":
            self.server.traces.append(ExportTraceServiceRequest.FromString(body))
        else:
            assert self.path == "/v1/metrics"
            self.server.metrics.append(ExportMetricsServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        threading.Thread(target=receiver.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield receiver
        finally:
            receiver.shutdown()
