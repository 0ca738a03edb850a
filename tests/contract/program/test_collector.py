"""`mnemolog up` sends its traces to a collector where OTEL_* variables ask for it, and starts without the packages."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from contract.telemetry.otlp_receiver import running_receiver
from support.free_ports import free_ports
from support.mnemolog_up import ForkedUp

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "likes quokkaquandary tea"  # noqa: S105 - a user's words


@pytest.mark.parametrize("has_words", [False, True])
def test_a_collector_gets_the_spans_and_the_durations(tmp_path: Path, has_words: bool):  # noqa: FBT001 - an example
    [port] = free_ports(1)
    with running_receiver() as collector:
        up = ForkedUp(
            tmp_path,
            port,
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            OTEL_SERVICE_NAME="memory-of-agents",
            OTEL_BSP_SCHEDULE_DELAY="100",
            OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=str(has_words).lower(),
        )
        try:
            up.wait_until_ready()
            up.client.remember(SECRET, "u1")
            assert up.client.search("u1", query="tea")
            collector.until("create_memory", "decide", "fold", "search_memory", "keyword", "vector")
        finally:
            code, said = up.end(signal.SIGTERM)
        assert code == 0, said
        assert collector.services() == {"memory-of-agents"}
        assert {"gen_ai.client.operation.duration", "http.server.request.duration"} <= collector.metric_names()
        exported = b"".join(one.SerializeToString() for one in (*collector.traces, *collector.metrics))
        assert (SECRET.encode() in exported) is has_words


def test_a_collector_that_is_away_keeps_nobody_waiting(tmp_path: Path):
    [port, nobody] = free_ports(2)
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{nobody}", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    up = ForkedUp(tmp_path, port, **variables)
    try:
        up.wait_until_ready()
        up.client.remember("likes tea", "u1")
    finally:
        code, said = up.end(signal.SIGTERM)
    assert code == 0, said


class UpWithoutPackages(ForkedUp):
    """A worker where the extra is not installed."""

    missing = ("opentelemetry.sdk",)


@pytest.mark.parametrize(
    ("program", "variables", "told"),
    [
        (UpWithoutPackages, {}, "pip install 'mnemolog[otel]'"),
        (ForkedUp, {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "no telemetry: OTEL_EXP"),
    ],
)
def test_a_worker_serves_without_telemetry_that_cannot_be_had(
    tmp_path: Path, program: type[ForkedUp], variables: dict[str, str], told: str
):
    [port] = free_ports(1)
    up = program(tmp_path, port, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", **variables)
    try:
        up.wait_until_ready()
    finally:
        code, said = up.end(signal.SIGTERM)
    assert code == 0, said
    assert told in said.partition("answers at")[0]
    assert "answers at" in said
