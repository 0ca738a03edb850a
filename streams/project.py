"""project: follows the ledger, so that shards and index come to every decision, whoever made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.index import IndexUnavailable
from schemas.topics import LEDGER
from streams.patience import fold_patiently, patiently

if TYPE_CHECKING:
    from collections.abc import Callable

    from projections.shards import Shards
    from streams.delivery import Delivery


class Project:
    """Brings the shard to the decision at hand, and the index after it. The owner's own decision already is there."""

    def __init__(self, *, shards: Shards, counted: Callable[[str, str], None] = lambda _step, _outcome: None) -> None:
        self._shards = shards
        self._counted = counted

    async def handle(self, delivery: Delivery) -> None:
        """Fold up to one record of the ledger. Raises NotHeld when its partition is taken away meanwhile."""
        position = delivery.record.position
        if position.topic == LEDGER.name:
            await self._shards.ready(position.partition)
        following = position.offset + 1
        await fold_patiently(lambda: self._shards.up_to(position.topic, position.partition, following))
        self._shards.indexing.decided(delivery.record)
        await patiently(self._shards.indexing.follow, IndexUnavailable, lambda _: self._counted("project", "waiting"))
        self._counted("project", "folded")
        delivery.ack()
