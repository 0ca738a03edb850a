"""Log time in whole milliseconds, which is Kafka's resolution and therefore that of both logs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from schemas.instant import EPOCH

_MOST = (datetime(9001, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)
_LEAST = (datetime(1, 1, 2, tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)


def to_ms(instant: datetime) -> int:
    """Return whole milliseconds since 1970 UTC, as Kafka counts."""
    return (instant - EPOCH) // timedelta(milliseconds=1)


def from_ms(milliseconds: int) -> datetime:
    """Return the UTC instant of milliseconds since 1970; values outside the years 1 to 9000 are clamped to them.

    A producer's own time may be anything, such as microseconds. The readers of such a record put it aside.
    """
    return EPOCH + timedelta(milliseconds=min(max(milliseconds, _LEAST), _MOST))
