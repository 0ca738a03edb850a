"""A memory as a row of the shard's file: JSON, in the order of its fields."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import orjson

from projections.memory import Memory

_TIMES: Final = (
    "occurred_at",
    "formed_at",
    "said_at",
    "last_accessed_at",
    "last_recalled_at",
    "restored_at",
    "expires_at",
    "forgotten_at",
)
_LISTS: Final = ("key_dialogue", "source_ids", "pieces", "shared_with")


def memory_of_row(body: bytes) -> Memory:
    """Return the memory that a row holds."""
    row = orjson.loads(body)
    for name in _TIMES:
        if row[name] is not None:
            row[name] = datetime.fromisoformat(row[name])
    for name in _LISTS:
        row[name] = tuple(row.get(name, ()))  # a row of an earlier version lacks what was added since
    return Memory(**row)


def row_of_memory(memory: Memory) -> bytes:
    """Return the row of a memory."""
    return orjson.dumps(memory)
