"""Memories and their vectors as rows of the shard's file; a memory is JSON, in the order of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import orjson

from projections.state.memory import Memory

if TYPE_CHECKING:
    from projections.shard.tables import ShardConnection

_TIMES: Final = tuple(field.name for field in fields(Memory) if "datetime" in str(field.type))
_LISTS: Final = tuple(field.name for field in fields(Memory) if "tuple" in str(field.type))
_NAMES: Final = {field.name: field.name for field in fields(Memory)} | {"last_tick_id": "last_tick"}
"""The keys of a row by the fields that they hold: an id that rows of every version spell as the first one did."""
_values: Final = attrgetter(*_NAMES)


def memory_of_row(body: bytes) -> Memory:
    """Return the memory that a row holds; a row of an earlier version lacks what was added since."""
    row = orjson.loads(body)
    row["last_tick_id"] = row.pop("last_tick")
    for name in _TIMES:
        if row.get(name) is not None:
            row[name] = datetime.fromisoformat(row[name])
    for name in _LISTS:
        row[name] = tuple(row.get(name, ()))
    return Memory(**row)


def row_of_memory(memory: Memory) -> bytes:
    """Return the row of a memory."""
    return orjson.dumps(dict(zip(_NAMES.values(), _values(memory), strict=True)))


class Vectors(Mapping[str, bytes]):
    """A user's vectors by memory id, read from the shard when asked for."""

    def __init__(self, connection: ShardConnection, owner: str) -> None:
        self._connection = connection
        self._owner = owner

    def __getitem__(self, memory_id: str) -> bytes:
        found = self._connection.execute(
            "select vector from vectors where owner=? and memory_id=?", (self._owner, memory_id)
        ).fetchone()
        if found is None:
            raise KeyError(memory_id)
        return bytes(found[0])

    def all(self) -> dict[str, bytes]:
        """Return all of them, read at once."""
        run = self._connection.execute
        return {i: bytes(v) for i, v in run("select memory_id, vector from vectors where owner=?", (self._owner,))}

    def __iter__(self) -> Iterator[str]:
        for (memory_id,) in self._connection.execute("select memory_id from vectors where owner=?", (self._owner,)):
            yield memory_id

    def __len__(self) -> int:
        found = self._connection.execute("select count(*) from vectors where owner=?", (self._owner,)).fetchone()
        return int(found[0])
