"""Copies of shards among the workers of a group: what the others offer, and how a file comes over."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

import httpx
import orjson

from mnemolog.cluster.peers import PeerUnavailable
from projections.partitions.receiver import NotCopied, Offer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from mnemolog.cluster.peers import Peers

ROUTE: Final = "/v1/internal/shard"
OFFERS_SECONDS: Final = 5.0
"""How long workers are asked that cannot answer now: where a partition moved from, it is still being closed."""
ASK_AGAIN_SECONDS: Final = 0.25
PART_SECONDS: Final = 20.0
"""A giver that sends nothing for so long has the copy given up: folding does not wait for it."""

log = logging.getLogger("mnemolog.shard")


class PeersShards:
    """What the other workers of the group have of a partition."""

    def __init__(self, peers: Peers, seconds: float = OFFERS_SECONDS) -> None:
        """Wait at most so many seconds for those that cannot say what they have."""
        self._peers = peers
        self._seconds = seconds

    async def offers(self, partition: int) -> list[Offer]:
        """Ask all others, those that cannot say it now again and again."""
        found: list[Offer] = []
        asked = [asyncio.create_task(self._offer(url, partition, found)) for url in self._peers.others()]
        try:
            if asked:
                await asyncio.wait(asked, timeout=self._seconds)
        finally:
            for task in asked:
                task.cancel()
        return found

    async def _offer(self, url: str, partition: int, found: list[Offer]) -> None:
        while True:
            try:
                answer = await self._peers.ask(url, ROUTE, {"partition": partition})
            except PeerUnavailable as error:
                log.debug("%s", error)
                await asyncio.sleep(ASK_AGAIN_SECONDS)
                continue
            if (offer := answer["offer"]) is not None:
                found.append(Offer(url, partition, offer["offsets"], offer["version"], offer["size"]))
            return

    async def content(self, offer: Offer) -> AsyncGenerator[bytes, None]:
        """Yield a file in parts, then its checksum. Raises NotCopied."""
        body, headers = orjson.dumps({"partition": offer.partition}), {"content-type": "application/json"}
        try:
            answer = await self._peers.send(
                offer.url, "POST", f"{ROUTE}/file", body=body, headers=headers, seconds=PART_SECONDS
            )
            async with aclosing(answer):
                if not answer.is_success:
                    raise NotCopied(f"it answers {answer.status_code}")
                async for part in answer.aiter_raw():
                    yield part
        except (PeerUnavailable, httpx.HTTPError) as error:
            raise NotCopied(f"{type(error).__name__}: {error}") from error
