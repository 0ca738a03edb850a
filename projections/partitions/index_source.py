"""The source of the index: entries of the active memories in the shards that a worker holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.index.entries import Entries, entries_of, split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.index.encoding import Encoding
    from projections.index.protocol import IndexEntry
    from projections.partitions.shards import Shards
    from projections.shard.shard import Shard
    from schemas.identity import Owner


class ShardIndexSource:
    """The `IndexSource` of a worker's shards."""

    def __init__(self, shards: Shards) -> None:
        self._shards = shards

    def all(self) -> list[Shard]:
        """Return the shards held."""
        return self._shards.all()

    def is_held(self, owner: Owner) -> bool:
        """Return whether the shard of an owner's memories is held; that of global memories always is."""
        return owner.is_global or self._shards.counts(owner)

    def entries(self, owner: Owner, encoding: Encoding | None = None) -> Sequence[IndexEntry]:
        """Return index entries of a user's active memories, in `encoding` or else the serving one. Raises NotHeld."""
        if (chosen := encoding or self._shards.encoding) is not None:
            return entries_of(owner, self._shards.of(owner).ledger, chosen)
        return Entries(owner, lambda: self._shards.of(owner).ledger)

    def split(
        self, owner: Owner, ids: Sequence[str], encoding: Encoding | None = None
    ) -> tuple[list[IndexEntry], dict[str, int]]:
        """Return entries of those memories that are active, and the version of each that is gone. Raises NotHeld."""
        return split(owner, self._shards.of(owner).ledger, ids, encoding or self._shards.encoding)
