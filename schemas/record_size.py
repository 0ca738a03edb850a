"""The size of a record that is to be appended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from schemas.log import RecordTooLarge
from schemas.topics import max_record_bytes

if TYPE_CHECKING:
    from schemas.log import NewRecord

_BATCH_BYTES: Final = 100
"""Of a batch around the only record in it, at most."""
_HEADER_BYTES: Final = 10
"""Around a header's name and value, at most."""

_SEALING_BYTES: Final = 48
"""How much longer a record is when it is sealed, at most."""


def check_size(record: NewRecord) -> None:
    """Raise RecordTooLarge for a record that its topic does not take, by its bytes in a batch of its own."""
    headers = sum(len(name.encode()) + len(value) + _HEADER_BYTES for name, value in record.headers)
    size = len(record.value) + len(record.key or b"") + headers + _BATCH_BYTES + _SEALING_BYTES
    if size > (limit := max_record_bytes(record.topic)):
        raise RecordTooLarge(f"a record of {record.topic} would have {size} bytes, at most {limit} are allowed")
