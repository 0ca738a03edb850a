"""A sealed log: in clear for who uses it, and sealed where it lies; a destroyed key ends what it sealed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from schemas.bounded_cache import BoundedCache
from schemas.identity import Owner
from schemas.log import ERASED_VALUE, NewRecord
from schemas.messages.dead_letters import SENT_BACK_FROM
from schemas.topics import CONVERSATIONS, INBOX, KEYS, LEDGER
from streams.sealing import sealed_record
from streams.sealing.key_ring import INSTALLATION, KeysMissing
from streams.sealing.master_key import MasterKeys, MasterKeyUnknown
from streams.sealing.sealed_log import SealedLog
from streams.sealing.sealed_record import OVERHEAD_BYTES
from streams.sealing.user_keys import CLOCKS_DIFFER, SEGMENT_TIME, UserKeys
from streams.transports.kafka.topics import COMPACTION
from streams.transports.sqlite.log import SqliteLog
from streams.transports.sqlite.rewriting import empty_write_ahead_log, overwrite, replace_records

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from schemas.log import Appended

MASTERS = MasterKeys([bytes(32)])
ZARA, YURI = Owner("default", "zara"), Owner("default", "yuri")
WORDS = b"Zara keeps a quokka"


def record(owner: Owner = ZARA, value: bytes = WORDS, topic: str = INBOX.name) -> NewRecord:
    return NewRecord(topic=topic, partition=0, key=owner.key, value=value)


class World:
    """A log on the disk, and what seals it."""

    def __init__(self, inner: SqliteLog) -> None:
        self.inner = inner
        self.keys = UserKeys(inner, MASTERS)
        self.unopened: list[str] = []
        self.log = SealedLog(inner, self.keys, counted=self.unopened.append)

    async def values(self, topic: str = INBOX.name) -> list[bytes]:
        return [found.value for found in await self.log.read(topic, 0, 0)]

    async def lying(self, topic: str = INBOX.name) -> list[bytes]:
        return [found.value for found in await self.inner.read(topic, 0, 0)]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    inner = SqliteLog.open(tmp_path)
    for topic in (INBOX, LEDGER, CONVERSATIONS):
        await inner.create_topic(topic.name, 1)
    await inner.create_topic(KEYS.name, 1, compact=True)
    yield World(inner)
    inner.close()


async def test_what_is_appended_is_read_and_lies_sealed(world: World):
    await world.log.append([record(), record(YURI)])
    [zaras, yuris] = await world.log.read(INBOX.name, 0, 0)
    assert (zaras.key, zaras.value, yuris.key) == (ZARA.key, WORDS, YURI.key)
    for lying in await world.inner.read(INBOX.name, 0, 0):
        assert lying.key is None
        assert WORDS not in lying.value
        assert b"zara" not in lying.value
        assert len(lying.value) == OVERHEAD_BYTES + len(ZARA.key) + len(WORDS)


async def test_no_header_says_a_word_and_where_a_record_was_sent_back_from_stays(world: World):
    sent_back = (SENT_BACK_FROM, b"mnemolog.conversations:0:7")
    await world.log.append([replace(record(), headers=(("ce_id", b"zara-7"), ("trace", WORDS), sent_back))])
    [lying] = await world.inner.read(INBOX.name, 0, 0)
    assert lying.headers == (sent_back,)


async def test_a_record_that_is_sealed_later_loses_its_headers(world: World):
    clear = SealedLog(world.inner, world.keys, seals=False)
    await clear.append([replace(record(), headers=(("ce_id", b"zara-7"),))])
    sealed = await world.log.sealed_forms(await world.inner.read(INBOX.name, 0, 0))
    await replace_records(world.inner, INBOX.name, 0, {0: (None, sealed[0])})
    [lying] = await world.inner.read(INBOX.name, 0, 0)
    assert (lying.headers, await world.values()) == ((), [WORDS])


async def test_equal_records_lie_as_different_bytes(world: World):
    await world.log.append([record(), record()])
    first, second = await world.lying()
    assert first != second


async def test_a_new_process_opens_what_another_has_sealed(world: World):
    await world.log.append([record()])
    assert (await SealedLog(world.inner, UserKeys(world.inner, MASTERS)).read(INBOX.name, 0, 0))[0].value == WORDS


async def test_callers_at_once_make_one_key_of_a_user(world: World):
    await asyncio.gather(*(world.log.append([record(), record(YURI)]) for _ in range(20)))
    assert len(world.keys.ring.ids_of(ZARA)) == len(world.keys.ring.ids_of(YURI)) == 1
    assert len(await world.values()) == 40


async def test_a_destroyed_key_ends_what_it_sealed_and_nothing_else(world: World):
    await world.log.append([record(), record(YURI)])
    await world.keys.destroy(world.keys.ring.ids_of(ZARA))
    erased, yuris = await world.log.read(INBOX.name, 0, 0)
    assert (erased.is_erased, erased.value, erased.key, erased.position.offset) == (True, b"", None, 0)
    assert yuris.value == WORDS
    assert world.unopened == ["erased"]


async def test_a_destroyed_key_stays_destroyed_for_a_new_process(world: World):
    await world.log.append([record()])
    await world.keys.destroy(world.keys.ring.ids_of(ZARA))
    await world.inner.compact(KEYS.name)
    [found] = await SealedLog(world.inner, UserKeys(world.inner, MASTERS)).read(INBOX.name, 0, 0)
    assert found.is_erased


async def test_who_returns_gets_another_key(world: World):
    await world.log.append([record()])
    [former] = world.keys.ring.ids_of(ZARA)
    await world.keys.destroy([former])
    await world.log.append([record(value=b"again")])
    assert world.keys.ring.ids_of(ZARA) != (former,)
    assert await world.values() == [b"", b"again"]


async def test_a_renewed_key_seals_and_the_former_one_still_opens(world: World):
    await world.log.append([record(value=b"old")])
    former = world.keys.ring.ids_of(ZARA)
    await world.keys.renew(ZARA)
    await world.log.append([record(value=b"new")])
    assert await world.values() == [b"old", b"new"]
    await world.keys.destroy(former)
    assert await world.values() == [b"", b"new"]


async def test_what_would_revive_a_destroyed_key_is_answered_with_a_tombstone(world: World):
    await world.log.append([record()])
    [key_id] = world.keys.ring.ids_of(ZARA)
    [wrapped] = [found for found in await world.inner.read(KEYS.name, 0, 0) if found.key == key_id]
    await world.keys.destroy([key_id])
    await world.inner.append([NewRecord(topic=KEYS.name, partition=0, key=key_id, value=wrapped.value)])
    await world.keys.follow()
    await world.inner.compact(KEYS.name)
    [found] = await SealedLog(world.inner, UserKeys(world.inner, MASTERS)).read(INBOX.name, 0, 0)
    assert found.is_erased


async def test_what_outlives_its_user_is_sealed_with_another_key(world: World):
    await world.log.append([record(), replace(record(value=b"erased"), outlives_user=True)])
    await world.keys.destroy(world.keys.ring.ids_of(ZARA))
    assert await world.values() == [b"", b"erased"]
    assert all(b"zara" not in lying for lying in await world.lying())


async def test_what_lies_in_clear_is_read_as_it_is(world: World):
    await world.inner.append([record()])
    await world.log.append([record(value=b"sealed")])
    assert await world.values() == [WORDS, b"sealed"]


async def test_without_encryption_records_lie_in_clear_and_sealed_ones_are_opened(world: World):
    await world.log.append([record(value=b"sealed")])
    clear = SealedLog(world.inner, world.keys, seals=False)
    await clear.append([record()])
    assert [found.value for found in await clear.read(INBOX.name, 0, 0)] == [b"sealed", WORDS]
    assert (await world.lying())[1] == WORDS


@pytest.mark.parametrize("place", [2, 10, 22, 40, -1])
async def test_a_record_that_was_tampered_with_is_left_as_it_lies(world: World, place: int):
    await world.log.append([record()])
    [lying] = await world.lying()
    changed = bytearray(lying)
    changed[place] ^= 1
    await world.inner.append([NewRecord(topic=INBOX.name, partition=0, key=None, value=bytes(changed))])
    assert await world.values() == [WORDS, bytes(changed)]
    assert world.unopened == ["tampered"]


async def test_a_sealed_record_means_nothing_on_another_topic(world: World):
    await world.log.append([record()])
    [lying] = await world.lying()
    await world.inner.append([NewRecord(topic=LEDGER.name, partition=0, key=None, value=lying)])
    assert await world.values(LEDGER.name) == [lying]


async def test_a_sealed_record_stays_its_users_whatever_key_it_is_put_under(world: World):
    await world.log.append([record()])
    [lying] = await world.lying()
    await world.inner.append([NewRecord(topic=INBOX.name, partition=0, key=YURI.key, value=lying)])
    assert [found.key for found in await world.log.read(INBOX.name, 0, 0)] == [ZARA.key, ZARA.key]


async def test_an_overwritten_record_is_erased(world: World):
    await world.inner.append([record(), record(YURI), record()])
    assert await overwrite(world.inner, INBOX.name, 0, ZARA.key, before=2) == 1
    await empty_write_ahead_log(world.inner)
    assert [found.is_erased for found in await world.log.read(INBOX.name, 0, 0)] == [True, False, False]
    assert await world.lying() == [ERASED_VALUE, WORDS, WORDS]


async def test_settling_waits_for_what_is_under_way(world: World):
    await world.log.append([record()])
    appending = asyncio.ensure_future(world.log.append([record(value=b"under way")]))
    await asyncio.sleep(0)
    await world.log.settle(ZARA)
    assert appending.done()
    assert await world.values() == [WORDS, b"under way"]


async def test_rotation_wraps_every_key_anew_and_opens_the_same(world: World):
    await world.log.append([record(), record(YURI)])
    newer = MasterKeys([bytes(range(32)), bytes(32)])
    keys = UserKeys(world.inner, newer)
    assert await keys.rotate() == 2
    assert await keys.rotate() == 0
    assert keys.ring.wrapped_by() == {newer.newest: 2}
    only = SealedLog(world.inner, UserKeys(world.inner, MasterKeys([bytes(range(32))])))
    assert [found.value for found in await only.read(INBOX.name, 0, 0)] == [WORDS, WORDS]


async def test_what_everyone_in_a_tenant_shares_has_a_key_of_the_tenants(world: World):
    shared, others = Owner("default", "*"), Owner("other", "*")
    await world.log.append([record(shared), record(others), record()])
    assert {len(world.keys.ring.ids_of(owner)) for owner in (shared, others, ZARA)} == {1}
    await world.keys.destroy([*world.keys.ring.ids_of(ZARA), *world.keys.ring.ids_of(others)])
    assert await world.values() == [WORDS, b"", b""]


async def test_so_many_keys_lie_unwrapped_and_all_are_opened_again(world: World):
    world.keys.ring._ciphers = BoundedCache(3)
    owners = [Owner("default", f"u{n}") for n in range(9)]
    for _ in range(2):
        await world.log.append([record(owner) for owner in owners])
        assert await world.values() == [WORDS] * len(await world.lying())
        assert len(world.keys.ring._ciphers) == 3


async def test_another_master_key_is_refused(world: World):
    await world.log.append([record()])
    with pytest.raises(MasterKeyUnknown):
        await UserKeys(world.inner, MasterKeys([bytes(range(32))])).follow()
    with pytest.raises(KeysMissing):
        await UserKeys(world.inner, None).follow()


@pytest.mark.parametrize("value", [b"nonsense", b"\xc3\x01nonsense!"])
async def test_a_record_that_is_no_key_is_passed_over(world: World, value: bytes):
    await world.log.append([record()])
    await world.inner.append([NewRecord(topic=KEYS.name, partition=0, key=b"87654321", value=value)])
    keys = UserKeys(world.inner, MASTERS)
    await keys.follow()
    assert keys.ring.ids_of(ZARA) == world.keys.ring.ids_of(ZARA)


async def test_the_installations_keys_differ_by_purpose_and_outlive_a_rotation(world: World):
    await world.keys.make([INSTALLATION])
    shards = world.keys.ring.derive("shards")
    assert shards != world.keys.ring.derive("receipts")
    newer = UserKeys(world.inner, MasterKeys([bytes(range(32)), bytes(32)]))
    await newer.rotate()
    assert newer.ring.derive("shards") == shards


async def test_who_stops_waiting_for_a_key_or_for_an_append_stops_nobody_else(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    arrived, let_go = asyncio.Event(), asyncio.Event()
    append = world.inner.append

    async def slow(records: Sequence[NewRecord]) -> list[Appended]:
        arrived.set()
        await let_go.wait()
        return await append(records)

    monkeypatch.setattr(world.inner, "append", slow)
    makes = asyncio.create_task(world.log.append([record()]))
    await arrived.wait()
    waits = [asyncio.create_task(world.keys.make([ZARA])), asyncio.create_task(world.log.append([record()]))]
    await asyncio.sleep(0)
    waits[0].cancel()
    await asyncio.gather(waits[0], return_exceptions=True)
    let_go.set()
    await asyncio.gather(makes, waits[1])
    arrived.clear()
    let_go.clear()
    appends = asyncio.create_task(world.log.append([record()]))
    await arrived.wait()
    settles = asyncio.create_task(world.log.settle(ZARA))
    await asyncio.sleep(0)
    settles.cancel()
    await asyncio.gather(settles, return_exceptions=True)
    let_go.set()
    await appends
    assert await world.values() == [WORDS] * 3


async def test_a_key_that_was_read_too_long_ago_seals_nothing(world: World):
    keys = UserKeys(world.inner, MASTERS, lease_seconds=0.05)
    other = SealedLog(world.inner, keys)
    await other.append([record()])
    [former] = keys.ring.ids_of(ZARA)
    await world.keys.follow()
    await world.keys.renew(ZARA)
    await asyncio.sleep(0.06)
    await other.append([record()])
    assert sealed_record.key_id_of((await world.lying())[0]) == former
    assert sealed_record.key_id_of((await world.lying())[1]) == world.keys.ring.ids_of(ZARA)[-1] != former


async def test_a_tombstone_is_said_again_once_its_segment_could_have_ended_and_no_more(world: World):
    await world.log.append([record()])
    await world.keys.destroy(world.keys.ring.ids_of(ZARA))
    await world.keys.follow()
    [*_, last] = await world.inner.read(KEYS.name, 0, 0)
    await world.keys.let_compact(last.recorded_at + SEGMENT_TIME)
    assert await world.inner.end(KEYS.name, 0) == last.position.offset + 1
    await world.keys.let_compact(last.recorded_at + SEGMENT_TIME + 2 * CLOCKS_DIFFER)
    [*_, again] = await world.inner.read(KEYS.name, 0, 0)
    assert (again.key, again.value, again.position.offset) == (last.key, b"", last.position.offset + 1)


async def test_a_tombstone_whose_segment_has_ended_is_not_said_again(world: World):
    await world.log.append([record()])
    await world.keys.destroy(world.keys.ring.ids_of(ZARA))
    await world.keys.follow()
    [*_, last] = await world.inner.read(KEYS.name, 0, 0)
    world.keys._fold(replace(last, recorded_at=last.recorded_at + SEGMENT_TIME + CLOCKS_DIFFER), [])
    await world.keys.let_compact(last.recorded_at + 3 * SEGMENT_TIME)
    assert await world.inner.end(KEYS.name, 0) == last.position.offset + 1


def test_segments_of_the_topic_end_when_they_are_thought_to():
    assert timedelta(milliseconds=int(COMPACTION["segment.ms"])) == SEGMENT_TIME
