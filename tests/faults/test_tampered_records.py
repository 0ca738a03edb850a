"""Sealed records that were changed, moved or made up are dead letters or void, and stop no worker."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from faults.poison import ANNA, BEN, cities, put, set_aside, spelt
from faults.sample_worker import DRAIN_SECONDS, running

from schemas.log import NewRecord
from schemas.topics import CONVERSATIONS, INBOX, KEYS, LEDGER
from streams.sealing import sealed_record

if TYPE_CHECKING:
    from pathlib import Path

    from mnemolog.worker.worker import Worker

TOPICS = (CONVERSATIONS.name, INBOX.name, LEDGER.name)


async def forged(worker: Worker) -> list[NewRecord]:
    """Return Anna's newest record of each topic as it lies, changed in one place, and moved to the other topics."""
    partition, made = worker.shards.partition(ANNA), list[NewRecord]()
    [key_id] = worker.sealing.keys.ring.ids_of(ANNA)
    lying = {}
    for topic in TOPICS:
        records = await worker._inner_log.read(topic, partition, 0)
        lying[topic] = [one.value for one in records if sealed_record.key_id_of(one.value) == key_id][-1]
    for topic, place in product(TOPICS, (3, 12, -1)):  # of the key's id, the nonce, the tag
        changed = bytearray(lying[topic])
        changed[place] ^= 1
        made.append(NewRecord(topic=topic, partition=partition, key=None, value=bytes(changed)))
    made += [
        NewRecord(topic=to, partition=partition, key=None, value=lying[topic])
        for topic, to in product(TOPICS, TOPICS)
        if topic != to
    ]
    return made


async def test_what_was_sealed_and_changed_or_moved_is_put_aside_and_stops_nobody(tmp_path: Path):
    async with running(tmp_path, partitions=2, idle_seconds=0.2) as worker:
        for owner in (ANNA, BEN):
            await put(worker, CONVERSATIONS.name, owner, spelt(owner, "a-1"))
        await worker.drain.run_local(DRAIN_SECONDS)
        before = await worker.shards.users.digests()
        bad = await forged(worker)
        await worker._inner_log.append([*bad, *(replace(one, key=BEN.key) for one in bad)])
        await worker.drain.run_local(DRAIN_SECONDS)
        assert await worker.shards.users.digests() == before
        aside = sorted((topic, value) for topic, _, value in await set_aside(worker))
        assert aside == sorted((one.topic, one.value) for one in bad * 2 if one.topic != LEDGER.name)
        await put(worker, CONVERSATIONS.name, ANNA, spelt(ANNA, "a-2", content="I moved to Paris.", session_id="s2"))
        await worker.drain.run_local(DRAIN_SECONDS)
        assert (cities(worker, ANNA), cities(worker, BEN)) == (["Berlin", "Paris"], ["Berlin"])
        assert (await worker.rebuild.run("all"))["equal"]
    async with running(tmp_path, partitions=2) as worker:
        assert cities(worker, ANNA) == ["Berlin", "Paris"]


async def test_a_data_key_that_was_changed_or_put_under_another_id_opens_nothing_and_stops_nobody(tmp_path: Path):
    async with running(tmp_path, partitions=2, idle_seconds=0.2) as worker:
        for owner in (ANNA, BEN):
            await put(worker, CONVERSATIONS.name, owner, spelt(owner, "a-1"))
        await worker.drain.run_local(DRAIN_SECONDS)
        annas, bens = (worker.sealing.keys.ring.ids_of(owner)[0] for owner in (ANNA, BEN))
        lying = {one.key: one.value for one in await worker._inner_log.read(KEYS.name, 0, 0)}
        changed = lying[annas][:-1] + bytes([lying[annas][-1] ^ 1])
        forged = {annas: changed, bens: lying[annas], b"12345678": lying[annas]}
        await worker._inner_log.append(
            [NewRecord(topic=KEYS.name, partition=0, key=key, value=value) for key, value in forged.items()]
        )
    async with running(tmp_path, partitions=2) as worker:
        assert (worker.sealing.keys.ring.ids_of(ANNA), worker.sealing.keys.ring.ids_of(BEN)) == ((annas,), (bens,))
        assert (cities(worker, ANNA), cities(worker, BEN)) == (["Berlin"], ["Berlin"])
        assert (await worker.rebuild.run("all"))["equal"]
