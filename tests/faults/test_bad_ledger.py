"""Poison in the ledger is void for every reader; what only a newer version can read stops the worker."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from faults.poison import (
    ANNA,
    BEN,
    GARBAGE,
    UNKNOWN_SCHEMA,
    cities,
    put,
    said,
    set_aside,
    spelt,
    truncated,
)
from faults.sample_worker import DRAIN_SECONDS, records, running, settled
from support.counting import decisions

from schemas import codec
from schemas.messages.decision import Decision
from schemas.messages.events import MemoryExpired
from schemas.topics import CONVERSATIONS, GLOBALS, INBOX, LEDGER

if TYPE_CHECKING:
    from pathlib import Path

    from mnemolog.worker.worker import Worker
    from schemas.log import NewRecord


async def poison_for_the_ledger(worker: Worker) -> list[NewRecord]:
    """Append to Anna's ledger what is no decision, what cannot be made of her state, and decisions of others."""
    state = worker.shards.state(ANNA)
    mine = [r for r in await records(worker) if r.position.topic == LEDGER.name]
    [newest] = [d for r in mine if (d := codec.decode_as(r.value, Decision)).envelope.owner == ANNA and d.version == 1]
    forged = replace(newest, item_id="forged", item_offset=1_000, version=state.version + 1, outcomes=[])
    forged = replace(forged, previous=state.tip)  # else it is damage
    unknown = MemoryExpired(envelope=newest.envelope, memory_id="nobody", policy="x", tick_id="x", reason="weak")
    values = [
        *GARBAGE,
        truncated(newest),
        codec.encode(said(ANNA, "l-1")),
        codec.encode(replace(forged, events=[b"garbage"])),
        codec.encode(replace(forged, events=[codec.encode(said(ANNA, "l-2"))])),
        codec.encode(replace(forged, events=[codec.encode(unknown)])),
    ]
    put_there = [await put(worker, LEDGER.name, ANNA, value) for value in values]
    elsewhere = [r for r in mine if codec.decode_as(r.value, Decision).envelope.owner == ANNA]
    for record in elsewhere:
        wrong = 1 - record.position.partition
        put_there.append(await put(worker, LEDGER.name, ANNA, record.value, partition=wrong))
        put_there.append(await put(worker, GLOBALS.name, ANNA, record.value))
    return put_there + [await put(worker, GLOBALS.name, ANNA, value) for value in GARBAGE]


async def test_poison_in_the_ledger_is_void_for_every_reader_and_only_decisions_are_counted(tmp_path: Path):
    async with running(tmp_path, partitions=2, idle_seconds=0.2) as worker:
        await put(worker, CONVERSATIONS.name, ANNA, spelt(ANNA, "a-1"))
        await worker.drain.run_local(DRAIN_SECONDS)
        before = await worker.shards.users.digests()
        put_there = await poison_for_the_ledger(worker)
        await settled(worker)
        assert await worker.shards.users.digests() == before
        assert sum(s.ledger.void_decisions for s in worker.shards.all()) == len(list(decisions(put_there))) > 0
        await put(worker, CONVERSATIONS.name, ANNA, spelt(ANNA, "a-2", content="I moved to Paris.", session_id="s2"))
        await put(worker, CONVERSATIONS.name, BEN, spelt(BEN, "b-1", content="I live in Oslo."))
        await worker.drain.run_local(DRAIN_SECONDS)
        assert (cities(worker, ANNA), cities(worker, BEN)) == (["Berlin", "Paris"], ["Oslo"])
        assert (await worker.rebuild.run("all"))["equal"]
        digest = await worker.shards.users.digests()
    async with running(tmp_path, partitions=2) as worker:
        assert await worker.shards.users.digests() == digest


@pytest.mark.parametrize("topic", [LEDGER.name, GLOBALS.name, INBOX.name])
async def test_what_only_a_newer_version_can_read_stops_the_worker_which_says_upgrade(tmp_path: Path, topic: str):
    """To skip it would be to decide without what it says; the log keeps it until the upgrade."""
    async with running(tmp_path, partitions=2, idle_seconds=0.2) as worker:
        await put(worker, CONVERSATIONS.name, ANNA, spelt(ANNA, "a-1"))
        await worker.drain.run_local(DRAIN_SECONDS)
        before = await worker.shards.users.digests()
        await put(worker, topic, ANNA, UNKNOWN_SCHEMA)
        assert worker.failure is not None
        with pytest.raises(codec.UnknownSchema, match="upgrade mnemolog"):
            await worker.failure
        assert await worker.shards.users.digests() == before
        assert await set_aside(worker) == []
    with pytest.raises(codec.UnknownSchema, match="upgrade mnemolog"):
        async with running(tmp_path, partitions=2):
            pytest.fail("the worker started without knowing what it must decide on")
