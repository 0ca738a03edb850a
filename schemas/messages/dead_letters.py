"""Dead letters: the bytes of a record that could not be read or handled, its position, and the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from schemas.telemetry import is_trace

if TYPE_CHECKING:
    from schemas.log import Headers, Record
    from schemas.messages.envelope import Envelope

RETRIED: Final = "retried"
"""The reason of the letter that says that another one was sent back."""

TOO_LARGE: Final = "too_large"
"""The reason of a letter whose record the log does not take, or not whole: it is not sent back."""

UNDELIVERED: Final = "undelivered"
"""The reason of a letter about changes that a webhook's receiver did not take: sent back, they are posted again."""

SENT_BACK_FROM: Final = "mnemolog-sent-back-from"
"""The header that says where a record that was sent back stood first, however often it was."""


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
    """decode, key, body_differs, failed, too_large, undelivered; retried for a note about one that was sent back."""
    detail: str


def headers_in_clear(headers: Headers) -> Headers:
    """Return of a record's headers those that a sealed one keeps, for headers are not sealed.

    A place says no word, and neither do the ids of a trace.
    """
    return tuple(header for header in headers if header[0] == SENT_BACK_FROM or is_trace(*header))


def first_position(record: Record) -> str:
    """Return where a record stood first: two that are one, sent back twice, have it in common."""
    sent_back = next((value for name, value in record.headers if name == SENT_BACK_FROM), None)
    return str(record.position) if sent_back is None else sent_back.decode(errors="replace")
