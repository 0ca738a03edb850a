"""Dead letters: the bytes of a record that could not be read or handled, its position, and the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from schemas.telemetry import is_trace

if TYPE_CHECKING:
    from schemas.log import Headers, Record
    from schemas.messages.envelope import Envelope

RETRIED: Final = "retried"
"""The reason of a letter that only notes that another letter was sent back."""

TOO_LARGE: Final = "too_large"
"""The reason of a letter whose record is too large for the log, or for the letter: it is not sent back."""

UNDELIVERED: Final = "undelivered"
"""The reason of a letter about changes that a webhook's receiver did not accept; sent back, they are posted again."""

SENT_BACK_FROM: Final = "mnemolog-sent-back-from"
"""The header with the first position of a record that was sent back, however often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A record that was put aside. `dead-letters retry` appends `value` with `key` to `topic` again."""

    envelope: Envelope
    topic: str
    partition: int
    offset: int
    key: bytes | None = None
    value: bytes
    reason: str
    """decode, key, body_differs, failed, too_large, undelivered; retried for a note about a letter sent back."""
    detail: str


def headers_in_clear(headers: Headers) -> Headers:
    """Return those of a record's headers that its sealed form keeps: headers are not encrypted.

    Neither a position nor the ids of a trace contain a user's words.
    """
    return tuple(header for header in headers if header[0] == SENT_BACK_FROM or is_trace(*header))


def first_position(record: Record) -> str:
    """Return the first position of a record, which all copies of a record that was sent back share."""
    sent_back = next((value for name, value in record.headers if name == SENT_BACK_FROM), None)
    return str(record.position) if sent_back is None else sent_back.decode(errors="replace")
