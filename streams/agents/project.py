"""project: follows the ledger, so that shards and index come to every decision, whoever made it."""

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

    from projections.partitions.shards import Shards
    from streams.delivery.delivery import Delivery


class Project:
    """Brings the shard to the decision at hand, and the index after it; one that is away holds nothing up."""

    def __init__(self, *, shards: Shards, counted: Callable[[str, str], None] = lambda _step, _outcome: None) -> None:
        self._shards = shards
        self._counted = counted

    async def handle(self, delivery: Delivery) -> None:
        """Fold up to one record of the ledger. Raises NotHeld when its partition is taken away meanwhile."""
        position = delivery.record.position
        if position.topic == LEDGER.name:
            await self._shards.assignment.ready(position.partition)
        await catch_up(self._shards, position.topic, position.partition, position.offset + 1)
        await self._shards.following.tell_if_it_answers()
        self._counted("project", "folded")
        delivery.ack()

    async def tell_index(self) -> None:
        """Bring the index to where the shards are, for ever."""
        while True:
            try:
                await self._shards.following.tell()
            except (IndexUnavailable, ShardUnavailable):
                self._counted("project", "waiting")
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def look_after_index(self) -> None:
        """Look for ever whether the index may have lost what it was told last, however long telling takes."""
        while True:
            await asyncio.sleep(LOOK_EVERY_SECONDS)
            await self._shards.following.look()
