"""A rotation leaves no key behind that only the retired master key opens, whatever is made meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from support.memory_log import MemoryLog

from schemas.identity import Owner
from schemas.log import LogUnavailable, NewRecord
from schemas.topics import KEYS
from streams.sealing import user_keys
from streams.sealing.key_ring import INSTALLATION
from streams.sealing.master_key import MasterKeys
from streams.sealing.user_keys import UserKeys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemas.log import Appended

OLD, NEW = bytes(32), b"n" * 32
ZARA = Owner("default", "zara")


class FailingLog(MemoryLog):
    """A log that is away after some appends."""

    left = 1_000

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        if not self.left:
            raise LogUnavailable("away")
        self.left -= 1
        return await super().append(records)


async def compacted(log: MemoryLog, *masters: bytes) -> UserKeys:
    """Return the keys as a worker reads them that starts after a compaction."""
    records = await log.read(KEYS.name, 0, 0)
    last = {record.key: record.position.offset for record in records}
    left = MemoryLog()
    for record in records:
        if last[record.key] == record.position.offset:
            await left.append([NewRecord(topic=KEYS.name, partition=0, key=record.key, value=record.value)])
    keys = UserKeys(left, MasterKeys(masters))
    await keys.follow()
    return keys


@pytest.mark.parametrize("appends", range(4))
async def test_an_owners_keys_stay_in_order_wherever_a_rotation_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, appends: int
):
    monkeypatch.setattr(user_keys, "KEYS_AT_ONCE", 1)
    log = FailingLog()
    keys = UserKeys(log, MasterKeys([OLD]))
    await keys.make([INSTALLATION, ZARA])
    await keys.renew(INSTALLATION)
    await keys.renew(ZARA)
    derived = keys.ring.derive("shards")
    keys.ring.use(MasterKeys([NEW, OLD]))
    log.left = appends
    with suppress(LogUnavailable):
        await keys.rotate()
    started = await compacted(log, NEW, OLD)
    assert (started.ring.ids_of(INSTALLATION), started.ring.ids_of(ZARA)) == (
        keys.ring.ids_of(INSTALLATION),
        keys.ring.ids_of(ZARA),
    )
    assert started.ring.derive("shards") == derived
    log.left = 1_000
    await keys.rotate()
    assert set(keys.ring.wrapped_by()) == {MasterKeys([NEW]).newest}


async def test_a_key_that_another_worker_makes_meanwhile_goes_on_sealing():
    log = SlowLog()
    keys, others = (UserKeys(log, MasterKeys([NEW, OLD])) for _ in range(2))
    await UserKeys(log, MasterKeys([OLD])).make([ZARA])
    log.may_go_on.clear()
    rotating = asyncio.create_task(keys.rotate())
    await log.reached.wait()
    await others.renew(ZARA)
    log.may_go_on.set()
    await rotating
    assert (await compacted(log, NEW)).ring.ids_of(ZARA)[-1] == others.ring.ids_of(ZARA)[-1]


class SlowLog(MemoryLog):
    """A log whose next append waits until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.may_go_on = asyncio.Event(), asyncio.Event()
        self.may_go_on.set()

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        if not self.may_go_on.is_set() and not self.reached.is_set():
            self.reached.set()
            await self.may_go_on.wait()
        return await super().append(records)


@pytest.mark.parametrize("renews", [False, True])
async def test_a_key_that_is_being_made_is_wrapped_anew_too(*, renews: bool):
    log = SlowLog()
    keys = UserKeys(log, MasterKeys([OLD]))
    await keys.make([INSTALLATION])
    if renews:
        await keys.make([ZARA])
    log.may_go_on.clear()
    making = asyncio.create_task(keys.renew(ZARA) if renews else keys.make([ZARA]))
    await log.reached.wait()
    keys.ring.use(MasterKeys([NEW, OLD]))
    rotating = asyncio.create_task(keys.rotate())
    for _ in range(9):  # as far as the rotation comes by itself
        await asyncio.sleep(0)
    log.may_go_on.set()
    await asyncio.gather(making, rotating)
    assert set(keys.ring.wrapped_by()) == {MasterKeys([NEW]).newest}
    started = UserKeys(log, MasterKeys([NEW]))  # the old one was dropped
    await started.follow()
    assert started.ring.has_key(ZARA)
