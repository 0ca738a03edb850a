"""A user is erased while another worker appends, for longer than its keys may be used: no acknowledged turn is lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from contract.front_door import FrontDoor, front_door

from schemas import codec
from schemas.identity import Owner
from schemas.log import LogUnavailable, NewRecord, Position
from schemas.messages.envelope import Envelope
from schemas.messages.observations import TurnRecorded
from schemas.topics import CONVERSATIONS
from streams.sealing import user_keys
from streams.sealing.sealed_log import SealedLog
from streams.sealing.user_keys import UserKeys

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from schemas.log import Appended, Log

USER = "zara"
OWNER = Owner("default", USER)
LEASE_SECONDS = 0.1
ARRIVAL_SECONDS = 5.0


class SlowLog:
    """The same log by a slow way: an append arrives when it may."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.sent, self.may_arrive = asyncio.Event(), asyncio.Event()

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        """See `Log.append`."""
        self.sent.set()
        await self.may_arrive.wait()
        return await self._log.append(records)

    async def read(self, topic: str, partition: int, start: int, limit: int = 1000) -> Sequence[object]:
        """See `Log.read`."""
        return await self._log.read(topic, partition, start, limit)


class Other:
    """Another worker, which knows the user's first key."""

    def __init__(self, door: FrontDoor) -> None:
        keys = door.worker.sealing.keys
        self.door = door
        self.slow = SlowLog(door.worker._inner_log)
        self.keys = UserKeys(self.slow, keys.ring._masters, lease_seconds=LEASE_SECONDS)  # type: ignore[arg-type]
        self._log = SealedLog(self.slow, self.keys)  # type: ignore[arg-type]

    async def say(self, event_id: str) -> Position:
        """Append a turn."""
        partition = self.door.worker.shards.partition(OWNER)
        envelope = Envelope(
            event_id=event_id, tenant=OWNER.tenant, user_id=USER, occurred_at=self.door.worker.clock.now()
        )
        turn = TurnRecorded(envelope=envelope, session_id="s", role="user", content="Zara keeps a quokka.")
        record = NewRecord(topic=CONVERSATIONS.name, partition=partition, key=OWNER.key, value=codec.encode(turn))
        [appended] = await self._log.append([record])
        return appended.position


@pytest.fixture
async def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Other]:
    monkeypatch.setattr(user_keys, "ARRIVAL_SECONDS", ARRIVAL_SECONDS)
    async with front_door(tmp_path) as door:
        monkeypatch.setattr(door.worker.sealing.keys, "_lease", LEASE_SECONDS)
        await door.remember("keeps a cat", USER)
        other = Other(door)
        await other.keys.follow()
        yield other


async def is_read(door: FrontDoor, position: Position) -> bool:
    [record] = await door.worker.log.read(position.topic, position.partition, position.offset, 1)
    return not record.is_erased


async def test_what_arrives_after_its_keys_lease_lies_before_the_cut_or_stays(other: Other):
    saying = asyncio.create_task(other.say("e1"))
    await other.slow.sent.wait()
    erasing = asyncio.create_task(other.door.http.delete(f"/v1/users/{USER}"))
    await asyncio.sleep(2 * LEASE_SECONDS)  # far from the end of ARRIVAL_SECONDS, on a busy machine too
    other.slow.may_arrive.set()
    position = await saying
    receipt = (await erasing).json()
    cuts = [Position.of(cut) for cut in receipt["positions"]]
    [cut] = [cut for cut in cuts if cut.topic == position.topic]
    assert position.offset < cut.offset or await is_read(other.door, position)


async def test_what_an_erasure_has_not_waited_for_is_not_acknowledged_and_stays_when_it_is_appended_again(other: Other):
    saying = asyncio.create_task(other.say("e1"))
    await other.slow.sent.wait()
    await other.door.http.delete(f"/v1/users/{USER}")
    other.slow.may_arrive.set()
    with pytest.raises(LogUnavailable, match="append it again"):
        await saying
    again = await other.say("e1")
    assert await is_read(other.door, again)
    assert not await is_read(other.door, Position(again.topic, again.partition, again.offset - 1))
