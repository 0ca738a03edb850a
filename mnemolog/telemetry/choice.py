"""The choice made by OpenTelemetry's standard variables: the exporters, and whether content may be exported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

Exporter: TypeAlias = Literal["otlp", "console", "none"]
KNOWN: Final = frozenset({"otlp", "console", "none"})
PROTOCOL: Final = "http/protobuf"
WORDS: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_WITH_WORDS: Final = frozenset({"true", "span_only", "span_and_event"})


class NotPossible(ValueError):
    """The variables ask for something unavailable; the message says for what."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The exporters of traces and metrics, and whether content is exported."""

    traces: Exporter
    metrics: Exporter
    has_words: bool = False
    """Whether the attributes of spans include queries and content."""


def chosen(environment: Mapping[str, str]) -> Choice | None:
    """Return the choice of the variables; None if nothing is exported. Raises NotPossible.

    An endpoint is enough. Without an endpoint and without a named exporter nothing is exported.
    """
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    traces, metrics = (_exporter(environment, signal) for signal in ("TRACES", "METRICS"))
    if traces == metrics == "none":
        return None
    return Choice(traces, metrics, has_words=environment.get(WORDS, "").strip().lower() in _WITH_WORDS)


def _exporter(environment: Mapping[str, str], signal: str) -> Exporter:
    named = environment.get(f"OTEL_{signal}_EXPORTER", "").strip().lower()
    endpoints = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    if not named:
        named = "otlp" if any(environment.get(name) for name in endpoints) else "none"
    if named not in KNOWN:
        raise NotPossible(f"OTEL_{signal}_EXPORTER={named}: there are {', '.join(sorted(KNOWN))}")
    protocol = environment.get(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL") or environment.get(
        "OTEL_EXPORTER_OTLP_PROTOCOL"
    )
    if named == "otlp" and protocol not in (None, "", PROTOCOL):
        raise NotPossible(f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol}: there is {PROTOCOL}, which collectors have at 4318")
    return cast("Exporter", named)
