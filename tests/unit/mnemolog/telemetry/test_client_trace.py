"""The client sends the caller's trace, and imports nothing for it."""

from __future__ import annotations

import subprocess
import sys

import httpx
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import format_span_id, format_trace_id

from mnemolog.client.client import AsyncClient, Client

NOT_IMPORTED = """
import sys
import mnemolog.client.client
from mnemolog.client.trace import trace_headers
assert trace_headers() == {}
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
"""


class Server:
    """Answers every search with nothing, and keeps the trace that each request named."""

    def __init__(self) -> None:
        self.traceparents: list[str | None] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.traceparents.append(request.headers.get("traceparent"))
        return httpx.Response(200, json={"results": []})


def test_the_client_sends_the_current_trace():
    server, tracer = Server(), TracerProvider(shutdown_on_exit=False).get_tracer("agent")
    with Client("http://127.0.0.1", transport=httpx.MockTransport(server)) as client:
        client.search("u1", query="tea")
        with tracer.start_as_current_span("agent") as span:
            client.search("u1", query="tea")
    here = span.get_span_context()
    without, sent = server.traceparents
    assert without is None
    assert sent is not None
    assert sent.startswith(f"00-{format_trace_id(here.trace_id)}-{format_span_id(here.span_id)}-")


@pytest.mark.asyncio
async def test_the_asynchronous_client_does_too():
    server, tracer = Server(), TracerProvider(shutdown_on_exit=False).get_tracer("agent")
    async with AsyncClient("http://127.0.0.1", transport=httpx.MockTransport(server)) as client:
        with tracer.start_as_current_span("agent") as span:
            await client.search("u1", query="tea")
    [sent] = server.traceparents
    assert sent is not None
    assert format_trace_id(span.get_span_context().trace_id) in sent


def test_a_program_without_traces_imports_nothing_for_it():
    subprocess.run([sys.executable, "-c", NOT_IMPORTED], check=True)  # noqa: S603 - our own interpreter
