"""project: follows the ledger, so that shards and index get every decision, whichever worker made it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from projections.index.durability import LOOK_EVERY_SECONDS
from projections.index.protocol import IndexUnavailable
from projections.shard.errors import ShardUnavailable
from schemas.topics import LEDGER
from streams.delivery.retry import catch_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from projections.index.sync import IndexSync
    from projections.partitions.shards import Shards
    from streams.delivery.delivery import Delivery


class Project:
    """Folds each decision into the shard, then updates the index. An index that is away does not delay the shard."""

    def __init__(
        self,
        *,
        shards: Shards,
        index_sync: IndexSync,
        every_seconds: float = LOOK_EVERY_SECONDS,
        counted: Callable[[str, str], None] = lambda _step, _outcome: None,
    ) -> None:
        self._shards = shards
        self._index_sync = index_sync
        self._every_seconds = every_seconds
        self._counted = counted

    async def handle(self, delivery: Delivery) -> None:
        """Fold up to one record of the ledger. Raises NotHeld when its partition is released meanwhile."""
        position = delivery.record.position
        if position.topic == LEDGER.name:
            await self._shards.assignment.wait_until_ready(position.partition)
        place = (position.topic, position.partition, position.offset + 1)
        # The task that folded it, mostly `remember`, flushes; `flush_index` does in any case.
        if not self._shards.has_folded(*place):
            await catch_up(self._shards, *place)
            await self._index_sync.try_flush()
        self._counted("project", "folded")
        delivery.ack()

    async def flush_index(self) -> None:
        """Write pending changes to the index repeatedly, until cancelled."""
        while True:
            try:
                await self._index_sync.flush()
            except (IndexUnavailable, ShardUnavailable):
                self._counted("project", "waiting")
            await asyncio.sleep(self._every_seconds)

    async def check_index(self) -> None:
        """Check repeatedly, until cancelled, whether the index may have lost writes, also during a flush."""
        while True:
            await asyncio.sleep(self._every_seconds)
            await self._index_sync.check_health()
