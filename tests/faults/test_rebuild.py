"""A rebuild asks nobody anything, may be stopped, and never stands in anyone's way; what is damaged is folded anew."""

from __future__ import annotations

import asyncio
import shutil
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx
import pytest
from contract.front_door import HashEmbedder
from faults.sample_worker import (
    DRAIN_SECONDS,
    LIN,
    START,
    GatedWorker,
    access_counts,
    gate_of,
    live_through,
    publish,
    rebuilt,
    running,
    sample,
)
from support.own_words import OwnWordsHere

from mnemolog.commands.commands import Fact
from mnemolog.http.app import make_http
from mnemolog.operations.rebuild import RebuildRunning
from projections.queries.search import Question
from projections.shard.errors import ShardDamaged, ShardUnavailable
from projections.shard.snapshot import READING
from schemas.topics import LEDGER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from mnemolog.operations.rebuild import What
    from mnemolog.worker.worker import Worker
    from projections.embedding.embedder import Vectors
    from schemas.messages.observations import Observation
    from streams.extraction.protocol import Extraction, Window


class GuardedExtractor(OwnWordsHere):
    """Answers until it must not be asked any more."""

    is_forbidden = False
    asked = 0

    async def extract(self, window: Window) -> Extraction:
        self.asked += 1
        assert not self.is_forbidden, "a model was asked"
        return await super().extract(window)


class GuardedEmbedder(HashEmbedder):
    """Embeds until it must not be asked any more."""

    is_forbidden = False
    asked = 0

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:  # noqa: ARG002
        self.asked += 1
        assert not self.is_forbidden, "an embedder was asked"
        return await super().embed(texts)


async def found(worker: Worker) -> list[str]:
    hits = await worker.queries.search(worker.shards.resolve(LIN), Question(text="咖啡"), now=START)
    return [hit.memory.memory_id for hit in hits.found]


async def digest_of(folder: Path, encryption: str = "on") -> dict[str, str]:
    """Start a worker, and return the digest of all that it holds."""
    async with running(folder, encryption=encryption) as worker:
        return await worker.shards.users.digests()


async def test_a_rebuild_asks_neither_model_nor_embedder(tmp_path: Path):
    extractor, embedder = GuardedExtractor(), GuardedEmbedder()
    async with running(tmp_path, extractor=extractor, embedder=embedder) as worker:
        await live_through(worker)
        before, hits = await worker.shards.users.digests(), await found(worker)
        asked = (extractor.asked, embedder.asked)
        assert min(asked) > 0
        extractor.is_forbidden = embedder.is_forbidden = True
        plan: list[tuple[What, int]] = [("all", 2), ("shards", 3), ("index", 3)]
        for what, generation in plan:
            report = await worker.rebuild.run(what)
            assert (report["generation"], report["equal"]) == (generation, True)
            assert report["digest_after"] == (await worker.shards.users.digests())["total"] == before["total"]
        assert await worker.shards.users.digests() == before
        assert (extractor.asked, embedder.asked) == asked
        embedder.is_forbidden = False  # a question is embedded; what it is compared with comes from the log
        assert await found(worker) == hits != []
        embedder.is_forbidden = True
    shutil.rmtree(tmp_path / "shards")
    async with running(tmp_path, extractor=extractor, embedder=embedder) as worker:
        await worker.drain.run_local(DRAIN_SECONDS)
        assert await worker.shards.users.digests() == before
        assert worker.failure is not None
        assert not worker.failure.done()


async def test_a_rebuild_that_was_stopped_in_the_middle_goes_on_where_it_was(tmp_path: Path):
    async with running(tmp_path, kind=GatedWorker) as worker:
        await live_through(worker)
        before = await worker.shards.users.digests()
        in_the_middle = asyncio.Event()

        async def stop_there(topic: str, start: int) -> None:
            if topic == LEDGER.name and start > 0:
                in_the_middle.set()
                await asyncio.Event().wait()

        gate_of(worker).before_bulk = stop_there
        rebuilding = asyncio.create_task(worker.rebuild.run("all"))
        await asyncio.wait_for(in_the_middle.wait(), DRAIN_SECONDS)
        assert 0.0 < worker.rebuilder.progress.ratio < 1.0
        with pytest.raises(RebuildRunning, match="wait until it is done"):
            await worker.rebuild.run("all")
        rebuilding.cancel()
        await asyncio.gather(rebuilding, return_exceptions=True)
        assert await worker.shards.users.digests() == before
    async with running(tmp_path, kind=GatedWorker) as worker:
        assert await worker.shards.users.digests() == before
        starts: list[int] = []

        async def note(topic: str, start: int) -> None:
            if topic == LEDGER.name:
                starts.append(start)

        gate_of(worker).before_bulk = note
        assert await rebuilt(worker) == before["total"]
        assert starts[0] > 0
    async with running(tmp_path) as worker:
        assert [p.name for p in sorted((tmp_path / "shards").iterdir())] == ["1", "2", "active", "of-log"]
        assert await worker.shards.users.digests() == before


async def test_while_digests_are_computed_searches_answer_and_commands_are_decided(tmp_path: Path):
    async with running(tmp_path) as worker:
        await live_through(worker)
        before, goes_on = await worker.shards.users.digests(), threading.Event()
        READING.submit(goes_on.wait, DRAIN_SECONDS)
        asking = asyncio.create_task(worker.shards.users.digests())
        rebuilding = asyncio.create_task(worker.rebuild.run("all"))
        try:
            for number in range(5):
                await worker.commands.remember(LIN, Fact(content=f"Lin has boat {number}"), f"meanwhile {number}")
                assert await found(worker) != []
                await asyncio.sleep(0.1)
            assert not asking.done()
            assert not rebuilding.done()
        finally:
            goes_on.set()
        assert await asking == before
        assert (await rebuilding)["equal"]
        assert (await worker.shards.users.digests())["total"] == await rebuilt(worker) != before["total"]


