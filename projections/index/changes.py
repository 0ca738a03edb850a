"""Changes on their way from the shards to an index: entries are read when they are written, so that none is stale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from projections.turns import in_turns

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from projections.index.encoding import Encoding
    from projections.index.protocol import Index, IndexEntry
    from projections.shard.shard import Shard
    from schemas.identity import Owner

    Changes: TypeAlias = dict[Owner, tuple[list[IndexEntry], dict[str, int]]]
    """By user, the entries of active memories, and the versions at which others are gone."""

READ_A_STEP: Final = 50
"""The number of memories whose vectors are read in one step, of two or three milliseconds."""


class IndexSource(Protocol):
    """The source of the index: the shards that this worker holds."""

    def all(self) -> Sequence[Shard]:
        """Return the shards held."""
        ...

    def is_held(self, owner: Owner) -> bool:
        """Return whether the shard of an owner is held."""
        ...

    def entries(self, owner: Owner, encoding: Encoding | None = None) -> Sequence[IndexEntry]:
        """Return an entry for each active memory of an owner, with an encoding's vectors, or else the serving ones.

        Raises NotHeld, ShardUnavailable.
        """
        ...

    def split(
        self, owner: Owner, ids: Sequence[str], encoding: Encoding | None = None
    ) -> tuple[list[IndexEntry], dict[str, int]]:
        """Return entries of those memories that are active, and the versions of the others. Raises as `entries`."""
        ...


class ChangeReader:
    """Reads the entries to write to an index for memories that have changed."""

    def __init__(self, source: IndexSource) -> None:
        self._source = source

    async def read(self, batch: Mapping[Owner, Sequence[str]], encoding: Encoding | None = None) -> Changes:
        """Return the changes to write for a batch, with an encoding's vectors, or else the serving ones.

        They are read in steps; a memory that changes between two of them is marked, and written again. Users whose
        partition is released meanwhile are left out. Raises as the source.
        """
        return await in_turns(self._reading(batch, encoding))

    def _reading(
        self, batch: Mapping[Owner, Sequence[str]], encoding: Encoding | None
    ) -> Generator[None, None, Changes]:
        found: Changes = {}
        for owner, ids in batch.items():
            entries, gone = found[owner] = [], {}
            for begin in range(0, len(ids), READ_A_STEP):
                if not self._source.is_held(owner):
                    del found[owner]
                    break
                more, others = self._source.split(owner, ids[begin : begin + READ_A_STEP], encoding)
                entries += more
                gone |= others
                yield
        return found


async def write(index: Index, changes: Changes) -> None:
    """Remove the memories that are gone from an index, and put the active ones. Raises IndexUnavailable."""
    for owner, (_, gone) in changes.items():
        if gone:
            await index.remove(owner.tenant, owner.user_id, gone)
    await index.put([entry for entries, _ in changes.values() for entry in entries])
