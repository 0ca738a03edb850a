"""What telemetry costs: memories added and searched over HTTP, with a listener and without, in one worker.

    python bench/telemetry.py

Each round serves the same requests without a listener, with one, and without one again. With it, every request is
sampled, and spans go through the SDK's batches to an exporter that encodes them for OTLP and sends them nowhere. The
processor time of this process is measured, because the machine has other work too.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from mnemolog.http.app import make_http
from mnemolog.server import tune_process
from mnemolog.settings import from_environment
from mnemolog.telemetry.listener import OpenTelemetry
from mnemolog.worker.worker import Worker
from schemas.telemetry import listen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.trace import ReadableSpan

REQUESTS, ROUNDS = 60, 7
KINDS: Final = ("add", "search")


class Nowhere(SpanExporter):
    """An exporter without the network."""

    def __init__(self) -> None:
        self.spans = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Encode the spans."""
        self.spans += len(spans)
        encode_spans(spans).SerializeToString()
        return SpanExportResult.SUCCESS


class Caller:
    """Sends a round's requests, no two of them the same."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._number = 0

    async def seconds(self, kind: str) -> float:
        """Return the processor time of one request of a kind."""
        began = time.process_time()
        for _ in range(REQUESTS):
            self._number += 1
            if kind == "add":
                body = {"user_id": "u1", "content": f"owns book number {self._number} of a long row"}
                answer = await self._http.post("/v1/memories", json=body)
            else:
                asked = {"user_id": "u1", "query": f"book number {self._number}", "recall": False}
                answer = await self._http.post("/v1/search", json=asked)
            assert answer.is_success, answer.text
        return (time.process_time() - began) / REQUESTS


async def measure(folder: Path) -> dict[str, object]:
    """Measure both kinds of requests in alternating rounds; return milliseconds and ratios."""
    nowhere = Nowhere()
    tracers, meters = TracerProvider(shutdown_on_exit=False), MeterProvider(shutdown_on_exit=False)
    tracers.add_span_processor(BatchSpanProcessor(nowhere))
    listener = OpenTelemetry(tracers, meters)
    worker = Worker(from_environment({}, data_dir=folder, extractor="rules", partitions=2))
    spent: dict[tuple[str, bool], list[float]] = {(kind, on): [] for kind in KINDS for on in (False, True)}
    try:
        await worker.start()
        transport = httpx.ASGITransport(make_http(worker))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as http:
            caller = Caller(http)
            for number in range(ROUNDS + 1):
                for kind in KINDS:
                    took = []
                    for on in (False, True, False):
                        with ExitStack() as block:
                            if on:
                                block.enter_context(listen(listener))
                            took.append(await caller.seconds(kind))
                    if number:  # the first round warms up
                        spent[kind, False].append((took[0] + took[2]) / 2)
                        spent[kind, True].append(took[1])
    finally:
        await worker.stop()
        tracers.shutdown()
        meters.shutdown()
    assert nowhere.spans > ROUNDS * REQUESTS
    found: dict[str, object] = {}
    for kind in KINDS:
        without, heard = spent[kind, False], spent[kind, True]
        ratios = [one / other for one, other in zip(heard, without, strict=True)]
        ratio, ms = statistics.median(ratios), [1000 * statistics.median(one) for one in (without, heard)]
        print(
            f"{kind}: {ms[0]:.2f} ms without, {ms[1]:.2f} ms with, ratio {ratio:.2f}, of {len(ratios)} rounds",
            flush=True,
        )
        print(f"  {min(ratios):.2f} to {max(ratios):.2f}")
        found[kind] = {
            "without_ms": round(ms[0], 2),
            "with_ms": round(ms[1], 2),
            "ratio": round(ratio, 2),
            "of": [round(min(ratios), 2), round(max(ratios), 2)],
        }
    return found


async def main() -> dict[str, object]:
    """Measure, in a process that is set up as a worker's."""
    tune_process()
    with tempfile.TemporaryDirectory() as folder:
        return await measure(Path(folder))


if __name__ == "__main__":
    asyncio.run(main())
