"""Libraries that cannot reach a broker say so once a minute, and everything else is said as ever."""

from __future__ import annotations

import logging

import pytest
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from mnemolog.cli.logs import OncePerMinute, start_logging


@pytest.fixture
def said():
    """Return what is said of records, by a clock that a test sets."""
    clock = [100.0]
    calm = OncePerMinute(lambda: clock[0])

    def say(seconds, name, message, *arguments):
        clock[0] = seconds
        record = logging.LogRecord(name, logging.ERROR, "", 0, message, arguments, None)
        return record.getMessage() if calm.filter(record) else None

    return say


def test_a_broker_that_is_away_is_named_once_a_minute_whatever_is_tried(said):
    assert said(100, "aiokafka", 'Unable connect to "%s:%s": %s', "kafka", 9092, "refused") is not None
    assert said(101, "aiokafka", 'Unable to request metadata from "%s:%s": %s', "kafka", 9092, "refused") is None
    assert said(102, "aiokafka.conn", "Unable connect to node with id %s: %s", 1, "refused") is not None
    assert said(159, "aiokafka.consumer", "Error sending %s to node %s [%s]", "HeartbeatRequest", 1, "gone") is None
    assert said(161, "aiokafka", 'Unable connect to "%s:%s": %s', "kafka", 9092, "refused") == (
        'Unable connect to "kafka:9092": refused (and 1 more about this in the last minute)'
    )


def test_another_broker_and_another_matter_are_said_too(said):
    assert said(100, "aiokafka", 'Unable connect to "%s:%s": %s', "kafka-1", 9092, "refused") is not None
    assert said(100, "aiokafka", 'Unable connect to "%s:%s": %s', "kafka-2", 9092, "refused") is not None
    for seconds in (100, 101):
        found = said(seconds, "aiokafka.cluster", "Topic %s is not authorized for this client", "mnemolog.inbox")
        assert (found is None) == (seconds == 101)


def test_what_mnemolog_says_is_never_left_out(said):
    for _ in range(3):
        assert said(100, "mnemolog", "the log is away") == "the log is away"


def test_what_a_stranger_sends_as_a_trace_is_not_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(logging.getLogger(), "level", logging.WARNING)
    start_logging("warning", "text")
    logging.getLogger("mnemolog").warning("something of ours")
    sent = {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01", "tracestate": "my words, again and again" * 300}
    TraceContextTextMapPropagator().extract(sent)
    said = capsys.readouterr().err
    assert ("something of ours" in said, "my words" in said) == (True, False)
