"""The users of a worker, those with a damaged history, those that were erased, and the digests over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.partitions.assignment import HistoryDamaged
from projections.shard.snapshot import digests_of, nothing
from projections.shard.tables import name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from projections.shard.rows.damage import Damage
    from projections.shard.shard import Shard
    from schemas.identity import Owner


class Users:
    """The users that this worker decides about, in the shards that it holds; global owners too, each on one worker."""

    def __init__(self, shards: Callable[[], Sequence[Shard]], counts: Callable[[Owner], bool]) -> None:
        """Read the shards that `shards` returns, of the owners that this worker decides about according to `counts`."""
        self._shards = shards
        self._counts = counts

    def owners(self) -> list[Owner]:
        """Return every user that this worker decides about; global owners too, each on one worker of the group.

        Users with a damaged history are left out: nothing is decided about them.
        """
        found = [(owner, shard.ledger.damages) for shard in self._shards() for owner in shard.ledger.owners()]
        return [owner for owner, damages in found if self._counts(owner) and damages.of(name_of(owner)) is None]

    def damages(self) -> list[Damage]:
        """Return the damage to the histories that this worker folds; every worker folds the global ones."""
        return [damage for shard in self._shards() for damage in shard.ledger.damages.all().values()]

    def require_whole(self, tenant: str | None = None) -> None:
        """Raise HistoryDamaged if the history of any user, or of any user of a tenant, is damaged."""
        for damage in self.damages():
            if tenant is None or not damage.user or damage.user.partition("/")[0] == tenant:
                raise HistoryDamaged(damage)

    def known(self, others: Iterable[Owner] = ()) -> list[Owner]:
        """Return the owners of all decisions and observations of this worker, and those of `others` that it owns."""
        found = (owner for shard in self._shards() for owner in (*shard.ledger.owners(), *shard.observations.owners()))
        mine = (owner for owner in others if not owner.is_partition)
        return [owner for owner in dict.fromkeys([*found, *mine]) if self._counts(owner)]

    def erasures(self) -> list[tuple[Owner, str]]:
        """Return each erased user that this worker decides about, with the item that erased the user last."""
        return [one for shard in self._shards() for one in shard.ledger.erasures() if self._counts(one[0])]

    def erased_memories(self) -> list[tuple[Owner, str, str]]:
        """Return the owner and the id of each memory that was erased here, with the item that erased it."""
        found = (one for shard in self._shards() for one in shard.ledger.erased_memories())
        return [one for one in found if self._counts(one[0])]

    def erased_memory(self, tenant: str, memory_id: str) -> tuple[Owner, str] | None:
        """Return the owner of a tenant's erased memory, with the item that erased it; None for any other memory."""
        found = (shard.ledger.erased_memory(memory_id) for shard in self._shards())
        return next((one for one in found if one is not None and one[0].tenant == tenant), None)

    async def digests(self, go_on: Callable[[], None] = nothing) -> dict[str, str]:
        """Return the digests over every user that this worker decides about.

        Raises HistoryDamaged, ShardUnavailable, ShardDamaged.
        """
        self.require_whole()
        return await digests_of([shard.committed_file() for shard in self._shards()], self._counts, go_on)
