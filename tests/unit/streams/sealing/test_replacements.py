"""Replacements: what is read in the place of a record whose key was destroyed, on a log that rewrites nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.memory_log import MemoryLog

from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.topics import INBOX, REPLACEMENTS
from streams.sealing.master_key import MasterKeys
from streams.sealing.replacements import Replacements
from streams.sealing.sealed_log import SealedLog
from streams.sealing.user_keys import UserKeys

if TYPE_CHECKING:
    from schemas.log import Record

MASTERS = MasterKeys([bytes(32)])
ZARA = Owner("default", "zara")


class World:
    """A worker's view of a log that others write too."""

    def __init__(self, inner: MemoryLog) -> None:
        self.inner = inner
        self.keys = UserKeys(inner, MASTERS)
        self.replacements = Replacements(inner, self.keys)
        self.log = SealedLog(inner, self.keys, replacements=self.replacements)

    async def records(self) -> list[Record]:
        return await self.log.read(INBOX.name, 0, 0)

    async def values(self) -> list[bytes]:
        return [record.value for record in await self.records()]

    async def replace(self, *values: bytes | None) -> None:
        """Seal some values anew, in the place of the records there are; None erases one."""
        former = self.keys.ring.ids_of(ZARA)
        records = await self.records()
        await self.keys.renew(ZARA)
        kept = [
            record.__class__(position=record.position, recorded_at=record.recorded_at, key=record.key, value=value)
            for record, value in zip(records, values, strict=True)
            if value is not None
        ]
        await self.replacements.put(ZARA, kept)
        await self.keys.destroy(former)


@pytest.fixture
async def world() -> World:
    world = World(MemoryLog(partitions=1))
    new = [NewRecord(topic=INBOX.name, partition=0, key=ZARA.key, value=value) for value in (b"one", b"two", b"three")]
    await world.log.append(new)
    return world


async def test_a_record_is_read_at_its_place_without_what_was_erased(world: World):
    before = await world.records()
    await world.replace(b"one", None, b"th")
    after = await world.records()
    assert [(record.value, record.is_erased) for record in after] == [(b"one", False), (b"", True), (b"th", False)]
    assert [(r.position, r.recorded_at) for r in after] == [(r.position, r.recorded_at) for r in before]
    assert {after[0].key, after[2].key} == {ZARA.key}


async def test_the_record_itself_is_read_until_its_key_is_destroyed(world: World):
    await world.keys.renew(ZARA)
    await world.replacements.put(ZARA, await world.records())
    await world.replacements.put(ZARA, [])
    assert await world.values() == [b"one", b"two", b"three"]


async def test_who_reads_later_and_who_had_read_before_find_the_newest(world: World):
    other = World(world.inner)
    assert await other.values() == [b"one", b"two", b"three"]
    await world.replace(b"one", b"2", b"three")
    await other.keys.follow()
    assert await other.values() == [b"one", b"2", b"three"]
    await world.replace(b"1", b"2", None)
    await other.keys.follow()
    assert await other.values() == await World(world.inner).values() == [b"1", b"2", b""]


async def test_one_that_comes_late_hides_none_whose_key_lives(world: World):
    late = World(world.inner)
    records = await late.records()
    await late.keys.renew(ZARA)
    await world.keys.follow()
    await world.replace(b"1", b"2", b"3")
    await late.replacements.put(ZARA, records)  # with a key that was destroyed meanwhile
    assert await world.values() == await World(world.inner).values() == [b"1", b"2", b"3"]


async def test_with_the_users_last_key_all_of_it_is_erased(world: World):
    await world.replace(b"1", b"2", b"3")
    await world.keys.destroy(world.keys.ring.ids_of(ZARA))
    assert [record.is_erased for record in await world.records()] == [True] * 3
    assert [record.is_erased for record in await World(world.inner).records()] == [True] * 3


async def test_what_nobody_reads_is_deleted(world: World):
    await world.replace(b"1", b"2", b"3")
    await world.replace(b"1", b"2", b"3")
    await world.replacements.trim(lambda _topic, _partition, offset: offset < 1)
    left: dict[bytes | None, bytes] = {}
    for record in await world.inner.read(REPLACEMENTS.name, 0, 0):
        left[record.key] = record.value
    assert sum(bool(value) for value in left.values()) == 2
    assert await world.values() == [b"", b"2", b"3"]


@pytest.mark.parametrize("key", [None, b"no place", b"a/b/c/d", b"mnemolog.inbox/0/0/00", b"\xff/0/0/0011223344556677"])
async def test_what_none_of_us_wrote_is_passed_over(world: World, key: bytes | None):
    await world.inner.append([NewRecord(topic=REPLACEMENTS.name, partition=0, key=key, value=b"anything")])
    await world.replace(b"1", None, b"3")
    assert await world.values() == [b"1", b"", b"3"]


async def test_one_that_was_moved_to_another_place_is_not_opened(world: World):
    await world.replace(b"1", b"2", None)
    [first, *_] = [r for r in await world.inner.read(REPLACEMENTS.name, 0, 0) if r.value]
    assert first.key is not None
    moved = first.key.replace(b"/0/0/", b"/0/2/")
    await world.inner.append([NewRecord(topic=REPLACEMENTS.name, partition=0, key=moved, value=first.value)])
    last = (await World(world.inner).records())[2]
    assert last.value != b"1"
    assert last.key is None
