"""Shard source: the offers of other workers for a partition's shard file, and the transfer of the file."""

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
"""How long workers that cannot answer yet are retried; the former owner may still be closing the shard."""
ASK_AGAIN_SECONDS: Final = 0.25
PART_SECONDS: Final = 20.0
"""The time without data after which a copy is given up and the shard folded instead."""

log = logging.getLogger("mnemolog.shard")


class PeerShardSource:
    """The shard files of the peers, as the source of the shard receiver."""

    def __init__(self, peers: Peers, seconds: float = OFFERS_SECONDS) -> None:
        """`seconds` is how long to wait at most for peers that cannot answer yet."""
        self._peers = peers
        self._seconds = seconds

    async def offers(self, partition: int) -> list[Offer]:
        """Return the offers of all other workers; workers that cannot answer yet are retried."""
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
        """Yield the parts of the file, then its checksum. Raises NotCopied."""
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