async def test_rebuilds_under_live_publishing_lose_nothing_and_searches_answer_meanwhile(tmp_path: Path):
    async with running(tmp_path / "quiet") as worker:
        await publish(worker, sample())
        await worker.drain.run_local(DRAIN_SECONDS)
        expected, counted = await worker.shards.users.digests(), access_counts(worker)
    async with running(tmp_path / "busy", kind=GatedWorker) as worker:
        searched = asyncio.Event()

        async def slowly(_topic: str, _start: int) -> None:  # at any speed of the machine there are searches enough
            searched.clear()
            await searched.wait()

        gate_of(worker).before_bulk = slowly
        messages = sample()
        await publish(worker, messages[:100])
        during = 0
        again = asyncio.Event()
        publishing = asyncio.create_task(_publish_slowly(worker, messages[100:], again))
        rebuilds = 0
        while not publishing.done():
            rebuilding = asyncio.create_task(worker.rebuild.run("all"))
            rebuilds += 1
            if rebuilds > 1:
                again.set()
            while not rebuilding.done():
                await found(worker)
                during += not publishing.done()
                searched.set()
                await asyncio.sleep(0.01)
            report = rebuilding.result()
            assert report["equal"]
        await publishing
        gate_of(worker).before_bulk = None
        assert during > 10
        assert report["generation"] > 2
        await worker.drain.run_local(DRAIN_SECONDS)
        assert await worker.shards.users.digests() == expected
        assert access_counts(worker) == counted
        assert await rebuilt(worker) == expected["total"]
        assert await found(worker)


@asynccontextmanager
async def http_of(worker: Worker) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(make_http(worker))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        yield http


async def _publish_slowly(worker: Worker, messages: Sequence[Observation], again: asyncio.Event) -> None:
    """Publish in parts, the second half of them when another rebuild has begun."""
    for begin in range(0, len(messages), 20):
        if begin > len(messages) / 2:
            await again.wait()
        await worker.publisher.publish(messages[begin : begin + 20])
        await asyncio.sleep(0.05)


async def _publish_until_refused(worker: Worker, messages: Sequence[Observation]) -> int:
    """Return how many messages were accepted before the shard's disk was full."""
    for begin in range(100, len(messages), 10):
        try:
            await worker.publisher.publish(messages[begin : begin + 10])
        except ShardUnavailable as full:
            assert "free space on its disk" in str(full)  # noqa: PT017 - what was accepted before matters
            return begin
        await asyncio.sleep(0.02)
    return len(messages)


async def test_a_damaged_shard_is_set_aside_and_folded_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async with running(tmp_path, encryption="off") as worker:
        await live_through(worker)
        before = await worker.shards.users.digests()
        shard = worker.shards.of(LIN).path
    whole = shard.read_bytes()
    memories = whole.index(b'{"memory_id"')
    content = whole[:memories] + b"\xff" * 20 + whole[memories + 20 :]
    aside = shard.with_name(f"{shard.name}.damaged")
    for damaged in (b"not a database" * 1000, whole[:100] + b"\xff" * (len(whole) - 100)):
        shard.write_bytes(damaged)
        assert await digest_of(tmp_path, encryption="off") == before
        assert aside.read_bytes()[:1000] == damaged[:1000]
        assert f"shard {shard} is damaged: it is kept as {aside.name}, and folded anew from the log" in caplog.text
    shard.write_bytes(content)
    for left in shard.parent.glob(f"{shard.name}-*"):
        left.unlink()
    with pytest.raises(ShardDamaged, match=rf"{shard.name}: .*the shard is damaged, and is folded anew"):
        await digest_of(tmp_path, encryption="off")  # it opens, and is found damaged by whoever reads the memory
    assert await digest_of(tmp_path, encryption="off") == before


def leave_pages(worker: Worker, more: int) -> None:
    """Let each shard's file grow by so many pages, as on a disk that has room for so much."""
    for shard in worker.shards.all():
        [pages] = shard._connection.execute("pragma page_count").fetchone()
        shard._connection.execute(f"pragma max_page_count={pages + more}")


async def test_a_full_shard_disk_is_waited_out_and_readiness_says_what_to_do(tmp_path: Path):
    messages = sample()
    async with running(tmp_path / "room") as worker:
        await publish(worker, messages)
        await worker.drain.run_local(DRAIN_SECONDS)
        expected = await worker.shards.users.digests()
    async with running(tmp_path / "full") as worker, http_of(worker) as http:
        await publish(worker, messages[:100])
        await worker.drain.run_local(DRAIN_SECONDS)
        assert (await http.get("/health/ready")).status_code == 200
        leave_pages(worker, 1)
        assert await _publish_until_refused(worker, messages) < len(messages)
        said = await http.get("/health/ready")
        assert said.status_code == 503
        assert "database or disk is full; free space on its disk" in said.json()["detail"]
        assert (await http.get("/v1/memories", params={"user_id": LIN.user_id})).json()["items"], "what it knows stays"
        assert worker.failure is not None
        assert not worker.failure.done()
        leave_pages(worker, 1 << 20)
        await publish(worker, messages)
        await worker.drain.run_local(DRAIN_SECONDS)
        assert (await http.get("/health/ready")).status_code == 200
        assert await worker.shards.users.digests() == expected
        assert await rebuilt(worker) == expected["total"]
