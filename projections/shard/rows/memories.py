"""Memories, their vectors and the decisions about them as rows of the shard's file.

A memory is JSON, in the order of its fields, without those that have their usual value. A decision is its bytes without
the vectors, which have a table of their own, compressed if that is worth it.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from operator import attrgetter
from struct import Struct
from sys import intern
from typing import TYPE_CHECKING, Any, Final

import orjson

from projections.state.memory import Memory
from schemas import codec
from schemas.messages.decision import Decision

if TYPE_CHECKING:
    from projections.shard.tables import ShardConnection

_TIMES: Final = tuple(field.name for field in fields(Memory) if "datetime" in str(field.type))
_LISTS: Final = tuple(field.name for field in fields(Memory) if "tuple" in str(field.type))
_NAMES: Final = {field.name: field.name for field in fields(Memory)} | {"last_tick_id": "last_tick"}
"""The keys of a row by field name. One key differs from its field: rows keep the spelling of the first version."""
_USUAL: Final[dict[str, object]] = {name: [] for name in _LISTS} | {
    "scope": "personal",
    "initial_strength": 1.0,
    "strength": 1.0,
    "access_count": 0,
    "recall_count": 0,
    "metadata": "{}",
    "text_version": 1,
    "confirmed": True,
}
"""The values that a row leaves out, in addition to None. Queries in SQL do not read these fields."""
_EMPTY: Final = {name: () if value == [] else value for name, value in _USUAL.items()}
"""The same values with the types that a memory has."""
_NEVER: Final = object()
"""A value that no memory has."""
_OF_FEW_VALUES: Final = ("kind", "memory_type", "category", "source_type", "status", "embedding_model")
"""The fields with few values, each of which is one interned string for all users."""
_REPEATED: Final = (
    "agent_id",
    "attribute",
    "event_type",
    "emotion",
    "session_id",
    "last_tick_id",
    "about",
    "speaker",
    "becomes",
)
"""The fields with few values for one user, but many for all: the first releases of Python 3.12 never free interned
strings."""
_SAME: Final = ("formed_at", "said_at")
"""The times that a row leaves out if they equal `occurred_at`."""
_OPTIONAL: Final = {*_SAME, *(field.name for field in fields(Memory) if "None" in str(field.type))}
_LEFT_OUT: Final[dict[str, object]] = {_NAMES[name]: None for name in _NAMES if name in _OPTIONAL} | _USUAL


_KEYS: Final = tuple(_NAMES.values())
_USUALS: Final = tuple(_EMPTY.get(key, _NEVER) for key in _KEYS)
_values: Final = attrgetter(*_NAMES)
_LEVEL: Final = 1
_LARGE: Final = 768
"""The size from which a decision, without its vectors, is compressed: below, a tenth of a fold would save 100 bytes."""
_PLAIN: Final = b"\0"
"""The first byte of the row of an uncompressed decision; then follow the number of vectors left out, and for each its
place in the decision and its length."""
_PLACE: Final = Struct("<II")
_MANY: Final = 8
"""The most vectors of an uncompressed decision: one with more of them is large anyway."""
_LEAST_VECTOR: Final = 32
"""The fewest bytes of a vector that is left out: a shorter one may occur in a decision by chance."""


def memory_of_row(body: bytes, known: dict[str, str] | None = None) -> Memory:
    """Return the memory that a row holds; a row of an earlier version lacks the fields added since.

    `known` holds strings of the user's other memories, which are reused if equal; this memory's own are added.
    """
    known = {} if known is None else known
    row: dict[str, Any] = _LEFT_OUT | orjson.loads(body)
    row["last_tick_id"] = row.pop("last_tick")
    for name in _SAME:
        row[name] = row[name] or row["occurred_at"]
    instants: dict[str, datetime] = {}
    for name in _TIMES:
        if (spelt := row[name]) is not None:
            if spelt not in instants:
                instants[spelt] = datetime.fromisoformat(spelt)
            row[name] = instants[spelt]
    for name in _OF_FEW_VALUES:
        row[name] = intern(row[name])
    for name in _REPEATED:
        if (said := row[name]) is not None:
            row[name] = known.setdefault(said, said)
    for name in _LISTS:
        row[name] = tuple(row[name])
    return Memory(**row)


def row_of_memory(memory: Memory) -> bytes:
    """Return the row of a memory."""
    row = {
        key: value
        for key, usual, value in zip(_KEYS, _USUALS, _values(memory), strict=True)
        if value is not None and (value != usual or type(value) is not type(usual))
    }
    for name in _SAME:
        if row[name] == memory.occurred_at:
            del row[name]
    return orjson.dumps(row)


def row_of_decision(value: bytes, vectors: Iterable[bytes]) -> bytes:
    """Return the row of a decision; `vectors` are those of its events, which the row leaves out."""
    found = list[tuple[int, int]]()
    for vector, times in Counter(vectors).items():  # memories with the same words have the same vector
        places = list(_places(value, vector)) if len(vector) >= _LEAST_VECTOR else []
        if len(places) == times:
            found += [(place, len(vector)) for place in places]
    if len(value) - sum(length for _, length in found) > _LARGE or len(found) > _MANY:
        for place, length in found:
            value = b"".join((value[:place], bytes(length), value[place + length :]))
        return zlib.compress(value, _LEVEL)
    parts, end = [_PLAIN, bytes((len(found),))], 0
    for place, length in sorted(found):
        parts.append(_PLACE.pack(place, length))
    for place, length in sorted(found):
        parts.append(value[end:place])
        end = place + length
    parts.append(value[end:])
    return b"".join(parts)


def _places(value: bytes, vector: bytes) -> Iterator[int]:
    """Yield the places of a vector, searched by its beginning: for all of it, Python would take four times as long."""
    beginning = vector[:_LEAST_VECTOR]
    place = value.find(beginning)
    while place >= 0:
        is_there = value.startswith(vector, place)
        if is_there:
            yield place
        place = value.find(beginning, place + (len(vector) if is_there else 1))


def decision_of_row(body: bytes) -> Decision:
    """Return the decision that a row holds, with zeros for its vectors. Raises UnknownSchema, Undecodable."""
    return codec.decode_as(_value_of_row(body), Decision)


def decision_naming(body: bytes, memory_id: str) -> Decision | None:
    """Return the decision that a row holds if it names a memory, else None; only a match is decoded."""
    value = _value_of_row(body)
    return codec.decode_as(value, Decision) if memory_id.encode() in value else None


def _value_of_row(body: bytes) -> bytes:
    if body.startswith(_PLAIN):
        return _filled(body)
    try:
        return zlib.decompress(body)
    except zlib.error as error:
        raise codec.Undecodable(f"the row is no decision: {error}") from error


def _filled(body: bytes) -> bytes:
    """Return the bytes of a decision whose row is not compressed."""
    first = len(_PLAIN) + 1
    start = first + body[len(_PLAIN)] * _PLACE.size
    value = body[start:]
    for place, length in _PLACE.iter_unpack(body[first:start]):  # in order, so that each place is right by its turn
        value = b"".join((value[:place], bytes(length), value[place:]))
    return value


class Vectors(Mapping[str, bytes]):
    """A user's vectors by memory id, read from the shard on demand."""

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

    def among(self, memory_ids: Collection[str]) -> dict[str, bytes]:
        """Return the vectors of some memories in one read; unknown ids are left out."""
        found = self._connection.execute(
            "select memory_id, vector from vectors where owner=? and memory_id in (select value from json_each(?))",
            (self._owner, orjson.dumps(list(memory_ids)).decode()),
        )
        return {memory_id: bytes(vector) for memory_id, vector in found}

    def lengths(self, memory_ids: Collection[str]) -> dict[int, int]:
        """Return the number of some memories' vectors by stored length in bytes."""
        found = self._connection.execute(
            "select length(vector), count(*) from vectors where owner=? "
            "and memory_id in (select value from json_each(?)) group by 1",
            (self._owner, orjson.dumps(list(memory_ids)).decode()),
        )
        return dict(found)

    def all(self) -> dict[str, bytes]:
        """Return all vectors in one read."""
        run = self._connection.execute
        return {i: bytes(v) for i, v in run("select memory_id, vector from vectors where owner=?", (self._owner,))}

    def __iter__(self) -> Iterator[str]:
        for (memory_id,) in self._connection.execute("select memory_id from vectors where owner=?", (self._owner,)):
            yield memory_id

    def __len__(self) -> int:
        found = self._connection.execute("select count(*) from vectors where owner=?", (self._owner,)).fetchone()
        return int(found[0])
