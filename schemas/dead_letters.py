"""What could not be read or handled: the original bytes, where they came from, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schemas.envelope import Envelope


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
    """decode, key, body_differs or failed."""
    detail: str
