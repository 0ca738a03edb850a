"""The chain: the records of the ledger are hashed one after another, so that a lost or exchanged one is noticed.

A decision carries the hash of its user's previous decision. A partition has a running head: the hash of the previous
head, of the next record as the log stores it, and of the record's time. A program that keeps a head can therefore check
later whether the log still has every record up to it, in the same order, even if the key of a record was destroyed.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemas.log import Headers, Record
    from schemas.messages.decision import Decision

HASH_BYTES: Final = 32
NO_HEAD: Final = bytes(HASH_BYTES)
"""The head of a partition without records."""
STORED_AS: Final = "mnemolog-stored-as"
"""The header of a record that was replaced in place: the hash of the record that was appended there."""
_TIME_BYTES: Final = 8


def hash_of(value: bytes) -> bytes:
    """Return the hash of a value (BLAKE2b, 32 bytes)."""
    return blake2b(value, digest_size=HASH_BYTES).digest()


def next_head(head: bytes, stored: bytes, at_ms: int) -> bytes:
    """Return the head after a record, given the hash of its stored value and its time in milliseconds."""
    return blake2b(head + stored + at_ms.to_bytes(_TIME_BYTES, "big"), digest_size=HASH_BYTES).digest()


def head_after(head: bytes, records: Iterable[Record]) -> bytes:
    """Return the head after records, given the head before them."""
    at, at_ms = None, 0
    for record in records:
        if record.recorded_at is not at:  # records that were appended together have one time
            at, at_ms = record.recorded_at, round(record.recorded_at.timestamp() * 1000)
        head = next_head(head, record.stored_hash or stored_hash(record), at_ms)
    return head


def stored_hash(record: Record) -> bytes:
    """Return the hash of the value that was appended at a record's position."""
    return record.stored_hash or kept_hash(record.headers) or hash_of(record.value)


def kept_hash(headers: Headers) -> bytes | None:
    """Return the hash of the value that was appended before a replacement; None if the record was not replaced."""
    return next((value for name, value in headers if name == STORED_AS), None) if headers else None


def is_replaced_rightly(record: Record, decision: Decision) -> bool:
    """Return whether a decision may replace the appended one: it is the same, but sealed now, or without erased words.

    Also return True if the record was not replaced.
    """
    kept = kept_hash(record.headers)
    if kept is None:
        return True
    return hash_of(record.value) == kept if decision.replaced is None else decision.replaced[HASH_BYTES:] == kept
