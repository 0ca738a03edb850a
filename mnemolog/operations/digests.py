"""Digests: one hash for each projection and one over all, to tell whether two folds of the log are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.state.digest import combined

if TYPE_CHECKING:
    from mnemolog.cluster.scatter_gather import ScatterGather
    from projections.partitions.shards import Shards


class Digests:
    """The digests of this worker's users, and of all users."""

    def __init__(self, shards: Shards, cluster: ScatterGather) -> None:
        self._shards = shards
        self._cluster = cluster

    async def read_local(self) -> dict[str, str]:
        """Return the digests over the users of this worker, by projection."""
        return await self._shards.users.digests()

    async def read(self) -> dict[str, str]:
        """Return the digests over all users, by projection. Raises PeerUnavailable."""
        return combined(await self._cluster.gather(self.read_local(), "digest", {}, None))
