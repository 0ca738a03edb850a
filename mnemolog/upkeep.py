"""What a worker among others looks after by itself, besides its agents: everybody's memories."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from projections.shard_trouble import ShardUnavailable

if TYPE_CHECKING:
    from projections.shards import Shards

FOLLOW_EVERY_SECONDS: Final = 1.0


async def follow_for_ever(shards: Shards) -> None:
    """Fold global memories that others decide."""
    while True:
        await asyncio.sleep(FOLLOW_EVERY_SECONDS)
        with suppress(ShardUnavailable):
            await shards.follow_globals()
