"""A user's unencrypted records are found, wherever among encrypted ones, and what was seen is not read again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from support.memory_log import MemoryLog

from mnemolog.log.clear_records import ClearRecords
from schemas.identity import Owner
from schemas.log import LogUnavailable, NewRecord
from schemas.topics import DEAD_LETTERS, INBOX, LEDGER
from streams.sealing.master_key import MasterKeys
from streams.sealing.sealed_log import SealedLog
from streams.sealing.user_keys import UserKeys

if TYPE_CHECKING:
    from schemas.log import Record

ADA, BOB, CYD = (Owner("default", name) for name in ("ada", "bob", "cyd"))
MANY = 2_500
"""Several reads."""


class CountingLog(MemoryLog):
    """Counts the records that were read of the inbox."""

    read_count = 0
    reads_that_fail: frozenset[int] = frozenset()
    """The offsets of the inbox from which nothing can be read."""

    async def read(self, topic: str, partition: int, start: int, limit: int = 1000) -> list[Record]:
        if topic == INBOX.name and start in self.reads_that_fail:
            raise LogUnavailable("not now")
        await asyncio.sleep(0)
        found = await super().read(topic, partition, start, limit)
        self.read_count += len(found) if topic == INBOX.name else 0
        return found


@pytest.fixture
def log() -> CountingLog:
    return CountingLog()


async def put(log: CountingLog, owner: Owner, topic: str = INBOX.name, count: int = 1, *, seals: bool) -> None:
    """Append records of an owner, sealed or in clear."""
    record = NewRecord(topic=topic, partition=0, key=owner.key, value=b"\xc3\x01 something")
    keys = UserKeys(log, MasterKeys([bytes(32)]))
    await keys.follow()
    await SealedLog(log, keys, seals=seals).append([record] * count)


async def test_a_users_records_in_clear_are_found_between_encrypted_ones(log: CountingLog):
    await put(log, ADA, count=MANY, seals=True)
    await put(log, BOB, seals=False)
    await put(log, BOB, count=MANY, seals=True)
    await put(log, BOB, DEAD_LETTERS.name, seals=False)
    await put(log, CYD, LEDGER.name, seals=False)
    clear = ClearRecords(log)
    for _ in range(2):
        assert await clear.topics_of(ADA, 0) == []
        assert await clear.topics_of(BOB, 0) == [INBOX.name, DEAD_LETTERS.name]
        assert await clear.topics_of(CYD, 0) == [LEDGER.name]
    await put(log, ADA, seals=False)
    assert await clear.topics_of(ADA, 0) == [INBOX.name]
    await log.drop_before(INBOX.name, 0, await log.end(INBOX.name, 0))
    assert await clear.topics_of(ADA, 0) == []


async def test_what_is_known_to_be_encrypted_is_not_read_again(log: CountingLog):
    await put(log, ADA, seals=False)
    await put(log, ADA, count=MANY, seals=True)
    clear = ClearRecords(log)
    assert await clear.topics_of(ADA, 0) == [INBOX.name]
    assert log.read_count == MANY + 1
    await put(log, BOB, count=10, seals=True)
    assert await clear.topics_of(BOB, 0) == []
    assert log.read_count == MANY + 1 + 1 + 10


async def test_what_is_asked_for_at_the_same_time_is_read_once(log: CountingLog):
    await put(log, BOB, seals=False)
    await put(log, ADA, count=MANY, seals=True)
    clear = ClearRecords(log)
    assert await asyncio.gather(*(clear.topics_of(one, 0) for one in (ADA, BOB, CYD))) == [[], [INBOX.name], []]
    assert log.read_count == MANY + 1 + 2  # of those who come later only the unencrypted record


async def test_what_was_read_before_a_failure_is_not_read_again(log: CountingLog):
    await put(log, ADA, count=MANY, seals=True)
    clear = ClearRecords(log)
    log.reads_that_fail = frozenset({2_000})
    with pytest.raises(LogUnavailable):
        await clear.topics_of(ADA, 0)
    log.reads_that_fail = frozenset()
    assert await clear.topics_of(ADA, 0) == []
    assert log.read_count == MANY
