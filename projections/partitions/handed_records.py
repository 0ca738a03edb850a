"""The frames in which a worker hands records of the log to a process that folds them; see `fold_process`."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Final

from schemas.log import Position, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FRAME_BYTES: Final = 8 << 20
"""A frame ends with the record that brings it to this size, so that a process holds little of the log in memory."""


def pack(records: Sequence[Record]) -> Iterator[bytes]:
    """Yield frames that together hold the records, in order. All are of one partition of one topic."""
    topic, partition = records[0].position.topic, records[0].position.partition
    rows, size = [], 0
    for number, record in enumerate(records, 1):
        place, content = (record.position.offset, record.recorded_at), (record.key, record.value, record.headers)
        rows.append((*place, *content, record.is_erased, record.stored_hash))
        size += len(record.value)
        if size >= FRAME_BYTES or number == len(records):
            yield pickle.dumps((topic, partition, rows), pickle.HIGHEST_PROTOCOL)
            rows, size = [], 0


def unpack(frame: bytes) -> list[Record]:
    """Return the records that a frame holds. It must come from `pack`, through a pipe of our own."""
    topic, partition, rows = pickle.loads(frame)  # noqa: S301 - of our own program
    return [
        Record(
            position=Position(topic, partition, offset),
            recorded_at=at,
            key=key,
            value=value,
            headers=headers,
            is_erased=is_erased,
            stored_hash=stored_hash,
        )
        for offset, at, key, value, headers, is_erased, stored_hash in rows
    ]
