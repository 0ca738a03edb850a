"""What the standard variables of OpenTelemetry ask for."""

from __future__ import annotations

import pytest
from support.tables import each

from mnemolog.telemetry.choice import Choice, NotPossible, chosen

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}


@each(
    "environment",
    [
        {},
        ENDPOINT | {"OTEL_SDK_DISABLED": "true"},
        ENDPOINT | {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"},
        {"OTEL_SERVICE_NAME": "memory"},
        {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"},
    ],
)
def test_nothing_is_exported_unasked(environment: dict[str, str]):
    assert chosen(environment) is None


def test_an_endpoint_is_enough():
    assert chosen(ENDPOINT) == Choice("otlp", "otlp")


def test_an_endpoint_may_be_of_one_signal():
    assert chosen({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/x"}) == Choice("otlp", "none")


def test_exporters_are_named():
    assert chosen({"OTEL_TRACES_EXPORTER": "console"}) == Choice("console", "none")
    assert chosen(ENDPOINT | {"OTEL_METRICS_EXPORTER": "none"}) == Choice("otlp", "none")


@each(
    ("given", "has_words"),
    [
        ("true", True),
        ("SPAN_ONLY", True),
        ("span_and_event", True),
        ("event_only", False),
        ("false", False),
        ("", False),
    ],
)
def test_words_leave_on_opt_in(given: str, has_words: bool):  # noqa: FBT001 - an example
    choice = chosen(ENDPOINT | {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": given})
    assert choice is not None
    assert choice.has_words is has_words


def test_what_there_is_not_is_named():
    with pytest.raises(NotPossible, match="OTEL_TRACES_EXPORTER=zipkin"):
        chosen({"OTEL_TRACES_EXPORTER": "zipkin"})
    with pytest.raises(NotPossible, match=r"grpc.*http/protobuf.*4318"):
        chosen(ENDPOINT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
