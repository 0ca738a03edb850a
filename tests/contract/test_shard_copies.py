"""Shards between workers, over real sockets: what one offers, and how its file comes over."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import uvicorn
from contract.front_door import FrontDoor, front_door, turn

from mnemolog.cluster.peers import Peers
from mnemolog.cluster.proof import Proof
from mnemolog.cluster.shard_source import PeerShardSource
from mnemolog.cluster.trust import PeerTrust
from mnemolog.http.app import make_http
from mnemolog.http.peer_door import PeerDoor
from mnemolog.server import listen, url_of
from projections.partitions.receiver import CHECKSUM_BYTES, NotCopied, Offer, checksum
from projections.shard.tables import VERSION
from schemas.identity import Owner
from schemas.topics import LEDGER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

USER = Owner("default", "u1")
SECRET = b"of the workers of this test alone"


@asynccontextmanager
async def answering(door: FrontDoor) -> AsyncIterator[str]:
    """Let a worker answer other workers at a URL, by the proof of a secret."""
    listening = listen("127.0.0.1", 0)
    url = url_of(listening)
    app = PeerDoor(make_http(door.worker), url, Proof([SECRET]))
    config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield url
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def copies(door: FrontDoor, url: str, seconds: float = 60.0) -> AsyncIterator[PeerShardSource]:
    """Ask a worker at a URL, as another one that has the secret."""
    trust = PeerTrust(is_proven=True, proof=Proof([SECRET]))
    peers = Peers(door.worker.shards, dict, lambda: [url], "http://127.0.0.1:9", trust)
    try:
        yield PeerShardSource(peers, seconds)
    finally:
        await peers.aclose()


async def moves_off(door: FrontDoor) -> int:
    """Let the partition of the user go, and return it."""
    shards = door.worker.shards
    partition = shards.partition(USER)
    shards.assignment.release(partition)
    shards.takeover.assign(set(range(2)) - {partition})
    return partition


async def test_the_file_of_a_partition_that_moved_away_comes_over_whole(tmp_path: Path):
    async with front_door(tmp_path) as door, answering(door) as url, copies(door, url) as elsewhere:
        for number in range(3):
            await door.remember(f"the fact {number}")
        partition = await moves_off(door)
        [offer] = await elsewhere.offers(partition)
        assert (offer.url, offer.version, offer.offsets[LEDGER.name]) == (url, VERSION, 3)
        content = b"".join([part async for part in elsewhere.content(offer)])
        file = (tmp_path / "shards" / "1" / f"{partition}.sqlite").read_bytes()
        told = checksum()
        told.update(file)
        assert content == file + told.digest()
        assert len(content) == offer.size + CHECKSUM_BYTES


async def test_a_worker_that_has_the_partition_still_is_asked_again_until_it_lets_go(tmp_path: Path):
    async with front_door(tmp_path) as door, answering(door) as url, copies(door, url) as elsewhere:
        await door.remember("the fact")
        partition = door.worker.shards.partition(USER)
        asking = asyncio.create_task(elsewhere.offers(partition))
        await asyncio.sleep(0.6)
        assert not asking.done()
        await moves_off(door)
        assert [offer.url for offer in await asking] == [url]


async def test_who_answers_nothing_useful_is_not_waited_for(tmp_path: Path):
    async with front_door(tmp_path) as door, answering(door) as url:
        await door.post("/v1/events", turn("t-1", "hello"))
        async with copies(door, url, 0.3) as elsewhere:
            assert await elsewhere.offers(door.worker.shards.partition(USER)) == []
        async with copies(door, "http://127.0.0.1:9", 0.3) as elsewhere:
            assert await elsewhere.offers(0) == []


async def test_a_file_that_is_open_is_refused_and_one_that_breaks_off_is_no_copy(tmp_path: Path):
    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/vnd.sqlite3\r\ntransfer-encoding: chunked\r\n\r\n")
        writer.write(b"5\r\nfirst\r\n")
        await writer.drain()
        writer.close()

    broken = await asyncio.start_server(break_off, "127.0.0.1", 0)
    port = broken.sockets[0].getsockname()[1]
    async with front_door(tmp_path) as door, answering(door) as url, copies(door, url) as elsewhere, broken:
        held = Offer(url, 0, {}, VERSION, 1)
        with pytest.raises(NotCopied, match="503"):
            await anext(elsewhere.content(held))
        parts = elsewhere.content(Offer(f"http://127.0.0.1:{port}", 0, {}, VERSION, 1))
        assert await anext(parts) == b"first"
        with pytest.raises(NotCopied, match="RemoteProtocolError"):
            await anext(parts)
