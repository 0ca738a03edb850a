"""Shard source: the shard files of the other workers, what they offer of a partition and how a file comes over."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

import httpx
import orjson

from mnemolog.cluster.peers import PeerUnavailable, released
from projections.partitions.receiver import NotCopied, Offer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from mnemolog.cluster.peers import Peers

ROUTE: Final = "/v1/internal/shard"
OFFERS_SECONDS: Final = 5.0
"""How long workers that cannot answer yet are asked: the former owner may still be closing the shard."""
ASK_AGAIN_SECONDS: Final = 0.25
PART_SECONDS: Final = 20.0
"""A copy that brings nothing for so long is given up: the shard is folded instead."""

log = logging.getLogger("mnemolog.shard")


class PeerShardSource:
    """The peers' files of a partition, as the shard receiver sees them."""

    def __init__(self, peers: Peers, seconds: float = OFFERS_SECONDS) -> None:
        """Wait at most so many seconds for peers that cannot say yet what they have."""
        self._peers = peers
        self._seconds = seconds

    async def offers(self, partition: int) -> list[Offer]:
        """Return what all others offer; those that cannot say it yet are asked again and again."""
        offers: list[Offer] = []
        asking = [asyncio.create_task(self._add_offer(url, partition, offers)) for url in self._peers.others()]
        try:
            if asking:
                await asyncio.wait(asking, timeout=self._seconds)
        finally:
            for task in asking:
                task.cancel()
        return offers

    async def _add_offer(self, url: str, partition: int, offers: list[Offer]) -> None:
        while True:
            try:
                answer = await self._peers.ask(url, ROUTE, {"partition": partition})
            except PeerUnavailable as error:
                log.debug("%s", error)
                await asyncio.sleep(ASK_AGAIN_SECONDS)
                continue
            if (offer := answer["offer"]) is not None:
                offers.append(Offer(url, partition, offer["offsets"], offer["version"], offer["size"]))
            return

    async def content(self, offer: Offer) -> AsyncGenerator[bytes, None]:
        """Yield a file in parts, then its checksum. Raises NotCopied."""
        body, headers = orjson.dumps({"partition": offer.partition}), {"content-type": "application/json"}
        try:
            answer = await self._peers.send(
                offer.url, "POST", f"{ROUTE}/file", body=body, headers=headers, seconds=PART_SECONDS
            )
            async with released(answer):
                if not answer.is_success:
                    raise NotCopied(f"it answers {answer.status_code}")
                async for part in answer.aiter_raw():
                    yield part
        except (PeerUnavailable, httpx.HTTPError) as error:
            raise NotCopied(f"{type(error).__name__}: {error}") from error
