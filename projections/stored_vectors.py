"""The vectors of a user's memories, as a shard holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from projections.shard_file import ShardConnection


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
