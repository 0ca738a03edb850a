"""Redaction at the door: the texts of a body are redacted before ids, digests and vectors are made of them."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from mnemolog.http.problems import Problem, summary
from schemas.inputs.input_events import Fault, InvalidEvent
from schemas.redaction import Redaction, Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

EVENT_TEXTS: Final = ("name", "content", "text", "summary", "app", "title", "context", "metadata")
"""The fields of an event that hold words; ids, times and images are taken as they are."""


def redacted_event(redaction: Redaction, raw: dict[str, Any]) -> dict[str, Any]:
    """Return an input event without what must not be kept. Raises InvalidEvent, which quotes nothing."""
    redacted, faults = _redacted(redaction, raw, EVENT_TEXTS)
    if faults:
        raise InvalidEvent(faults)
    return redacted


def redacted_fields(redaction: Redaction, fields: Mapping[str, Any], texts: Iterable[str]) -> dict[str, Any]:
    """Return a command's fields without what must not be kept in those named. Raises Problem, which quotes nothing."""
    redacted, faults = _redacted(redaction, fields, texts)
    if faults:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, summary(faults), faults)
    return redacted


def _redacted(
    redaction: Redaction, fields: Mapping[str, Any], texts: Iterable[str]
) -> tuple[dict[str, Any], list[Fault]]:
    redacted, faults = dict(fields), []
    for name in texts:
        if redacted.get(name) is None:
            continue
        try:
            redacted[name] = redaction.value(redacted[name])
        except Refused as refused:
            faults.append(Fault(f"$.{name}", str(refused)))
    return redacted, faults
